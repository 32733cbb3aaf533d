"""Conform: cases with known answers from outside, run through the rooms.

Worked examples of regulators (`check_annual_rates`) and of the standards (`check_accounting`),
schedules and life cycles of other systems (`check_schedules`) and asset-backed deals worked to the
minor unit (`check_deals`); each gives a report whose `as_dict()` is the answer of
`usance conform … --json`.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
