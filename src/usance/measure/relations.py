"""The relations that metrics are computed over: tables of a book, and joins of them.

`COLUMNS` has the columns of each; `relation` makes the Ibis expression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from typing import Any

from usance.base.codes import DecisionKind, FactKind, Product, RoutingOutcome, Status
from usance.base.ids import USER_SHIFT
from usance.base.tables import TABLES
from usance.measure.engines import unbound

DEFAULT_BUCKET = 4  # more than 90 days past due
CLOSED_STATE = 8  # after the buckets 0 to 7
MAX_CLOSES_PER_MONTH = 100  # a close's number is its month × 100 + its version
PROVISIONS = (
    "loan_provision", "receivable_provision", "contract_provision", "contingent_provision",
)  # fmt: skip
"""The amounts of the `sums` that are provisions."""
RARE_FACTS = (int(FactKind.CHARGED_OFF), int(FactKind.RECOVERED))
"""Kinds that few facts have: they are read apart from the many payments."""

REVERSED_GROUP_FACT, NOTES_RAISED, NOTES_WRITTEN_DOWN = 3, 10, 17
NOTE_SIGNS = {NOTES_RAISED: 1, 11: -1, NOTES_WRITTEN_DOWN: -1}
"""Kinds of group facts that change what investors have lent: raised, repaid, written down."""

_STORED = (
    "users",
    "decisions",
    "sources",
    "limits",
    "routing",
    "loans",
    "tape",
    "dues",
    "postings",
)
SOURCE_TABLES: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in _STORED},
    "limits": ("limits", "sources"),
    "approvals": ("decisions", "users"),
    "matches": ("routing", "requests"),
    "unreversed_facts": ("facts",),
    "outcomes": ("loans", "decisions", "tape"),
    "tape_by_borrower": ("tape", "loans"),
    "provisions": ("sums", "cells"),
    "investor_notes": ("group_facts",),
}
"""The tables of a book each relation is made from."""

_DERIVED_COLUMNS = {
    "loans": {"user_id": "", "tenor_thirtieths": "", "cohort": ""},
    "decisions": {"user_id": "", "score_band": ""},
    "tape": {"state": ""},
    "routing": {"regret_minor": ""},
    "limits": {"valid_from": "day", "valid_to": "day", "institution": "", "model": ""},
}
COLUMNS: Mapping[str, Mapping[str, str]] = {
    **{
        name: {
            column.name: column.type
            for column in TABLES[name].columns
            if not column.optional or column.default is not None
        }
        | _DERIVED_COLUMNS.get(name, {})
        for name in _STORED
    },
    "approvals": {"user_id": "", "booked_at": "moment", "channel": "", "region": ""},
    "matches": {"loan_id": "", "at": "moment", "source": "", "waited_us": ""},
    "unreversed_facts": {"effective_on": "day", "kind": "", "amount_minor": ""},
    "rare_facts": {"effective_on": "day", "kind": "", "amount_minor": ""},
    "outcomes": {"disbursed_on": "day", "pd_ppm": "", "bad": "", "model_no": "", "model": "",
                 "product": "", "source": "", "channel": "", "region": "", "grade": ""},
    "tape_by_borrower": {column.name: column.type for column in TABLES["tape"].columns}
    | {"state": "", "channel": "", "region": "", "grade": ""},
    "provisions": {"period": "", "cell": "", "provision_minor": ""},
    "investor_notes": {"effective_on": "day", "moved_minor": "", "rate_ppm": ""},
}  # fmt: skip

TIME_COLUMNS = {
    "users": "registered_on", "decisions": "booked_at", "sources": "valid_from",
    "limits": "valid_from", "routing": "at", "loans": "disbursed_on", "tape": "month",
    "dues": "due_on", "postings": "period", "approvals": "booked_at", "matches": "at",
    "unreversed_facts": "effective_on", "rare_facts": "effective_on",
    "outcomes": "disbursed_on", "tape_by_borrower": "month", "provisions": "period",
    "investor_notes": "effective_on",
}  # fmt: skip
"""The column that dates a row of each relation."""


def relation(name: str) -> Any:
    """A relation as an Ibis expression over unbound tables."""
    return _RELATIONS[name]() if name in _RELATIONS else unbound(name)


def _loans() -> Any:
    import ibis

    loans = unbound("loans")
    loans = loans.filter(loans.terms_no == 1)
    days = loans.first_due_on.delta(loans.disbursed_on, unit="day")
    short = days.cast("int64") + 30 * (loans.instalments.cast("int64") - 1)
    months = 30 * loans.instalments.cast("int64")
    year, month = loans.disbursed_on.year(), loans.disbursed_on.month()
    return loans.mutate(
        user_id=_user(loans.loan_id),
        tenor_thirtieths=ibis.ifelse(loans["product"] == int(Product.V_POCKET), short, months),
        cohort=(year.cast("int64") - 1970) * 12 + month.cast("int64") - 1,
    )


def _decisions() -> Any:
    decisions = unbound("decisions")
    return decisions.mutate(
        user_id=_user(decisions.decision_id), score_band=(decisions.score // 20).cast("int64")
    )


def _tape() -> Any:
    import ibis

    tape = unbound("tape")
    state = ibis.ifelse(tape.status == int(Status.CLOSED), CLOSED_STATE, tape.bucket.cast("int64"))
    return tape.mutate(state=state)


def _tape_by_borrower() -> Any:
    tape, loans = _tape(), unbound("loans")
    who = loans.filter(loans.terms_no == 1).select("loan_id", "channel", "region", "grade")
    return tape.join(who, "loan_id")


def _routing() -> Any:
    import ibis

    routing = unbound("routing")
    lost = routing.runner_up_minor - routing.score_minor
    chosen = routing.outcome == int(RoutingOutcome.APPROVED)
    return routing.mutate(
        regret_minor=ibis.ifelse(chosen & (routing.runner_up > 0) & (lost > 0), lost, 0)
    )


def _limits() -> Any:
    limits, sources = unbound("limits"), unbound("sources")
    kept = sources.select("source", "version", "valid_from", "valid_to", "institution", "model")
    return limits.join(kept, ["source", "version"])


def _approvals() -> Any:
    """Each user's first approval with a line."""
    decisions = _decisions()
    approved = decisions.filter(
        (decisions.kind == int(DecisionKind.APPLICATION))
        & (decisions.approved == 1) & (decisions.line_minor > 0)
    )  # fmt: skip
    firsts = approved.group_by("user_id").agg(booked_at=approved.booked_at.min())
    return firsts.join(unbound("users").select("user_id", "channel", "region"), "user_id")


