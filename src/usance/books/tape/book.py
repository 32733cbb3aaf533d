"""A tape in a book folder: the `tape` table with a loan's position beside every row.

A closed month must come again as it was; open months, and new ones, are taken as they come. So a
longer tape of the same portfolio carries its books on.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from usance.base.ageing import ageing_buckets
from usance.base.arrays import I64
from usance.base.book import Book
from usance.base.codes import Code, FundingModel, Product, parse
from usance.base.column_files import ColumnNames
from usance.base.columns import arrays, as_numpy, make
from usance.base.dates import format_month, last_of_month
from usance.base.digest import digest
from usance.base.documents import read_text
from usance.base.errors import UsanceError, raise_all, unknown
from usance.base.ids import PER_USER, SHARD_BITS
from usance.base.parameters import Parameters
from usance.base.segments import cell_key, cell_parts
from usance.base.tables import table
from usance.books.chart import load_chart
from usance.books.close.closes import effective_closes
from usance.books.errors import PeriodError, TapeError
from usance.books.loans.positions import FIELDS
from usance.books.tape.checks import same_loan, tape_problems
from usance.books.tape.file import GivenTape, read_tape
from usance.books.tape.positions import TapePositions, tape_positions
from usance.measure.book_tape import cells_of_loans

TAPE = table("tape").with_amounts([*FIELDS, "compensated_now", "charged_off_now"])
"""The `tape` table with a position's fields, and what the month paid out and charged off."""
_MAX_DAYS = 2**15 - 1
_DAYS = 1 << 20


@dataclass(frozen=True, slots=True)
class Portfolio:
    """A tape that has passed its checks: its rows as a book keeps them, cells, names, notes."""

    path: Path
    rows: pa.Table
    cells: pa.Table
    refs: pa.Table | None
    notes: list[str]

    @property
    def months(self) -> range:
        """The months it covers."""
        month = as_numpy(self.rows["month"])
        return range(int(month[0]), int(month[-1]) + 1)


def read_portfolio(
    book: Book, path: Path, *, policies: Path | None, platform: int, parameters: Parameters,
    names: ColumnNames | None = None,
) -> Portfolio:  # fmt: skip
    """Read a tape for a book, or raise everything that is wrong with it."""
    currency = book.manifest.currency
    declared = read_cells_file(policies, platform)
    known = book.read("refs").to_pydict()
    refs_known = dict(zip(known["loan_ref"], known["loan_id"], strict=True))
    tape = read_tape(path, currency=currency, cells=declared, known_refs=refs_known, names=names)
    raise_all(tape.problems, where=str(path))
    raise_all(tape_problems(tape, currency), where=str(path))
    cells = cells_for(tape.columns, declared or book.read("cells"), platform)
    made = tape_positions(tape, _non_accrual(tape, parameters))
    refs = None if tape.refs is None else _refs(tape)
    return Portfolio(path, _rows(tape, made, cells), cells, refs, made.notes)


def file_portfolio(book: Book, given: Portfolio) -> None:
    """Put a portfolio into a book: months that are closed must be there as they are."""
    closed = max((close.month for close in effective_closes(book)), default=0)
    with book.writing() as step:
        for month, shard, part in _parts(given.rows):
            if month > closed:
                step.add(TAPE, part, month=month, shard=shard, instead=True)
            else:
                _check_same(book, month, shard, part, given.path)
        step.add("cells", given.cells, instead=True)
        if given.refs is not None:
            step.add("refs", given.refs, instead=True)


def _non_accrual(tape: GivenTape, parameters: Parameters) -> I64:
    """Days past due after which a loan stops earning, by the policy of each row's month."""
    months, place = np.unique(tape.columns["month"], return_inverse=True)
    days = [
        parameters.at("accounting.non_accrual", last_of_month(int(month))).integer
        for month in months
    ]
    return np.array(days, np.int64)[place]


