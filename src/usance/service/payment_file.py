r"""Payment files: the notices of payment a provider sends, a file a day, read line by line.

Each line carries a checksum, so a damaged one is told from a malformed one. A line that cannot be
read is named and left for the provider to send again; the rest of the file is accepted. A notice
that is known is not taken twice, and one that contradicts a known one is refused.

>>> sent = PaymentNotice(16385, date(2024, 1, 31), FactKind.PAID, 1_635_00, provider=2, ref=166145)
>>> text = write_notices([sent])
>>> intake = PaymentFileIntake()
>>> taken = intake.take(text.replace("163500", "163590"), where="p2-2024-01-31.csv")
>>> taken.accepted, str(taken.rejected[0])
((), 'p2-2024-01-31.csv line 2: the line does not fit its check. Send the line again.')
>>> intake.take(text).accepted == (sent,), intake.take(text).repeated == (sent,)
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


class PaymentNotice(NamedTuple):
    """Payment reported by a provider; `ref` is the payment's own number."""

    loan_id: int
    effective_on: date
    kind: FactKind
    amount_minor: int
    provider: int
    ref: int

    @property
    def line(self) -> str:
        """Line of a payment file."""
        plain = ",".join((
            str(self.loan_id), self.effective_on.isoformat(), self.kind.label,
            str(self.amount_minor), str(self.provider), str(self.ref),
        ))  # fmt: skip
        return f"{plain},{_checksum(plain)}"


class IntakeResult(NamedTuple):
    """Notices of a file that were accepted, known already, and rejected."""

    accepted: tuple[PaymentNotice, ...]
    repeated: tuple[PaymentNotice, ...]
    rejected: tuple[UsanceError, ...]


def write_notices(notices: Iterable[PaymentNotice]) -> str:
    """A file of notices."""
    return "".join(f"{line}\n" for line in (HEADER, *(each.line for each in notices)))


@dataclass
class PaymentFileIntake:
    """Intake of payment files; a file counts as a whole, once it was read to its end."""

    known: dict[tuple[int, int], PaymentNotice] = field(default_factory=dict)
    header: str = HEADER

    def take(self, text: str, where: str = "notices") -> IntakeResult:
        """Read a file; its new notices are known from now on."""
        lines = text.splitlines()
        if not lines or lines[0] != HEADER:
            error = DocumentError("is no file of notices", where=where, fix=f"Begin with {HEADER}")
            return IntakeResult((), (), (error,))
        new: dict[tuple[int, int], PaymentNotice] = {}
        repeated, rejected = list[PaymentNotice](), list[UsanceError]()
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
        return IntakeResult(tuple(new.values()), tuple(repeated), tuple(rejected))


class _Refused(Exception):
    """Reason to refuse a line, and what to do about it."""


def _read(line: str) -> PaymentNotice:
    plain, _, check = line.rpartition(",")
    again = "Send the line again"
    if check != _checksum(plain):
        raise _Refused("the line does not fit its check", again)
    fields = plain.split(",")
    try:
        assert len(fields) == _FIELDS
        loan, on, kind, amount, provider, ref = fields
        notice = PaymentNotice(
            int(loan), date.fromisoformat(on), parse(FactKind, kind), int(amount), int(provider),
            int(ref),
        )  # fmt: skip
    except (AssertionError, ValueError, UsanceError):
        raise _Refused("the line has other fields than the header", again) from None
    if notice.kind not in _MONEY:
        raise _Refused(f"{notice.kind.label} is no payment", "Send payments and recoveries alone")
    if not 0 < notice.amount_minor <= MAX_FACT_MINOR:
        raise _Refused(f"an amount of {notice.amount_minor}", "Send an amount above zero")
    return notice


def _checksum(plain: str) -> str:
    return blake2b(plain.encode(), digest_size=4).hexdigest()
