"""Contradictions of a deal: names nobody has, sums that do not fit, numbers that grow too large.

Each is kept with its place. What is allowed but surely not meant, such as a trigger that can never
fire, is a warning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise

from usance.base.errors import unknown
from usance.base.fields import Fields
from usance.base.formula_types import FormulaType, Span, Truth, TypeRules, type_of
from usance.base.formulas import Call, Formula, Literal, names_in
from usance.base.money import INT64_MAX
from usance.base.rates import PPM
from usance.fund.deal import COLLECTION, Deal, Step, StepKind, at
from usance.fund.errors import DealError
from usance.fund.state import PERIOD_NAMES, POOL_NAMES, TO_DATE_NAMES, account_balances

RESERVED = ("fee", "account", "period", "classes", *POOL_NAMES, *PERIOD_NAMES, *TO_DATE_NAMES)
MONTHS_A_YEAR = 12
MONEY = TypeRules(
    limit=INT64_MAX,
    fix="Keep every product below 2^63: divide first with floor(a / n), or compare smaller numbers",
    error=DealError,
)
LONGER_DAYS = 6
"""No day count makes more of a span than so many days above its own, over 360."""
MAX_FEE = 10**100
"""Fees of each other grow without end; what is due of one is not followed beyond this."""
ANY_SIZE = replace(MONEY, limit=10**1000)
"""For the exact form alone, whose numbers have no end."""

Path = tuple[str | int, ...]


def check_deal(deal: Deal, fields: Fields, *, any_size: bool = False) -> list[str]:
    """Keep every contradiction in the problems of the fields; give the warnings.

    With `any_size` numbers beyond 64 bits are none: the exact form takes them.
    """
    _check_names(deal, fields)
    _check_calendar(deal, fields)
    _check_money(deal, fields)
    if not any_size and _largest_amount(deal) > INT64_MAX:
        fix = "Count in larger units, or split the deal"
        fields.wrong("its amounts can go beyond 2^63", fix, "classes")
    _check_steps(deal, fields)
    if fields.problems:
        return []
    scope, rules = scope_of(deal), ANY_SIZE if any_size else MONEY
    for path, formula, wanted in _formulas(deal):
        _check_formula(deal, fields, path, formula, wanted, scope, rules)
    if not any_size and not fields.problems:
        _check_growth(deal, fields, scope)
    return [] if fields.problems else list(_warnings(deal, scope))


def fits_64_bits(deal: Deal) -> bool:
    """True if no amount and no formula of a deal can grow beyond 64 bits."""
    scope = scope_of(deal)
    try:
        for _, formula, _ in _formulas(deal):
            type_of(formula, scope, "", MONEY)
    except DealError:
        return False
    return all(span.high <= INT64_MAX for span in scope.values() if isinstance(span, Span))


def scope_of(deal: Deal) -> dict[str, FormulaType]:
    """Every name of the deal's formulas, with the least and the largest value it can have."""
    most, years = _largest_amount(deal), _years(deal)
    money, pool = Span(0, most), Span(0, _pool_ever(deal))
    scope: dict[str, FormulaType] = {"period": Span(1, deal.periods)}
    scope |= dict.fromkeys(("pool_start", "pool_end", *TO_DATE_NAMES), pool)
    scope |= _of_one_period(deal)
    scope["pool_original"] = Span(deal.pool.balance_minor, deal.pool.balance_minor)
    scope["classes"] = Span(0, sum(each.balance_minor for each in deal.classes))
    for each in deal.classes:
        name, original = each.name, each.balance_minor
        scope[f"{name}.balance"] = Span(0, original)
        scope[f"{name}.original"] = Span(original, original)
        scope[f"{name}.due"] = Span(0, original * each.rate_ppm * years // PPM + 1)
        if each.targets_minor:
            scope[f"{name}.target"] = Span(min(each.targets_minor), max(each.targets_minor))
    scope |= {f"account.{name}": money for name in account_balances(deal)}
    _add_fees(deal, scope)
    if deal.clean_up is not None:  # its price comes into an account, once
        price = _high(deal.clean_up.price, scope)
        scope |= {f"account.{name}": Span(0, most + price) for name in account_balances(deal)}
        _add_fees(deal, scope)
    return scope


def _add_fees(deal: Deal, scope: dict[str, FormulaType]) -> None:
    """Dues of fees of which none is ever paid; the base of one may be the due of another."""
    due = {f"fee.{fee.name}.due": 0 for fee in deal.fees}
    dates = [deal.closing_on, *(deal.paid_on(k) for k in range(1, deal.periods + 1))]
    for before, after in pairwise(dates if deal.fees else ()):
        days = (after - before).days + LONGER_DAYS
        for fee in deal.fees:
            scope |= {name: Span(0, high) for name, high in due.items()}
            base = 0 if fee.base is None else _high(fee.base, scope)
            more = base * (fee.annual_ppm * days + fee.share_ppm * 360) // (360 * PPM)
            name = f"fee.{fee.name}.due"
            due[name] = min(due[name] + fee.fixed_minor + more + 1, MAX_FEE)
    scope |= {name: Span(0, high) for name, high in due.items()}


def _high(formula: Formula, scope: Mapping[str, FormulaType]) -> int:
    """The largest value of a formula, or zero if it is wrong: that is told where it stands."""
    try:
        found = type_of(formula, scope, "", ANY_SIZE)
    except DealError:
        return 0
    return max(int(found.high), 0) if isinstance(found, Span) else 0


def _check_growth(deal: Deal, fields: Fields, scope: Mapping[str, FormulaType]) -> None:
    """Fees that stay unpaid, and the price of a call, stay below 2^63."""
    grows: dict[Path, str] = {("fees", number, "base"): f"fee.{fee.name}.due"
                              for number, fee in enumerate(deal.fees, start=1)}  # fmt: skip
    if deal.clean_up is not None:
        grows["clean_up", "price"] = f"account.{COLLECTION}"
    for path, name in grows.items():
        span = scope[name]
        if isinstance(span, Span) and span.high > INT64_MAX:
            fix = "Divide first with floor(a / n), or take a smaller part"
            fields.wrong(f"{name} can go beyond 2^63", fix, *path)


def _of_one_period(deal: Deal) -> dict[str, FormulaType]:
    """Payments of the loans in a period: their principal, and interest of at most 100 % a year."""
    pool = _pool_ever(deal)
    interest = pool * (deal.months_per_period // MONTHS_A_YEAR + 1)
    return {
        "collected_interest": Span(0, interest + sum(f.interest_minor for f in deal.pool.flows)),
        "collected_principal": Span(0, pool),
        "defaulted": Span(0, pool),
        "recovered": Span(0, pool + sum(f.recovered_minor for f in deal.pool.flows)),
    }


def _years(deal: Deal) -> int:
    """No day count finds more years between the closing and the last payment date."""
    return (deal.paid_on(deal.periods) - deal.closing_on).days // 360 + 2


def _pool_ever(deal: Deal) -> int:
    """All principal that can ever be in the pool."""
    bought = 0
    if deal.purchase is not None:
        bought = sum(at(deal.purchase.supply_minor, k) for k in range(1, deal.periods + 1))
    return deal.pool.balance_minor + bought


def _largest_amount(deal: Deal) -> int:
    """No account, collection, fee or interest of the deal goes beyond this."""
    years = _years(deal)
    given = sum(flow.interest_minor + flow.recovered_minor for flow in deal.pool.flows)
    principal = _pool_ever(deal) + sum(each.balance_minor for each in deal.classes)
    fixed = sum(fee.fixed_minor for fee in deal.fees) * deal.periods
    # Rates are at most 1, so a year's interest is at most the principal; twice for recoveries.
    return principal * (years + 2) + given + fixed + sum(deal.accounts.values())


def _check_names(deal: Deal, fields: Fields) -> None:
    kinds: list[tuple[str, list[str]]] = [
        ("classes", [each.name for each in deal.classes]),
        ("fees", [each.name for each in deal.fees]),
        ("triggers", [each.name for each in deal.triggers]),
    ]
    for key, listed in kinds:
        for number, name in enumerate(listed, start=1):
            if name in listed[: number - 1]:
                fields.wrong(f"'{name}' is there twice", "Give each its own name", key, number)
    for number, each in enumerate(deal.classes, start=1):
        if each.name in RESERVED:
            fields.wrong(f"'{each.name}' means something else", "Use another name",
                         "classes", number)  # fmt: skip
        if not each.balance_minor and each.rate_ppm:
            fix = "Give what its holders paid in, or leave its rate out"
            fields.wrong(f"class {each.name} has a rate and no balance", fix, "classes", number)
    if not deal.classes:
        fields.wrong("no classes", "Give at least one class", "classes")


def _check_calendar(deal: Deal, fields: Fields) -> None:
    first = deal.paid_on(1)
    if deal.closing_on >= first:
        fix = f"Let the first period end later, or close before {first}"
        fields.wrong(
            f"closes on {deal.closing_on}, after its first payment date", fix, "closing_on"
        )
    flows, months = deal.pool.flows, deal.periods * deal.months_per_period
    left = deal.pool.balance_minor
    for number, flow in enumerate(flows, start=1):
        left -= flow.principal_minor + flow.defaulted_minor
        if left < 0:
            fix = "Let principal and defaulted add up to balance_minor at most"
            fields.wrong("more principal than the pool has", fix, "pool", "flows", number)
            return
    # A deal that is called needs no flows of the months after.
    if flows and len(flows) < months and left and deal.clean_up is None:
        fix = f"Give all {months} months, or flows that repay the pool"
        what = f"flows of {len(flows)} months in a deal of {months}"
        fields.wrong(what, fix, "pool", "flows")


def _check_money(deal: Deal, fields: Fields) -> None:
    proceeds = sum(each.balance_minor for each in deal.classes)
    held = sum(deal.accounts.values())
    if deal.price_minor is not None and proceeds != deal.price_minor + held:
        what = f"proceeds {proceeds} are not the price {deal.price_minor} and accounts {held}"
        fields.wrong(what, f"Let the price be {proceeds - held}", "price_minor")
    weights = sum(scenario.weight_ppm for scenario in deal.scenarios)
    if weights > PPM:
        fields.wrong(f"weights add up to {weights}", f"Let them add up to {PPM}", "scenarios")


def _check_steps(deal: Deal, fields: Fields) -> None:
    reached = {deal.status: ("status",)} | {
        trigger.to: ("triggers", number) for number, trigger in enumerate(deal.triggers, start=1)
    }
    for status, path in reached.items():
        if not deal.waterfall.get(status):
            fix = f"Write the steps of {status.value} under waterfall"
            fields.wrong(f"the status {status.value} has no steps", fix, *path)
    for status, steps in deal.waterfall.items():
        for number, step in enumerate(steps, start=1):
            _check_step(deal, fields, step, ("waterfall", status.value, number))


def _check_step(deal: Deal, fields: Fields, step: Step, path: Path) -> None:
    accounts = list(account_balances(deal))
    is_move = step.kind is StepKind.MOVE
    choices = accounts if is_move else [each.name for each in deal.classes]
    noun = "account" if is_move else "class"
    if step.kind is StepKind.FEE:
        noun, choices = "fee", [fee.name for fee in deal.fees]
    key = "to" if is_move else step.kind.value
    wrong = [(noun, name, choices, key) for name in step.payees if name not in choices]
    if step.source not in accounts:
        wrong.append(("account", step.source, accounts, "move" if is_move else "from"))
    for what, name, known, at_key in wrong:
        where = fields.where(*path, at_key)
        fields.problems.append(unknown(what, name, known, where=where))
    twice = sorted({name for name in step.payees if step.payees.count(name) > 1})
    for name in twice:
        fields.wrong(f"class {name} is there twice", "Name each class once in a step", *path, key)
    if step.kind is StepKind.BUY and deal.purchase is None:
        fix = "Give purchase with its terms, price_ppm and supply_minor"
        fields.wrong("buys loans that nobody describes", fix, *path)


def _formulas(deal: Deal) -> Iterator[tuple[Path, Formula, type[FormulaType]]]:
    """Every formula with its place and the type it must have."""
    for number, fee in enumerate(deal.fees, start=1):
        if fee.base is not None:
            yield ("fees", number, "base"), fee.base, Span
    for number, trigger in enumerate(deal.triggers, start=1):
        yield ("triggers", number, "when"), trigger.when, Truth
    if deal.clean_up is not None:
        yield ("clean_up", "when"), deal.clean_up.when, Truth
        yield ("clean_up", "price"), deal.clean_up.price, Span
    for status, steps in deal.waterfall.items():
        for number, step in enumerate(steps, start=1):
            path = ("waterfall", status.value, number)
            if step.amount is not None:
                key = "buy" if step.kind is StepKind.BUY else "amount"
                yield (*path, key), step.amount, Span
            if step.when is not None:
                yield (*path, "when"), step.when, Truth


def _check_formula(
    deal: Deal, fields: Fields, path: Path, formula: Formula, wanted: type[FormulaType],
    scope: Mapping[str, FormulaType], rules: TypeRules,
) -> None:  # fmt: skip
    where = fields.where(*path)
    for name in names_in(formula):
        owner, _, what = name.partition(".")
        if what == "target" and owner in [each.name for each in deal.classes] and name not in scope:
            fix = f"Give targets_minor of class {owner}"
            fields.wrong(f"class {owner} has no target", fix, *path)
            return
    try:
        found = type_of(formula, scope, where, rules)
    except DealError as error:
        fields.problems.append(error)
        return
    if not isinstance(found, wanted):
        want = "a number" if wanted is Span else "true or false"
        fields.wrong(f"the formula does not give {want}", f"Write one that gives {want}", *path)


def _warnings(deal: Deal, scope: Mapping[str, FormulaType]) -> Iterator[str]:
    steps = [step for each in deal.waterfall.values() for step in each]
    for trigger in deal.triggers:
        outcomes = possible(trigger.when, scope)
        if len(outcomes) == 1:
            (fires,) = outcomes
            yield f"trigger '{trigger.name}' {'always' if fires else 'never'} fires"
        elif not trigger.to.follows(deal.status):
            yield f"trigger '{trigger.name}' never fires: the deal starts at or after its status"
    if deal.clean_up is not None and len(outcomes := possible(deal.clean_up.when, scope)) == 1:
        yield "the clean-up call " + ("is made on the first date" if True in outcomes
                                      else "can never be made")  # fmt: skip
    yield from _vector_warnings(deal)
    for fee in deal.fees:
        if not any(step.kind is StepKind.FEE and fee.name in step.payees for step in steps):
            yield f"fee '{fee.name}' is never paid"
    if deal.purchase is not None and not any(step.kind is StepKind.BUY for step in steps):
        yield "loans are described under purchase and no step buys them"
    if not any(
        step.source == COLLECTION and step.kind in (StepKind.RESIDUAL, StepKind.MOVE)
        for step in deal.waterfall[deal.status]
    ):
        yield f"what is left in {COLLECTION} stays there: no residual in {deal.status.value}"


def _vector_warnings(deal: Deal) -> Iterator[str]:
    """Amounts by payment date, some but not as many as there are dates; one stands for all."""
    vectors = [(f"targets_minor of class {each.name}", each.targets_minor) for each in deal.classes]
    if deal.purchase is not None:
        vectors.append(("supply_minor", deal.purchase.supply_minor))
    for name, values in vectors:
        if 1 < len(values) < deal.periods:
            what = f"the last is repeated from date {len(values) + 1} on"
        elif len(values) > deal.periods:
            what = f"those after {deal.periods} are not used"
        else:
            continue
        yield f"{name} has {len(values)} values for {deal.periods} payment dates: {what}"


def possible(formula: Formula, scope: Mapping[str, FormulaType]) -> frozenset[bool]:
    """The truths a condition can have while its names are within their spans.

    >>> from usance.base.formulas import parse_formula
    >>> sorted(possible(parse_formula("period > 12"), {"period": Span(1, 12)}))
    [False]
    """
    both = frozenset((True, False))
    if isinstance(formula, Literal):
        return frozenset((bool(formula.value),))
    if not isinstance(formula, Call):
        return both
    if formula.op == "not":
        return frozenset(not each for each in possible(formula.args[0], scope))
    if formula.op in ("and", "or"):
        first, second = (possible(arg, scope) for arg in formula.args)
        join = all if formula.op == "and" else any
        return frozenset(join((a, b)) for a in first for b in second)
    if formula.op not in ("<", "<=", ">", ">=", "==", "!="):
        return both
    left, right = (type_of(arg, scope, "", ANY_SIZE) for arg in formula.args)
    if not isinstance(left, Span) or not isinstance(right, Span):
        return both
    if formula.op in ("==", "!="):
        if left.high < right.low or right.high < left.low:
            return frozenset((formula.op == "!=",))
        is_one = left.low == left.high == right.low == right.high
        return frozenset((formula.op == "==",)) if is_one else both
    if formula.op in (">", ">="):
        left, right = right, left
    if formula.op in ("<", ">"):
        always, never = left.high < right.low, left.low >= right.high
    else:
        always, never = left.high <= right.low, left.low > right.high
    return frozenset((True,)) if always else frozenset((False,)) if never else both
