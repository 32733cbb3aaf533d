"""The exact form: every convention and every fact, in plain whole numbers.

It follows `docs/explanation/replay.md` instalment by instalment, shares nothing with the kernel but
the types of terms and facts, and is its oracle.
"""

from usance.loan.exact.dates import CALENDARS
from usance.loan.exact.history import replay
from usance.loan.exact.plan import schedule
from usance.loan.exact.view import ExactLoan

__all__ = ["CALENDARS", "ExactLoan", "replay", "schedule"]
