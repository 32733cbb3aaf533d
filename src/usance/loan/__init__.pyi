"""Public names of the room, each with its module."""

from usance.loan.batch import (
    States as States,
    Views as Views,
    replay_columns as replay_columns,
)
from usance.loan.columns import (
    FactColumns as FactColumns,
    TermColumns as TermColumns,
)
from usance.loan.convention import (
    Allocation as Allocation,
    CONVENTIONS as CONVENTIONS,
    Convention as Convention,
)
from usance.loan.errors import (
    BackdatedStep as BackdatedStep,
    ConventionNotInKernel as ConventionNotInKernel,
    DisbursementError as DisbursementError,
    DuplicateFact as DuplicateFact,
    FactAmountError as FactAmountError,
    FactError as FactError,
    FactNotInKernel as FactNotInKernel,
    FeeError as FeeError,
    InstalmentsError as InstalmentsError,
    KernelRange as KernelRange,
    NotDisbursed as NotDisbursed,
    OptionError as OptionError,
    OrphanFacts as OrphanFacts,
    PrincipalError as PrincipalError,
    ReversalError as ReversalError,
    TermsDateError as TermsDateError,
    TermsError as TermsError,
    TermsRateError as TermsRateError,
    UnknownTerms as UnknownTerms,
)
from usance.loan.facts import (
    Fact as Fact,
    visible as visible,
)
from usance.loan.kernel.arrays import (
    ScheduleColumns as ScheduleColumns,
)
from usance.loan.loan import (
    Loan as Loan,
    replay as replay,
    schedule as schedule,
    start as start,
    step as step,
    view as view,
)
from usance.loan.terms import (
    Terms as Terms,
)
from usance.loan.views import (
    ComponentAmounts as ComponentAmounts,
    Instalment as Instalment,
    InstalmentState as InstalmentState,
    LoanView as LoanView,
)
from usance.loan.visible_facts import (
    fact_columns as fact_columns,
    term_columns as term_columns,
)

__all__: list[str]
