r"""A folder of files that were taken, for an institution that reconciles by files alone.

Each version of a file is kept as Parquet; `register.json` names those in force and those that a
correction replaced. A file sent again changes no byte.

>>> from tempfile import TemporaryDirectory
>>> from usance.service.bank_files.profile import load_profile
>>> def sent(amount: str) -> str:
...     return (
...         "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer\n"
...         f"OR1,T1,2024-07-01,{amount},0.90,B1,16385,Li Hua\n"
...     )
>>> with TemporaryDirectory() as place:
...     money, file = MoneyFolder(Path(place) / "money"), Path(place) / "p2.csv"
...     outcomes = []
...     for amount in ("900.00", "900.00", "901.00"):
...         _ = file.write_text(sent(amount))
...         outcomes += [each.outcome for each in money.take(file, load_profile("psp"))]
...     lines = money.lines(FileSource.PROVIDER)
>>> outcomes, [line.amount_minor for line in lines]
(['new', 'repeated', 'corrected'], [90100])
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from usance.base.atomic_files import lock, replace
from usance.base.documents import parse_json, read_text
from usance.service.bank_files.files import Outcome, digest, read_file
from usance.service.bank_files.profile import BankProfile, FileSource
from usance.service.bank_files.statement import FileLine, Statement
from usance.service.errors import BankFileError

_SCHEMA = pa.schema([
    ("number", pa.int64()), ("reference", pa.string()), ("amount_minor", pa.int64()),
    ("currency", pa.string()), ("booked_on", pa.date32()), ("value_on", pa.date32()),
    ("party", pa.string()), ("batch", pa.string()), ("fee_minor", pa.int64()),
    ("loan_id", pa.int64()), ("bank_ref", pa.string()), ("is_reversal", pa.bool_()),
    ("return_reason", pa.string()), ("text", pa.string()),
    ("account", pa.string()),
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class TakenFile:
    """One version of one statement, as the register lists it."""

    source: str
    account: str
    identity: str
    name: str
    digest: str
    outcome: str
    lines: int
    currency: str
    closing_minor: int | None
    closing_on: str | None
    in_force: bool = True

    @property
    def path(self) -> str:
        """Its lines, inside the folder."""
        return f"files/{self.digest[:16]}.parquet"


class MoneyFolder:
    """The folder; made when the first file is taken."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def files(self) -> list[TakenFile]:
        """Every version that was taken, in order."""
        register = self.path / "register.json"
        if not register.is_file():
            return []
        rows: list[dict[str, Any]] = parse_json(read_text(register), where=str(register))
        return [TakenFile(**row) for row in rows]

    def take(self, file: Path, profile: BankProfile) -> list[TakenFile]:
        """Read a file and enter its statements: all of them, or none if one cannot be read."""
        statements = read_file(file, profile)
        (self.path / "files").mkdir(parents=True, exist_ok=True)
        with lock(self.path / "lock"):
            known = self.files
            taken = []
            for statement in statements:
                entry = _entry(statement, profile, file.name, known)
                taken.append(entry)
                if entry.outcome == Outcome.REPEATED.value:
                    continue
                known = [_superseded(each, entry) for each in known] + [entry]
                replace(self.path / entry.path, _parquet(statement))
            rows = [asdict(each) for each in known]
            replace(self.path / "register.json", json.dumps(rows, indent=1).encode())
        return taken

    def lines(self, source: FileSource, through: date | None = None) -> list[FileLine]:
        """Lines in force of one view, up to a day."""
        found: list[FileLine] = []
        for each in self.files:
            if each.in_force and each.source == source.value:
                try:
                    rows = pq.read_table(self.path / each.path, schema=_SCHEMA).to_pylist()
                except (OSError, pa.ArrowException) as error:
                    fix = f"Import {each.name} again"
                    raise BankFileError(
                        str(error), where=str(self.path / each.path), fix=fix
                    ) from (None)
                found += [FileLine(**row) for row in rows]
        return [line for line in found if through is None or line.booked_on <= through]


def _entry(
    statement: Statement, profile: BankProfile, name: str, known: list[TakenFile]
) -> TakenFile:
    fingerprint = digest(statement)
    key = statement.account, statement.identity
    before = [each for each in known if each.in_force and (each.account, each.identity) == key]
    outcome = Outcome.NEW
    if before:
        same = before[0].digest == fingerprint
        outcome = Outcome.REPEATED if same else Outcome.CORRECTED
    return TakenFile(
        profile.source.value, statement.account, statement.identity, name, fingerprint,
        outcome.value, len(statement.lines), statement.currency, statement.closing_minor,
        str(statement.closing_on) if statement.closing_on else None,
    )  # fmt: skip


def _superseded(each: TakenFile, by: TakenFile) -> TakenFile:
    is_before = (each.account, each.identity) == (by.account, by.identity)
    return TakenFile(**{**asdict(each), "in_force": each.in_force and not is_before})


def _parquet(statement: Statement) -> bytes:
    out = BytesIO()
    rows = [line._asdict() for line in statement.lines]
    pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), out)
    return out.getvalue()
