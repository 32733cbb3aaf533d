"""Asset-backed deals worked to the minor unit, run through the exact form of `fund`.

A file is `{"deals": [{"id", "input", "expected"}]}`. Every value of `expected` is compared: whole
numbers, days, statuses and nulls have to be equal, and no row may be missing or too much.

>>> compared = list(differences({"rows": [{"period": 1}, {}]}, {"rows": [{"period": 2}]}))
>>> [str(each) for each in compared]
['rows: expected 2 items, got 1', 'rows[1].period: expected 1, got 2']
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from usance.base.document_places import document_places
from usance.base.documents import parse_json, read_text
from usance.base.errors import DocumentError, UsanceError
from usance.base.fields import Fields, text
from usance.conform.report import Report
from usance.fund.deal import Deal
from usance.fund.deal_file import deal_of_fields
from usance.fund.payment_date import ClassPayment, Distribution
from usance.fund.projection import project
from usance.fund.results import class_results
from usance.fund.scenarios import scenario_shorts

MAX_SHOWN = 10
"""Differences of one deal that are printed for people; `--json` has them all."""


class Difference(NamedTuple):
    """A value that is not as expected."""

    path: str
    expected: object
    computed: object

    def __str__(self) -> str:
        """For people."""
        return f"{self.path}: expected {self.expected}, got {self.computed}"


@dataclass(frozen=True, slots=True)
class DealCheck:
    """The result of one deal."""

    id: str
    values: int
    differences: tuple[Difference, ...] = ()
    problems: tuple[UsanceError, ...] = ()

    @property
    def passed(self) -> bool:
        """True if every value is as expected."""
        return not self.failed

    @property
    def failed(self) -> bool:
        """True if the deal cannot be read, or a value is wrong."""
        return bool(self.problems or self.differences)

    def as_dict(self) -> dict[str, object]:
        """For `--json`."""
        return {
            "id": self.id,
            "values": self.values,
            "differences": [each._asdict() for each in self.differences],
            "problems": [str(problem) for problem in self.problems],
        }


class DealReport(Report[DealCheck]):
    """The results of a file of deals."""

    __slots__ = ()

    def as_dict(self) -> dict[str, object]:
        """The answer of `--json`."""
        return {
            "total": len(self.results),
            "passed": self.passed,
            "values": sum(result.values for result in self.results),
            "failures": [result.as_dict() for result in self.failures],
        }

    def lines(self) -> Iterator[str]:
        """A line per deal, what differs below it, then the sums."""
        for result in self.results:
            mark = "ok  " if result.passed else "FAIL"
            equal = result.values - len(result.differences)
            yield f"{mark}  {result.id}  {equal} of {result.values} values equal"
            yield from (f"      {problem}" for problem in result.problems)
            yield from (f"      {each}" for each in result.differences[:MAX_SHOWN])
            if len(result.differences) > MAX_SHOWN:
                yield f"      and {len(result.differences) - MAX_SHOWN} more; --json has them all"
        yield f"{self.passed} of {len(self.results)} deals passed"


def check_deals(path: Path | str) -> DealReport:
    """Run every deal of a file."""
    content = read_text(path)
    document = parse_json(content, where=str(path))
    deals = document.get("deals") if isinstance(document, dict) else None
    if not isinstance(deals, list) or not deals:
        fix = 'Give {"deals": [{"id": ..., "input": {...}, "expected": {...}}]}'
        raise DocumentError("holds no deals", where=str(path), fix=fix)
    places = document_places(str(path), lambda: content)
    return DealReport(
        tuple(
            _check(Fields(given, places, [], ("deals", number)), number)
            for number, given in enumerate(deals, start=1)
        )
    )


def _check(fields: Fields, number: int) -> DealCheck:
    name = fields.take("id", text) or f"deal {number}"
    given = fields.take("input", lambda raw, _: fields.part(_said(raw), "input"))
    expected = fields.need("expected", lambda raw, _: raw)
    if given is None and fields.is_mapping:
        fields.wrong("input is missing", "Give the deal under input", "input")
    deal = None if given is None else deal_of_fields(given, any_size=True)
    if fields.problems or deal is None:
        return DealCheck(name, 0, problems=tuple(fields.problems))
    try:
        computed = outcome(deal)
    except UsanceError as error:
        return DealCheck(name, 0, problems=(error,))
    return DealCheck(name, _count(expected), tuple(differences(expected, computed)))


def _said(given: Any) -> Any:
    """A document without its nulls, which stand for nothing said."""
    if isinstance(given, dict):
        return {key: _said(value) for key, value in given.items() if value is not None}
    return [_said(each) for each in given] if isinstance(given, list) else given


def outcome(deal: Deal) -> dict[str, Any]:
    """Everything a case can expect of a deal, under the case's names."""
    found = project(deal)
    accounts = {
        name.removeprefix("account."): held
        for name, held in found.state.names.items()
        if name.startswith("account.")
    }
    return {
        "rows": [row_values(row) for row in found.distributions],
        "classes": {
            name: {
                "wal_ppm": result.wal_ppm,
                "yield_ppb": result.yield_ppb,
                "short_minor": result.short_minor,
                "break_even_hundredths": result.break_even_hundredths,
                "expected_loss_ppm": result.expected_loss_ppm,
            }
            for name, result in class_results(deal, shorts=scenario_shorts(deal)).items()
        },
        "accounts_end": accounts,
        "collected_minor": found.collected_minor,
        "paid_minor": found.paid_minor,
    }


