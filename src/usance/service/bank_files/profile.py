r"""The habits of a bank or provider, as data: a YAML file each.

```yaml
format: camt
reversal_sign: original   # a reversal shows the side of what it reverses
batches: details          # an entry with many details is as many lines
reference: [end_to_end_id, text]
reference_pattern: "OR[0-9]+"
day: value
balances: free            # they are not expected to roll
```

A profile for CSV names its columns instead (see `csv_file`).

>>> parse_profile("format: camt\nbatches: detail", "bank_x.yaml")
Traceback (most recent call last):
usance.base.errors.CodeError: bank_x.yaml line 2, batches: unknown batches 'detail'.
Did you mean 'details'? Choices: entry, details.
>>> load_profile("psp").columns["reference"]
'order_no'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from usance.base.amount_notations import AMOUNTS
from usance.base.codes import Currency, parse
from usance.base.documents import read_text
from usance.base.errors import raise_all, unknown
from usance.base.fields import Fields, fields_of, one_of, text, whole_of
from usance.service.errors import BankProfileError

SHIPPED = Path(__file__).with_name("profiles")
NOT_PROVIDED = "NOTPROVIDED"
"""Written by banks where ISO 20022 wants an end-to-end reference and there is none."""


class FileFormat(Enum):
    """The format of a bank's files."""

    CAMT = "camt"
    CSV = "csv"


class FileSource(Enum):
    """The view that a file gives."""

    BANK = "bank"
    PROVIDER = "provider"


class ReversalSign(Enum):
    """The side that an entry marked as a reversal shows."""

    SHOWN = "shown"
    """The side on which the money moves now."""
    ORIGINAL = "original"
    """The side of the entry that is reversed: the money moves the other way."""


class Batches(Enum):
    """Lines that an entry with many details stands for."""

    ENTRY = "entry"
    DETAILS = "details"


class DayField(Enum):
    """The day that counts."""

    BOOKING = "booking"
    VALUE = "value"


class Balances(Enum):
    """Balances that must equal the lines between them, or need not."""

    ROLL = "roll"
    FREE = "free"


REFERENCES = (
    "end_to_end_id", "payment_information_id", "message_id", "instruction_id", "transaction_id",
    "servicer_ref", "entry_ref", "text",
)  # fmt: skip
"""Fields of an entry that may carry our reference."""
COLUMNS = {
    "reference": True, "amount": False, "credit": False, "debit": False, "day": True,
    "value_day": False, "side": False, "fee": False, "party": False, "loan": False,
    "batch": False, "bank_ref": False, "currency": False, "text": False,
    "account": False,
}  # fmt: skip
"""Columns of a CSV file; True where one must be named."""
MINOR = "123456"
FORMATS = (*AMOUNTS, MINOR)
"""Formats of amounts; the last is in minor units."""

SEPARATORS = {",": ",", ";": ";", "|": "|", "tab": "\t"}
"""Separators of cells, as a profile writes them."""


@dataclass(frozen=True, slots=True)
class BankProfile:
    """The habits of one bank or provider."""

    name: str
    format: FileFormat = FileFormat.CAMT
    source: FileSource = FileSource.BANK
    reversal_sign: ReversalSign = ReversalSign.SHOWN
    batches: Batches = Batches.DETAILS
    day: DayField = DayField.BOOKING
    balances: Balances = Balances.ROLL
    reference: tuple[str, ...] = ("end_to_end_id",)
    reference_pattern: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    separator: str = ","
    encoding: str = "utf-8"
    skip_lines: int = 0
    dates: str = "%Y-%m-%d"
    amounts: str = "1234.56"
    sides: Mapping[str, int] = field(default_factory=dict)
    """Sign of each word that the column `side` may hold."""
    currency: str = ""
    account: str = ""

    @property
    def balances_roll(self) -> bool:
        """True if opening balance and lines must give the closing balance."""
        return self.balances is Balances.ROLL

    def reference_of(self, fields: Mapping[str, Any]) -> str:
        """Our reference, from the first of the fields that has one."""
        for name in self.reference:
            given = fields.get(name)
            if not given or given == NOT_PROVIDED:
                continue
            if not self.reference_pattern:
                return str(given)
            found = re.search(self.reference_pattern, given)
            if found:
                return found[0]
        return ""


