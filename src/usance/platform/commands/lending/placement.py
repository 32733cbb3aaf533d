"""Placement of a drawdown: candidates in turn, each limit held or taken, until one pays out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from usance.base.codes import FactKind, FundingModel, RoutingOutcome
from usance.base.ids import print_id
from usance.loan.terms import Terms
from usance.match.mandates.mandate import Mandate
from usance.match.reservation.limit_names import LimitRequest
from usance.platform.commands.command import Moment
from usance.platform.commands.loans.loan_change import NewLoan, book_new, fact
from usance.platform.installation import cell_of
from usance.platform.lender import Lender
from usance.platform.partners.instant_provider import InstantProvider, next_business_day
from usance.platform.pricing import (
    Request,
    borrower_side,
    convention_code,
    effective_rates_ppb,
    price,
    price_many,
)
from usance.platform.reads.lending.drawdowns import offer_answer
from usance.platform.records.loan_record import LoanRecord
from usance.platform.records.order_record import is_instant, new_order
from usance.platform.records.user_record import UserRecord
from usance.platform.store.write_set import Event, LimitChange, WriteSet
from usance.service.orders.payment_order import (
    EventKind,
    OrderEvent,
    OrderState,
    Purpose,
    Split,
)

TERMS = (
    "principal_minor", "rate_ppm", "coupon_ppm", "instalments", "guarantee_fee_minor",
    "flat_fee_minor", "upfront_fee_minor",
)  # fmt: skip
DISBURSED_REF = 1
"""The first fact of every loan."""
_ENDED = ("active", "declined", "no_source", "withdrawn", "rescinded")
"""States in which no candidate is asked any more, and no payout may still come."""


@dataclass
class Placement:
    """A drawdown while a command works on it: its row, and everything that is to be written."""

    user: UserRecord
    row: dict[str, Any]
    request: dict[str, Any]
    changes: WriteSet = field(default_factory=WriteSet)
    attempts: int = 0
    """Rows of `routing` that are there already."""
    is_paid_out: bool = False
    """True from the settlement of its payout until its loan is made."""
    is_stopped: bool = False
    """True while its payout waits: a hit of screening is to be decided."""

    @property
    def loan_id(self) -> int:
        """The id of the drawdown, and of the loan it becomes."""
        return int(self.row["loan_id"])

    def save(self) -> None:
        """Write the row as it is now, and the user's counters.

        Of candidates that nobody asks any more there stays what the loan took of its limits.
        """
        row = self.row
        if row["state"] in _ENDED:
            row = {**row, "candidates": [], "attempt": 0}
            if self.row["state"] == "active" and self.row["candidates"]:
                row["candidates"] = [_taken(self.row["candidates"][self.row["attempt"]])]
        self.changes.put("placements", **row)
        self.changes.user_changes.append(self.user.change())


def candidates(
    moment: Moment, placement: Placement, asked: Request, quoted: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """Ranked sources with the limits each would use; those whose price is not the quoted one go.

    The router has been fed the request, and it is the next one.
    """
    row = placement.request
    ranked = moment.services.router.rank_next()
    limits, day = moment.lender.limits, moment.business_date
    wanted = LimitRequest(
        placement.row["person_id"] or placement.user.user_id, row["amount_minor"], day,
        row["product"], row["region"], row["grade"], row["rate_ppm"],
    )  # fmt: skip
    found = []
    for each in ranked.candidates:
        mandate = moment.lender.mandates.mandates[each.column]
        own = moment.lender.sources.get(each.source)
        if own is None or not _may_co_fund(moment.lender, mandate, own.is_asked):
            continue
        if quoted is not None and borrower_side(price(asked, mandate, own, day)) != quoted:
            continue
        draws = [list(draw) for draw in limits.of(each.column, wanted)]
        parts = list(mandate.parts_minor(row["amount_minor"]).items())
        found.append({"source": each.source, "column": each.column, "limits": draws,
                      "routing": ranked.row(0, each, 0), "shares": parts})  # fmt: skip
    placement.row["candidates"] = found
    placement.row["nothing"] = ranked.row(1, None, int(RoutingOutcome.NO_SOURCE))
    return found


def _may_co_fund(lender: Lender, mandate: Mandate, is_asked: bool) -> bool:
    """False of a mandate with a partner that is not there, or where one of them is asked."""
    if mandate.co_funding is None:
        return True
    partner = lender.sources.get(mandate.co_funding.partner)
    return partner is not None and not partner.is_asked and not is_asked


def limit_changes(
    candidate: Mapping[str, Any], *, held: int = 0, taken: int = 0
) -> list[LimitChange]:
    """Movements of every limit of a candidate, with the ceilings in force."""
    return [
        LimitChange(name, held * amount, taken * amount, 0, *ceiling[:3])
        for name, amount, *ceiling in candidate["limits"]
    ]


def _taken(candidate: Mapping[str, Any]) -> dict[str, Any]:
    """A source with the limits that its loan draws on, without the ceilings of the day."""
    return {"source": candidate["source"],
            "limits": [[name, amount] for name, amount, *_ in candidate["limits"]]}  # fmt: skip


def note(moment: Moment, placement: Placement, candidate: Mapping[str, Any], outcome: int) -> None:
    """Add a row of `routing` for an attempt that ended."""
    placement.attempts += 1
    row = {**candidate["routing"], "attempt": placement.attempts, "outcome": outcome,
           "at": placement.row["requested_at"]}  # fmt: skip
    placement.changes.add("routing", **row)
    moment.services.router.learn(placement.loan_id, candidate["source"], outcome)


def ask_candidates(moment: Moment, placement: Placement, start: int) -> None:
    """Ask one candidate after the other from `start` on: at once, or by an offer that waits."""
    row = placement.row
    for index in range(start, len(row["candidates"])):
        candidate = row["candidates"][index]
        if any(name in moment.full_limits for name, *_ in candidate["limits"]):
            continue
        own = moment.lender.sources[candidate["source"]]
        if own.is_asked:
            make_offer(moment, placement, index, own.wait)
            return
        answered = _answer(moment, placement.loan_id, candidate)
        if answered:
            note(moment, placement, candidate, int(RoutingOutcome.APPROVED))
            placement.changes.limit_changes += limit_changes(candidate, taken=1)
            approve(moment, placement, index)
            return
        outcome = RoutingOutcome.TIMED_OUT if answered is None else RoutingOutcome.DECLINED
        note(moment, placement, candidate, int(outcome))
    row["state"], row["source"] = "no_source", 0
    if not placement.attempts:
        nothing = {**row["nothing"], "at": row["requested_at"]}
        placement.changes.add("routing", **nothing)


def _answer(moment: Moment, loan_id: int, candidate: Mapping[str, Any]) -> bool | None:
    """The answer of a source that answers at once; a partner that says nothing does not lend."""
    source, on = candidate["source"], moment.business_date
    said = moment.services.answers(loan_id, source, on)
    partners = [each for each, _ in candidate.get("shares", ()) if each != source]
    return said and all(bool(moment.services.answers(loan_id, each, on)) for each in partners)


def make_offer(moment: Moment, placement: Placement, index: int, wait: timedelta) -> None:
    """Hold a candidate's limits and offer it the loan."""
    row, candidate = placement.row, placement.row["candidates"][index]
    offer = placement.user.next("records")
    mandate = moment.lender.mandates.mandates[candidate["column"]]
    row["state"], row["source"], row["attempt"] = "pending", candidate["source"], index
    placement.changes.limit_changes += limit_changes(candidate, held=1)
    router = moment.services.router
    router.learn(placement.loan_id, candidate["source"], int(RoutingOutcome.RESERVED))
    made = {
        "offer_id": offer, "user_id": placement.user.user_id, "loan_id": placement.loan_id,
        "attempt": index, "source": candidate["source"], "institution": mandate.institution,
        "product": row["product"], "amount_minor": row["amount_minor"],
        "currency": row["currency"], "months": row["months"], "state": "open",
        "made_at": moment.at, "answer_by": moment.at + wait, "answered_at": None,
        "approved": None, "reason": "",
        "report": {"grade": placement.request["grade"], "rate_ppm": placement.request["rate_ppm"],
                   "region": placement.request["region"]},
    }  # fmt: skip
    placement.changes.put("offers", **made)
    told = offer_answer(made)
    placement.changes.events.append(
        Event("offer.made", told["offer"], placement.user.user_id, json.dumps(told))
    )
    row["offer"] = offer


