"""Public names of the room, each with its module."""

from usance.books.chart import (
    Account as Account,
    Chart as Chart,
    load_chart as load_chart,
)
from usance.books.closed_books import (
    ClosedBooks as ClosedBooks,
)
from usance.books.errors import (
    ChartError as ChartError,
    ControlFailed as ControlFailed,
    GroupFactError as GroupFactError,
    PeriodError as PeriodError,
    RuleError as RuleError,
    TapeError as TapeError,
    Unbalanced as Unbalanced,
)
from usance.books.exports import (
    trial_balance as trial_balance,
)
from usance.books.integrity import (
    integrity_findings as integrity_findings,
)
from usance.books.loans.amounts import (
    FACT_AMOUNTS as FACT_AMOUNTS,
)
from usance.books.loans.fact_amounts import (
    BookedState as BookedState,
    booked_loans as booked_loans,
    fact_amounts as fact_amounts,
    start_booked as start_booked,
    step_booked as step_booked,
)
from usance.books.posting_templates import (
    CellKey as CellKey,
    PostingLine as PostingLine,
    PostingTemplate as PostingTemplate,
    posting_template as posting_template,
)
from usance.books.periods import (
    ClosePeriod as ClosePeriod,
    parse_close_period as parse_close_period,
)
from usance.books.rules import (
    Rule as Rule,
    load_rules as load_rules,
)
from usance.books.sample import (
    add_loans as add_loans,
    sample_book as sample_book,
)

__all__: list[str]
