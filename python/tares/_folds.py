"""Out-of-fold probabilities of any scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tares._optional import needed


def out_of_fold(
    estimator: Any,
    X: Any,
    codes: npt.NDArray[np.int64],
    folds: int,
    seed: int | None,
    fit_params: Mapping[str, Any] | None = None,
    validation: Callable[[Any, Any], Mapping[str, Any]] | None = None,
    classes: npt.NDArray[Any] | None = None,
) -> npt.NDArray[np.float64]:
    """Rows x classes: every row is predicted by a copy of ``estimator`` that was not trained on it.

    ``codes`` are places in ``classes``, the sorted labels that the estimator learns from; without ``classes`` the labels themselves. A row
    whose class has no other row to learn from cannot be judged: it gets its own label with probability 1.
    """
    selection = needed("sklearn.model_selection", "out-of-fold probabilities")
    clone = needed("sklearn.base", "out-of-fold probabilities").clone
    if estimator is None:
        estimator = needed("sklearn.linear_model", "out-of-fold probabilities").LogisticRegression()
    if rows_of(X) != len(codes):
        raise ValueError(f"X must have a row for each of the {len(codes)} labels, got {rows_of(X)}")
    if not hasattr(estimator, "predict_proba"):
        raise TypeError(f"the estimator must have predict_proba, got {type(estimator).__name__}")
    classes = np.arange(int(codes.max()) + 1) if classes is None else classes
    labels = classes[codes]
    probs = np.zeros((len(codes), len(classes)))
    for train, held_out in selection.StratifiedKFold(folds, shuffle=True, random_state=seed).split(codes, codes):
        model = clone(estimator)
        extra = {} if validation is None else validation(take(X, held_out), labels[held_out])
        model.fit(take(X, train), labels[train], **of_rows(fit_params, train, len(codes)), **extra)
        said = np.asarray(model.predict_proba(take(X, held_out)), dtype=np.float64)
        if said.shape != (len(held_out), len(model.classes_)):
            raise ValueError(f"predict_proba must give {len(held_out)} x {len(model.classes_)} numbers, got shape {said.shape}")
        probs[np.ix_(held_out, np.searchsorted(classes, np.asarray(model.classes_)))] = said
        alone = held_out[~np.isin(labels[held_out], model.classes_)]
        probs[alone] = 0
        probs[alone, codes[alone]] = 1
    return probs


def of_rows(fit_params: Mapping[str, Any] | None, rows: npt.NDArray[Any], count: int) -> dict[str, Any]:
    """Arguments of ``fit`` for some of ``count`` rows: those with an entry for every row are cut, as scikit-learn does it."""
    params = dict(fit_params or {})
    for name, value in params.items():
        per_row = hasattr(value, "__len__") and not isinstance(value, (str, bytes, Mapping)) and getattr(value, "shape", (1,)) != ()
        if per_row and rows_of(value) == count:
            params[name] = take(value, rows)
    return params


def rows_of(X: Any) -> int:
    """How many rows these are."""
    if not hasattr(X, "shape") and hasattr(X, "__len__"):
        return len(X)
    if len(getattr(X, "shape", ())) == 0:
        raise ValueError(f"X must be rows x columns, got {'a single value' if hasattr(X, 'shape') else type(X).__name__}")
    return int(X.shape[0])


def take(X: Any, rows: npt.NDArray[Any]) -> Any:
    """Some rows of an array, a frame, a sparse matrix or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "shape"):
        return X[rows]
    return [X[row] for row in rows.tolist()]