def approve(moment: Moment, placement: Placement, index: int) -> None:
    """Make the payout's order; a port that answers at once pays it out, or gives quota back."""
    row, lender = placement.row, moment.lender
    row["state"], row["attempt"] = "approved", index
    row["source"] = row["candidates"][index]["source"]
    number, amount = placement.user.next("records"), row["amount_minor"]
    record = new_order(
        lender, number, kind=Purpose.PAYOUT, reference=print_id("or", number),
        provider=lender.payout.provider, amount_minor=amount, at=moment.at,
        settles_on=moment.business_date, user_id=placement.user.user_id,
        loan_id=placement.loan_id, account_id=row["account_id"],
        splits=(Split(placement.loan_id, amount),),
    )  # fmt: skip
    look_at = None
    if is_instant(lender, lender.payout.provider) and not placement.is_stopped:
        record.add(OrderEvent(EventKind.SENT, moment.at, "drawdown.request"), placement.changes)
        record.add(instant_provider(moment, moment.business_date).send(record.order),
                   placement.changes)  # fmt: skip
        if record.order.state is OrderState.ACCEPTED:
            record.row["settles_on"] = next_business_day(moment.business_date)
            look_at = start_of_day(lender, record.row["settles_on"])
        elif record.order.state is OrderState.REJECTED:
            fail(placement, index)
        else:
            placement.is_paid_out = True
    record.save(placement.changes, lender, moment.at, look_at)


