"""One file of a bank or provider, read by its profile, and the register of files that were taken.

A file that is sent again changes nothing, under another name as well. A file with the identity of a
known one and other content is a correction: the lines of its predecessor are reversed, its own are
added. Nothing is deleted.

>>> from datetime import date
>>> from usance.service.bank_files.statement import FileLine
>>> def sent(*amounts: int) -> Statement:
...     lines = [FileLine(n, f"OR{n}", a, "CNY", date(2024, 7, 1)) for n, a in enumerate(amounts)]
...     return Statement("CN01", "S-1", "CNY", tuple(lines))
>>> register = FileRegister()
>>> [register.take(sent(5, 7)).outcome.value, register.take(sent(5, 7)).outcome.value]
['new', 'repeated']
>>> corrected = register.take(sent(5, 8))
>>> corrected.outcome.value, [line.amount_minor for line in corrected.reversed]
('corrected', [5, 7])
>>> [line.amount_minor for line in register.lines()]
[5, 8]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from usance.service.bank_files.camt import read_camt
from usance.service.bank_files.csv_file import read_csv_file
from usance.service.bank_files.profile import BankProfile, FileFormat
from usance.service.bank_files.statement import FileLine, Statement
from usance.service.errors import BankFileError

_PIECE = 1 << 16


class Outcome(Enum):
    """The effect of a file on the register."""

    NEW = "new"
    REPEATED = "repeated"
    CORRECTED = "corrected"


class Taken(NamedTuple):
    """The outcome, and the lines that were added and reversed."""

    outcome: Outcome
    added: tuple[FileLine, ...]
    reversed: tuple[FileLine, ...]


@dataclass
class FileRegister:
    """Statements taken so far, by account and identity; each entry the latest of its versions."""

    current: dict[tuple[str, str], Statement] = field(default_factory=dict)

    def take(self, statement: Statement) -> Taken:
        """Enter a statement that was read to its end."""
        key = statement.account, statement.identity
        known, said = self.current.get(key), digest(statement)
        if known is not None and digest(known) == said:
            return Taken(Outcome.REPEATED, (), ())
        if (
            known is None
            and is_identified(statement)
            and any(
                account == statement.account and digest(each) == said
                for (account, _), each in self.current.items()
            )
        ):
            return Taken(Outcome.REPEATED, (), ())
        self.current[key] = statement
        if known is None:
            return Taken(Outcome.NEW, statement.lines, ())
        return Taken(Outcome.CORRECTED, statement.lines, known.lines)

    def lines(self) -> Iterator[FileLine]:
        """Lines in force."""
        for statement in self.current.values():
            yield from statement.lines


def digest(statement: Statement) -> str:
    """Fingerprint of what a statement says, whatever lines of the file it stands on."""
    said = ", ".join(_line_text(line) for line in statement.lines)
    balances = statement.opening_minor, statement.closing_minor, statement.closing_on
    return sha256(f"({statement.currency!r}, {balances!r}, [{said}])".encode()).hexdigest()


def is_identified(statement: Statement) -> bool:
    """True if every line carries a number: the same lines again are the same file, however named.

    Two payments of one amount and day may be alike where no line has a number.
    """
    return bool(statement.lines) and all(each.reference or each.bank_ref
                                         for each in statement.lines)  # fmt: skip


def _line_text(line: FileLine) -> str:
    """A line as text; an account it did not go to is left out, as files of before had none."""
    text = repr(line._replace(number=0))
    return text if line.account else text.removesuffix(", account='')") + ")"


def read_file(path: Path, profile: BankProfile) -> list[Statement]:
    """The statements of a file; a malformed one is refused whole."""
    try:
        if profile.format is FileFormat.CSV:
            content = path.read_bytes().decode(profile.encoding)
            return [read_csv_file(content.removeprefix("\ufeff"), path.name, profile)]
        with path.open("rb") as file:
            return read_camt(iter(lambda: file.read(_PIECE), b""), path.name, profile)
    except FileNotFoundError:
        fix = "Check the name and the folder"
        raise BankFileError("no such file", where=str(path), fix=fix) from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line = before.count(b"\n") + 1
        column = len(before) - (before.rfind(b"\n") + 1) + 1
        raise BankFileError(
            f"is not {profile.encoding}", where=f"{path.name} line {line}, column {column}",
            fix="Name its encoding in the profile, or ask for the file again",
        ) from None  # fmt: skip
