"""A loan's life by the same five functions, for one loan or a column of them.

>>> from datetime import date
>>> from usance.base.codes import FactKind
>>> terms = Terms(
...     principal_minor=1_000_00,
...     rate_ppm=240_000,
...     instalments=2,
...     disbursed_on=date(2024, 1, 31),
...     first_due_on=date(2024, 2, 29),
... )
>>> [(row.due_on.isoformat(), row.principal, row.interest) for row in schedule(terms)]
[('2024-02-29', 49505, 2000), ('2024-03-31', 50495, 1010)]
>>> drawn = Fact(FactKind.DISBURSED, date(2024, 1, 31), 1_000_00, ref=1)
>>> paid = Fact(FactKind.PAID, date(2024, 3, 5), 515_05, ref=2)
>>> january = step(start(terms), [[drawn]], date(2024, 1, 31))
>>> march = step(january, [[paid]], date(2024, 3, 31))
>>> view(march, date(2024, 3, 31)).column("past_due_principal").tolist()
[50495]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import overload

from usance.base.calendars import Calendar
from usance.base.dates import from_day, to_day
from usance.loan import batch
from usance.loan.batch import States, Views
from usance.loan.columns import FactColumns, TermColumns
from usance.loan.errors import ConventionNotInKernel, KernelRange
from usance.loan.facts import Fact, visible
from usance.loan.kernel.arrays import ScheduleColumns
from usance.loan.terms import Terms
from usance.loan.views import Instalment


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
    if isinstance(terms, TermColumns):
        return batch.schedule_columns(terms)
    try:
        columns = batch.schedule_columns(TermColumns.of([terms]))
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
    return batch.start_columns(terms if isinstance(terms, TermColumns) else TermColumns.of([terms]))


def step(states: States, facts: FactColumns | Sequence[Sequence[Fact]], until: date) -> States:
    """Later facts added to every state, up to and including a day; `states` stays as it was."""
    if not isinstance(facts, FactColumns):
        facts = FactColumns.of([visible(each, as_of=until) for each in facts])
    return batch.step_columns(states, facts, to_day(until))


def view(states: States, day: date) -> Views:
    """Balances and arrears of every loan on a day."""
    return batch.view_columns(states, to_day(day))