def load_profile(name: str | Path) -> BankProfile:
    """A shipped profile by its name, or the one in a YAML file."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return parse_profile(read_text(path), str(path))
    shipped = SHIPPED / f"{name}.yaml"
    if not shipped.is_file():
        choices = sorted(each.stem for each in SHIPPED.glob("*.yaml"))
        raise unknown("profile", str(name), choices, where="--profile")
    return parse_profile(read_text(shipped), shipped.name)


def parse_profile(given: str, where: str) -> BankProfile:
    """The profile in a text, or everything that is wrong with it."""
    fields = fields_of(given, where)
    parts: dict[str, Any] = {"format": fields.need("format", one_of(FileFormat))}
    parts["source"] = fields.take("source", one_of(FileSource))
    for key, choices in (("reversal_sign", ReversalSign), ("batches", Batches), ("day", DayField),
                         ("balances", Balances)):  # fmt: skip
        parts[key] = fields.take(key, one_of(choices))
    parts["reference"] = fields.take("reference", _references)
    parts["reference_pattern"] = fields.take("reference_pattern", _pattern)
    parts["separator"] = fields.take("separator", _separator)
    for key in ("encoding", "dates", "account"):
        parts[key] = fields.take(key, text)
    parts["skip_lines"] = fields.take("skip_lines", whole_of(0, 100))
    parts["amounts"] = fields.take("amounts", _amounts)
    parts["currency"] = fields.take("currency", lambda it, at: parse(Currency, it, where=at).label)
    parts["sides"] = fields.take("sides", _sides)
    parts["columns"] = _columns(fields)
    fields.close()
    _check_together(fields, parts)
    raise_all(fields.problems, where=where)
    chosen = {key: value for key, value in parts.items() if value is not None}
    return BankProfile(Path(where).stem, **chosen)


def _columns(fields: Fields) -> dict[str, str] | None:
    inner = fields.inner("columns")
    if inner is None:
        return None
    found = {}
    for name, needed in COLUMNS.items():
        column = (inner.need if needed else inner.take)(name, text)
        if column is not None:
            found[name] = column
    inner.close()
    return found


def _check_together(fields: Fields, parts: Mapping[str, Any]) -> None:
    if parts["format"] is not FileFormat.CSV:
        return
    columns = parts["columns"] or {}
    if not columns:
        fields.wrong("columns is missing", "Name at least reference, day and amount", "columns")
    elif ("amount" in columns) == ("credit" in columns or "debit" in columns):
        fix = "Name amount, or credit and debit"
        fields.wrong("names no amount, or two kinds of it", fix, "columns")
    if "currency" not in columns and not parts["currency"]:
        fields.wrong("currency is missing", "Name its column, or give one for all", "currency")
    if ("side" in columns) != bool(parts["sides"]):
        fields.wrong("side and sides go together", "Write sides: {C: credit, D: debit}", "sides")


def _references(given: Any, where: str) -> tuple[str, ...]:
    names = given if isinstance(given, list) else [given]
    for name in names:
        if name not in REFERENCES:
            raise unknown("reference", str(name), REFERENCES, where=where)
    return tuple(names)


def _pattern(given: Any, where: str) -> str:
    try:
        re.compile(text(given, where))
    except re.error as error:
        fix = "Write a regular expression"
        raise BankProfileError(f"{given!r}: {error}", where=where, fix=fix) from None
    return str(given)


def _separator(given: Any, where: str) -> str:
    if str(given) not in SEPARATORS:
        raise unknown("separator", str(given), SEPARATORS, where=where)
    return SEPARATORS[str(given)]


def _amounts(given: Any, where: str) -> str:
    if str(given) not in FORMATS:
        raise unknown("amounts", str(given), FORMATS, where=where)
    return str(given)


def _sides(given: Any, where: str) -> dict[str, int]:
    signs = {"credit": 1, "debit": -1}
    if not isinstance(given, dict) or not all(word in signs for word in given.values()):
        fix = "Write sides: {C: credit, D: debit}"
        raise BankProfileError("is no mapping of words to sides", where=where, fix=fix)
    return {str(word): signs[side] for word, side in given.items()}
