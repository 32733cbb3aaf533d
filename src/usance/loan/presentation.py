"""Quotes, schedules and replayed loans as tables for people and as JSON and CSV for programs.

>>> from usance.loan.views import ComponentAmounts
>>> parts_minor(ComponentAmounts(principal=77800, interest=13880))
{'principal_minor': 77800, 'interest_minor': 13880, 'guarantee_fee_minor': 0,
'service_fee_minor': 0, 'penalty_minor': 0, 'total_minor': 91680}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

from usance.base.command_line import number
from usance.loan.quote import Quote
from usance.loan.rates.annual import percent
from usance.loan.terms import Terms
from usance.loan.views import NOT_DISBURSED, ComponentAmounts, Instalment, InstalmentState, LoanView

Pairs = list[tuple[str, str]]
Line = tuple[str, int | str]
"""A name with an amount in minor units, or with text."""
SCHEDULED = ComponentAmounts._fields[:4]
SCHEDULE_COLUMNS = (
    "number", "due_on", *(f"{name}_minor" for name in SCHEDULED), "total_minor", "balance_minor",
)  # fmt: skip
_BALANCES = ("due", "paid", "outstanding")
REPLAY_COLUMNS = (
    "number", "due_on", *(f"{name}_{each}_minor" for each in _BALANCES for name in SCHEDULED),
)  # fmt: skip
_MEASURES = {"nominal": "nominal", "effective": "effective", "eu_apr": "APR, European Union"}
_COUNTS = ("days_past_due", "instalments_paid")


def parts_minor(parts: ComponentAmounts) -> dict[str, int]:
    """An amount by component with its total, for JSON."""
    named = {f"{name}_minor": amount for name, amount in parts._asdict().items()}
    return {**named, "total_minor": parts.total}


def schedule_csv(rows: Sequence[Instalment]) -> list[list[object]]:
    """The rows under `SCHEDULE_COLUMNS`."""
    return [[row.number, row.due_on, row.principal, row.interest, row.guarantee_fee,
             row.service_fee, row.total, row.balance] for row in rows]  # fmt: skip


def schedule_json(terms: Terms, rows: Sequence[Instalment]) -> dict[str, Any]:
    """A schedule with what it was made from."""
    lines = [dict(zip(SCHEDULE_COLUMNS, row, strict=True)) for row in schedule_csv(rows)]
    sums = {name: sum(line[name] for line in lines) for name in SCHEDULE_COLUMNS[2:-1]}  # type: ignore[misc]
    return {
        "currency": terms.currency,
        "convention": terms.convention.name,
        "disbursed_on": terms.disbursed_on,
        "principal_minor": terms.principal_minor,
        "instalments": lines,
        "total": sums,
    }


def schedule_table(terms: Terms, rows: Sequence[Instalment]) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of a schedule, with a line of sums; fees only where there are any."""
    shown = [name for name in SCHEDULED if name == "principal" or _any(rows, name)]
    headings = ["no", "due on", *map(_words, shown), "instalment", "balance"]
    sums = [sum(getattr(row, name) for row in rows) for name in shown]
    amounts = _amounts(terms.currency)
    cells = [
        [str(row.number), str(row.due_on),
         *amounts([*(getattr(row, name) for name in shown), row.total, row.balance])]
        for row in rows
    ]  # fmt: skip
    cells.append(["", "total", *amounts([*sums, sum(row.total for row in rows)]), ""])
    return headings, cells


