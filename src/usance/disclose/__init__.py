"""Disclose: the published page, tied to the last digit.

`release_of` makes the release of a closed period, `publish` writes it, and `DrillIndex` follows
its figures to the facts. `check` and `rebuild` need nothing but fact tables: the one recomputes
every figure that follows from others and classifies how well each holds, the other computes the
derived figures again from the primary ones. Names are imported when first used.

>>> from usance.disclose.periods import parse_period
>>> parse_period("2024H1").days
182
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
