"""Journals as tables: numbered, and chained by hash so that none can be changed unseen.

A journal's hash covers its head, its lines and the hash of the journal before. No clock is read:
a journal is booked at the moment its close knew facts up to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from hashlib import sha256

import numpy as np
import pyarrow as pa

from usance.base.arrays import I64
from usance.base.codes import Code
from usance.base.columns import arrays, make
from usance.base.dates import microseconds, to_day
from usance.base.errors import CorruptFile, UsanceError
from usance.books.errors import Unbalanced
from usance.books.postings import Lines

_COVERED = (
    "line", "entity", "basis", "tag", "account", "period", "effective_on", "rule", "cell",
    "loan_id", "amount_minor", "currency", "fact_id", "activity",
)  # fmt: skip


class JournalKind(Code):
    """Origin of a journal."""

    LOANS = 1
    GROUP = 2
    MANUAL = 3
    TAX = 4


@dataclass(frozen=True, slots=True)
class CloseHead:
    """The head that all journals of a close share."""

    close_no: int
    month: int
    day: date
    known_at: datetime
    actor: str

    def first_id(self, kind: JournalKind) -> int:
        """Before the first number of a kind's journals; none meets another's."""
        return (self.close_no << 28) + (int(kind) << 24)


MAX_JOURNALS = 1 << 24


def loan_postings(
    lines: Lines, head: CloseHead, currency: int, activity: I64, loan_ids: I64 | None = None
) -> pa.Table:
    """The postings of loans' journals; rows of `lines` are cells, or loans with their ids."""
    size = len(lines)
    last = int(lines.journal[-1]) if size else 0
    if last >= MAX_JOURNALS:
        fix = "Write journals by cell, and make those of single loans on request"
        raise Unbalanced(f"a close of {last} journals", where="journals", fix=fix)
    return make(
        "postings",
        journal_id=head.first_id(JournalKind.LOANS) + lines.journal,
        line=line_numbers(lines.journal),
        entity=lines.entity, basis=lines.basis, tag=lines.tag, account=lines.account,
        period=np.full(size, head.month), effective_on=np.full(size, to_day(head.day)),
        rule=lines.rule, cell=lines.cell,
        loan_id=np.zeros(size, np.int64) if loan_ids is None else loan_ids[lines.row],
        amount_minor=lines.amount, currency=np.full(size, currency), activity=activity,
    )  # fmt: skip


def line_numbers(journal: I64) -> I64:
    """1, 2, 3 … within each journal."""
    if len(journal) == 0:
        return journal
    starts = np.flatnonzero(np.r_[True, np.diff(journal) != 0])
    lengths = np.diff(np.r_[starts, len(journal)])
    return np.asarray(np.arange(len(journal)) - np.repeat(starts, lengths) + 1, np.int64)


def journal_heads(
    postings: pa.Table, head: CloseHead, text: dict[int, str], previous_hash: str
) -> pa.Table:
    """The `journals` of postings in order of number; `text` names each rule."""
    columns = arrays(postings)
    ids = columns["journal_id"]
    starts = np.flatnonzero(np.r_[len(ids) > 0, np.diff(ids) != 0][: len(ids)])
    stops = [*starts[1:].tolist(), len(ids)][: len(starts)]
    packed = np.stack([columns[name].astype(np.int64) for name in _COVERED], axis=1)
    hashes, before = [], []
    last = previous_hash
    for start, stop in zip(starts.tolist(), stops, strict=True):
        before.append(last)
        last = _hash(int(ids[start]), head, packed[start:stop], last)
        hashes.append(last)
    size = len(starts)
    heads = ids[starts]
    return make(
        "journals",
        journal_id=heads,
        booked_at=np.full(size, microseconds(head.known_at.replace(tzinfo=UTC))),
        close_no=np.full(size, head.close_no),
        kind=(heads >> 24) & 15,
        actor=[head.actor] * size,
        text=[text.get(rule, "") for rule in columns["rule"][starts].tolist()],
        reverses=np.zeros(size, np.int64),
        hash=hashes,
        previous_hash=before,
    )


def _hash(journal_id: int, head: CloseHead, lines: I64, previous: str) -> str:
    mark = sha256(f"{previous} {journal_id} {head.close_no} {head.actor}\n".encode())
    mark.update(np.ascontiguousarray(lines, "<i8").tobytes())
    return mark.hexdigest()


def check_chain(
    postings: pa.Table, journals: pa.Table, head: CloseHead, previous_hash: str
) -> list[UsanceError]:
    """Every journal whose lines or place in the chain were changed."""
    again = journal_heads(postings, head, {}, previous_hash)
    published, recomputed = _hashes(journals), _hashes(again)
    return [
        CorruptFile("is not the journal that was written", where=f"journal {number}",
                    fix="Restore the close from a copy of the book")
        for number in sorted(published.keys() | recomputed.keys())
        if published.get(number) != recomputed.get(number)
    ]  # fmt: skip


def _hashes(journals: pa.Table) -> dict[int, tuple[str, str]]:
    """By journal, its hash and that of the journal before."""
    ids, *hashes = (journals[name].to_pylist() for name in ("journal_id", "hash", "previous_hash"))
    return dict(zip(ids, zip(*hashes, strict=True), strict=True))


def unbalanced(postings: pa.Table) -> Iterator[UsanceError]:
    """Every journal that does not sum to zero per entity, basis and currency."""
    columns = arrays(postings)
    names = ("journal_id", "entity", "basis", "currency")
    keys = np.stack([columns[name].astype(np.int64) for name in names], axis=1)
    groups, at = np.unique(keys, axis=0, return_inverse=True)
    sums = np.zeros(len(groups), np.int64)
    np.add.at(sums, at.reshape(-1), columns["amount_minor"])
    for row in np.flatnonzero(sums).tolist():
        journal, entity, basis, _ = groups[row].tolist()
        yield Unbalanced(
            f"sums to {sums[row]} in entity {entity}, basis {basis}",
            where=f"journal {journal}",
            fix="Make debits and credits equal",
        )
