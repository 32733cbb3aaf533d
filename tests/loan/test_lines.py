"""A line that is drawn several times: each draw is a loan of its own under the line."""

from __future__ import annotations

from datetime import date

from usance.base.codes import FactKind, Status
from usance.base.ids import owned_id, print_id, user_of
from usance.loan import Fact, FactColumns, TermColumns, Terms, replay

LINE = owned_id(7, 1)


def draw(amount_minor: int, drawn_on: date, first_due_on: date, instalments: int) -> Terms:
    return Terms(principal_minor=amount_minor, rate_ppm=180_000, instalments=instalments,
                 disbursed_on=drawn_on, first_due_on=first_due_on)  # fmt: skip


def test_draws_of_a_v_pocket_line_are_loans_and_its_use_is_what_they_owe() -> None:
    """Scenario: two purchases in March, the first repaid in full on its day, a third in April."""
    terms = [
        draw(120_00, date(2024, 3, 4), date(2024, 4, 4), 1),
        draw(600_00, date(2024, 3, 20), date(2024, 4, 20), 3),
        draw(80_00, date(2024, 4, 6), date(2024, 5, 6), 1),
    ]
    loans = [owned_id(7, n) for n in (1, 2, 3)]
    assert {user_of(loan) for loan in loans} == {user_of(LINE)}
    assert [print_id("ln", loan)[:3] for loan in loans] == ["ln_"] * 3
    facts = [[Fact(FactKind.DISBURSED, t.disbursed_on, t.principal_minor, ref=1)] for t in terms]
    facts[0].append(Fact(FactKind.PAID, date(2024, 4, 4), 121_80, ref=2))
    views = replay(TermColumns.of(terms), FactColumns.of(facts), date(2024, 4, 10))
    assert views.column("status").tolist() == [Status.CLOSED, Status.ACTIVE, Status.ACTIVE]
    assert int(views.column("principal_outstanding").sum()) == 600_00 + 80_00