def _matches() -> Any:
    """Each request that was placed, with the time from request to approval."""
    routing, requests = unbound("routing"), unbound("requests")
    placed = routing.filter(routing.outcome == int(RoutingOutcome.APPROVED))
    placed = placed.select("loan_id", "at", "source")
    asked = requests.select("loan_id", "requested_at")
    joined = placed.join(asked, "loan_id")
    waited = joined["at"].delta(joined.requested_at, unit="microsecond")
    return joined.mutate(waited_us=waited.cast("int64"))


def unreversed(facts: Any) -> Any:
    """Facts without the reversed ones and their reversals."""
    reversals = facts.filter(facts.kind == int(FactKind.REVERSED))
    gone = reversals.select("loan_id", reversed_ref=reversals.arg)
    kept = facts.filter(facts.kind != int(FactKind.REVERSED))
    return kept.anti_join(
        gone, [kept.loan_id == gone.loan_id, kept.ref == gone.reversed_ref]
    ).select("effective_on", "kind", "amount_minor")


def rare_facts() -> Any:
    """Facts of rare kinds, and the reversals that some may have."""
    facts = unbound("facts")
    few = facts.filter(facts.kind.isin([*RARE_FACTS, int(FactKind.REVERSED)]))
    return few.select("loan_id", "ref", "arg", "effective_on", "kind", "amount_minor")


