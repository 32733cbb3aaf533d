"""Payments of one day: what settles the loan after another settles it whatever its reference."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import permutations
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.codes import Component, FactKind, Status
from usance.base.dates import to_day
from usance.loan import Fact, FactColumns, TermColumns, Terms, replay
from usance.loan.batch import replay_columns, start_columns, step_columns, view_columns
from usance.loan.convention import Sweep, same_order
from usance.loan.loan import Form
from usance.loan.views import VIEW_FIELDS

DRAWN = date(2024, 1, 15)
DAY = DRAWN + timedelta(days=40)
TERMS = Terms(
    principal_minor=9_000_00, rate_ppm=180_000, instalments=6, disbursed_on=DRAWN,
    first_due_on=date(2024, 2, 15), flat_fee_minor=90_00,
)  # fmt: skip
INTEREST_AHEAD = same_order(
    (Component.INTEREST, Component.PRINCIPAL, Component.GUARANTEE_FEE, Component.SERVICE_FEE),
    penalty="first", sweep=Sweep.BY_BUCKET,
)  # fmt: skip
OTHER_ORDER = TERMS.changed(
    convention=TERMS.convention.named("interest ahead", allocation=INTEREST_AHEAD)
)
FORMS: tuple[Form, ...] = ("kernel", "exact")
BEFORE = [
    Fact(FactKind.DISBURSED, DRAWN, TERMS.principal_minor, ref=10**6),
    Fact(FactKind.FEE_CHARGED, DRAWN + timedelta(days=36), 12_34, ref=10**6 + 1),
]


class Seen(NamedTuple):
    status: int
    settlement: int
    overpaid: int
    paid: tuple[int, ...]


def paid(amounts: tuple[int, ...], refs: tuple[int, ...]) -> list[Fact]:
    return [
        Fact(FactKind.PAID, DAY, amount, ref=ref) for amount, ref in zip(amounts, refs, strict=True)
    ]


def in_order(payments: list[Fact]) -> list[Fact]:
    return [*BEFORE, *sorted(payments, key=lambda each: each.ref)]


def seen(payments: list[Fact], form: Form, terms: Terms = TERMS) -> Seen:
    if form == "kernel":  # a column, which knows every order
        column = replay_columns(
            TermColumns.of([terms]), FactColumns.of([in_order(payments)]), to_day(DAY)
        )
        row = dict(zip(VIEW_FIELDS, column.values[0].tolist(), strict=True))
        paid = tuple(row[name] for name in VIEW_FIELDS if name.startswith("paid_"))
        return Seen(row["status"], row["settlement"], row["overpaid"], paid)
    view = replay(terms, [*BEFORE, *payments], DAY, form=form).view()
    return Seen(view.status, view.settlement, view.overpaid, tuple(view.paid))


@pytest.mark.parametrize("terms", [TERMS, OTHER_ORDER])
@pytest.mark.parametrize("ahead", [(2_000_00,), (1_700_00, 60_00), (1, 4_000_00)])
def test_the_quote_after_others_settles_wherever_its_reference_stands(
    ahead: tuple[int, ...], terms: Terms
) -> None:
    refs = tuple(range(1, len(ahead) + 2))
    first = paid(ahead, refs[:-1])
    quote = seen(first, "exact", terms).settlement
    morning = seen([], "exact", terms).settlement
    assert quote > morning - sum(ahead), (
        "interest was paid ahead, which settling does not give back"
    )
    for form in FORMS:
        for order in permutations(refs):
            view = seen(paid((*ahead, quote), order), form, terms)
            assert view[:2] == (Status.CLOSED, 0), order
            if terms is TERMS:  # of others, what is all paid ahead may be over
                short = seen(paid((*ahead, quote - 1), order), form, terms)
                assert (view.overpaid, short.status) == (0, Status.ACTIVE), order


def test_one_alone_that_settles_leaves_the_others_over() -> None:
    morning = seen([], "exact").settlement
    for form in FORMS:
        for order in permutations((1, 2)):
            view = seen(paid((morning, 5_00), order), form)
            assert (view.status, view.overpaid) == (Status.CLOSED, 5_00)


AMOUNTS = st.lists(st.integers(1, 9_500_00), min_size=1, max_size=4)


@given(AMOUNTS, st.permutations(range(4)), st.booleans())
def test_both_forms_and_steps_agree(amounts: list[int], order: list[int], is_ours: bool) -> None:
    terms = TERMS if is_ours else OTHER_ORDER
    facts = paid(tuple(amounts), tuple(each + 1 for each in order[: len(amounts)]))
    assert seen(facts, "kernel", terms) == seen(facts, "exact", terms)
    if not is_ours:
        return
    columns = TermColumns.of([terms])
    eve = step_columns(start_columns(columns), FactColumns.of([BEFORE]), to_day(DAY) - 1)
    stepped = step_columns(eve, FactColumns.of([in_order(facts)[2:]]), to_day(DAY))
    whole = replay_columns(columns, FactColumns.of([in_order(facts)]), to_day(DAY))
    assert view_columns(stepped, to_day(DAY)).values.tolist() == whole.values.tolist()
