"""Measure: every number the business is judged by, defined once and computed anywhere.

`measure` runs metric definitions over a book or tables, `measure_tape` makes the report of a loan
tape, `triangle` sums cohorts by age, and `tape_month` and `dues_between` make the rows of those
tables from loans and facts. Names are imported when first used.
"""

from usance.base.public_names import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
