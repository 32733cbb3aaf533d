"""The facts behind a figure: those of some loans, and the sources of figures that are stated.

Those of loans are found without reading those of all others: files are chosen by the keys their
manifest names, rows by a filter on the loan, so a drill into a large book reads a few files of one
shard. A book made from a tape has rows of the tape instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from usance.base.book import Book
from usance.base.codes import DecisionKind, FactKind, Status
from usance.base.dates import format_month, to_month
from usance.base.manifest import FileEntry
from usance.base.parquet import check_unchanged
from usance.base.tables import table
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.group.facts import GroupFact
from usance.books.tape.book import holds_tape
from usance.capital.dividends import Dividend
from usance.disclose.facts import Fact
from usance.disclose.release.announcement import OUTLOOK
from usance.disclose.release.change_analysis import CHANGE_ANALYSIS
from usance.disclose.release.corporate_actions import DIVIDEND, REPURCHASE, dividend_period
from usance.disclose.release.release import Release

FACTS = ("loan_id", "effective_on", "kind", "ref", "amount_minor", "arg", "booked_at")
TAPE = (
    "month", "loan_id", "dpd", "bucket", "status", "principal_minor", "past_due_minor",
    "recovered_minor",
)  # fmt: skip
DECISION = (
    "decision_id", "booked_at", "kind", "approved", "score", "grade", "line_minor", "flow_no",
    "model_no",
)  # fmt: skip


def facts_of_loans(
    book: Book, ids: Sequence[int], day: date, known_at: datetime
) -> dict[int, dict[str, Any]]:
    """The facts and decision of each loan known to a close, or its rows of a tape."""
    if holds_tape(book):
        return _of_tape(book, ids, day)
    found: dict[int, dict[str, Any]] = {
        loan_id: {"decision_id": 0, "facts": []} for loan_id in ids
    }  # fmt: skip
    for row in _rows(book, "loans", ("loan_id", "decision_id"), "loan_id", ids):
        found[row["loan_id"]]["decision_id"] = row["decision_id"]
    for row in _rows(book, "facts", FACTS, "loan_id", ids):
        if row["effective_on"] <= day and row["booked_at"] <= known_at:
            kept = found[row.pop("loan_id")]["facts"]
            booked = row["booked_at"].isoformat()
            kept.append({**row, "kind": FactKind(row["kind"]).label, "booked_at": booked})
    decided = sorted({each["decision_id"] for each in found.values()} - {0})
    decisions = {row["decision_id"]: row for row in _decisions(book, decided)}
    for each in found.values():
        if decision := decisions.get(each["decision_id"]):
            each["decision"] = decision
    return found


def _decisions(book: Book, ids: Sequence[int]) -> Iterator[dict[str, Any]]:
    for row in _rows(book, "decisions", DECISION, "decision_id", ids):
        kind, booked = DecisionKind(row["kind"]).label, row["booked_at"].isoformat()
        yield {**row, "kind": kind, "booked_at": booked}


def _of_tape(book: Book, ids: Sequence[int], day: date) -> dict[int, dict[str, Any]]:
    names = {row["loan_id"]: row["loan_ref"]
             for row in _rows(book, "refs", ("loan_id", "loan_ref"), "loan_id", ids)}  # fmt: skip
    found: dict[int, dict[str, Any]] = {
        loan_id: {"decision_id": 0, "facts": [], "ref": names.get(loan_id, ""), "tape": []}
        for loan_id in ids
    }
    for row in _rows(book, "tape", TAPE, "loan_id", ids, last=to_month(day)):
        month, status = format_month(row["month"]), Status(row["status"]).label
        found[row.pop("loan_id")]["tape"].append({**row, "month": month, "status": status})
    return found


def _rows(
    book: Book, name: str, columns: Sequence[str], key: str, ids: Sequence[int],
    last: int | None = None,
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """Rows of a table whose key is one of some ids, in order of the table's key."""
    parts = []
    wanted = pc.field(key).isin(pa.array(ids, pa.int64()))
    for file in book.files(name):
        in_time = last is None or file.month is None or file.month <= last
        if ids and in_time and _may_hold(file, table(name).key, key, ids):
            check_unchanged(book.path / file.path, file.sha256)
            parts.append(
                pq.read_table(book.path / file.path, columns=list(columns), filters=wanted)
            )
    if parts:
        order = [(each, "ascending") for each in table(name).key if each in columns]
        yield from pa.concat_tables(parts).sort_by(order).to_pylist()