def quote_pairs(offer: Quote, *, note: str = "") -> Pairs:
    """A quote for people: amounts in major units, rates in per cent with two decimals."""
    terms, rates, charges = offer.terms, offer.rates, offer.charges
    first, last = offer.instalments[0].due_on, offer.instalments[-1].due_on
    fees = [
        ("  guarantee fee", charges.guarantee_fee),
        ("  service fee", charges.service_fee),
        ("  upfront fee", terms.upfront_fee_minor),
        ("VAT in the fees", offer.vat_minor),
    ]
    measure = _MEASURES[offer.cap_measure]
    cap = f"{offer.cap.value} {measure}, in force since {offer.cap.valid_from}"
    lines: list[Line] = [
        ("disbursed on", f"{terms.disbursed_on}{note}"),
        ("instalments", f"{len(offer.instalments)}, from {first} to {last}"),
        ("first instalment", offer.instalment_minor),
        ("last instalment", offer.instalments[-1].total),
        ("cash to the borrower", terms.cash_to_borrower_minor),
        ("total to pay", offer.total_to_pay_minor),
        ("total cost", offer.cost_minor),
        ("  interest", charges.interest),
        *((name, minor) for name, minor in fees if minor),
        ("annual rate, nominal (IRR)", _percent(rates.nominal_ppb)),
        ("annual rate, effective (IRR)", _percent(rates.effective_ppb)),
        ("annual rate, simple", _percent(rates.simple_ppb)),
        ("APR, United States", _percent(rates.us_apr_ppb)),
        ("APR, European Union", _percent(rates.eu_apr_ppb)),
        (f"cap on {offer.on}", cap),
    ]
    return _aligned(lines, terms.currency)


def quote_json(offer: Quote) -> dict[str, Any]:
    """A quote for programs: minor units, parts per billion, and where the cap comes from."""
    terms, rates = offer.terms, offer.rates
    charges = parts_minor(offer.charges)
    return {
        "currency": terms.currency,
        "convention": terms.convention.name,
        "disbursed_on": terms.disbursed_on,
        "principal_minor": terms.principal_minor,
        "cash_to_borrower_minor": terms.cash_to_borrower_minor,
        "instalment_minor": offer.instalment_minor,
        "total_to_pay_minor": offer.total_to_pay_minor,
        "cost_minor": offer.cost_minor,
        "interest_minor": charges["interest_minor"],
        "guarantee_fee_minor": charges["guarantee_fee_minor"],
        "service_fee_minor": charges["service_fee_minor"],
        "upfront_fee_minor": terms.upfront_fee_minor,
        "vat_minor": offer.vat_minor,
        "vat_ppm": terms.vat_ppm,
        "rates": {name: getattr(rates, name) for name in rates.__slots__},
        "cap": {
            "parameter": offer.cap.name,
            "on": offer.on,
            "rate_ppm": offer.cap.integer,
            "measure": offer.cap_measure,
            "measured_ppb": offer.legal_rate_ppb,
            "valid_from": offer.cap.valid_from,
            "source": offer.cap.source,
        },
        "instalments": schedule_json(terms, offer.instalments)["instalments"],
    }


def view_pairs(
    view: LoanView,
    rows: Sequence[InstalmentState],
    currency: str,
    form: str,
    *,
    changed_on: date | None = None,
) -> Pairs:
    """Balances and arrears of a loan for people; amounts of zero are left out.

    `changed_on` is the day the terms in force replaced others, if they did.
    """
    lines: list[Line] = [
        *_status_lines(view, rows, changed_on),
        ("principal outstanding", view.principal_outstanding),
        *_by_component("past due", view.past_due),
        *_by_component("paid", view.paid),
        *_by_component("waived", view.waived),
        ("accrued interest", view.accrued_interest),
        ("settles the loan that day", view.settlement),
    ]
    rare = ("overpaid", "compensated", "charged_off", "recovered")
    lines += [(_words(name), getattr(view, name)) for name in rare if getattr(view, name)]
    if view.next_due_on:
        lines.append((f"next due on {view.next_due_on}", view.next_due))
    lines.append(("form", form))
    return _aligned(lines, currency)