def _rows(tape: GivenTape, made: TapePositions, cells: pa.Table) -> pa.Table:
    """All rows as the table declares them, in order of month and loan."""
    columns, follows = tape.columns, same_loan(tape)
    loan_no, late = np.cumsum(~follows), columns["dpd"]
    worst = np.maximum.accumulate(loan_no * _DAYS + late.clip(0, _DAYS - 1)) % _DAYS
    counts = (late > 0) | (columns["status"] == 2)
    unpaid, grade = columns["principal"], ageing_buckets(late, columns["status"])

    def before(column: NDArray[Any], none: int) -> NDArray[Any]:
        return np.where(follows, np.append(column[:1], column[:-1]), none)

    order = np.lexsort((columns["loan_id"], columns["month"]))
    found = {
        "month": columns["month"], "loan_id": columns["loan_id"],
        "mob": columns["month"] - made.cohort, "dpd": np.minimum(late, _MAX_DAYS),
        "bucket": grade, "bucket_prev": before(grade, -1), "status": columns["status"],
        "principal_minor": unpaid, "principal_prev_minor": before(unpaid, 0),
        "past_due_minor": tape.get("past_due", 0),
        "net30_minor": np.where(counts & (worst > 30), unpaid, 0),
        "net180_minor": np.where(counts & (worst > 180), unpaid, 0),
        "prepaid_minor": tape.get("prepaid", 0), "recovered_minor": made.recovered,
        "cohort": made.cohort, "cell": cells_of_loans(dict(columns), cells),
        "compensated_now": made.compensated, "charged_off_now": made.charged_off,
    }  # fmt: skip
    found |= {name: made.at[:, place] for place, name in enumerate(FIELDS)}
    return make(TAPE, **{name: values[order] for name, values in found.items()})


def _parts(rows: pa.Table) -> Iterator[tuple[int, int, pa.Table]]:
    """The rows by month and shard."""
    columns = arrays(rows.select(["month", "loan_id"]))
    shards = columns["loan_id"] // PER_USER >> SHARD_BITS
    keys = columns["month"].astype(np.int64) * 2**32 + shards
    for key in np.unique(keys).tolist():
        first, last = np.searchsorted(keys, key), np.searchsorted(keys, key, side="right")
        yield key >> 32, key & 0xFFFFFFFF, rows.slice(first, last - first)


def _check_same(book: Book, month: int, shard: int, part: pa.Table, path: Path) -> None:
    """Refuse other rows for a month that is closed."""
    marks = [file.digest for file in book.files("tape", month=month, shard=shard)]
    if marks != [str(digest(part, TAPE))]:
        name = format_month(month)
        fix = f"Give its rows as before, or reopen it: usance books reopen {name}"
        raise PeriodError(f"{name} is closed, and the tape has other rows of it", where=str(path),
                          fix=fix)  # fmt: skip


def _refs(tape: GivenTape) -> pa.Table:
    first = np.flatnonzero(~same_loan(tape))
    assert tape.refs is not None
    names = tape.refs.take(pa.array(first))
    return make("refs", loan_id=tape.columns["loan_id"][first], loan_ref=names)


def holds_tape(book: Book) -> bool:
    """True if a book keeps its loans as a tape."""
    return not book.files("loans") and bool(book.files("tape"))


def tape_shards(book: Book) -> Mapping[int, list[int]]:
    """The months of every shard, in order."""
    found: dict[int, list[int]] = {}
    for file in book.files("tape"):
        found.setdefault(file.shard, []).append(file.month or 0)
    return {shard: sorted(months) for shard, months in sorted(found.items())}


def check_tape_covers(book: Book, months: Iterable[int]) -> None:
    """Refuse months of which a tape has no rows: nothing would be accrued in them."""
    if not holds_tape(book):
        return
    there = {file.month or 0 for file in book.files("tape")}
    wanted, first = list(months), min(there)
    # The quarter in which a tape begins has months before it, in which there was nothing yet.
    begins = range(first) if first in wanted else range(0)
    missing = [format_month(each) for each in wanted if each not in there and each not in begins]
    if missing:
        last = format_month(max(there))
        what = f"the tape has no rows of {', '.join(missing)}; its last month is {last}"
        fix = f"Bring a tape with them: usance books run TAPE --out {book.path}"
        raise PeriodError(what, where=str(book.path), fix=fix)


