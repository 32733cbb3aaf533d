"""Parts that the commands of every room share: the clock they are handed, and printing of answers.

An answer has up to three forms: a table for people, CSV and JSON for programs. The programs' forms
hold whole minor units under names that end in `_minor`.

>>> print_csv(["number", "total_minor"], [[1, 91680]])
number,total_minor
1,91680
>>> print_table(["no", "total"], [["1", "916.80"], ["12", "0.01"]])
 no   total
  1  916.80
 12    0.01
"""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from usance.base.errors import InputError, UsanceError
from usance.base.money import Money

if TYPE_CHECKING:
    from usance.base.packs import CountryPack

PackName = Annotated[
    str, typer.Option("--pack", metavar="PACK", help="The country: cn, nl, or a folder of rules.")
]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

# Wider than any table: what is piped is never wrapped.
_UNLIMITED_COLUMNS = 10_000


@dataclass(frozen=True, slots=True)
class Session:
    """The outside world of a command; only the command line itself reads the clock."""

    now: Callable[[], datetime]

    def seconds(self) -> float:
        """The moment in seconds, to time what takes long."""
        return self.now().timestamp()

    def today(self, pack: CountryPack | None = None) -> date:
        """The business day of this moment in the time zone of a country pack.

        >>> from datetime import UTC
        >>> str(Session(lambda: datetime(2024, 5, 20, 17, tzinfo=UTC)).today())  # 1 a.m. in China
        '2024-05-21'
        """
        from zoneinfo import ZoneInfo

        from usance.base.packs import CountryPack

        now = self.now()
        zone = (pack or CountryPack.load()).time_zone(now.date())
        return now.astimezone(ZoneInfo(zone)).date()


class OutputError(UsanceError):
    """Standard output is closed, or what it leads to is full or broken."""

    code = "output"


class OutputFailed(Exception):
    """Standard output failed; no `UsanceError`, which a command might take for its input's."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class Output:
    """Standard output, whose failures are told apart from those of any other file.

    `is_wide` is set where tables are wanted in one piece, however narrow the terminal is.
    """

    def __init__(self, stream: TextIO, *, is_wide: bool = False) -> None:
        self._stream = stream
        self.is_wide = is_wide
        self.before: Callable[[], None] | None = None
        """Called before anything is written, as to take a line of progress away."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write, or raise `OutputFailed`."""
        if self.before is not None:
            self.before()
        try:
            return self._stream.write(text)
        except OSError as error:
            raise OutputFailed(error) from error

    def writelines(self, lines: Iterable[str]) -> None:
        """Write all of them, or raise `OutputFailed`."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Hand on what was written, or raise `OutputFailed`."""
        try:
            self._stream.flush()
        except OSError as error:
            raise OutputFailed(error) from error


class StandardError(Output):
    """Standard error: words beside an answer, which fail nothing if they cannot be written."""

    def write(self, text: str) -> int:
        """Write, if it can be."""
        with suppress(OutputFailed):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Hand on what was written; what cannot be is dropped, so that nothing fails later."""
        try:
            super().flush()
        except OutputFailed:
            drop(self._stream)


def drop(stream: TextIO) -> None:
    """Let nothing be written on the way out either."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def one_form(*, as_csv: bool, as_json: bool) -> None:
    """Refuse two forms of one answer."""
    if as_csv and as_json:
        raise InputError("--csv and --json exclude each other", fix="Give one of them")


def number(amount_minor: int, currency: str) -> str:
    """An amount in major units, without its currency."""
    return Money(amount_minor, currency).number


def show_help(ctx: Any) -> None:
    """Print the help of a group of commands when none of them is called."""
    if ctx.invoked_subcommand is None:
        print_line(ctx.get_help())


def print_line(text: str = "") -> None:
    """One line of an answer."""
    sys.stdout.write(f"{text}\n")


def print_note(text: str) -> None:
    """One line on standard error that says what was done."""
    sys.stderr.write(f"{text}\n")


def print_warning(text: str) -> None:
    """One line on standard error beside an answer."""
    sys.stderr.write(f"warning: {text}\n")