def row_values(row: Distribution) -> dict[str, Any]:
    """One payment date under the case's names."""
    return {
        "period": row.period,
        "paid_on": row.paid_on,
        "status": row.status.value,
        "collected_interest_minor": row.flows.interest_minor,
        "collected_principal_minor": row.flows.principal_minor,
        "defaulted_minor": row.flows.defaulted_minor,
        "recovered_minor": row.flows.recovered_minor,
        "pool_end_minor": row.pool_end_minor,
        "bought_minor": row.bought_minor,
        "called_minor": row.called_minor,
        "fees": row.fees,
        "classes": {name: _class_values(paid) for name, paid in row.classes.items()},
        "accounts": row.accounts,
    }


def _class_values(paid: ClassPayment) -> dict[str, int | None]:
    return {
        "interest_minor": paid.interest_minor + paid.residual_minor,
        "principal_minor": paid.principal_minor,
        "balance_minor": paid.balance_minor,
        "unpaid_minor": paid.unpaid_minor,
        "oc_ppm": paid.oc_ppm,
        "ic_ppm": paid.ic_ppm,
    }


def differences(expected: Any, computed: Any, path: str = "") -> Iterator[Difference]:
    """Every value that is not as expected, in the shape of the expected ones."""
    if isinstance(expected, Mapping):
        known = computed if isinstance(computed, Mapping) else {}
        for key, value in expected.items():
            inside = f"{path}.{key}" if path else str(key)
            if key in known:
                yield from differences(value, known[key], inside)
            else:
                yield Difference(inside, value, "nothing")
    elif isinstance(expected, list):
        listed = computed if isinstance(computed, list) else []
        if len(expected) != len(listed):
            yield Difference(path, f"{len(expected)} items", len(listed))
        for number, (value, other) in enumerate(zip(expected, listed, strict=False), start=1):
            yield from differences(value, other, f"{path}[{number}]")
    else:
        shown = computed.isoformat() if isinstance(computed, date) else computed
        if type(expected) is not type(shown) or expected != shown:
            yield Difference(path, expected, shown)


def _count(expected: Any) -> int:
    if isinstance(expected, Mapping):
        return sum(_count(value) for value in expected.values())
    if isinstance(expected, list):
        return sum(_count(value) for value in expected)
    return 1