def _may_hold(file: FileEntry, keys: Sequence[str], key: str, ids: Sequence[int]) -> bool:
    """True if one of some ids lies between the first and last key of a file."""
    if not file.first or keys[0] != key:
        return bool(file.first)
    first, last = int(file.first[0]), int(file.last[0])
    return any(first <= each <= last for each in ids)


Source = tuple[str, tuple[int, ...]]
"""The name of the source, and the facts of the group that state the figure."""
_SHARES = (
    GroupFactKind.SHARES_ISSUED, GroupFactKind.SHARES_REPURCHASED, GroupFactKind.SHARES_RETIRED,
    GroupFactKind.SHARES_RESERVED, GroupFactKind.SHARES_REISSUED, GroupFactKind.UNITS_CHANGED,
    GroupFactKind.GRANT, GroupFactKind.VESTING_ESTIMATE, GroupFactKind.SHARE_PRICE,
)  # fmt: skip


def source_of(release: Release, fact: Fact) -> Source:
    """The source of a figure; empty for one that is made from others."""
    if fact.statement == OUTLOOK:
        return "the announcement, beside the printed figure of the year before", ()
    if fact.statement == DIVIDEND:
        named = [
            each for each in release.corporate_actions.dividends if _is_for(release, each, fact)
        ]
        return _actions(release, [(each.name, each.where) for each in named])
    if fact.statement == REPURCHASE:
        plans = [each for each in release.corporate_actions.programmes
                 if fact.line.startswith(f"{each.name} plan ")]  # fmt: skip
        return _actions(release, [(each.name, each.where) for each in plans])
    if fact.statement == CHANGE_ANALYSIS:
        return "the printed figures of both periods, and the highlight that drives the line", ()
    if fact.unit in ("shares", "ads", "million_ads"):
        return "the share register", _ids(release.closed.facts, _SHARES)
    if fact.statement == "convenience_translation":
        given = release.filer.rate is not None
        known = () if given else _ids(release.closed.facts, (GroupFactKind.EXCHANGE_RATE,))
        return "the filer's rate" if given else "rates of the books", known
    return "", ()


def _is_for(release: Release, dividend: Dividend, fact: Fact) -> bool:
    return fact.period.name == (dividend_period(dividend) or release.periods.current.name)


def _actions(release: Release, named: Iterable[tuple[str, str]]) -> Source:
    listed = list(named)
    ids = [
        number for name, _ in listed for number in release.corporate_actions.fact_ids.get(name, ())
    ]
    return ", ".join(where for _, where in listed if where), tuple(ids)


def _ids(facts: Iterable[GroupFact], kinds: tuple[GroupFactKind, ...]) -> tuple[int, ...]:
    return tuple(each.fact_id for each in facts if each.kind in kinds)


def group_fact_rows(
    facts: Iterable[GroupFact], wanted: Iterable[int]
) -> Iterator[tuple[int, dict[str, object]]]:
    """Some facts of the group by number, as rows of a drill."""
    known = {each.fact_id: each for each in facts}
    for number in sorted(set(wanted) & set(known)):
        each = known[number]
        yield number, {
            "kind": each.kind.label, "effective_on": each.effective_on,
            "amount_minor": each.amount_minor, "quantity": each.quantity,
            "currency": each.currency.label, "entity": each.entity,
        }  # fmt: skip