def print_pairs(pairs: Sequence[tuple[str, str]]) -> None:
    """Names and values, one pair a line.

    >>> print_pairs([("status", "active"), ("days past due", "17")])
    status         active
    days past due  17
    """
    width = max((len(name) for name, _ in pairs), default=0)
    for name, value in pairs:
        print_line(f"{name:<{width}}  {value}".rstrip())


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0) -> None:
    """A table for people, right-aligned but for the first `left` columns.

    A pipe gets it in one piece, so that a line of it can be searched for, unless COLUMNS says how
    wide it may be. A terminal gets pieces that fit its width, each beginning with the first column,
    and a pager if they are longer than its height.
    """
    from rich.console import Console

    terminal = Console() if sys.stdout.isatty() else None
    if getattr(sys.stdout, "is_wide", False):
        lines = _table_lines(headings, rows, left)
    else:
        pieces = column_pieces(headings, rows, terminal.width if terminal else _pipe_width())
        lines = []
        for piece in pieces:
            part = [[row[at] for at in piece] for row in rows]
            lines += ["", *_table_lines([headings[at] for at in piece], part, left)]
        lines = lines[1:]
    if terminal is not None and len(lines) >= terminal.height:
        from pydoc import pager

        pager("\n".join(lines) + "\n")
        return
    for line in lines:
        print_line(line)


def _pipe_width() -> int:
    """Columns of a pipe: those that COLUMNS says, else as many as a table has."""
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and len(said) < 5 and int(said) else _UNLIMITED_COLUMNS


def column_pieces(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int
) -> list[list[int]]:
    """Columns of a table that fit into a width together, each piece with the first column.

    >>> column_pieces(["line", "2024Q1", "2024Q2", "2024Q3"], [["cash", "1", "2", "3"]], 26)
    [[0, 1, 2], [0, 3]]
    >>> column_pieces(["line", "2024Q1"], [["a name that has no room", "1"]], 10)
    [[0, 1]]
    """
    from rich.cells import cell_len

    columns = zip(headings, *rows, strict=True)
    widths = [2 + max(map(cell_len, "\n".join(column).split("\n"))) for column in columns]
    pieces, used = [[0]], widths[0]
    for at, each in enumerate(widths[1:], 1):
        if used + each > width and len(pieces[-1]) > 1:
            pieces.append([0])
            used = widths[0]
        pieces[-1].append(at)
        used += each
    return pieces


def _table_lines(headings: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None)
    for at, heading in enumerate(headings):
        side: Literal["left", "right"] = "left" if at < left else "right"
        table.add_column(heading, justify=side, vertical="bottom", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    plain = StringIO()
    Console(file=plain, width=_UNLIMITED_COLUMNS, color_system=None).print(table)
    return [line.rstrip() for line in plain.getvalue().splitlines()]


def print_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Rows for programs, with a header."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)


def print_answer(
    data: object, notes: Iterable[str] = (), *, missing: Mapping[str, str] | None = None
) -> None:
    """An answer in the one form of all commands: `data` and the `notes` that belong to it.

    `missing` says why a value of a name may be null; it becomes a note where one is.

    >>> print_answer({"loan_ref": None}, missing={"loan_ref": "the loan came without one"})
    {
      "data": {
        "loan_ref": null
      },
      "notes": [
        "loan_ref: the loan came without one"
      ]
    }
    """
    nulls = null_names(data)
    reasons = [f"{name}: {why}" for name, why in (missing or {}).items() if name in nulls]
    print_json({"data": data, "notes": [*notes, *reasons]})


def null_names(data: object) -> set[str]:
    """The names under which an answer holds null.

    >>> sorted(null_names([{"a": None, "b": {"c": None, "d": 0}}]))
    ['a', 'c']
    """
    if isinstance(data, Mapping):
        inside = (null_names(value) for value in data.values())
        return {str(name) for name, value in data.items() if value is None}.union(*inside)
    if isinstance(data, list | tuple):
        return set[str]().union(*map(null_names, data))
    return set()


def print_json(value: object) -> None:
    """A value for programs; dates are ISO text, decimals numbers."""
    print_line(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))


def _plain(value: object) -> str | float:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")
