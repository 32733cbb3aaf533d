"""The loan: what was agreed, what happened, and what follows from both.

`schedule`, `start`, `step`, `view` and `replay` work on one loan and on a column of them. Names
are imported when first used, so that terms and facts can be had without waiting for Numba.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
