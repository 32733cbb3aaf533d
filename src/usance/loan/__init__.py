"""The loan: what was agreed, what happened, and what follows from both.

`schedule`, `start`, `step`, `view` and `replay` work on one loan and on a column of them. Names
are imported when first used, so that terms and facts can be had without waiting for Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.loan.batch import ScheduleColumns, States, Views, replay_columns
    from usance.loan.columns import FactColumns, TermColumns
    from usance.loan.convention import OWN, Allocation, Convention
    from usance.loan.facts import Fact, visible
    from usance.loan.life import schedule, start, step, view
    from usance.loan.loan import Loan, replay
    from usance.loan.terms import Terms
    from usance.loan.views import Instalment, InstalmentState, LoanView, Parts
    from usance.loan.visible_facts import fact_columns, term_columns

__all__ = [
    "OWN", "Allocation", "Convention", "Fact", "FactColumns", "Instalment", "InstalmentState",
    "Loan", "LoanView", "Parts", "ScheduleColumns", "States", "TermColumns", "Terms", "Views",
    "fact_columns", "replay", "replay_columns", "schedule", "start", "step", "term_columns", "view",
    "visible",
]  # fmt: skip

_MODULES = {
    "batch": ("ScheduleColumns", "States", "Views", "replay_columns"),
    "columns": ("FactColumns", "TermColumns"),
    "convention": ("OWN", "Allocation", "Convention"),
    "facts": ("Fact", "visible"),
    "visible_facts": ("fact_columns", "term_columns"),
    "life": ("schedule", "start", "step", "view"),
    "loan": ("Loan", "replay"),
    "terms": ("Terms",),
    "views": ("Instalment", "InstalmentState", "LoanView", "Parts"),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
