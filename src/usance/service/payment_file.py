r"""Notices of payment as a provider sends them: a file a day, read line by line.

Each line carries a check of itself, so a damaged one is told from a strange one. What cannot be
read is named and left for the provider to send again; the rest of the file stands. A notice that
is known is not taken twice, and one that contradicts a known one is refused.

>>> sent = Notice(16385, date(2024, 1, 31), FactKind.PAID, 1_635_00, provider=2, ref=166145)
>>> text = write_notices([sent])
>>> desk = NoticeDesk()
>>> taken = desk.take(text.replace("163500", "163590"), where="p2-2024-01-31.csv")
>>> taken.accepted, str(taken.rejected[0])
((), 'p2-2024-01-31.csv line 2: the line does not fit its check. Send the line again.')
>>> desk.take(text).accepted == (sent,), desk.take(text).repeated == (sent,)
(True, True)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from hashlib import blake2b
from typing import NamedTuple

from usance.base.codes import FactKind, parse
from usance.base.errors import DocumentError, UsanceError
from usance.loan.facts import MAX_FACT_MINOR

HEADER = "loan_id,effective_on,kind,amount_minor,provider,ref,check"
_FIELDS = len(HEADER.split(",")) - 1
_MONEY = (FactKind.PAID, FactKind.RECOVERED)


class Notice(NamedTuple):
    """A payment as its provider tells it; `ref` is the payment's own number."""

    loan_id: int
    effective_on: date
    kind: FactKind
    amount_minor: int
    provider: int
    ref: int

    @property
    def line(self) -> str:
        """The line of a file that says it."""
        plain = ",".join((
            str(self.loan_id), self.effective_on.isoformat(), self.kind.label,
            str(self.amount_minor), str(self.provider), str(self.ref),
        ))  # fmt: skip
        return f"{plain},{_check(plain)}"


class Taken(NamedTuple):
    """What became of a file's lines."""

    accepted: tuple[Notice, ...]
    repeated: tuple[Notice, ...]
    rejected: tuple[UsanceError, ...]


def write_notices(notices: Iterable[Notice]) -> str:
    """A file of notices."""
    return "".join(f"{line}\n" for line in (HEADER, *(each.line for each in notices)))


@dataclass
class NoticeDesk:
    """Takes files in; a file counts as a whole, once it was read to its end."""

    known: dict[tuple[int, int], Notice] = field(default_factory=dict)

    def take(self, text: str, where: str = "notices") -> Taken:
        """Read a file; what is new in it is known from now on."""
        lines = text.splitlines()
        if not lines or lines[0] != HEADER:
            found = DocumentError("is no file of notices", where=where, fix=f"Begin with {HEADER}")
            return Taken((), (), (found,))
        new: dict[tuple[int, int], Notice] = {}
        repeated, rejected = list[Notice](), list[UsanceError]()
        for number, line in enumerate(lines[1:], start=2):
            try:
                notice = _read(line)
                key = notice.loan_id, notice.ref
                before = self.known.get(key) or new.get(key)
                if before is None:
                    new[key] = notice
                elif before == notice:
                    repeated.append(notice)
                else:
                    raise _Refused(f"contradicts what was told of payment {notice.ref} before",
                                   "Send a reversal, or a payment of its own")  # fmt: skip
            except _Refused as error:
                what, fix = error.args
                rejected.append(DocumentError(what, where=f"{where} line {number}", fix=fix))
        self.known |= new
        return Taken(tuple(new.values()), tuple(repeated), tuple(rejected))


class _Refused(Exception):
    """Why a line is not taken, and what to do."""


def _read(line: str) -> Notice:
    plain, _, check = line.rpartition(",")
    again = "Send the line again"
    if check != _check(plain):
        raise _Refused("the line does not fit its check", again)
    fields = plain.split(",")
    try:
        assert len(fields) == _FIELDS
        loan, on, kind, amount, provider, ref = fields
        found = Notice(
            int(loan), date.fromisoformat(on), parse(FactKind, kind), int(amount), int(provider),
            int(ref),
        )  # fmt: skip
    except (AssertionError, ValueError, UsanceError):
        raise _Refused("the line has other fields than the header", again) from None
    if found.kind not in _MONEY:
        raise _Refused(f"{found.kind.label} is no payment", "Send payments and recoveries alone")
    if not 0 < found.amount_minor <= MAX_FACT_MINOR:
        raise _Refused(f"an amount of {found.amount_minor}", "Send an amount above zero")
    return found


def _check(plain: str) -> str:
    return blake2b(plain.encode(), digest_size=4).hexdigest()