def instant_provider(moment: Moment, made_on: date) -> InstantProvider:
    """The sandbox's own port, for orders of a day."""
    payout = moment.lender.payout
    return InstantProvider(moment.at, moment.business_date, made_on, payout.rejected_ending,
                           payout.next_day_ending)  # fmt: skip


def start_of_day(lender: Lender, day: date) -> datetime:
    """The first moment of a business day."""
    return datetime.combine(day, time(), lender.zone).astimezone(UTC)


def fail(placement: Placement, index: int) -> None:
    """Give back what a candidate had taken: its payout failed for good."""
    candidate = placement.row["candidates"][index]
    placement.changes.limit_changes += limit_changes(candidate, taken=-1)
    placement.row["state"] = "payout_failed"


def disburse(placements: Sequence[tuple[Moment, Placement]]) -> None:
    """Make the loans whose payouts have settled, each with its first fact and journal.

    The moments are of one business day and one configuration.
    """
    paid = [each for each in placements if each[1].is_paid_out]
    if not paid:
        return
    on = paid[0][0].business_date
    mandates = [_mandate(*each) for each in paid]
    terms = price_many([
        (_asked(moment, each), mandate, moment.lender.sources[each.row["source"]])
        for (moment, each), mandate in zip(paid, mandates, strict=True)
    ], on)  # fmt: skip
    rates = effective_rates_ppb(terms, [each.model for each in mandates])
    new = []
    for (moment, placement), mandate, own, rate in zip(paid, mandates, terms, rates, strict=True):
        row, user = placement.row, placement.user
        user.counters["borrowed"] += 1
        stored = loan_row(placement, own, mandate.model, rate)
        placement.changes.add("loans", **stored)
        cell = cell_of(row["source"], row["product"])
        loan = LoanRecord(placement.loan_id, [stored], [], cell=cell, fee_ppm=mandate.fee_ppm,
                          trigger_days=mandate.guarantee.trigger_days)  # fmt: skip
        loan.shares = _shares(placement)
        loan.added.append(fact(moment, FactKind.DISBURSED, on, row["amount_minor"], DISBURSED_REF))
        new.append(NewLoan(moment, user, loan, own, placement.changes))
        row["state"], row["disbursed_on"], placement.is_paid_out = "active", on, False
    book_new(new, "drawdown.request")


def _shares(placement: Placement) -> dict[int, int]:
    """Principal by cell of a co-funded loan, whose parts are written; none of any other."""
    row = placement.row
    parts = row["candidates"][row["attempt"]].get("shares", ())
    for source, part in parts:
        placement.changes.add("shares", loan_id=placement.loan_id, source=source,
                              principal_minor=part)  # fmt: skip
    return {cell_of(source, row["product"]): part for source, part in parts}


def _mandate(moment: Moment, placement: Placement) -> Mandate:
    """The mandate of the candidate that a drawdown has come to."""
    candidate = placement.row["candidates"][placement.row["attempt"]]
    found: Mandate = moment.lender.mandates.mandates[candidate["column"]]
    return found


def _asked(moment: Moment, placement: Placement) -> Request:
    row, request = placement.row, placement.request
    return Request(row["amount_minor"], row["months"], request["rate_ppm"], request["convention"],
                   moment.lender.currency)  # fmt: skip


def loan_row(
    placement: Placement, terms: Terms, model: FundingModel, rate_ppb: int
) -> dict[str, Any]:
    """The row of `loans` of a new loan."""
    row, request = placement.row, placement.request
    return {
        "loan_id": placement.loan_id, "terms_no": 1, "effective_on": terms.disbursed_on,
        "line_id": row["line_id"], "decision_id": row["decision_id"], "product": row["product"],
        "convention": convention_code(terms), "model": int(model), "source": row["source"],
        "currency": row["currency"], "disbursed_on": terms.disbursed_on,
        "first_due_on": terms.first_due_on, "eir_ppb": rate_ppb,
        "grade": request["grade"], "user_loan_no": placement.user.counters["borrowed"],
        "channel": request["channel"], "region": request["region"], "change": 0,
        **{name: getattr(terms, name) for name in TERMS},
    }  # fmt: skip


def drawdown_answer(moment: Moment, row: Mapping[str, Any]) -> dict[str, Any]:
    """The shape of a drawdown."""
    from usance.platform.reads.lending.drawdowns import drawdown_answer as shape

    return shape(moment.lender, row)


def release(placement: Placement, *, was: str) -> None:
    """Give back everything a drawdown holds or has taken."""
    candidate = placement.row["candidates"][placement.row["attempt"]]
    sign = {"held": -1} if was == "pending" else {"taken": -1}
    placement.changes.limit_changes += limit_changes(candidate, **sign)


def subject(placement: Placement) -> str:
    """The printed id."""
    return print_id("ln", placement.loan_id)


def complete(moment: Moment, placement: Placement) -> None:
    """Add to a stored request what only the product knows."""
    product = next(p for p in moment.lender.products.values()
                   if p.product == placement.row["product"])  # fmt: skip
    placement.request["convention"] = placement.row["terms"].get("convention", product.convention)
    placement.row["nothing"] = {}
