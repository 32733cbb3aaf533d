"""The kernel's refusals as the named errors a caller sees."""

from __future__ import annotations

from usance.base.codes import FactKind
from usance.base.dates import from_day
from usance.base.errors import UsanceError
from usance.loan.columns import FactColumns
from usance.loan.errors import (
    BackdatedStep,
    DisbursementError,
    FactAmountError,
    FactError,
    FactNotInKernel,
    FeeError,
    KernelRange,
    NotDisbursed,
)
from usance.loan.kernel import refusals as why

_NAMES: dict[int, tuple[type[UsanceError], str, str]] = {
    why.NOT_DISBURSED: (
        NotDisbursed, "happened before the loan was disbursed",
        "Book the disbursement, or correct the date",
    ),
    why.BAD_DISBURSEMENT: (
        DisbursementError, "differs from the principal and day of the terms, or came twice",
        "Disburse the terms' principal once, on their day",
    ),
    why.BAD_AMOUNT: (
        FactAmountError, "has an amount it cannot have", "Give whole minor units above zero",
    ),
    why.REFUND_TOO_LARGE: (
        FactAmountError, "is more than the over-payment", "Refund at most what was overpaid",
    ),
    why.CHARGE_BACK_TOO_LARGE: (
        FactAmountError, "is more than was paid and not refunded",
        "Charge back at most what was paid",
    ),
    why.WAIVER_TOO_LARGE: (
        FactAmountError, "is more than is left of its component",
        "Waive at most what is scheduled and unpaid",
    ),
    why.NOT_IN_KERNEL: (
        FactNotInKernel, "is a kind of fact the kernel does not know",
        "Replay this loan with form='exact'",
    ),
    why.OUT_OF_RANGE: (
        KernelRange, "too large for the kernel's 64-bit arithmetic",
        "Replay this loan with form='exact'",
    ),
    why.GUARANTEE_TOO_LARGE: (
        FeeError, "the guarantee fee is more than all fees of the schedule",
        "Lower guarantee_fee_minor, or raise the rate or the flat fee",
    ),
    why.OUT_OF_ORDER: (
        FactError, "is out of canonical order", "Sort facts by day, kind and ref",
    ),
    why.BAD_ARG: (
        FactError, "names no component in arg", "Give 0 (principal) to 4 (penalty)",
    ),
    why.BACKDATED: (
        BackdatedStep, "lies before the day its state was stepped to",
        "Replay this loan from its start",
    ),
}  # fmt: skip

_OF_THE_LOAN = (why.OUT_OF_RANGE, why.GUARANTEE_TOO_LARGE)


def named_refusal(
    code: int, row: int, count: int, facts: FactColumns | None, position: int | None
) -> UsanceError:
    """The error of the first refused loan; says how many more there are."""
    kind, what, fix = _NAMES[code]
    where = f"loan {row}" + (f" (and {count - 1} more)" if count > 1 else "")
    if facts is not None and position is not None and code not in _OF_THE_LOAN:
        name = (
            FactKind(int(facts.kind[position])).label if 0 <= facts.kind[position] <= 12 else "fact"
        )
        day, amount = from_day(int(facts.day[position])), int(facts.amount_minor[position])
        what = f"{name} of {day} over {amount} {what}"
    return kind(what, where=where, fix=fix)
