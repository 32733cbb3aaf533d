"""One tree of failures: the class says what failed, the message ends with the next step.

    UsanceError                 usance                   500
    ├── InputError              input                    400
    │   ├── AmountError         input.amount             400
    │   ├── CurrencyMismatch    input.currency           400
    │   ├── RateError           input.rate               400
    │   ├── DateError           input.date               400
    │   ├── CodeError           input.code               400
    │   ├── DocumentError       input.document           400
    │   ├── FormulaError        input.formula            422
    │   ├── IdError             input.id                 400
    │   ├── ParameterError      input.parameter          400
    │   ├── TableError          input.table              422
    │   │   ├── SchemaError     input.table.schema       422
    │   │   ├── CorruptFile     input.table.corrupt      422
    │   │   └── DuplicateKey    input.table.duplicate    422
    │   └── Problems            input.problems           422
    ├── FileRefused             file                     500
    └── BookLocked              book.locked              409

Each room adds its own branch in its own `errors.py`.

>>> print(AmountError("principal is -5", where="terms.yaml", fix="Give an amount above zero"))
terms.yaml: principal is -5. Give an amount above zero.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Sequence
from typing import ClassVar


class UsanceError(Exception):
    """Any failure Usance names; carries what is wrong, where, and how to go on."""

    code: ClassVar[str] = "usance"
    http_status: ClassVar[int] = 500
    exit_code: int = 2
    """Exit status of a command; 1 where a check ran and found it."""

    def __init__(self, what: str, *, where: str = "", fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        """The whole message: where it is, what is wrong, what to do."""
        place = f"{self.where}: " if self.where else ""
        return f"{place}{_sentence(self.what)} {_sentence(self.fix)}"

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword arguments are lost by the default pickling, and errors cross process borders.
        return (_rebuild, (type(self), self.__dict__))

    def as_dict(self) -> dict[str, str]:
        """The same four parts for an API answer or `--json`."""
        return {"code": self.code, "what": self.what, "where": self.where, "fix": self.fix}


class InputError(UsanceError):
    """An input that cannot be used; giving something else helps."""

    code = "input"
    http_status = 400


class AmountError(InputError):
    """An amount of money is malformed, too precise, or beyond 64 bits."""

    code = "input.amount"


class CurrencyMismatch(InputError):
    """Two currencies met where one is needed."""

    code = "input.currency"


class RateError(InputError):
    """A rate is malformed, not finite, or finer than its unit."""

    code = "input.rate"


class DateError(InputError):
    """A date does not exist, is not written as YYYY-MM-DD, or is out of range."""

    code = "input.date"


class CodeError(InputError):
    """A name is not one of a closed set of choices."""

    code = "input.code"


class DocumentError(InputError):
    """A YAML, JSON or CSV file cannot be read; `where` has the file and the line."""

    code = "input.document"


class FormulaError(InputError):
    """A formula cannot be read, or its parts do not fit together."""

    code = "input.formula"
    http_status = 422


class IdError(InputError):
    """An identifier is malformed, of the wrong kind, or out of range."""

    code = "input.id"


class ParameterError(InputError):
    """A dated parameter is unknown, has no value on that day, or its file is wrong."""

    code = "input.parameter"


class TableError(InputError):
    """A table does not keep its contract."""

    code = "input.table"
    http_status = 422


class SchemaError(TableError):
    """A table lacks a column, has a wrong type, a forbidden null or an unknown schema number."""

    code = "input.table.schema"


class CorruptFile(TableError):
    """A file of a book is missing, truncated or edited."""

    code = "input.table.corrupt"


class DuplicateKey(TableError):
    """Two rows of a table have the same key, or rows are out of key order."""

    code = "input.table.duplicate"


class Problems(InputError):
    """Everything wrong with one input, found in one pass."""

    code = "input.problems"
    http_status = 422

    def __init__(self, errors: Sequence[UsanceError], *, where: str = "") -> None:
        if not errors:
            raise ValueError("Problems needs at least one error; raise it through raise_all()")
        count = f"{len(errors)} problems" if len(errors) > 1 else "1 problem"
        super().__init__(count, where=where, fix="Correct each and try again")
        self.errors = tuple(errors)
        self.exit_code = max(error.exit_code for error in errors)

    def __str__(self) -> str:
        """A heading, then one line per problem; of those alike three and how many more."""
        place = f"{self.where}: " if self.where else ""
        alike: dict[tuple[object, ...], list[UsanceError]] = {}
        for error in self.errors:
            alike.setdefault(_kind(error), []).append(error)
        lines = [f"{place}{self.what}"]
        for errors in alike.values():
            lines += [f"- {error}" for error in errors[:EXAMPLES]]
            if len(errors) > EXAMPLES:
                lines.append(f"  … and {len(errors) - EXAMPLES:,} more like these")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, str]:
        """The four parts, `what` naming every problem."""
        return {**super().as_dict(), "what": "; ".join(error.what for error in self.errors)}


EXAMPLES = 3
"""So many of problems that are alike are shown to people; programs get them all."""


def _kind(error: UsanceError) -> tuple[object, ...]:
    """Problems with the same kind differ in a number, a quoted text, a loan or a line alone."""
    what = re.sub(r"'[^']*'|\bloan \S+:|\d+(?:[.,]\d+)*", "#", error.what)
    return type(error), what, re.sub(r"\d+", "#", error.where), error.fix


class FileRefused(UsanceError):
    """The system lets a file be neither read nor written: no room, no right, no such place."""

    code = "file"


class BookLocked(UsanceError):
    """Another process is writing this book."""

    code = "book.locked"
    http_status = 409


def raise_all(errors: Sequence[UsanceError], *, where: str = "") -> None:
    """Raise the only error as it is, several as `Problems`, none not at all."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise Problems(errors, where=where)


