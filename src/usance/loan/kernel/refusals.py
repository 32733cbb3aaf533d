"""Reason codes of loans and facts that the kernel refuses; `usance.loan.refusals` names them."""

from __future__ import annotations

OK = 0
NOT_DISBURSED = 1
BAD_DISBURSEMENT = 2
BAD_AMOUNT = 3
REFUND_TOO_LARGE = 4
CHARGE_BACK_TOO_LARGE = 5
WAIVER_TOO_LARGE = 6
NOT_IN_KERNEL = 7
OUT_OF_RANGE = 8
GUARANTEE_TOO_LARGE = 9
OUT_OF_ORDER = 10
BAD_ARG = 11
BACKDATED = 12
DOES_NOT_SETTLE = 13
"""Not a refusal but an answer inside the kernel: this payment goes through the instalments."""
