"""Files of a payment date: collections in; state, distribution, instructions and facts out.

A folder holds the state of a deal (`state.json`) and a file for each date (`date-001.json`). The
trustee's own calculation, a CSV of `line,amount_minor`, is set beside ours line by line.

>>> from usance.fund.projection import project
>>> from usance.fund.sample import sample_deal
>>> row = project(sample_deal()).distributions[0]
>>> lines = calculation_lines(row)
>>> lines["A.interest"], lines["account.reserve"], lines["fee.trustee"]
(31561644, 100000000, 616438)
>>> [str(each) for each in trustee_differences(row, {**lines, "A.interest": 31561645, "B.x": 1})]
['A.interest: trustee 31561645, ours 31561644', 'B.x: trustee 1, ours nothing']
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from usance.base.atomic_files import replace
from usance.base.dates import parse_date
from usance.base.documents import parse_json, read_csv, read_text
from usance.base.errors import DocumentError, raise_all
from usance.base.fields import day, file_fields, whole_of
from usance.base.money import INT64_MAX, Money
from usance.base.stated_fact import StatedFact
from usance.fund.deal import Deal, MonthFlows, Status
from usance.fund.deal_terms import DealTerms
from usance.fund.errors import PaymentDateError
from usance.fund.facts import deal_facts
from usance.fund.payment_date import ClassPayment, Collections, Distribution, pay_date
from usance.fund.state import DealState, opening_state, state_of_deal

STATE = "state.json"


class LineDifference(NamedTuple):
    """A line of the trustee's calculation that is not ours."""

    line: str
    trustee_minor: int | None
    ours_minor: int | None

    def __str__(self) -> str:
        """For people."""
        sides = (
            "nothing" if side is None else side for side in (self.trustee_minor, self.ours_minor)
        )
        trustee, ours = sides
        return f"{self.line}: trustee {trustee}, ours {ours}"


class Instruction(NamedTuple):
    """One payment the trustee is told to make."""

    paid_on: date
    account: str
    payee: str
    purpose: str
    amount_minor: int


def read_collections(path: Path | str) -> tuple[Collections, date | None]:
    """Collections of a period from a file, and the day of payment if it names one."""
    fields = file_fields(path)
    amount = whole_of(0, INT64_MAX)
    names = ("interest_minor", "principal_minor", "defaulted_minor", "recovered_minor")
    flows = [fields.need(name, amount) for name in names]
    pool_end = fields.need("pool_end_minor", amount)
    paid_on = fields.take("paid_on", day)
    fields.close()
    raise_all(fields.problems)
    return Collections(MonthFlows(*flows), pool_end), paid_on


def read_state(folder: Path, deal: Deal) -> DealState:
    """The state in a folder, or that at closing."""
    file = state_file(folder)
    return opening_state(deal) if file is None else state_of_deal(parse_json(read_text(file)), deal)


def state_file(folder: Path) -> Path | None:
    """The file with the state of a deal; a run keeps one for each date, of which it is the last."""
    own = folder / STATE
    if own.exists():
        return own
    return max(folder.glob("state-*.json"), default=None)


def read_dates(folder: Path) -> list[Distribution]:
    """Every payment date in a folder, in order."""
    files = sorted(folder.glob("date-*.json"))
    return [distribution_of_dict(parse_json(read_text(file), where=str(file))) for file in files]


def pay_from_files(deal: Deal, terms: DealTerms, collections: Path, folder: Path) -> Distribution:
    """Pay the next date and write everything about it; the state is written last."""
    given, paid_on = read_collections(collections)
    before = read_state(folder, deal)
    after, row = pay_date(deal, before, given, paid_on)
    _check_pool(before, given, str(collections))
    folder.mkdir(parents=True, exist_ok=True)
    rows = [*(each for each in read_dates(folder) if each.period < row.period), row]
    for name, content in date_files(deal, terms, rows, after).items():
        replace(folder / name, content)
    return row


def date_files(
    deal: Deal, terms: DealTerms, rows: Sequence[Distribution], after: DealState,
    bought_out: Sequence[tuple[date, int]] = (),
) -> dict[str, bytes]:  # fmt: skip
    """The files of the last of some payment dates, by name; the state comes last."""
    row, is_over = rows[-1], after.is_called or after.period == deal.periods
    facts = deal_facts(deal, terms, rows, after if is_over else None, bought_out)
    return {
        f"date-{row.period:03}.json": json_bytes(distribution_as_dict(row)),
        f"instructions-{row.period:03}.csv": _csv(instructions(deal, terms, row)).encode(),
        "facts.json": json_bytes(facts_document(facts)),
        STATE: json_bytes(after.as_dict()),
    }