def tape_moments(book: Book) -> list[datetime]:
    """Ends of the months of a tape; none where loans are kept with their facts."""
    if not holds_tape(book):
        return []
    ends = [last_of_month(file.month or 0) for file in book.files("tape")]
    return [datetime.combine(day, time.max, UTC).replace(microsecond=0) for day in ends]


def tape_cell(book: Book, loan_id: int) -> int | None:
    """The cell of one loan of a tape."""
    rows = arrays(book.read("tape", ["loan_id", "cell"]))
    found = rows["cell"][rows["loan_id"] == loan_id]
    return int(found[0]) if len(found) else None


NAME = "cells.csv"
_NEEDED = ("cell", "model", "product", "source")
_MAX = 2**15 - 1


def read_cells_file(folder: Path | None, platform: int) -> pa.Table | None:
    """The cells that a folder of policies declares, if it does."""
    if folder is None or not (folder / NAME).exists():
        return None
    rows = list(csv.DictReader(StringIO(read_text(folder / NAME))))
    problems: list[UsanceError] = []
    columns: dict[str, list[int]] = {name: [] for name in _readers(platform)}
    for line, row in enumerate(rows, start=2):
        for name, (read, default) in _readers(platform).items():
            where = f"{NAME} line {line}, {name}"
            try:
                columns[name].append(_read(row.get(name), read, default, where))
            except UsanceError as error:
                problems.append(error)
    if not rows:
        fix = f"Give a header with {', '.join(_NEEDED)} and a line for each cell"
        problems.append(TapeError("has no cells", where=NAME, fix=fix))
    raise_all(problems, where=NAME)
    order = np.argsort(columns["cell"], kind="stable")
    return make("cells", **{name: np.array(each)[order] for name, each in columns.items()})


_Reader = tuple[Callable[[str, str], int], int | None]


def _readers(platform: int) -> dict[str, _Reader]:
    """By column, the function that reads its cells, and the default of an empty one."""
    return {
        "cell": (_number, None),
        "model": (lambda text, where: _code(FundingModel, text, where), None),
        "product": (lambda text, where: _code(Product, text, where), None),
        "source": (_number, None),
        "entity": (_number, platform),
        "related": (_number, 0),
        "fund_cash": (_account, 0),
        "payout_cash": (_account, 0),
    }


def _read(
    given: str | None, read: Callable[[str, str], int], default: int | None, where: str
) -> int:
    text = (given or "").strip()
    if text:
        return read(text, where)
    if default is None:
        raise TapeError("is missing", where=where, fix="Fill it")
    return default


def _number(text: str, where: str) -> int:
    if not text.isdigit() or int(text) > _MAX:
        raise TapeError(f"{text!r} is no number", where=where, fix=f"Give 0 to {_MAX}")
    return int(text)


def _code(codes: type[Code], text: str, where: str) -> int:
    return int(parse(codes, text, where=where))


def _account(text: str, where: str) -> int:
    names = {account.name: account.number for account in load_chart() if account.is_cash}
    if text not in names:
        raise unknown("account of cash", text, names, where=where)
    return names[text]


def cells_for(columns: Mapping[str, NDArray[Any]], known: pa.Table, platform: int) -> pa.Table:
    """The cells known, with one more for every other model, product and source of a tape."""
    held = arrays(known)
    wanted, there = (cell_key(*(each[name] for name in _NEEDED[1:])) for each in (columns, held))
    new = np.setdiff1d(wanted, there)
    if not len(new):
        return known
    first = int(held["cell"].max(initial=0)) + 1
    model, product, source = cell_parts(new)
    more = make(
        "cells", cell=np.arange(first, first + len(new)), model=model,
        product=product, source=source, entity=np.full(len(new), platform),
    )  # fmt: skip
    return pa.concat_tables([known, more])
