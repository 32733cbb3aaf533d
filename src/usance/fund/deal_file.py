"""Deal files: read strictly, every contradiction named with its line.

Amounts are whole minor units and rates parts per million, as the formulas see them.

>>> from usance.fund.sample import sample_path
>>> text = sample_path().read_text().replace("{fee: trustee}", "{fee: truste}", 1)
>>> parse_deal(text, "deal.yaml")
Traceback (most recent call last):
usance.base.errors.CodeError: deal.yaml line 62, waterfall.amortising[2].fee: unknown fee \
'truste'. Did you mean 'trustee'? Choices: trustee, servicing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from usance.base.dates import parse_month
from usance.base.daycount import DayCount
from usance.base.errors import raise_all, unknown
from usance.base.fields import Fields, Reader, day, fields_of, file_fields, one_of, text, whole_of
from usance.base.formulas import Call, Formula, Literal, parse_formula
from usance.base.money import INT64_MAX
from usance.base.rates import PPM
from usance.fund.deal import (
    COLLECTION,
    Amortisation,
    CleanUp,
    Deal,
    Fee,
    MonthFlows,
    NoteClass,
    Pool,
    PoolTerms,
    Purchase,
    Scenario,
    Status,
    Step,
    StepKind,
    Trigger,
    TriggerMoment,
)
from usance.fund.deal_checks import check_deal
from usance.fund.errors import DealError

T = TypeVar("T")

MAX_PERIODS = 600
MAX_MONTHS = 600
MAX_PRICE_PPM = 10 * PPM
MAX_MULTIPLE = 100_000

amount = whole_of(0, INT64_MAX, error=DealError)
share = whole_of(0, PPM, error=DealError)


def read_deal(path: Path | str) -> Deal:
    """The deal of a `.yaml` or `.json` file."""
    return _whole_deal(file_fields(path))


def parse_deal(content: str, where: str = "deal.yaml") -> Deal:
    """The deal a text describes."""
    return _whole_deal(fields_of(content, where))


def _whole_deal(fields: Fields) -> Deal:
    deal = deal_of_fields(fields)
    raise_all(fields.problems)
    assert deal is not None
    return deal


def scenario_of(default: int, prepayment: int, recovery: int) -> Scenario:
    """A scenario of multiples in hundredths, as somebody types them."""
    times = whole_of(0, MAX_MULTIPLE, error=DealError)
    given = {"--default": default, "--prepayment": prepayment, "--recovery": recovery}
    found = [times(each, where) for where, each in given.items()]
    return Scenario(0, found[0], found[1], found[2])


def deal_of_fields(fields: Fields, *, any_size: bool = False) -> Deal | None:
    """The deal of a mapping, or None; what is wrong is in the problems of the fields.

    With `any_size` it may have numbers that only the exact form takes.
    """
    name = fields.take("name", text)
    closing_on = fields.need("closing_on", day)
    first_month = fields.need("first_period", _month)
    periods = fields.need("periods", whole_of(1, MAX_PERIODS))
    pay_day = fields.need("pay_day", whole_of(1, 31))
    months = fields.take("months_per_period", whole_of(1, 12))
    day_count = fields.need("day_count", lambda given, where: DayCount.parse(given, where=where))
    status = fields.need("status", one_of(Status))
    pool, purchase = _pool(fields.inner("pool")), _purchase(fields)
    classes = tuple(_class(each) for each in fields.each("classes"))
    fees = tuple(_fee(each) for each in fields.each("fees"))
    accounts = fields.take("accounts", _accounts)
    triggers = tuple(_trigger(each) for each in fields.each("triggers"))
    clean_up = _clean_up(fields.inner("clean_up"))
    waterfall = _waterfall(fields.inner("waterfall"))
    scenarios = fields.take("scenarios", some_of(_scenario)) or ()
    price = fields.take("price_minor", amount)
    legal_final_on = fields.take("legal_final_on", day)
    for key in _LATER_KEYS:
        fields.take(key, lambda given, _: given)
    for key in ("pool", "classes", "waterfall"):
        if key not in fields and fields.is_mapping:
            fields.wrong(f"{key} is missing", f"Give {key}", key)
    _close(fields)
    if fields.problems or pool is None:
        return None
    deal = Deal(
        closing_on, first_month, periods, pay_day, day_count, status, pool, classes, waterfall,
        months or 1, purchase, fees, accounts or {}, triggers, clean_up, scenarios, price,
        name or "",
    )  # fmt: skip
    last = deal.paid_on(periods)
    if legal_final_on is not None and legal_final_on < last:
        fix = "Let the deal end by then, or the day be later"
        fields.wrong(f"is before the last payment date {last}", fix, "legal_final_on")
    warnings = check_deal(deal, fields, any_size=any_size)
    return replace(deal, warnings=tuple(warnings))


_LATER_KEYS = ("kind", "currency", "source", "entity", "party", "parties", "eligibility", "limits",
               "approved_by", "valid_from", "holders", "retained")  # fmt: skip
"""Keys of a deal that its payment dates do not need: `deal_terms` reads them."""


NOT_OFFERED = ("hedge", "hedges", "swap", "floating", "index", "margin_ppm", "fx")
"""Asked for elsewhere: hedges, floating rates, foreign currency."""


def _close(fields: Fields) -> None:
    """Refuse by name what is not offered, and every other key that nobody asked for."""
    for key in fields.keys:
        if key in NOT_OFFERED:
            fields.take(key, lambda given, _: given)
            fix = "Leave it out: hedges, floating rates and foreign currency are not offered"
            fields.wrong(f"{key} is not offered", fix, key)
    fields.close()


def formula(given: Any, where: str) -> Formula:
    """A formula, or a number or a truth that stands for itself."""
    if isinstance(given, int):
        return Literal(given)
    return parse_formula(text(given, where), where, error=DealError)


def names(given: Any, where: str) -> tuple[str, ...]:
    """One name or a list of them."""
    listed = given if isinstance(given, list) else [given]
    if not listed:
        raise DealError("names nobody", where=where, fix="Name at least one class")
    return tuple(text(each, where) for each in listed)


def list_of(read: Reader[T]) -> Callable[[Any, str], tuple[T, ...]]:
    """A reader of lists whose items are all of one kind; a single item is a list of one."""

    def items(given: Any, where: str) -> tuple[T, ...]:
        listed = given if isinstance(given, list) else [given]
        if not listed:
            raise DealError("is an empty list", where=where, fix="Give at least one value")
        return tuple(read(item, f"{where}[{number}]") for number, item in enumerate(listed, 1))

    return items


def some_of(read: Reader[T]) -> Callable[[Any, str], tuple[T, ...]]:
    """A reader as `list_of`, which takes an empty list as none."""
    return lambda given, where: () if given == [] else list_of(read)(given, where)


def _month(given: Any, where: str) -> int:
    if isinstance(given, date):
        raise DealError(f"{given} is a day", where=where, fix="Write a month such as 2024-01")
    return parse_month(str(given), where=where)


def _terms(fields: Fields) -> PoolTerms | None:
    rate = fields.need("rate_ppm", share)
    months = fields.need("months", whole_of(1, MAX_MONTHS))
    how = fields.need("amortisation", one_of(Amortisation))
    smm = fields.take("smm_ppm", list_of(share)) or (0,)
    mdr = fields.take("mdr_ppm", list_of(share)) or (0,)
    recovery = fields.take("recovery_ppm", share) or 0
    lag = fields.take("recovery_lag", whole_of(0, MAX_MONTHS)) or 0
    return PoolTerms(rate, months, how, smm, mdr, recovery, lag) if fields.has_needed else None


def _pool(fields: Fields | None) -> Pool | None:
    if fields is None:
        return None
    balance = fields.need("balance_minor", amount)
    if "flows" in fields:
        flows = fields.take("flows", list_of(_flows)) or ()
        _close(fields)
        return Pool(balance, flows=flows)
    terms = _terms(fields)
    _close(fields)
    return Pool(balance, terms)


def _flows(given: Any, where: str) -> MonthFlows:
    parts = list_of(amount)(given, where)
    if len(parts) != 4:
        fix = "Give [interest, principal, defaulted, recovered] of the month"
        raise DealError(f"{len(parts)} amounts", where=where, fix=fix)
    return MonthFlows(*parts)


def _purchase(deal: Fields) -> Purchase | None:
    fields = deal.inner("purchase")
    if fields is None:
        return None
    terms = _terms(fields)
    price = fields.need("price_ppm", whole_of(1, MAX_PRICE_PPM))
    supply = fields.need("supply_minor", list_of(amount))
    _close(fields)
    return Purchase(terms, price, supply) if terms and fields.has_needed else None


def _class(fields: Fields) -> NoteClass:
    found = NoteClass(
        fields.need("name", text),
        fields.need("balance_minor", amount),
        fields.take("rate_ppm", share) or 0,
        fields.take("targets_minor", some_of(amount)) or (),
    )
    _close(fields)
    return found


def _fee(fields: Fields) -> Fee:
    found = Fee(
        fields.need("name", text),
        fields.take("fixed_minor", amount) or 0,
        fields.take("annual_ppm", share) or 0,
        fields.take("share_ppm", share) or 0,
        fields.take("base", formula),
    )
    if not any(key in fields for key in ("fixed_minor", "annual_ppm", "share_ppm")):
        fields.wrong("says no amount", "Give fixed_minor, or annual_ppm or share_ppm of a base")
    if (found.annual_ppm or found.share_ppm) and found.base is None:
        fields.wrong("is a share of nothing", "Give base, such as pool_start")
    fields.close()
    return found


def _accounts(given: Any, where: str) -> Mapping[str, int]:
    if not isinstance(given, dict):
        raise DealError("is no mapping", where=where, fix="Write name: amount for each account")
    return {str(name): amount(held, f"{where}.{name}") for name, held in given.items()}


def _trigger(fields: Fields) -> Trigger:
    found = Trigger(
        fields.need("name", text),
        fields.need("at", one_of(TriggerMoment)),
        fields.need("when", formula),
        fields.need("to", one_of(Status)),
    )
    fields.close()
    return found


def _clean_up(fields: Fields | None) -> CleanUp | None:
    if fields is None:
        return None
    found = CleanUp(fields.need("when", formula), fields.need("price", formula))
    fields.close()
    return found


def _waterfall(fields: Fields | None) -> dict[Status, tuple[Step, ...]]:
    found: dict[Status, tuple[Step, ...]] = {}
    if fields is None:
        return found
    for status in Status:
        if status.value in fields:
            found[status] = tuple(_step(each) for each in fields.each(status.value))
    for key in fields.keys:
        if key not in [status.value for status in Status]:
            choices = [status.value for status in Status]
            fields.problems.append(unknown("status", key, choices, where=fields.where(key)))
    return found


def _step(fields: Fields) -> Step:
    """One step: the key that says what it pays, and the options every step takes."""
    kinds = [kind for kind in StepKind if kind.value in fields]
    if len(kinds) != 1:
        choices = ", ".join(kind.value for kind in StepKind)
        known = {"from", "to", "amount", "when", "pro_rata"}
        given = [key for key in fields.keys if key not in known]
        what = f"unknown step '{given[0]}'" if given and not kinds else "is not one step"
        fields.wrong(what, f"Give one of {choices} in each step")
        return Step(StepKind.MOVE)
    (kind,) = kinds
    step = _paying(kind, fields)
    fields.close()
    return step


def _paying(kind: StepKind, fields: Fields) -> Step:
    most = fields.take("amount", formula)
    when = fields.take("when", formula)
    if kind is StepKind.MOVE:
        source = fields.need("move", text)
        return Step(kind, (fields.need("to", text),), source, most, when)
    source = fields.take("from", text) or COLLECTION
    if kind is StepKind.BUY:
        budget = fields.need("buy", formula)
        least = budget if most is None else Call("min", (budget, most))
        return Step(kind, (), source, least, when)
    payees = fields.need(kind.value, names)
    if payees and len(payees) > 1 and kind in (StepKind.FEE, StepKind.RESIDUAL):
        fields.wrong(f"{kind.value} pays one", "Write a step for each", kind.value)
    pro_rata = bool(fields.take("pro_rata", _yes)) if kind is StepKind.PRINCIPAL else False
    return Step(kind, payees or (), source, most, when, pro_rata)


def _yes(given: Any, where: str) -> bool:
    if isinstance(given, bool):
        return given
    raise DealError(f"{given!r} is neither true nor false", where=where, fix="Write true or false")


def _scenario(given: Any, where: str) -> Scenario:
    """Three numbers, or a mapping that may have vectors of its own."""
    if isinstance(given, dict):
        return _scenario_of_fields(Fields(given, lambda path: f"{where}.{path[-1]}", []))
    if not isinstance(given, list) or len(given) != 3:
        fix = "Give [weight_ppm, default, prepayment], the multiples in hundredths"
        raise DealError(f"{given!r} is no scenario", where=where, fix=fix)
    times = whole_of(0, MAX_MULTIPLE, error=DealError)
    return Scenario(share(given[0], where), times(given[1], where), times(given[2], where))


def _scenario_of_fields(fields: Fields) -> Scenario:
    times = whole_of(0, MAX_MULTIPLE, error=DealError)
    vector = list_of(share)
    multiples = [fields.take(key, times) for key in ("default", "prepayment", "recovery")]
    weight = fields.take("weight_ppm", share)
    mdr, smm = (fields.take(key, vector) or () for key in ("mdr_ppm", "smm_ppm"))
    fields.close()
    raise_all(fields.problems)
    default, prepayment, recovery = (100 if each is None else each for each in multiples)
    return Scenario(weight or 0, default, prepayment, recovery, mdr, smm)