def _check_pool(state: DealState, given: Collections, where: str) -> None:
    """Performing principal can only fall by what was paid and what defaulted."""
    flows = given.flows
    gone = flows.principal_minor + flows.defaulted_minor
    if state.names["pool_end"] - gone != given.pool_end_minor:
        what = (
            f"the pool was {state.names['pool_end']}, {gone} was paid or defaulted, "
            f"and pool_end_minor is {given.pool_end_minor}"
        )
        fix = f"Let pool_end_minor be {state.names['pool_end'] - gone}, or correct the flows"
        raise PaymentDateError(what, where=where, fix=fix)


def instructions(deal: Deal, terms: DealTerms, row: Distribution) -> Iterator[Instruction]:
    """The payments of a date: fees, classes, loans bought."""
    for name, minor in row.fees.items():
        if minor:
            payee = terms.parties.get(name, name)
            yield Instruction(row.paid_on, deal.name, payee, f"fee {name}", minor)
    for name, paid in row.classes.items():
        parts = {
            "interest": paid.interest_minor,
            "principal": paid.principal_minor,
            "residual": paid.residual_minor,
        }
        for purpose, minor in parts.items():
            if minor:
                yield Instruction(row.paid_on, deal.name, f"holders of {name}", purpose, minor)
    if row.cost_minor:
        payee = terms.parties.get("originator", "originator")
        yield Instruction(row.paid_on, deal.name, payee, "loans bought", row.cost_minor)


def calculation_lines(row: Distribution) -> dict[str, int]:
    """Every line of our calculation, under the names a trustee's file uses."""
    lines = {
        "collected_interest": row.flows.interest_minor,
        "collected_principal": row.flows.principal_minor,
        "defaulted": row.flows.defaulted_minor,
        "recovered": row.flows.recovered_minor,
        "pool_end": row.pool_end_minor,
        "bought": row.bought_minor,
        "called": row.called_minor,
    }
    lines |= {f"fee.{name}": minor for name, minor in row.fees.items()}
    for name, paid in row.classes.items():
        lines[f"{name}.interest"] = paid.interest_minor
        lines[f"{name}.principal"] = paid.principal_minor
        lines[f"{name}.residual"] = paid.residual_minor
        lines[f"{name}.balance"] = paid.balance_minor
        lines[f"{name}.due"] = paid.unpaid_minor
    return lines | {f"account.{name}": held for name, held in (row.accounts or {}).items()}


def read_trustee(path: Path | str) -> dict[str, int]:
    """The trustee's calculation: a CSV of `line` and `amount_minor`."""
    lines: dict[str, int] = {}
    for number, cells in read_csv(path):
        where = f"{path} line {number}"
        if set(cells) != {"line", "amount_minor"}:
            fix = "Give the columns line and amount_minor"
            raise DocumentError(f"columns {', '.join(cells)}", where=where, fix=fix)
        if cells["line"] in lines:
            what = f"the line {cells['line']} is there twice"
            raise DocumentError(what, where=where, fix="Keep one of them")
        lines[cells["line"]] = whole_of(-INT64_MAX, INT64_MAX)(cells["amount_minor"], where)
    return lines


def trustee_differences(row: Distribution, trustee: Mapping[str, int]) -> list[LineDifference]:
    """Lines that differ, or that only the trustee has; lines left out are not compared."""
    ours = calculation_lines(row)
    return [
        LineDifference(line, minor, ours.get(line))
        for line, minor in trustee.items()
        if ours.get(line) != minor
    ]


def distribution_as_dict(row: Distribution) -> dict[str, Any]:
    """A payment date for a file."""
    return {**asdict(row), "paid_on": row.paid_on.isoformat(), "status": row.status.value}


def distribution_of_dict(given: Mapping[str, Any]) -> Distribution:
    """The payment date a file holds."""
    try:
        classes = {name: ClassPayment(**paid) for name, paid in given["classes"].items()}
        return Distribution(**{
            **given, "paid_on": parse_date(given["paid_on"]), "status": Status(given["status"]),
            "flows": MonthFlows(**given["flows"]), "classes": classes,
        })  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        fix = "Give a file that `usance fund pay` wrote"
        raise PaymentDateError(f"no payment date: {error}", fix=fix) from None


def facts_document(facts: Sequence[StatedFact]) -> dict[str, Any]:
    """Facts of the group as `usance books` reads them."""
    return {
        "facts": [
            {
                "id": number, "kind": each.kind, "entity": each.entity,
                "on": each.effective_on.isoformat(), **_amount(each), "party": each.party,
                **each.detail,
            }
            for number, each in enumerate(facts, start=1)
        ]
    }  # fmt: skip


def _amount(fact: StatedFact) -> dict[str, str]:
    """The amount of a fact; a schedule has none of its own."""
    minor = fact.amount_minor
    return {"amount": Money(minor, fact.currency).number} if minor else {}


def _csv(rows: Iterator[Instruction]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(Instruction._fields)
    writer.writerows(rows)
    return out.getvalue()


def json_bytes(value: object) -> bytes:
    """A value as the text of a JSON file."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()
