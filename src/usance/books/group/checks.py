"""Checks between facts of the group: every problem, with the number of its fact.

Problems inside one fact are found when it is read. Here facts are compared with each other and the
group: payments on deals, assets and awards that no fact states, entries that do not balance,
unknown entities, locked periods.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime

from usance.base.codes import Currency
from usance.base.dates import last_of_month
from usance.base.errors import UsanceError
from usance.base.money import Money
from usance.books.chart import load_chart
from usance.books.errors import GroupFactError, PeriodError, Unbalanced
from usance.books.group.entities import Entities
from usance.books.group.entries import unbalanced
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.group.funding import deals
from usance.books.group.instruments import PAYMENTS, Instrument
from usance.books.group.lines import at_historical_rate
from usance.books.group.readers import PaymentPurpose
from usance.books.group.shares import holdings_of, register_of
from usance.books.losses.provision_matrices import flow_rates
from usance.books.rules import Activity

_WRITTEN = (GroupFactKind.OPENING_BALANCE, GroupFactKind.MANUAL_ENTRY)
Check = Callable[[Sequence[GroupFact], Entities], Iterator[UsanceError]]


def fact_problems(facts: Iterable[GroupFact], entities: Entities) -> list[UsanceError]:
    """Every problem between visible facts."""
    given = list(facts)
    return [problem for check in _CHECKS for problem in check(given, entities)]


def list_problems(facts: Iterable[GroupFact]) -> Iterator[UsanceError]:
    """Numbers used twice, and reversals of unknown facts, in a list that may hold reversals."""
    given = list(facts)
    targets = {each.fact_id: each for each in given}
    counts = Counter(each.fact_id for each in given)
    reversed_ids: set[int] = set()
    for each in given:
        if counts[each.fact_id] > 1:
            yield _wrong(each, "its number is used twice", "Give each fact its own")
        if each.kind is GroupFactKind.REVERSED:
            number = each.detail["fact"]
            target = targets.get(number)
            if target is None or target.kind is GroupFactKind.REVERSED:
                what = f"it reverses {number}, which is no fact that can be reversed"
                yield _wrong(each, what, "Name the number of a fact that is not a reversal")
            if number in reversed_ids:
                yield _wrong(each, f"{number} is already reversed", "Keep one reversal")
            reversed_ids.add(number)


def locked_problems(
    facts: Iterable[GroupFact], locked_through: date, locked_at: datetime,
    posted: Collection[int] | None = None,
) -> Iterator[UsanceError]:  # fmt: skip
    """Entries people wrote into a period after it was closed or locked.

    `posted` are the facts that the closes posted: an entry that says it was known by then and is
    not among them was written afterwards.
    """
    for each in facts:
        late = each.booked_at > locked_at or (posted is not None and each.fact_id not in posted)
        if late and each.effective_on <= locked_through and each.kind in _WRITTEN:
            what = f"{each.kind.label} on {each.effective_on}: the period is closed"
            fix = (
                f"Date it after {locked_through}; or have the period reopened, if it is not locked"
            )
            yield PeriodError(what, where=each.where, fix=fix)


def group_fact_problems(
    facts: Iterable[GroupFact], locked_through: int | None, locked_at: datetime | None,
    posted: Collection[int] | None = None,
) -> list[UsanceError]:  # fmt: skip
    """Problems for which a close refuses the group's facts: numbers, balance, closed periods.

    `locked_through` is the last month that is closed, `locked_at` the moment up to which its close
    knew facts. Reversed facts are not checked: a reversal is how a refused entry is put right.
    Accounts that are not in the chart are refused when a fact is read.
    """
    given = list(facts)
    reversed_ids = {each.detail["fact"] for each in given if each.kind is GroupFactKind.REVERSED}
    kept = [each for each in given if each.fact_id not in reversed_ids]
    problems = [*list_problems(given), *(found for each in kept for found in _unbalanced(each))]
    if locked_through is not None and locked_at is not None:
        problems += locked_problems(kept, last_of_month(locked_through), locked_at, posted)
    return problems


def _entities(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    known = ", ".join(map(str, entities.by_number))
    for each in facts:
        named = {each.entity}
        named |= {each.detail[key] for key in ("to", "buyer", "acquired") if each.detail.get(key)}
        named |= {line.entity for line in each.detail.get("lines") or () if line.entity}
        for number in sorted(named - entities.by_number.keys()):
            yield _wrong(each, f"there is no entity {number}", f"Entities: {known}")


def _entries(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    for each in facts:
        if each.kind in _WRITTEN:
            yield from _unbalanced(each)
            yield from _lines(each, entities)


def _unbalanced(fact: GroupFact) -> Iterator[UsanceError]:
    for (entity, currency), rest in unbalanced(fact).items() if fact.kind in _WRITTEN else ():
        what = f"the lines of entity {entity} sum to {Money(rest, currency.label)}, not zero"
        fix = "Correct a line; each entity and currency balances by itself"
        yield Unbalanced(what, where=fact.where, fix=fix)


def _lines(fact: GroupFact, entities: Entities) -> Iterator[UsanceError]:
    chart, cash = load_chart(), 0
    for number, line in enumerate(fact.detail["lines"], start=1):
        account = chart[line.account]
        cash += line.minor if account.is_cash else 0
        entity = entities.by_number.get(line.entity or fact.entity)
        foreign = entity is not None and line.currency is not entity.currency
        if foreign and at_historical_rate(account) and not account.within_group:
            what = f"line {number} holds {account.name} in {line.currency.label}"
            fix = "Write it in the entity's own currency, with exchange_position between"
            yield _wrong(fact, what, fix)
    silent = fact.detail.get("activity") is Activity.NONE
    if fact.kind is GroupFactKind.MANUAL_ENTRY and cash and silent:
        fix = "Give `activity`: operating, investing or financing"
        yield _wrong(fact, "it moves cash and does not say by which activity", fix)


def _deals(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    del entities
    known = deals(facts)
    for each in facts:
        if "deal" not in each.detail:
            continue
        deal = known.get(each.detail["deal"])
        if deal is None:
            what = f"nothing was raised under the deal {each.detail['deal']!r}"
            yield _wrong(each, what, "State the funding_raised, or correct the name")
            continue
        if (deal.raised.currency, deal.raised.entity) != (each.currency, each.entity):
            fix = "Give the currency and entity of the deal"
            yield _wrong(each, f"the deal {each.detail['deal']!r} is another's", fix)
        day = each.detail.get("value_on") or each.effective_on
        if each.kind is GroupFactKind.FUNDING_SCHEDULE:
            due = len(each.detail["days"]), len(each.detail["amounts"])
            if due[0] != due[1]:
                what = f"its schedule has {due[0]} days and {due[1]} amounts"
                yield _wrong(each, what, "Give an amount for each day")
        if each.kind is GroupFactKind.FUNDING_REPAID and deal.owed(day) < 0:
            beyond = Money(-deal.owed(day), each.currency.label)
            yield _wrong(each, f"{beyond} more is repaid than was owed", "Correct amount or day")


def _instruments(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    del entities
    counts_by_name = Counter(
        (f.kind, f.detail["name"]) for f in facts if f.kind in PAYMENTS.values()
    )
    for each in facts:
        if each.kind in PAYMENTS and not counts_by_name[PAYMENTS[each.kind], each.detail["name"]]:
            what = f"nothing began under the name {each.detail['name']!r}"
            yield _wrong(each, what, f"State the {PAYMENTS[each.kind].label}, or correct the name")
        elif each.kind in PAYMENTS.values():
            name = each.detail["name"]
            problems = list(_contract(each, counts_by_name[each.kind, name]))
            yield from problems
            if not problems:
                paid = [f for f in facts if PAYMENTS.get(f.kind) is each.kind]
                yield from _payments(each, [f for f in paid if f.detail["name"] == name])


def _contract(inception: GroupFact, times: int) -> Iterator[UsanceError]:
    """Problems of notes or a bond by themselves."""
    if times > 1:
        yield _wrong(
            inception, f"{inception.detail['name']!r} begins twice", "Give each its own name"
        )
    if inception.detail["days"][0] <= inception.effective_on:
        yield _wrong(inception, "it pays before it begins", "Give days after it began")
        return
    try:
        Instrument.of(inception)
    except UsanceError as error:
        yield _wrong(inception, error.what, error.fix)


def _payments(inception: GroupFact, paid: Sequence[GroupFact]) -> Iterator[UsanceError]:
    """Payments that do not fit their instrument."""
    held, last = Instrument.of(inception, paid), inception.detail["days"][-1]
    for each in paid:
        if (each.entity, each.currency) != (inception.entity, inception.currency):
            fix = f"Give the currency and entity of {inception.where}"
            yield _wrong(each, f"{inception.detail['name']!r} is another's", fix)
        if each.detail["as"] is PaymentPurpose.FACE and each.effective_on < last:
            yield _wrong(each, f"its face is due on {last}", "Say `as: whole` if it ends early")
        if (
            held.early_redemption
            and each is not held.early_redemption
            and each.effective_on >= held.early_redemption.effective_on
        ):
            yield _wrong(
                each, f"it had ended by {held.early_redemption.where}", "Leave one of them out"
            )
    most = held.coupon_minor * len(inception.detail["days"])
    for what, owed in (
        (PaymentPurpose.COUPON, most),
        (PaymentPurpose.FACE, inception.detail["face"]),
    ):
        beyond = held.paid_by(date.max, what) - owed
        if beyond > 0:
            shown = Money(beyond, inception.currency.label)
            yield _wrong(
                inception, f"{shown} more than its {what.value} is paid", "Correct a payment"
            )


def _things(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    del entities
    bought = Counter(f.detail["name"] for f in facts if f.kind is GroupFactKind.ASSET_BOUGHT)
    sold = Counter(f.detail["name"] for f in facts if f.kind is GroupFactKind.ASSET_SOLD)
    for each in facts:
        name = each.detail.get("name")
        if each.kind is GroupFactKind.ASSET_BOUGHT and bought[name] > 1:
            yield _wrong(each, f"{name!r} is bought twice", "Give each thing its own name")
        if each.kind is GroupFactKind.ASSET_SOLD and (not bought[name] or sold[name] > 1):
            yield _wrong(each, f"{name!r} was not bought, or is sold twice", "Correct the name")
        if each.kind is GroupFactKind.COST_PREPAID and each.detail["first"] > each.detail["last"]:
            yield _wrong(each, "its last day is before its first", "Exchange them")
        driven = each.kind is GroupFactKind.COST_DRIVER
        if driven and each.detail["price"] is None and each.detail["rate"] is None:
            yield _wrong(each, "neither price nor rate is given", "Give one of them")


def _shares(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    del entities
    grants = Counter(f.detail["name"] for f in facts if f.kind is GroupFactKind.GRANT)
    for each in facts:
        name = each.detail.get("grant")
        if name is not None and not grants[name]:
            yield _wrong(each, f"there is no grant {name!r}", "State it, or correct the name")
        expected = each.kind is GroupFactKind.VESTING_ESTIMATE
        if expected and (each.detail["shares"] is None) == (each.detail["leavers"] is None):
            yield _wrong(each, "who stays, or who leaves?", "Give one of shares and leavers")
        if each.kind is GroupFactKind.GRANT and grants[each.detail["name"]] > 1:
            yield _wrong(each, f"{each.detail['name']!r} is granted twice", "Give another name")
    try:
        for _, held in holdings_of(facts).values():
            yield from held.problems()
        yield from register_of(facts).problems()
    except UsanceError as error:  # a grant or change that contradicts itself
        yield error


def _prices(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    """Share prices in another currency than the awards, or without a price or a period."""
    del entities
    grants = {each.currency for each in facts if each.kind is GroupFactKind.GRANT}
    for each in facts:
        if each.kind is not GroupFactKind.SHARE_PRICE:
            continue
        if each.detail["first"] > each.detail["last"]:
            yield _wrong(each, "its last day is before its first", "Exchange them")
        if not each.detail["price"]:
            yield _wrong(each, "the price is zero", "Give the average price of one share")
        for currency in sorted(grants - {each.currency}):
            fix = f"Give it in {currency.label}"
            yield _wrong(each, f"awards are in {currency.label}", fix)


def _histories(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    del entities
    for each in facts:
        if each.kind is GroupFactKind.FEES_HISTORY:
            try:
                flow_rates(each.detail["entering"], each.detail["never_paid"])
            except UsanceError as error:
                yield _wrong(each, error.what, error.fix)


def _dividends(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    del entities
    declared = {
        each.detail["name"]: each for each in facts if each.kind is GroupFactKind.DIVIDEND_DECLARED
    }
    for each in facts:
        if each.kind is GroupFactKind.DIVIDEND_DECLARED:
            if each.detail["per_share"] is None and each.amount_minor <= 0:
                fix = "Give an amount, or so much per_share"
                yield _wrong(each, "what is declared is not clear", fix)
        elif each.kind in (GroupFactKind.DIVIDEND_PAID, GroupFactKind.DIVIDEND_RECORDED):
            known = declared.get(each.detail["name"])
            if known is None or known.currency is not each.currency:
                what = f"no dividend {each.detail['name']!r} is declared in {each.currency.label}"
                yield _wrong(each, what, "Give its name, and the currency it was declared in")


def _currencies(facts: Sequence[GroupFact], entities: Entities) -> Iterator[UsanceError]:
    for each in facts:
        if each.kind is GroupFactKind.EXCHANGE_RATE:
            if each.currency is entities.currency or not each.detail["rate"]:
                fix = f"Give what one unit is worth in {entities.currency.label}, above zero"
                yield _wrong(each, f"no rate for {each.currency.label}", fix)
        elif each.kind is GroupFactKind.CURRENCY_EXCHANGED:
            if Currency[each.detail["bought"].currency] is each.currency:
                yield _wrong(each, "it changes a currency for itself", "Correct one of the two")
        elif each.kind is GroupFactKind.GROUP_DIVIDEND and each.entity in entities.by_number:
            owner = entities[each.entity].owner
            if each.detail["to"] != owner:
                yield _wrong(each, "it is not paid to the owner", f"Give to: {owner}")
        elif each.kind is GroupFactKind.ACQUISITION:
            lines = each.detail["lines"]
            if any(line.entity or line.currency is not each.currency for line in lines):
                fix = "Write every line in the fact's currency, without an entity"
                yield _wrong(each, "its lines are not all those of the acquired", fix)


_CHECKS: tuple[Check, ...] = (
    _entities, _entries, _deals, _instruments, _things, _histories, _shares,
    _prices, _dividends, _currencies,
)  # fmt: skip


def _wrong(fact: GroupFact, what: str, fix: str) -> GroupFactError:
    return GroupFactError(f"{fact.kind.label}: {what}", where=fact.where, fix=fix)
