"""Learn from labels you cannot trust.

>>> import tares
>>> found = tares.audit(labels, probs)      # which labels are wrong?
>>> found.suspects.to_pandas()              # worst first
>>> found.corrected                         # your labels, with the suggestions taken

``labels`` are integers or names, ``probs`` the probabilities that a model gives to rows it was *not* trained on.
"""

from tares import compat
from tares._audit import Audit, audit, scores
from tares._table import Table
from tares._tares import __version__

__all__ = ["Audit", "Table", "__version__", "audit", "compat", "scores"]
