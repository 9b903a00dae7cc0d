"""cleanlab's functions under their own names, on the core of tares.

>>> from tares.compat import find_label_issues, get_label_quality_scores   # instead of cleanlab.filter, cleanlab.rank

Names, argument order, defaults and return types are those of cleanlab 2.9, and so are the results: ``python/tests/test_compat.py``
calls both on the same inputs. One module per module of cleanlab: :mod:`~tares.compat.filter`, :mod:`~tares.compat.rank`,
:mod:`~tares.compat.count`, :mod:`~tares.compat.dataset`.

What differs:

- There is no multi-label form: ``multi_label=True`` is an error.
- ``n_jobs`` is accepted and ignored: no process is started.
- Errors are ``ValueError`` or ``TypeError`` and say what is allowed, what was given and where; cleanlab often raises ``AssertionError``.

:func:`tares.audit` finds more of the wrong labels than these methods do (see docs/python.md): its default is another method.
"""

from tares.compat.count import (
    calibrate_confident_joint,
    compute_confident_joint,
    estimate_confident_joint_and_cv_pred_proba,
    estimate_cv_predicted_probabilities,
    estimate_joint,
    estimate_latent,
    estimate_noise_matrices,
    estimate_py_and_noise_matrices_from_probabilities,
    estimate_py_noise_matrices_and_cv_pred_proba,
    get_confident_thresholds,
    num_label_issues,
)
from tares.compat.dataset import (
    find_overlapping_classes,
    health_summary,
    overall_label_health_score,
    rank_classes_by_label_quality,
)
from tares.compat.filter import (
    find_label_issues,
    find_label_issues_using_argmax_confusion_matrix,
    find_predicted_neq_given,
)
from tares.compat.rank import (
    find_top_issues,
    get_confidence_weighted_entropy_for_each_label,
    get_label_quality_ensemble_scores,
    get_label_quality_scores,
    get_normalized_margin_for_each_label,
    get_self_confidence_for_each_label,
    order_label_issues,
)

__all__ = [
    "calibrate_confident_joint",
    "compute_confident_joint",
    "estimate_confident_joint_and_cv_pred_proba",
    "estimate_cv_predicted_probabilities",
    "estimate_joint",
    "estimate_latent",
    "estimate_noise_matrices",
    "estimate_py_and_noise_matrices_from_probabilities",
    "estimate_py_noise_matrices_and_cv_pred_proba",
    "find_label_issues",
    "find_label_issues_using_argmax_confusion_matrix",
    "find_overlapping_classes",
    "find_predicted_neq_given",
    "find_top_issues",
    "get_confidence_weighted_entropy_for_each_label",
    "get_confident_thresholds",
    "get_label_quality_ensemble_scores",
    "get_label_quality_scores",
    "get_normalized_margin_for_each_label",
    "get_self_confidence_for_each_label",
    "health_summary",
    "num_label_issues",
    "order_label_issues",
    "overall_label_health_score",
    "rank_classes_by_label_quality",
]
