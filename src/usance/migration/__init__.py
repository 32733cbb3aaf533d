"""Loans as other lending systems compute them: for checking a book before it moves.

Every convention is a named option of `ForeignTerms`. `schedule` gives the plan of a loan,
`history.replay` its state after facts; both are exact, in whole minor units.

>>> from datetime import date
>>> from decimal import Decimal
>>> terms = ForeignTerms(disbursed_on=date(2024, 1, 1), rate_pct=Decimal(7), instalments=3)
>>> [(row.principal, row.interest) for row in schedule(terms, 1_000_00)]
[(33140, 583), (33333, 390), (33527, 196)]
"""

from usance.migration.history import replay, schedule
from usance.migration.terms import ForeignTerms

__all__ = ["ForeignTerms", "replay", "schedule"]
