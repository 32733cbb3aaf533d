"""A folder of settlement batches: closed ones are read, new ones are added, none is replaced.

Receipts and shares come from CSV with the columns of their tables: `loan_id, day, kind,
amount_minor` and `loan_id, institution, principal_minor`; a kind is written by its name.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from usance.base.arrays import I32
from usance.base.atomic_files import replace
from usance.base.errors import unknown
from usance.service.errors import LineError, SettlementRefused
from usance.service.settlement.batch import SettlementBatch, next_batches
from usance.service.settlement.layout import SettlementLayout, write_file
from usance.service.settlement.payable import LineKind, Payable, Receipts, Shares, payable

_RECEIPTS = pa.schema([
    ("loan_id", pa.int64()), ("day", pa.date32()), ("kind", pa.string()),
    ("amount_minor", pa.int64()),
])  # fmt: skip
_SHARES = pa.schema([
    ("loan_id", pa.int64()), ("institution", pa.int16()), ("principal_minor", pa.int64()),
])  # fmt: skip


class SettlementFolder:
    """Batches of all institutions, a file each; made with the first."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def closed(self) -> list[SettlementBatch]:
        """Batches that were closed, in the order of their days."""
        return [_read_batch(each) for each in sorted(self.path.glob("*.parquet"))]

    def settle(
        self, receipts: Path, shares: Path, day: date, layout: SettlementLayout | None = None
    ) -> list[SettlementBatch]:
        """Close the batches of a day and keep them, after their files in a layout."""
        owed = payable(read_receipts(receipts), read_shares(shares))
        made = next_batches(owed, self.closed(), day)
        files: dict[str, str] = {}
        for each in made if layout else ():
            assert layout is not None, "the loop is empty without a layout"
            name = f"{each.day}-{each.institution:05d}.{layout.suffix}"
            files[name] = write_file(each.lines(), layout)
        self.path.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            replace(self.path / name, content.encode())
        for each in made:
            _write_batch(self.path / f"{each.day}-{each.institution:05d}.parquet", each)
        return made


def read_receipts(path: Path) -> Receipts:
    """Receipts of a CSV file."""
    table = _table(path, _RECEIPTS)
    names = {each.name.lower(): int(each) for each in LineKind}
    for name in set(table.column("kind").to_pylist()) - names.keys():
        raise unknown("kind", str(name), names, where=path.name)
    kinds = [names[name] for name in table.column("kind").to_pylist()]
    return Receipts(
        table.column("loan_id").to_numpy(), _days(table), np.array(kinds, np.int16),
        table.column("amount_minor").to_numpy(),
    )  # fmt: skip


def read_shares(path: Path) -> Shares:
    """Shares of a CSV file."""
    table = _table(path, _SHARES)
    loan, who, part = (column.to_numpy() for column in table.itercolumns())
    order = np.lexsort((who, loan))
    return Shares(loan[order], who[order], part[order])


def _table(path: Path, schema: pa.Schema) -> pa.Table:
    options = arrow_csv.ConvertOptions(column_types=schema, include_columns=schema.names)
    try:
        table = arrow_csv.read_csv(path, convert_options=options)
    except (OSError, pa.ArrowException, KeyError) as error:
        fix = f"Give the columns {', '.join(schema.names)}"
        raise LineError(str(error).splitlines()[0], where=str(path), fix=fix) from None
    if any(column.null_count for column in table.itercolumns()):
        raise LineError("has empty cells", where=str(path), fix="Fill every cell")
    return table.combine_chunks()


def _days(table: pa.Table) -> I32:
    days: I32 = table.column("day").cast(pa.int32()).to_numpy()
    return days


def _write_batch(path: Path, batch: SettlementBatch) -> None:
    if path.exists():
        what = f"institution {batch.institution} is settled for {batch.day}"
        raise SettlementRefused(what, where=str(path), fix="Settle a later day")
    before = str(batch.settled_through or "")
    head = {"institution": str(batch.institution), "day": str(batch.day),
            "settled_through": before, "digest": batch.digest}  # fmt: skip
    table = pa.table(batch.rows._asdict()).replace_schema_metadata(head)
    draft = path.with_suffix(".new")
    pq.write_table(table, draft)
    draft.rename(path)


def _read_batch(path: Path) -> SettlementBatch:
    try:
        table = pq.read_table(path).combine_chunks()
    except (OSError, pa.ArrowException) as error:
        raise LineError(str(error), where=str(path), fix="Restore the file") from None
    head = {key.decode(): value.decode() for key, value in (table.schema.metadata or {}).items()}
    rows = Payable(**{name: table.column(name).to_numpy() for name in Payable._fields})
    before = head["settled_through"]
    batch = SettlementBatch(
        int(head["institution"]), date.fromisoformat(head["day"]),
        date.fromisoformat(before) if before else None, rows,
    )  # fmt: skip
    if batch.digest != head["digest"]:
        raise SettlementRefused("a closed batch was changed", where=str(path),
                                fix="Restore the file")  # fmt: skip
    return batch