def unknown(what: str, given: str, choices: Iterable[str], *, where: str = "") -> CodeError:
    """The error for a name outside a closed set, with the nearest choice.

    >>> print(unknown("basis", "us_gap", ["us_gaap", "ifrs_adjustment"]))
    unknown basis 'us_gap'. Did you mean 'us_gaap'? Choices: us_gaap, ifrs_adjustment.
    """
    from difflib import get_close_matches  # only needed once something is wrong

    names = list(choices)
    near = get_close_matches(given.lower(), names, n=1)
    hint = f"Did you mean '{near[0]}'? " if near else ""
    return CodeError(
        f"unknown {what} '{given}'", where=where, fix=f"{hint}Choices: {', '.join(names)}"
    )


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Error numbers of a full disk, a used-up quota or a limit on the size of files."""
_REFUSALS = {
    errno.ENOSPC: "Make room and try again",
    errno.EDQUOT: "Make room within your quota and try again",
    errno.EFBIG: "Raise the limit on the size of files and try again",
    errno.EMFILE: "Raise the limit on open files and try again",
    errno.EIO: "Check the disk and try again",
    errno.EACCES: "Check who may use it, or choose another place",
    errno.EPERM: "Check who may use it, or choose another place",
    errno.EROFS: "Choose another place",
    errno.ENOENT: "Check the name and its folders",
    errno.EISDIR: "Name a file inside it",
    errno.EEXIST: "Choose another place",
    errno.ELOOP: "Choose a place that no link leads back to",
    errno.EBUSY: "Wait until nothing else uses it",
    errno.ENOTDIR: "Choose a place whose parents are all folders",
    errno.ENAMETOOLONG: "Choose a shorter name",
}
"""Errors of the file system about a path, each with the next step."""


def refusal(error: OSError) -> FileRefused | None:
    """The error for what the system says of a file's place; None for what else may have failed.

    >>> print(refusal(OSError(errno.ENOSPC, "No space left on device")))
    a file cannot be read or written: No space left on device. Make room and try again.
    >>> print(refusal(OSError(errno.EROFS, "Read-only file system", "out/a.csv")))
    out/a.csv: cannot be read or written: Read-only file system. Choose another place.
    """
    fix = _REFUSALS.get(error.errno or 0)
    if fix is None or (error.errno == errno.ENOENT and error.filename is None):
        return None
    # A write knows its file only by a number.
    named = error.filename is not None
    what = f"{'' if named else 'a file '}cannot be read or written: {error.strerror}"
    return FileRefused(what, where=str(error.filename) if named else "", fix=fix)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _rebuild(kind: type[UsanceError], state: dict[str, object]) -> UsanceError:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.args = (state["what"],)
    return error