def _status_lines(
    view: LoanView, rows: Sequence[InstalmentState], changed_on: date | None
) -> list[Line]:
    """Status, days past due and instalments paid, by the terms in force."""
    if not view.disbursed:
        return [("status", NOT_DISBURSED)]
    late = f", {view.days_past_due} days past due" if view.days_past_due else ""
    lines: list[Line] = [("status", _words(view.status.label) + late)]
    count = sum(1 for row in rows if row.number)
    if changed_on is None:
        return [*lines, ("instalments paid", f"{view.instalments_paid} of {count}")]
    # Instalments of an earlier plan end with it, as far as they were paid.
    earlier = sum(1 for row in rows if row.number and row.due_on <= changed_on)
    since = view.as_of - timedelta(days=view.days_past_due)
    if view.days_past_due and since < changed_on:
        lines.append(("past due since", f"{since}, before the terms changed on {changed_on}"))
    paid = f"{view.instalments_paid - earlier} of {count - earlier}"
    return [*lines, ("instalments paid", f"{paid} since the terms changed on {changed_on}")]


def view_json(view: LoanView) -> dict[str, Any]:
    """Balances and arrears of a loan for programs."""
    shown: dict[str, Any] = {}
    for name, value in view._asdict().items():
        if isinstance(value, ComponentAmounts):
            shown[name] = parts_minor(value)
        elif name == "status":
            shown[name] = value.label
        elif isinstance(value, date) or value is None or name in _COUNTS:
            shown[name] = value
        else:
            shown[f"{name}_minor"] = value
    return shown


def replay_json(rows: Sequence[InstalmentState]) -> list[dict[str, Any]]:
    """Every instalment as it stands."""
    return [
        {"number": row.number, "due_on": row.due_on, "due": _scheduled_minor(row.due),
         "paid": _scheduled_minor(row.paid), "outstanding": _scheduled_minor(row.outstanding)}
        for row in rows
    ]  # fmt: skip


def replay_csv(rows: Sequence[InstalmentState]) -> list[list[object]]:
    """The rows under `REPLAY_COLUMNS`."""
    return [[row.number, row.due_on, *row.due[:4], *row.paid[:4], *row.outstanding[:4]]
            for row in rows]  # fmt: skip


def replay_table(
    rows: Sequence[InstalmentState], currency: str
) -> tuple[list[str], list[list[str]]]:
    """Headings and cells of the instalments as they stand; fees only where there are any."""
    due = [row.due for row in rows]
    shown = [name for name in SCHEDULED if name == "principal" or _any(due, name)]
    headings = ["no", "due on"]
    headings += [f"{_words(name)}\n{each}" for each in ("due", "paid", "left") for name in shown]
    amounts = _amounts(currency)
    cells = []
    for row in rows:
        standings = (row.due, row.paid, row.outstanding)
        minor = [getattr(each, name) for each in standings for name in shown]
        cells.append([str(row.number), str(row.due_on), *amounts(minor)])
    return headings, cells


def _scheduled_minor(parts: ComponentAmounts) -> dict[str, int]:
    shown = parts_minor(parts)
    del shown["penalty_minor"]  # penalties belong to the loan, not to an instalment
    return shown


def _any(rows: Sequence[Any], name: str) -> bool:
    return any(getattr(row, name) for row in rows)


def _by_component(name: str, parts: ComponentAmounts) -> list[Line]:
    """A total and the components behind it, where there is more than one."""
    lines: list[Line] = [(name, parts.total)] if parts.total else []
    inside = [(f"  {_words(each)}", minor) for each, minor in parts._asdict().items() if minor]
    return lines + inside if len(inside) > 1 else lines


def _words(name: str) -> str:
    return name.replace("_", " ")


def _aligned(lines: Sequence[Line], currency: str) -> Pairs:
    """Lines as text, amounts under each other."""
    amounts = _amounts(currency)([value for _, value in lines if isinstance(value, int)])
    width = max(map(len, amounts), default=0)
    texts = iter(f"{amount:>{width}} {currency}" for amount in amounts)
    return [(name, next(texts) if isinstance(value, int) else value) for name, value in lines]


def _amounts(currency: str) -> Callable[[Sequence[int]], list[str]]:
    return lambda minor: [number(each, currency) for each in minor]


def _percent(rate_ppb: int) -> str:
    return f"{percent(rate_ppb, decimals=2)}%"
