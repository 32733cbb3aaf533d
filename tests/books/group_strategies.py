"""Random but valid facts of a group: what is repaid was raised, what is sold was bought."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from hypothesis import strategies as st

from tests.books.group_books import (
    GUARANTEE,
    LENDING,
    OPENED,
    OVERSEAS,
    PARENT,
    PLATFORM,
    TRUST,
    Facts,
    with_rates,
)
from usance.base.codes import Currency
from usance.books.group.fact_kinds import GroupFactKind as K
from usance.books.group.facts import GroupFact

MINOR = st.integers(1, 10**9)
DAYS = st.integers(1, 365).map(lambda n: OPENED + timedelta(days=n))
ENTITIES = st.sampled_from([PARENT, PLATFORM, GUARANTEE, TRUST, OVERSEAS, LENDING])
CURRENCIES = st.sampled_from([Currency.CNY, Currency.USD, Currency.HKD])
FUNCTIONS = st.sampled_from(["servicing_cost", "marketing", "administration"])

PLAIN: tuple[tuple[K, dict[str, object]], ...] = (
    (K.COST_PAID, {}), (K.BANK_INTEREST, {}), (K.SUBSIDY, {}), (K.TAX_PAID, {}),
    (K.WITHHOLDING, {}), (K.INVESTMENT_MADE, {}), (K.INVESTMENT_RETURNED, {}),
    (K.INVESTMENT_RESULT, {"asset": "other_non_current"}), (K.NON_CONTROLLING_CONTRIBUTION, {}),
    (K.NON_CONTROLLING_DISTRIBUTION, {}), (K.DEPOSIT_PLACED, {"as": "restricted_cash"}),
    (K.DEPOSIT_PLACED, {"as": "security_deposits"}),
    (K.DEPOSIT_RETURNED, {"as": "restricted_cash"}),
    (K.REFERRAL_INVOICED, {"party": 8}), (K.USAGE_DELIVERED, {"party": 77}),
    (K.FEES_RECEIVED, {"party": 8}), (K.FEES_WRITTEN_OFF, {"party": 77}),
    (K.COST_DRIVER, {"driver": "collection_commission", "rate": "12%"}),
    (K.GROUP_TRANSFER, {"to": PLATFORM}), (K.CAPITAL_CONTRIBUTED, {"to": LENDING}),
    (K.RESIDUAL_DISTRIBUTED, {"to": PLATFORM}), (K.TRUST_BUY_OUT, {"buyer": LENDING}),
)  # fmt: skip


@st.composite
def group_histories(draw: st.DrawFn, most: int = 14) -> list[GroupFact]:
    """Facts of a year, with an opening and rates of exchange."""
    facts = with_rates()
    _opening(draw, facts)
    for number in range(draw(st.integers(1, most))):
        draw(st.sampled_from(_STEPS))(draw, facts, number)
    return facts.facts


def _opening(draw: st.DrawFn, facts: Facts) -> None:
    for entity in (PARENT, PLATFORM, LENDING):
        minor = draw(MINOR)
        currency = Currency.USD if entity == PARENT else Currency.CNY
        tax = -minor // 3
        lines = [{"account": "cash", "amount": _text(minor)},
                 {"account": "other_tax_payable", "amount": _text(tax)},
                 {"account": "paid_in_capital", "amount": _text(-minor - tax)}]  # fmt: skip
        facts.say(entity, K.OPENING_BALANCE, OPENED, currency=currency, lines=lines)
    tax = draw(MINOR)
    lines = [{"account": "deferred_tax_asset", "amount": _text(tax)},
             {"account": "retained_earnings", "amount": _text(-tax)}]  # fmt: skip
    facts.say(GUARANTEE, K.OPENING_BALANCE, OPENED, tag="ecl", lines=lines)


def _plain(draw: st.DrawFn, facts: Facts, _: int) -> None:
    kind, detail = draw(st.sampled_from(PLAIN))
    facts.say(draw(ENTITIES), kind, draw(DAYS), draw(MINOR), currency=draw(CURRENCIES), **detail)


def _cost(draw: st.DrawFn, facts: Facts, _: int) -> None:
    facts.say(draw(ENTITIES), K.COST_INCURRED, draw(DAYS), draw(MINOR), currency=draw(CURRENCIES),
              function=draw(FUNCTIONS))  # fmt: skip


def _prepaid(draw: st.DrawFn, facts: Facts, _: int) -> None:
    first = draw(DAYS)
    last = first + timedelta(days=draw(st.integers(0, 400)))
    facts.say(draw(ENTITIES), K.COST_PREPAID, draw(DAYS), draw(MINOR), currency=draw(CURRENCIES),
              function=draw(FUNCTIONS), first=first, last=last)  # fmt: skip


def _thing(draw: st.DrawFn, facts: Facts, number: int) -> None:
    entity, bought = draw(ENTITIES), draw(DAYS)
    asset = draw(st.sampled_from(["property", "land_use_rights", "intangibles"]))
    months = draw(st.integers(1, 60))
    facts.say(entity, K.ASSET_BOUGHT, bought, draw(MINOR), currency=draw(CURRENCIES), asset=asset,
              name=f"thing {number}", months=months, function=draw(FUNCTIONS))  # fmt: skip
    if draw(st.booleans()):
        facts.say(entity, K.ASSET_SOLD, max(bought, draw(DAYS)), draw(MINOR),
                  currency=draw(CURRENCIES), name=f"thing {number}")  # fmt: skip


def _deal(draw: st.DrawFn, facts: Facts, number: int) -> None:
    entity, on, minor = draw(ENTITIES), draw(DAYS), draw(MINOR)
    own = {"currency": draw(CURRENCIES), "deal": f"deal {number}"}
    lender = draw(
        st.sampled_from(["trust_investors", "short_term_loans", "trust_investors_non_current"])
    )
    count = draw(st.sampled_from(["actual/365", "30/360 monthly", "actual/360"]))
    facts.say(
        entity, K.FUNDING_RAISED, on, minor, lender=lender, rate="7.3%", day_count=count, **own
    )
    repaid = draw(st.integers(0, minor))
    if repaid:
        facts.say(entity, K.FUNDING_REPAID, max(on, draw(DAYS)), repaid, **own)
    if draw(st.booleans()):
        facts.say(entity, K.FUNDING_INTEREST_PAID, max(on, draw(DAYS)), draw(MINOR), **own)


def _instrument(draw: st.DrawFn, facts: Facts, number: int) -> None:
    kind, paid, name = draw(st.sampled_from([(K.NOTES_ISSUED, K.NOTES_PAID, "notes"),
                                             (K.BOND_BOUGHT, K.BOND_PAID, "bond")]))  # fmt: skip
    entity, on, face = draw(ENTITIES), draw(DAYS), draw(st.integers(10**5, 10**9))
    currency, spans = draw(CURRENCIES), draw(st.lists(st.integers(20, 200), min_size=1, max_size=3))
    ends = [on + timedelta(days=sum(spans[: n + 1])) for n in range(len(spans))]
    own = {"currency": currency, "name": f"{name} {number}"}
    where = {"lender": "trust_investors"} if kind is K.NOTES_ISSUED else {}
    facts.say(
        entity, kind, on, face * draw(st.integers(90, 105)) // 100, face=_text(face, currency),
        rate=f"{draw(st.integers(0, 12))}%", a_year=2, days=[str(end) for end in ends],
        costs=_text(face // 200, currency), **where, **own,
    )  # fmt: skip
    ending = draw(st.sampled_from(["open", "face", "whole"]))
    if ending == "face":
        facts.say(entity, paid, ends[-1], face, **own, **{"as": "face"})
    elif ending == "whole":
        early = on + timedelta(days=draw(st.integers(0, spans[0] - 1)))
        facts.say(entity, paid, early, draw(MINOR), **own, **{"as": "whole"})


def _history(draw: st.DrawFn, facts: Facts, _: int) -> None:
    entering = sorted(draw(st.lists(st.integers(100, 10**6), min_size=1, max_size=5)), reverse=True)
    never_paid = _text(draw(st.integers(0, 100)))
    facts.say(draw(ENTITIES), K.FEES_HISTORY, draw(DAYS), never_paid=never_paid,
              entering=[_text(each) for each in entering])  # fmt: skip


def _shares(draw: st.DrawFn, facts: Facts, number: int) -> None:
    own = {"currency": draw(CURRENCIES)}
    count = draw(st.integers(2, 10**6))
    day = draw(DAYS)
    facts.say(PARENT, K.SHARES_ISSUED, day, draw(MINOR), quantity=count, **own)
    facts.say(PARENT, K.SHARES_REPURCHASED, day, draw(MINOR), quantity=count // 2, **own)
    facts.say(PARENT, K.SHARES_RETIRED, day, quantity=draw(st.integers(1, count // 2)), **own)
    name = f"dividend {number}"
    facts.say(PARENT, K.DIVIDEND_DECLARED, day, draw(MINOR), name=name, **own)
    facts.say(PARENT, K.DIVIDEND_PAID, max(day, draw(DAYS)), draw(MINOR), name=name, **own)


def _grant(draw: st.DrawFn, facts: Facts, number: int) -> None:
    day, units = draw(DAYS), draw(st.integers(4, 10**6))
    own = {"currency": draw(CURRENCIES)}
    facts.say(
        PARENT, K.GRANT, day, name=f"grant {number}", award="restricted", fair_value="8.6525",
        tranches=[{"on": str(day + timedelta(days=90)), "holders": 3, "units_each": units},
                  {"on": str(day + timedelta(days=200)), "units": units}],
        functions={"sales_and_marketing": "33%", "general_and_administrative": "67%"}, **own,
    )  # fmt: skip
    expected: dict[str, Any] = draw(st.sampled_from([{"shares": ["90%"]}, {"leavers": "7.5%"}]))
    facts.say(PARENT, K.VESTING_ESTIMATE, day, grant=f"grant {number}", **expected)
    if draw(st.booleans()):
        facts.say(PARENT, K.UNITS_CHANGED, day, quantity=draw(st.integers(1, units)),
                  grant=f"grant {number}", change="forfeited", **own)  # fmt: skip


def _acquisition(draw: st.DrawFn, facts: Facts, _: int) -> None:
    currency = draw(CURRENCIES)
    lines = [{"account": name, "amount": _text(draw(st.integers(-10**6, 10**6)), currency)}
             for name in ("cash", "intangibles", "accrued", "loans")]  # fmt: skip
    held = _text(draw(MINOR), currency)
    facts.say(PLATFORM, K.ACQUISITION, draw(DAYS), draw(MINOR), currency=currency,
              acquired=OVERSEAS, lines=lines, non_controlling=held)  # fmt: skip


def _manual(draw: st.DrawFn, facts: Facts, _: int) -> None:
    minor = draw(MINOR)
    lines = [{"account": "cash", "amount": _text(-minor)},
             {"account": draw(st.sampled_from(["other_income", "goodwill", "paid_in_capital"])),
              "amount": _text(minor)}]  # fmt: skip
    facts.say(draw(st.sampled_from([PLATFORM, LENDING])), K.MANUAL_ENTRY, draw(DAYS),
              actor="controller", reason="correction", lines=lines,
              activity=draw(st.sampled_from(["operating", "investing", "financing"])))  # fmt: skip


def _change(draw: st.DrawFn, facts: Facts, _: int) -> None:
    facts.say(draw(ENTITIES), K.CURRENCY_EXCHANGED, draw(DAYS), draw(MINOR), currency=Currency.CNY,
              bought=f"{_text(draw(MINOR))} USD")  # fmt: skip


def _text(minor: int, currency: Currency = Currency.CNY) -> str:
    from usance.base.money import Money

    return Money(minor, currency.label).number


_STEPS = (
    _plain, _plain, _plain, _cost, _prepaid, _thing, _deal, _instrument, _instrument, _history,
    _shares, _grant, _acquisition, _manual, _change,
)  # fmt: skip


def days() -> st.SearchStrategy[date]:
    """A day of the year."""
    return DAYS
