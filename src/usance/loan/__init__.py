"""The loan: what was agreed, what happened, and what follows from both.

`schedule`, `start`, `step`, `view` and `replay` work on one loan and on a column of them. Names
are imported when first used, so that terms and facts can be had without waiting for Numba.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.loan.batch import States, Views, replay_columns
    from usance.loan.columns import FactColumns, TermColumns
    from usance.loan.convention import CONVENTIONS, Allocation, Convention
    from usance.loan.errors import (
        BackdatedStep,
        ConventionNotInKernel,
        DisbursementError,
        DuplicateFact,
        FactAmountError,
        FactError,
        FactNotInKernel,
        FeeError,
        InstalmentsError,
        KernelRange,
        NotDisbursed,
        OptionError,
        OrphanFacts,
        PrincipalError,
        ReversalError,
        TermsDateError,
        TermsError,
        TermsRateError,
        UnknownTerms,
    )
    from usance.loan.facts import Fact, visible
    from usance.loan.kernel.arrays import ScheduleColumns
    from usance.loan.loan import Loan, replay, schedule, start, step, view
    from usance.loan.terms import Terms
    from usance.loan.views import ComponentAmounts, Instalment, InstalmentState, LoanView
    from usance.loan.visible_facts import fact_columns, term_columns

__all__ = [
    "CONVENTIONS", "Allocation", "BackdatedStep", "ComponentAmounts", "Convention",
    "ConventionNotInKernel", "DisbursementError", "DuplicateFact", "Fact", "FactAmountError",
    "FactColumns", "FactError", "FactNotInKernel", "FeeError", "Instalment", "InstalmentState",
    "InstalmentsError", "KernelRange", "Loan", "LoanView", "NotDisbursed", "OptionError",
    "OrphanFacts", "PrincipalError", "ReversalError", "ScheduleColumns", "States",
    "TermColumns", "Terms", "TermsDateError", "TermsError", "TermsRateError", "UnknownTerms",
    "Views", "fact_columns", "replay", "replay_columns", "schedule", "start", "step",
    "term_columns", "view", "visible",
]  # fmt: skip

_MODULES = {
    "batch": ("States", "Views", "replay_columns"),
    "columns": ("FactColumns", "TermColumns"),
    "convention": ("CONVENTIONS", "Allocation", "Convention"),
    "errors": (
        "BackdatedStep", "ConventionNotInKernel", "DisbursementError", "DuplicateFact",
        "FactAmountError", "FactError", "FactNotInKernel", "FeeError", "InstalmentsError",
        "KernelRange", "NotDisbursed", "OptionError", "OrphanFacts", "PrincipalError",
        "ReversalError", "TermsDateError", "TermsError", "TermsRateError", "UnknownTerms",
    ),
    "facts": ("Fact", "visible"),
    "visible_facts": ("fact_columns", "term_columns"),
    "kernel.arrays": ("ScheduleColumns",),
    "loan": ("Loan", "replay", "schedule", "start", "step", "view"),
    "terms": ("Terms",),
    "views": ("Instalment", "InstalmentState", "LoanView", "ComponentAmounts"),
}  # fmt: skip

__getattr__, __dir__ = public_names(__name__, _MODULES)
