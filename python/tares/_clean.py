"""`clean`: any scikit-learn classifier, trained without the labels that are probably wrong."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tares import _tares
from tares._audit import Audit, Method, Score
from tares._folds import of_rows, out_of_fold, take
from tares._inputs import Labels, as_array, as_values, index_of, module_of
from tares._optional import needed
from tares._same_rows import refuse_other_rows


class Cleaned(NamedTuple):
    """What :func:`clean` returns."""

    #: A copy of the estimator, trained on the rows that were kept.
    estimator: Any
    #: What the audit of the labels found.
    audit: Audit
    #: For every row: was it kept?
    kept: npt.NDArray[np.bool_]
    #: The out-of-fold probabilities that the audit is based on, rows x classes.
    probs: npt.NDArray[np.float64]


def clean(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    folds: int = 5,
    method: Method = "posterior",
    score: Score = "posterior",
    random_state: int | None = 0,
    fit_params: dict[str, Any] | None = None,
) -> Cleaned:
    """Train a scikit-learn classifier without the labels that are probably wrong.

    1. Copies of the estimator are trained on all folds but one and predict the rows of that one. 2. The labels are audited. 3. One more
    copy is trained on the rows whose labels are not suspects. The estimator that you pass is not changed.

    Parameters
    ----------
    estimator
        Any classifier with ``predict_proba``, also a pipeline.
    X, y
        Rows and labels as the estimator takes them. Names are fine.
    folds
        How many folds.
    method, score
        As in :func:`tares.audit`.
    random_state
        The seed of the folds.
    fit_params
        Further arguments of ``fit``. Those with an entry for every row, such as ``sample_weight``, are cut to the rows of each fit.

    Returns
    -------
    Cleaned
        ``estimator``, ``audit``, ``kept``, ``probs``.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> draw = np.random.default_rng(0)
    >>> X = draw.normal(size=(400, 2))
    >>> truth = np.where(X[:, 0] > 0, "right", "left")
    >>> y = tares.corrupt(truth, "pair:0.2", seed=1)
    >>> model, found, kept, probs = tares.clean(LogisticRegression(), X, y)
    >>> bool((y[kept] == truth[kept]).mean() > 0.95)
    True
    """
    clone = needed("sklearn.base", "tares.clean").clone
    refuse_other_rows(X, "X", y, "y")
    if module_of(X) == "pyarrow":
        X = as_array(X, "X")
    # The classes in the order that the estimator has them in.
    values = as_values(y, "y")
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must have at least 2 classes, got {len(classes)}")
    given = Labels(codes.astype(np.uint32), classes, index_of(y))
    probs = out_of_fold(estimator, X, codes, folds, random_state, fit_params, classes=classes)
    audit = Audit(_tares.audit(given.codes, probs, method, score, True), given)
    kept = ~audit.is_suspect
    lost = np.setdiff1d(codes, codes[kept])
    if len(lost):
        shown = ", ".join(map(str, given.classes[lost[:10]].tolist()))
        warnings.warn(f"no label of these classes was kept, so the model will not know them: {shown}", stacklevel=2)
    rows = np.flatnonzero(kept)
    model = clone(estimator)
    model.fit(take(X, rows), values[rows], **of_rows(fit_params, rows, len(codes)))
    return Cleaned(model, audit, kept, probs)
