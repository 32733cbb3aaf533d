"""Sample of loans that differ from each other as much as they can.

Every loan has marks: its model, product and grade, the kinds of its facts, its state at month ends,
whether several sources were asked, and the rules that posted it at the last close. The next
loan is always the one with the most marks not covered yet, the lowest number first; when all are
covered, it begins again.
"""

from __future__ import annotations

import numpy as np

from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.columns import arrays
from usance.books.close.closes import effective_closes
from usance.books.rules import load_rules
from usance.disclose.drill.journals import LoanShares

_BITS = 63
_MODEL, _PRODUCT, _GRADE, _KIND, _BUCKET, _STATUS, _ASKED, _TERMS = 0, 5, 8, 16, 29, 38, 41, 42
"""The first bit of each kind of mark."""
_GRADES, _BUCKETS = 8, 9


def sample_loans(book: Book, count: int, shares: LoanShares | None) -> tuple[int, ...]:
    """Some loans of a book, in order of their numbers; `shares` are those of a closed book."""
    ids, marks = _marked(book)
    if shares is not None:
        marks = np.concatenate([marks, _posted(book, ids, shares)], axis=1)
    covered, taken = np.zeros(marks.shape[1], np.int64), np.zeros(len(ids), bool)
    for _ in range(min(count, len(ids))):
        new = np.where(taken, -1, _count(marks & ~covered))
        if new.max() == 0:
            covered[:] = 0
            new = np.where(taken, -1, _count(marks))
        best = int(new.argmax())
        taken[best] = True
        covered |= marks[best]
    return tuple(ids[taken].tolist())


def _count(marks: I64) -> I64:
    found: I64 = np.bitwise_count(marks).astype(np.int64).sum(axis=1)
    return found


def _marked(book: Book) -> tuple[I64, I64]:
    """Every loan of the first shard, with its marks as bits."""
    shard = min((file.shard for file in book.files("loans")), default=None)
    loans = arrays(book.read("loans", ["loan_id", "model", "product", "grade"], shard=shard))
    of_tape = len(loans["loan_id"]) == 0
    tape_shard = min((file.shard for file in book.files("tape")), default=None)
    tape = arrays(book.read("tape", ["month", "loan_id", "bucket", "status"], shard=tape_shard))
    ids = np.unique(tape["loan_id"] if of_tape else loans["loan_id"]).astype(np.int64)
    marks = np.zeros((len(ids), 1), np.int64)
    if not of_tape:
        _add(marks, ids, loans["loan_id"], loans["model"], _MODEL)
        _add(marks, ids, loans["loan_id"], loans["product"], _PRODUCT)
        _add(marks, ids, loans["loan_id"], loans["grade"].clip(0, _GRADES - 1), _GRADE)
        changed = np.unique(loans["loan_id"], return_counts=True)
        _add(marks, ids, changed[0], (changed[1] > 1).astype(np.int64), _TERMS)
    _add(marks, ids, tape["loan_id"], (tape["bucket"] + 1).clip(0, _BUCKETS - 1), _BUCKET)
    _add(marks, ids, tape["loan_id"], tape["status"], _STATUS)
    facts = arrays(book.read("facts", ["loan_id", "kind"], shard=shard))
    _add(marks, ids, facts["loan_id"], facts["kind"], _KIND)
    routing = arrays(book.read("routing", ["loan_id", "attempt"], shard=shard))
    asked = routing["loan_id"][routing["attempt"] == 2]  # a second source
    _add(marks, ids, asked, np.zeros(len(asked), np.int64), _ASKED)
    return ids, marks


def _posted(book: Book, ids: I64, shares: LoanShares) -> I64:
    """For every loan the rules that posted it at the last close."""
    close = effective_closes(book)[-1]
    posted = arrays(book.read("postings", ["rule", "fact_id"], folder=close.folder))
    known = {rule.number for rule in load_rules()}
    rules = [each for each in np.unique(posted["rule"]).tolist() if each in known]
    marks = np.zeros((len(ids), len(rules) // _BITS + 1), np.int64)
    for place, rule in enumerate(rules):
        moved = np.unique(shares.lines(close.close_no, rule)[1])
        _add(marks, ids, moved, np.full(len(moved), place % _BITS, np.int64), 0, place // _BITS)
    return marks


def _add(marks: I64, ids: I64, loans: I64, values: I64, first: int, word: int = 0) -> None:
    """Set a bit for every value of a loan; loans that are not among the ids are left out."""
    if len(ids) == 0:
        return
    place = np.searchsorted(ids, loans).clip(0, len(ids) - 1)
    own = ids[place] == loans
    bits = np.left_shift(np.int64(1), values[own].astype(np.int64) + first)
    np.bitwise_or.at(marks[:, word], place[own], bits)
