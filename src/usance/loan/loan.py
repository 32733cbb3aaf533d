"""The life of a loan: `schedule`, `replay`, and the fold `start`, `step`, `view`.

All take one loan or a column of them.

There are two forms: the kernel for the platform's own conventions, the exact form for every
convention. A replayed loan says which one answered (`form`), and either can be asked for; they
agree to the minor unit wherever both can answer. Numba is loaded by the first call of the kernel.

>>> from datetime import date
>>> from usance.base.codes import FactKind
>>> terms = Terms(
...     principal_minor=10_000_00,
...     rate_ppm=180_000,
...     instalments=12,
...     disbursed_on=date(2024, 1, 15),
...     first_due_on=date(2024, 2, 15),
... )
>>> facts = [
...     Fact(FactKind.DISBURSED, date(2024, 1, 15), 10_000_00, ref=1),
...     Fact(FactKind.PAID, date(2024, 2, 15), 916_80, ref=2),
... ]
>>> loan = replay(terms, facts, date(2024, 4, 1))
>>> loan.form, loan.view().days_past_due, loan.view().past_due.total, loan.view().settlement
('kernel', 17, 91680, 944125)
>>> january = step(start(terms), [facts[:1]], date(2024, 1, 31))
>>> march = step(january, [facts[1:]], date(2024, 3, 31))
>>> view(march, date(2024, 4, 1)).column("past_due_principal").tolist()
[77830]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, overload

from usance.base.dates import from_day, parse_date, parse_moment, to_day
from usance.base.errors import unknown
from usance.loan.columns import FactColumns, TermColumns, unsupported_term
from usance.loan.convention import DEFAULT_ALLOCATION
from usance.loan.errors import ConventionNotInKernel, KernelRange, OptionError
from usance.loan.facts import END_OF_TIME, Fact, visible
from usance.loan.kernel_loan import KernelLoan, replay_in_kernel
from usance.loan.terms import Terms
from usance.loan.views import Instalment, InstalmentState, LoanView

T = TypeVar("T")

if TYPE_CHECKING:
    from usance.base.calendars import Calendar
    from usance.loan.batch import States, Views
    from usance.loan.kernel.arrays import ScheduleColumns

Form = Literal["auto", "kernel", "exact"]


class Loan(Protocol):
    """A replayed loan, whichever form it came from."""

    form: str

    def view(self) -> LoanView:
        """Balances and arrears of the loan on its day."""

    def rows(self) -> list[InstalmentState]:
        """Every instalment with what is due, paid and outstanding."""


@overload
def replay(
    terms: Terms | Sequence[Terms],
    facts: Iterable[Fact],
    as_of: date | str,
    known_at: datetime | str = ...,
    *,
    form: Form = ...,
    calendars: Mapping[str, Calendar] | None = ...,
) -> Loan: ...
@overload
def replay(terms: TermColumns, facts: FactColumns, as_of: date | str) -> Views: ...
def replay(
    terms: Terms | Sequence[Terms] | TermColumns,
    facts: Iterable[Fact] | FactColumns,
    as_of: date | str,
    known_at: datetime | str = END_OF_TIME,
    *,
    form: Form = "auto",
    calendars: Mapping[str, Calendar] | None = None,
) -> Loan | Views:
    """The loan on a day, as known at a moment; of columns, all of them (`fact_columns` has known).

    Several terms are the versions that changes of terms name. `form="kernel"` refuses by name what
    only the exact form knows; `"auto"` takes the kernel where it can. `calendars` are the
    business-day calendars that conventions name.
    """
    if form not in ("auto", "kernel", "exact"):
        raise unknown("form", form, ("auto", "kernel", "exact"), where="form")
    day = parse_date(as_of, where="as_of")
    if not isinstance(known_at, datetime):
        known_at = parse_moment(known_at, where="known_at")
    if isinstance(terms, TermColumns) or isinstance(facts, FactColumns):
        return _replay_columns(terms, facts, day, known_at, form)
    versions = _each_is(Terms, [terms] if isinstance(terms, Terms) else terms, "terms")
    if not versions:
        raise OptionError("no terms were given", where="terms", fix="Give at least one version")
    facts = _each_is(Fact, facts, "facts")
    if form != "exact":
        why = _unsupported(versions)
        loan = None if why else replay_in_kernel(versions[0], facts, day, known_at)
        if isinstance(loan, KernelLoan):
            return loan
        if form == "kernel":
            raise loan or ConventionNotInKernel(
                f"the kernel does not know {why}", where="terms", fix="Use form='exact'"
            )
    from usance.loan import exact

    return exact.replay(versions, facts, day, known_at, calendars=calendars or exact.CALENDARS)


def _each_is(kind: type[T], given: object, where: str) -> list[T]:
    """A list of one kind of thing, whatever it came in."""
    listed: list[T] = []
    for each in given if isinstance(given, Iterable) else [given]:
        if not isinstance(each, kind):
            fix = f"Give a list of usance.loan.{kind.__name__}"
            raise OptionError(f"{each!r:.40} is no {kind.__name__}", where=where, fix=fix)
        listed.append(each)
    return listed


def _replay_columns(
    terms: object, facts: object, as_of: date, known_at: datetime, form: Form
) -> Views:
    if not isinstance(terms, TermColumns) or not isinstance(facts, FactColumns):
        raise OptionError("columns and single loans were mixed", where="facts",
                          fix="Give TermColumns with FactColumns, or Terms with facts")  # fmt: skip
    if known_at is not END_OF_TIME or form == "exact":
        raise OptionError("columns of facts are already known, and are for the kernel",
                          where="known_at", fix="Give known_at to fact_columns()")  # fmt: skip
    from usance.loan.batch import replay_columns

    return replay_columns(terms, facts, as_of)


def _unsupported(versions: Sequence[Terms]) -> str:
    """The part of these terms that only the exact form knows; empty if there is none."""
    if len(versions) != 1:
        return "several versions of terms"
    if versions[0].convention.allocation is not DEFAULT_ALLOCATION:
        return "another allocation order for a single loan"
    return unsupported_term(versions[0])


@overload
def schedule(
    terms: Terms, *, calendars: Mapping[str, Calendar] | None = None
) -> list[Instalment]: ...
@overload
def schedule(terms: TermColumns) -> ScheduleColumns: ...
def schedule(
    terms: Terms | TermColumns, *, calendars: Mapping[str, Calendar] | None = None
) -> list[Instalment] | ScheduleColumns:
    """The instalments as agreed: rows of one loan, columns of many.

    One loan the kernel does not know is planned by the exact form; a column of them is refused.
    """
    from usance.loan.batch import schedule_columns

    if isinstance(terms, TermColumns):
        return schedule_columns(terms)
    try:
        columns = schedule_columns(TermColumns.of([terms]))
    except (ConventionNotInKernel, KernelRange):
        from usance.loan import exact

        return exact.schedule(terms, calendars or exact.CALENDARS)
    rows, balance = [], terms.principal_minor
    lines = zip(*(column.tolist() for column in columns[1:]), strict=True)
    for number, (day, principal, interest, guarantee, service) in enumerate(lines, start=1):
        balance -= principal
        rows.append(
            Instalment(number, from_day(day), principal, interest, guarantee, service, balance)
        )
    return rows


def start(terms: Terms | TermColumns) -> States:
    """The state of loans that have terms and no facts yet."""
    from usance.loan.batch import start_columns

    return start_columns(terms if isinstance(terms, TermColumns) else TermColumns.of([terms]))


def step(
    states: States, facts: FactColumns | Sequence[Sequence[Fact]], until: date | str
) -> States:
    """Later facts added to every state, up to and including a day; `states` stays as it was."""
    from usance.loan.batch import step_columns

    last = parse_date(until, where="until")
    if not isinstance(facts, FactColumns):
        facts = FactColumns.of([visible(each, as_of=last) for each in facts])
    return step_columns(states, facts, to_day(last))


def view(states: States, day: date | str) -> Views:
    """Balances and arrears of every loan on a day."""
    from usance.loan.batch import view_columns

    return view_columns(states, to_day(parse_date(day, where="day")))
