"""Contradictions in a scenario that could be read, each with its line.

A check looks at the scenario and returns what it finds; `_CHECKS` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from usance.base.codes import FundingModel
from usance.base.dates import first_of_month, format_month, last_of_month, to_day
from usance.base.document_places import Places
from usance.base.errors import CodeError, DateError, DocumentError, UsanceError
from usance.base.parameters import Parameters
from usance.base.rates import PPM, Rate
from usance.world.scenario.scenario import (
    Funding,
    ProductMix,
    Scenario,
    SourceEvent,
    SourceEventKind,
)
from usance.world.shocks import ShockKind, factor_ppm

Check = Callable[[Scenario, Places], Iterator[UsanceError]]

CURED_BUCKETS = 5
"""Buckets in which a loan can be cured: 31–60 to 151–180 days past due."""
OPENING_BUCKETS = 7
MONTHS_A_YEAR = 12
ENOUGH = 0.9
"""The share of an opening balance or of demand below which a scenario contradicts its users."""
OWN_FUNDS = (FundingModel.CAPITAL_HEAVY, FundingModel.ON_BALANCE_SHEET)


def contradictions(scenario: Scenario, places: Places) -> list[UsanceError]:
    """Everything wrong with a scenario; what its users can carry, once all else is right."""
    found = [found for check in _CHECKS for found in check(scenario, places)]
    return found or [found for check in _REACH for found in check(scenario, places)]


def _months(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    first, last = scenario.first_month, scenario.last_month
    if last < first:
        what = f"ends with {format_month(last)}, before it begins with {format_month(first)}"
        yield DateError(what, where=places(("last_month",)), fix="Exchange the two months")
        return
    last = scenario.final_month
    wanted = range(first, last + 1)
    series: dict[tuple[str, ...], Mapping[int, object]] = {
        ("users", "registered"): scenario.users.registered,
        ("demand", "requests"): scenario.demand.requests,
        ("demand", "models"): scenario.demand.model_ppm,
        ("macro", "cpi"): scenario.macro.cpi_ppm,
        ("macro", "unemployment"): scenario.macro.unemployment_ppm,
        ("group", "funding_cost"): scenario.group.funding_cost_ppm,
    }
    for way, given in series.items():
        missing = [month for month in wanted if month not in given]
        if missing:
            what = f"{format_month(missing[0])} is missing"
            fix = f"Give every month from {format_month(first)} to {format_month(last)}"
            yield DateError(what, where=places(way), fix=fix)


def _time_zone(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    try:
        ZoneInfo(scenario.time_zone)
    except (ZoneInfoNotFoundError, ValueError):
        where, fix = places(("time_zone",)), "Name one such as Asia/Shanghai"
        yield CodeError(f"unknown time zone {scenario.time_zone!r}", where=where, fix=fix)


def _sums(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    demand, users = scenario.demand, scenario.users
    yield from _sum(users.region_ppm, places(("users", "regions")))
    yield from _sum((each.share_ppm for each in users.channels), places(("users", "channels")))
    mixes: list[tuple[tuple[str, ...], tuple[ProductMix, ...]]] = [
        (("demand", "products"), demand.products),
        *((("demand", "products_from", format_month(month)), mix)
          for month, mix in demand.products_from.items()),
    ]  # fmt: skip
    for way, mix in mixes:
        yield from _sum((each.request_ppm for each in mix), places(way))
        for number, product in enumerate(mix, start=1):
            yield from _sum(product.months_ppm.values(), places((*way, number, "months")))
    found = set[str]()
    for month, shares in demand.model_ppm.items():
        where = places(("demand", "models"))
        for problem in _sum(shares.values(), where, f"the shares of {format_month(month)}"):
            if problem.what not in found:
                found.add(problem.what)
                yield problem
    yield from _sum(scenario.opening.bucket_ppm, places(("opening", "buckets")))
    yield from _sum(scenario.pricing.grade_share_ppm, places(("pricing", "grades")))


def _sum(shares: Iterable[int], where: str, what: str = "the shares") -> Iterator[UsanceError]:
    total = sum(shares)
    if total != PPM:
        yield DocumentError(f"{what} sum to {Rate(total)}", where=where, fix="Make them 100%")


def _lengths(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    behaviour, pricing = scenario.behaviour, scenario.pricing
    given: list[tuple[tuple[str, ...], int, int, str]] = [
        (("behaviour", "cure"), len(behaviour.cure_ppm), CURED_BUCKETS,
         "31–60, 61–90, 91–120, 121–150 and 151–180 days past due"),
        (("behaviour", "season"), len(behaviour.season_ppm), MONTHS_A_YEAR, "each calendar month"),
        (("opening", "buckets"), len(scenario.opening.bucket_ppm), OPENING_BUCKETS,
         "current and buckets 1 to 6"),
        (("pricing", "grades"), len(pricing.grade_share_ppm), len(pricing.rate_ppm),
         "each rate"),
    ]  # fmt: skip
    for way, found, wanted, what in given:
        if found != wanted:
            fix = f"Give {wanted}: one for {what}"
            yield DocumentError(f"{found} values are listed", where=places(way), fix=fix)


def _users(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    users, demand = scenario.users, scenario.demand
    numbers = [each.number for each in users.channels]
    if len(set(numbers)) < len(numbers):
        where = places(("users", "channels"))
        yield DocumentError("a number is given twice", where=where, fix="Number channels 1, 2, 3")
    borrowed = users.opening * users.opening_approved_ppm * users.opening_borrowers_ppm
    waiting = bool(users.opening and users.opening_approved_ppm)
    waiting = waiting and users.opening_borrowers_ppm < PPM
    coming = any(users.registered.values()) and users.applies_ppm > 0
    if demand.first_time_ppm and not waiting and not coming:
        where, fix = places(("demand", "first_time")), "Register users, or let nobody be new"
        yield DocumentError("first loans of nobody: no user is without one", where=where, fix=fix)
    if not (demand.first_time_ppm or borrowed) and any(demand.requests.values()):
        where, fix = places(("demand", "first_time")), "Let someone borrow first"
        yield DocumentError("only repeat loans, and nobody has borrowed", where=where, fix=fix)
    if any(scenario.opening.balance_minor.values()) and not borrowed:
        where, fix = places(("opening", "balance")), "Give users.opening some borrowers"
        yield DocumentError("an opening book without borrowers", where=where, fix=fix)


def _funding(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    models = [each.model for each in scenario.funding]
    for number, each in enumerate(scenario.funding, start=1):
        place = places(("funding", number))
        if models.index(each.model) < number - 1:
            fix = "Keep one entry for each model"
            yield DocumentError(f"{each.model.label} is given twice", where=place, fix=fix)
        if not each.approval_ppm or not each.eligible_ppm:
            fix = "Give approval and eligible above zero, or leave the model out"
            yield DocumentError("its institutions take nothing", where=place, fix=fix)
        yield from _terms(scenario, each, place)
        yield from _co_funding(scenario, each, places, number)
    for mix in scenario.funding_from.values():
        for each in mix:
            yield from _terms(scenario, each, places(("funding_from",)))
    asked = {m for shares in scenario.demand.model_ppm.values() for m in shares if shares[m]}
    held = {model for model, minor in scenario.opening.balance_minor.items() if minor}
    for model in sorted((asked | held) - set(models)):
        what = f"{model.label} has {'demand' if model in asked else 'loans'} and no funding"
        fix = f"Add an entry for {model.label}"
        yield DocumentError(what, where=places(("funding",)), fix=fix)


def _co_funding(
    scenario: Scenario, given: Funding, places: Places, number: int
) -> Iterator[UsanceError]:
    """Pairs of institutions that cannot lend together."""
    if not given.co_funding:
        return
    day = first_of_month(scenario.first_month)
    least = Parameters.load().at("funding.co_lender_minimum_share", day).integer
    leads = [each.lead for each in given.co_funding]
    for n, pair in enumerate(given.co_funding, start=1):
        what, fix = "", f"Name two of 1 to {given.sources}"
        if max(pair.lead, pair.partner) > given.sources or pair.lead == pair.partner:
            what = f"institutions {pair.lead} and {pair.partner} of {given.sources} lend together"
        elif leads.count(pair.lead) > 1 or pair.partner in leads:
            what, fix = "a lead with two partners, or one that is a partner too", "Keep one pair"
        elif not least <= pair.share_ppm < PPM:
            what = f"a partner lends {Rate(pair.share_ppm)}"
            fix = f"Give at least {Rate(least)} and less than 100%"
        elif given.model is FundingModel.ON_BALANCE_SHEET:
            what, fix = "the platform's own funds lend with a partner", "Leave co_funding out"
        if what:
            yield DocumentError(what, where=places(("funding", number, "co_funding", n)), fix=fix)


def _terms(scenario: Scenario, given: Funding, place: str) -> Iterator[UsanceError]:
    """Terms a mandate would not be given on."""
    label = given.model.label
    if given.model in OWN_FUNDS and not given.coupon_ppm:
        fix = "Give coupon, the cost of its money"
        yield DocumentError(f"{label} without a coupon", where=place, fix=fix)
    if given.model not in OWN_FUNDS and not given.fee_ppm:
        fix = "Give fee, what the institution pays of the volume"
        yield DocumentError(f"{label} without a fee", where=place, fix=fix)
    if given.guarantee_fee_ppm and given.model is not FundingModel.CAPITAL_HEAVY:
        what = f"a guarantee fee under {label}, where nobody guarantees"
        yield DocumentError(what, where=place, fix="Leave it out")
    lowest = min(scenario.pricing.rate_ppm)
    if given.coupon_ppm + given.guarantee_fee_ppm > lowest:
        what = f"coupon and guarantee fee exceed the lowest rate, {Rate(lowest)}"
        yield DocumentError(what, where=place, fix="Lower them, or raise pricing.rates")


def _behaviour(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    behaviour = scenario.behaviour
    for number, cure_ppm in enumerate(behaviour.cure_ppm, start=1):
        chance = cure_ppm + behaviour.partial_ppm
        if chance > PPM:
            what = f"cure and partial payment together have a chance of {Rate(chance)}"
            where, fix = places(("behaviour", "cure", number)), "Lower one of them"
            yield DocumentError(what, where=where, fix=fix)
    if bool(behaviour.life_event_ppm) != bool(behaviour.life_event_months):
        what, where = "a life event has a chance and months", places(("behaviour", "life_event"))
        yield DocumentError(what, where=where, fix="Give both, or neither")
    if behaviour.late_ppm + behaviour.prepay_ppm > PPM:
        where, fix = places(("behaviour", "late")), "Lower late or prepay"
        yield DocumentError("late and prepaid together exceed 100%", where=where, fix=fix)
    for key, values in (("season", behaviour.season_ppm),):
        if values and abs(sum(values) - PPM * len(values)) > PPM // 100 * len(values):
            what = f"the {key} is {Rate(sum(values) // len(values))} on average"
            fix = "Scale it around 100%, and raise or lower late instead"
            yield DocumentError(what, where=places(("behaviour", key)), fix=fix)


def _providers(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    given = scenario.providers
    chance = given.lost_ppm + given.damaged_ppm + given.crash_ppm
    if chance > PPM // 2:
        what = f"{Rate(chance)} of notices do not come through"
        yield DocumentError(what, where=places(("providers",)), fix="Make it 50% at most")


def _shocks(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    for number, each in enumerate(scenario.macro.shocks, start=1):
        where = places(("macro", "shocks", number))
        if each.last_month < each.first_month:
            yield DateError("the shock ends before it begins", where=where, fix="Exchange the two")
        if each.models and not each.kind.has_models:
            what = f"models of a shock to {each.kind}"
            yield DocumentError(what, where=where, fix="Name models for funding alone")


def _specialisations(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    groups_of = scenario.specialisations
    if not groups_of.months:
        return
    mixes = (scenario.demand.products, *scenario.demand.products_from.values())
    tenors = {each for mix in mixes for product in mix for each in product.months_ppm}
    grades = set(range(1, len(scenario.pricing.rate_ppm) + 1))
    for key, groups, wanted in (
        ("months", groups_of.months, tenors),
        ("grades", groups_of.grades, grades),
    ):
        listed = [each for group in groups for each in group]
        if sorted(listed) != sorted(wanted):
            what = f"the groups hold {', '.join(map(str, sorted(listed)))}"
            fix = f"Put each of {', '.join(map(str, sorted(wanted)))} into one group"
            yield DocumentError(what, where=places(("desks", key)), fix=fix)
    where = places(("desks", "grade_shares"))
    yield from _sum(groups_of.grade_ppm, where)
    if len(groups_of.grade_ppm) != len(groups_of.grades):
        fix = f"Give {len(groups_of.grades)}: one for each group of grades"
        yield DocumentError(f"{len(groups_of.grade_ppm)} values are listed", where=where, fix=fix)
    many = len(groups_of.months) * len(groups_of.grades)
    for number, each in enumerate(scenario.funding, start=1):
        if each.eligible_ppm < PPM and each.sources < many:
            what = f"{each.sources} institutions of {each.model.label} for {many} desks"
            fix = "Give it more sources, or fewer groups"
            yield DocumentError(what, where=places(("funding", number, "sources")), fix=fix)


def _source_events(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    for number, each in enumerate(scenario.source_events, start=1):
        yield from _source_event(scenario, each, places(("institutions", number)))
    for (n, one), (m, other) in combinations(enumerate(scenario.source_events, start=1), 2):
        same = one.kind == other.kind and one.model is other.model
        theirs = not one.numbers or not other.numbers or {*one.numbers} & {*other.numbers}
        if same and theirs and max(one.first_day, other.first_day) <= min(
            one.last_day, other.last_day
        ):  # fmt: skip
            where, fix = places(("institutions", m)), "Let one end before the other begins"
            yield DocumentError(f"meets entry {n}, the same kind at the same time", where=where,
                                fix=fix)  # fmt: skip


def _source_event(scenario: Scenario, event: SourceEvent, where: str) -> Iterator[UsanceError]:
    sources = sum(each.sources for each in scenario.funding if each.model is event.model)
    beyond = [number for number in event.numbers if number > sources]
    if not sources or beyond:
        what = f"{event.model.label} has {sources} institutions"
        fix = f"Name some of 1 to {sources}" if sources else "Name a model of funding"
        yield DocumentError(what, where=where, fix=fix)
    if event.last_day < event.first_day:
        yield DateError("ends before it begins", where=where, fix="Exchange the two days")
    first = to_day(first_of_month(scenario.first_month))
    if event.first_day > to_day(last_of_month(scenario.final_month)) or event.last_day < first:
        yield DateError("is not within the scenario's months", where=where, fix="Move its days")
    if not event.kind.has_value and event.value_ppm >= 0:
        what, fix = f"{event.kind} has no value", "Leave value out"
        yield DocumentError(what, where=where, fix=fix)
    if event.kind.has_value and event.value_ppm < 0:
        yield DocumentError("value is missing", where=where, fix="Give value, such as 50%")
    shares = (SourceEventKind.APPROVAL, SourceEventKind.ELIGIBLE)
    if event.kind in shares and event.value_ppm > PPM:
        yield DocumentError("value is above 100%", where=where, fix="Give 0% to 100%")


def _tickets(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    for number, mix in enumerate(scenario.demand.products, start=1):
        if not mix.ticket_minor:
            where = places(("demand", "products", number, "ticket"))
            yield DocumentError("loans of nothing", where=where, fix="Give it above zero")


def _opening_reach(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    """Error of an opening balance that its borrowers cannot owe."""
    from usance.world.opening import (  # only reading needs it
        MAX_LOANS,
        capped_mean,
        loans_a_borrower,
    )

    wanted = loans_a_borrower(scenario)
    if wanted and capped_mean(wanted) < ENOUGH * wanted:
        what = f"each borrower would have {wanted:,.1f} loans on average, and {MAX_LOANS} at most"
        where, fix = places(("opening", "balance")), "Lower it, or raise users.opening"
        yield DocumentError(what, where=where, fix=fix)


def _demand_reach(scenario: Scenario, places: Places) -> Iterator[UsanceError]:
    """Error of too few users: each asks once a month, of those who came before it.

    All who apply are taken for approved, and all first requests for funded: fewer will ask.
    """
    users, first_ppm = scenario.users, scenario.demand.first_time_ppm
    approved = users.opening * users.opening_approved_ppm / PPM
    borrowed = approved * users.opening_borrowers_ppm / PPM
    never = approved - borrowed
    wanted = can = 0.0
    for month in range(scenario.first_month, scenario.final_month + 1):
        asked = (
            scenario.demand.requests[month] * factor_ppm(scenario, ShockKind.DEMAND, month) / PPM
        )
        first = min(asked * first_ppm / PPM, never)
        wanted += asked
        can += first + min(asked * (PPM - first_ppm) / PPM, borrowed)
        never += users.registered[month] * users.applies_ppm / PPM
        borrowed += first
    if can < ENOUGH * wanted:
        what = f"{wanted:,.0f} requests, and users can ask {can:,.0f} times at most"
        where, fix = places(("demand", "requests")), "Lower it, or raise users"
        yield DocumentError(what, where=where, fix=fix)


_REACH: tuple[Check, ...] = (_opening_reach, _demand_reach)
_CHECKS: tuple[Check, ...] = (
    _months, _time_zone, _sums, _lengths, _users, _funding, _behaviour, _providers, _shocks,
    _source_events, _specialisations, _tickets,
)  # fmt: skip
