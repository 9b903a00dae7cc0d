"""`corrupt`: makes labels wrong on purpose, to test how much noise a method tolerates."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from tares import _tares
from tares._inputs import MOST_CLASSES, as_array, read_labels, whole
from tares._same_rows import refuse_other_rows
from tares._whole_numbers import whole_number


def corrupt(
    labels: Any, noise: str | npt.ArrayLike, *, seed: int = 1, classes: Sequence[Any] | npt.NDArray[Any] | int | None = None, features: Any = None
) -> npt.NDArray[Any]:
    """The labels with noise in them: the same bits as ``tares corrupt --noise NOISE --seed SEED``.

    Parameters
    ----------
    labels
        Integers or names, in anything that :func:`tares.audit` takes.
    noise
        ``"symmetric:0.5"`` (one of the other classes), ``"pair:0.35"`` (the next class), ``"uniform-all:0.4"`` (redrawn from all classes),
        ``"exact:0.2"``, ``"exact-per-class:0.2"`` (exactly this share), ``"instance:0.3"`` (depends on ``features``), ``"none"``; or a
        matrix classes x classes, ``[true, given]``, whose rows sum to 1.
    seed
        The same seed gives the same labels.
    classes
        The names of the classes, or their number. By default the labels that occur, sorted (numbers by size), or 0 to the largest integer.
    features
        Rows x features, for ``"instance"``.

    Returns
    -------
    numpy.ndarray
        A label for every row.

    Examples
    --------
    >>> tares.corrupt(["cat", "dog", "cow", "dog", "cat"], "pair:0.5", seed=3)
    array(['cow', 'cat', 'cow', 'dog', 'cat'], dtype='<U3')
    >>> bool((tares.corrupt(np.zeros(100, int), "exact:0.2", classes=3) != 0).sum() == 20)
    True
    """
    seed = whole_number(seed, "seed", 0, 2**64 - 1)
    refuse_other_rows(labels, "labels", features, "features")
    known: npt.NDArray[Any] | int | None
    if classes is None or isinstance(classes, Integral):
        known = None if classes is None else whole_number(classes, "classes", 1, MOST_CLASSES)
    else:
        known = whole(as_array(classes, "classes"), "classes")
    given = read_labels(labels, known)
    if not 2 <= len(given.classes) <= MOST_CLASSES:
        few = len(given.classes) < 2
        allowed = "at least 2 classes" if few else f"at most {MOST_CLASSES} classes"
        raise ValueError(f"labels must have {allowed}, got {len(given.classes)}{': say with classes=... which there are' if few else ''}")
    matrix = None if isinstance(noise, str) else np.ascontiguousarray(noise, dtype=np.float64)
    if matrix is not None and matrix.shape != (len(given.classes),) * 2:
        raise ValueError(f"noise must be a matrix of {len(given.classes)} x {len(given.classes)} classes, got shape {matrix.shape}")
    values = None
    if features is not None:
        values = np.ascontiguousarray(as_array(features, "features"), dtype=np.float32)
        if values.ndim != 2 or len(values) != len(given.codes):
            raise ValueError(f"features must have a row for each of the {len(given.codes)} labels, got shape {values.shape}")
    elif isinstance(noise, str) and noise.strip().startswith("instance"):
        raise ValueError('noise "instance" depends on the rows: say with features=... what they look like')
    codes = _tares.corrupt(given.codes, len(given.classes), noise if isinstance(noise, str) else "matrix", seed, matrix, values)
    return np.asarray(given.classes[codes])
