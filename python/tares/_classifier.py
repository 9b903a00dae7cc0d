"""`RobustClassifier`: a scikit-learn classifier that tolerates wrong labels."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data

from tares import _tares
from tares._inputs import listed, module_of, names
from tares._progress import Bar
from tares._rows import Rows, is_frame, read_rows
from tares._table import Table


class RobustClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier for labels that are partly wrong: what ``tares train`` trains, behind scikit-learn's interface.

    Parameters
    ----------
    method
        How it is trained: ``"npcl"`` (the curriculum loss), ``"standard"``, ``"gce"``, ``"co-teaching"``, ``"elr"`` and all others that
        ``tares methods`` lists, with their numbers as in ``"gce:0.5"``.
    network
        What is trained: ``"mlp"``, ``"mlp:256-256"``; for pictures ``"lenet"``, ``"cnn9"``, ``"resnet18"`` and others; or a model of columns,
        ``"panel"``, ``"trees"``, ``"forest"`` or ``"linear"`` (with the methods npcl and standard, trees also with cl).
    noise_rate
        The share of wrong labels, for methods that need it; ``"auto"`` estimates it from the data first.
    epochs
        Passes over the rows. ``"auto"``: 60, or more if the rows are few, so that there are at least 2,000 steps.
    batch_size, learning_rate
        How a network is trained (Adam, constant for 40 % of the epochs, then linear to 0). Models of columns choose their rounds and
        penalties on held-out rows, so ``epochs``, ``batch_size`` and ``learning_rate`` are refused beside them.
    text
        Columns of a frame that hold texts. Others are recognised. Only ``"panel"`` and ``"linear"`` read texts.
    random_state
        A number or a ``numpy.random.RandomState``. The same number gives the same bits, on any number of cores. ``None`` is 1, the
        program's default.
    progress
        Whether to show a progress bar: True, False, or ``None`` for "in a terminal, if tqdm is installed".

    Attributes
    ----------
    classes_
        The classes, sorted.
    suspects_
        The labels that look wrong, worst first: a :class:`tares.Table` with ``row``, ``given``, ``suggested``, ``score``, ``p_suggested``,
        ``reason``. A network judges the labels it was trained on; :func:`tares.audit` uses models that were not, and finds more. Those of
        a model of columns are the list of :func:`tares.audit`, by models that were not trained on the rows.
    noise_rate_
        The noise rate that the method was told, ``None`` if it was told none.
    noise_rate_interval_
        The interval in which it most likely lies, if it was estimated.
    loss_curve_
        The mean training loss of every epoch.
    notes_
        How columns were read, and why an estimate should not be trusted: a sentence each.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> X = draw.normal(size=(300, 2))
    >>> truth = np.where(X[:, 0] > 0, "right", "left")
    >>> y = tares.corrupt(truth, "symmetric:0.3", seed=1)
    >>> model = tares.RobustClassifier(noise_rate=0.3, epochs=20, random_state=1).fit(X, y)
    >>> bool(model.score(X, truth) > 0.93)
    True
    """

    classes_: npt.NDArray[Any]
    suspects_: Table
    noise_rate_: float | None
    noise_rate_interval_: tuple[float, float] | None
    loss_curve_: list[float]
    n_iter_: int
    notes_: list[str]

    def __init__(
        self,
        method: str = "npcl",
        network: str = "mlp",
        noise_rate: float | str = "auto",
        *,
        epochs: int | str = "auto",
        batch_size: int = 128,
        learning_rate: float = 1e-3,
        text: str | Sequence[str] = (),
        random_state: int | np.random.RandomState | None = None,
        progress: bool | None = None,
    ) -> None:
        self.method: str = method
        self.network: str = network
        self.noise_rate: float | str = noise_rate
        self.epochs: int | str = epochs
        self.batch_size: int = batch_size
        self.learning_rate: float = learning_rate
        self.text: str | Sequence[str] = text
        self.random_state: int | np.random.RandomState | None = random_state
        self.progress: bool | None = progress

    def fit(self, X: Any, y: Any) -> RobustClassifier:
        """Train.

        Parameters
        ----------
        X
            Rows x columns: an array of numbers (NaN where there is none), a list of rows, a frame (pandas, polars, Arrow) with categories and
            missing values; or pictures, rows x channels x height x width.
        y
            A label per row: integers, names, booleans.
        """
        rows = self._read(X, reset=True)
        labels = column_or_1d(_plain(y), warn=True)
        check_classification_targets(labels)
        if len(labels) != len(rows):
            raise ValueError(f"y must have a label for each of the {len(rows)} rows of X, got {len(labels)}: inconsistent numbers of samples")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"y must have at least 2 classes, got only one class: {self.classes_[0]!r}")
        with TemporaryDirectory(prefix="tares-") as folds, Bar(self.progress) as hear:
            fitted = _tares.fit(
                rows.content, codes.astype(np.uint32), names(self.classes_), listed(self.text), self._settings(len(rows)), folds, hear
            )
        self._model, self._weights = fitted.model(), fitted.weights()
        rate = fitted.rate
        self.noise_rate_ = None if rate is None else rate[0]
        self.noise_rate_interval_ = None if rate is None else rate[2]
        self.notes_ = [*fitted.notes, *([] if rate is None or rate[3] is None else [rate[3]])]
        self.loss_curve_ = fitted.losses()
        self.n_iter_ = len(self.loss_curve_)
        row, given, suggested, score, p_suggested = fitted.suspects()
        self.suspects_ = Table(
            {
                "row": row,
                "given": self.classes_[given],
                "suggested": self.classes_[suggested],
                "score": score,
                "p_suggested": p_suggested,
                "reason": np.array(fitted.reasons(), dtype=object),
            },
            index=None if rows.index is None else rows.index[row],
        )
        return self

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """The probability of every class, rows x classes, in the order of ``classes_``."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        probs = _tares.predict(self._model, self._weights, rows.content, len(rows)).astype(np.float64)
        return np.asarray(probs / probs.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The likeliest class of every row."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _read(self, X: Any, *, reset: bool) -> Rows:
        if not is_frame(X) and module_of(X) != "torch":
            kind = np.asarray(X).dtype.kind if not hasattr(X, "dtype") else np.dtype(X.dtype).kind
            if kind in "fiubc" or hasattr(X, "toarray"):
                X = check_array(X, dtype="numeric", ensure_all_finite="allow-nan", allow_nd=True, estimator=self, input_name="X")
        # Pictures have no number of features.
        if (hasattr(X, "shape") or not is_frame(X)) and getattr(X, "ndim", 2) <= 2:
            validate_data(self, X, reset=reset, skip_check_array=True)
        rows = read_rows(X)
        if len(rows) == 0:
            raise ValueError("X must have at least one row, got 0 sample(s)")
        columns = [name for name, _ in rows.content] if isinstance(rows.content, list) else None
        if reset:
            self._columns, self._named = columns, is_frame(X)
            return rows
        known = getattr(self, "_columns", None)
        if columns is None or known is None:
            if columns is not known:
                fitted, came = ("pictures", "rows x columns") if known is None else ("rows x columns", "pictures")
                raise ValueError(f"X must be {fitted}, as the model was fitted on, got {came}")
        elif not (self._named and is_frame(X)) and len(columns) == len(known):
            # Columns without names are matched to those of training by position.
            cells = [cells for _, cells in rows.content]
            return Rows(list(zip(known, cells)), rows.count, rows.index)
        return rows

    def _settings(self, rows: int) -> dict[str, Any]:
        rate = self.noise_rate
        if not isinstance(rate, (str, numbers.Real)):
            raise TypeError(f'noise_rate must be "auto" or a number in [0, 1), got {type(rate).__name__}')
        self._refuse_idle()
        seed = self.random_state
        if seed is None:
            seed = 1
        elif isinstance(seed, np.random.RandomState):
            seed = int(seed.randint(2**31))
        elif not isinstance(seed, numbers.Integral) or seed < 0:
            raise ValueError(f"random_state must be a whole number from 0, a RandomState or None, got {seed!r}")
        if not isinstance(self.batch_size, numbers.Integral) or self.batch_size < 1:
            raise ValueError(f"batch_size must be a whole number from 1, got {self.batch_size!r}")
        epochs = max(60, -(-2000 // -(-rows // int(self.batch_size)))) if self.epochs == "auto" else self.epochs
        if not isinstance(epochs, numbers.Integral) or epochs < 1:
            raise ValueError(f'epochs must be a whole number from 1, or "auto", got {epochs!r}')
        return {
            "method": self.method,
            "network": self.network,
            "noise_rate": rate if isinstance(rate, str) else repr(float(rate)),
            "epochs": int(epochs),
            "batch_size": int(self.batch_size),
            "learning_rate": float(self.learning_rate),
            "seed": int(seed),
        }

    def _refuse_idle(self) -> None:
        """Refuses parameters that a model of columns would ignore, as the program does."""
        if self.network not in ("panel", "trees", "forest", "linear"):
            return
        usual = {"epochs": "auto", "batch_size": 128, "learning_rate": 1e-3}
        idle = [name for name, value in usual.items() if getattr(self, name) != value]
        if idle:
            raise ValueError(f"network {self.network!r} does not use {', '.join(idle)}: rounds, penalties and sizes are chosen on held-out rows; leave them out")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def _plain(y: Any) -> Any:
    """Series, tensors and Arrow arrays as arrays; pandas and lists as they are."""
    if module_of(y) in ("torch", "polars", "pyarrow"):
        from tares._inputs import as_array

        return as_array(y, "y")
    return y
