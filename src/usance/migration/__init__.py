"""Loans as other lending systems compute them: for checking a book before it moves.

Every convention is a named option of `MigratedTerms`. `schedule` gives the plan of a loan, `replay`
its state after facts, `check_portfolio` compares a lender's own files with both; all are exact, in
whole minor units. A loan is never served from here.

>>> from datetime import date
>>> from decimal import Decimal
>>> from usance.migration import MigratedTerms, schedule
>>> terms = MigratedTerms(disbursed_on=date(2024, 1, 1), rate_pct=Decimal(7), instalments=3)
>>> [(row.principal, row.interest) for row in schedule(terms, 1_000_00)]
[(33140, 583), (33333, 390), (33527, 196)]
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