def outcomes(since_month: int = 0) -> Any:
    """Each loan with its probability of default, and 1 if it defaulted since a month."""
    import ibis

    loans, decisions, tape = unbound("loans"), unbound("decisions"), unbound("tape")
    loans = loans.filter(loans.terms_no == 1)
    late = tape.filter((tape.bucket >= DEFAULT_BUCKET) & (tape.month >= since_month))
    late = late.select("loan_id").distinct().mutate(bad=ibis.literal(1, "int64"))
    given = decisions.select("decision_id", "pd_ppm", "model_no")
    joined = loans.join(given, "decision_id").left_join(late, "loan_id")
    return joined.mutate(bad=joined.bad.fill_null(0))


def _provisions() -> Any:
    """Provisions of each close on the loans made in its period."""
    sums = unbound("sums", PROVISIONS)
    new = sums.filter(sums.is_new == 1)
    total = reduce(add, (new[name].cast("int64") for name in PROVISIONS))
    return new.select(
        "cell", period=(new.close_no // MAX_CLOSES_PER_MONTH).cast("int64"), provision_minor=total
    )


def _investor_notes() -> Any:
    """Changes of what investors of trusts and deals have lent, each with the rate of its deal.

    A deal's rate is that of the fact that first raised it; reversed facts are left out.
    """
    import ibis

    facts = unbound("group_facts")
    gone = facts.filter(facts.kind == REVERSED_GROUP_FACT)
    undone = gone.select(undone=_number(gone.detail, '"fact": ?([0-9]+)'))
    facts = facts.anti_join(undone, [facts.fact_id == undone.undone])
    facts = facts.filter(facts.kind.isin([*NOTE_SIGNS])).mutate(
        deal=facts.detail.re_extract('"deal": ?"([^"]*)"', 1)
    )
    raised = facts.filter(
        (facts.kind == NOTES_RAISED) & facts.detail.re_search('"lender": ?"trust_investors')
    )
    whole = _number(raised.detail, '"rate": ?"?([0-9]+)')
    part = raised.detail.re_extract('"rate": ?"?[0-9]+[.]([0-9]+)', 1).rpad(4, "0").left(4)
    raised = raised.mutate(rate_ppm=whole * 10_000 + part.cast("int64"))
    first = raised.group_by("deal").agg(first_id=raised.fact_id.min())
    rates = raised.join(first, [raised.fact_id == first.first_id]).select("deal", "rate_ppm")
    as_interest = facts.detail.re_search('"as": ?"interest"')
    moved = facts.filter(~((facts.kind == NOTES_WRITTEN_DOWN) & as_interest))
    sign = ibis.ifelse(moved.kind == NOTES_RAISED, 1, -1)
    moved = moved.mutate(moved_minor=moved.amount_minor * sign)
    return moved.join(rates, "deal").select("effective_on", "moved_minor", "rate_ppm")


def _number(text: Any, pattern: str) -> Any:
    """A whole number in a text, 0 if it is not there."""
    import ibis

    found = text.re_extract(pattern, 1)
    return ibis.ifelse(found == "", "0", found).cast("int64")


def _user(column: Any) -> Any:
    # A shift stays whole on every engine; a division would pass through floats.
    return column >> USER_SHIFT


_RELATIONS: Mapping[str, Callable[[], Any]] = {
    "loans": _loans,
    "decisions": _decisions,
    "tape": _tape,
    "tape_by_borrower": _tape_by_borrower,
    "routing": _routing,
    "limits": _limits,
    "approvals": _approvals,
    "matches": _matches,
    "unreversed_facts": lambda: unreversed(unbound("facts")),
    "outcomes": outcomes,
    "provisions": _provisions,
    "investor_notes": _investor_notes,
}
