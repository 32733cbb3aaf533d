"""The rows of an exact plan, and the inputs that make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from usance.loan.exact.charge import Pause, Span
from usance.loan.exact.dates import Period
from usance.loan.terms import Terms

PRINCIPAL, INTEREST, GUARANTEE_FEE, SERVICE_FEE = 0, 1, 2, 3


class Row:
    """One instalment: what its period costs (`own`), what falls due with it, what is covered.

    `own`, `due` and `covered` hold principal, interest, guarantee fee and service fee. `own` and
    `due` differ where interest waits (grace, a change of terms) and by `early`, the principal
    that early money took out of the plan during the period.
    """

    __slots__ = (
        "balance", "charge", "covered", "due", "early", "end", "flat_share", "guarantee_instalment",
        "late_charged", "late_weight", "level", "number", "own", "period", "plan_no", "spans",
        "start", "whole_interest",
    )  # fmt: skip

    def __init__(
        self, period: Period, spans: tuple[Span, ...], balance: int, principal: int,
        charge: int, interest: int,
    ) -> None:  # fmt: skip
        self.period = period
        self.number, self.start, self.end = period.number, period.start, period.end
        self.spans = spans  # what bears interest from when to when
        self.balance = balance  # scheduled before this instalment
        self.charge = charge  # the borrower's finance charge, of which interest is a part
        self.whole_interest = interest  # before pauses
        self.own = [principal, interest, 0, 0]
        self.due = [principal, interest, 0, 0]
        self.covered = [0, 0, 0, 0]
        self.level = 0  # the level instalment it was planned with
        self.flat_share = 0
        self.guarantee_instalment = 0
        self.early = 0
        self.plan_no = 0
        self.late_weight = 0  # overdue minor units × days
        self.late_charged = 0

    @property
    def is_paid(self) -> bool:
        """True if everything due with it is covered."""
        return self.covered == self.due

    def replace_principal(self, principal: int) -> None:
        """Plan another principal with this instalment."""
        self.own[PRINCIPAL] = self.due[PRINCIPAL] = principal


@dataclass(slots=True, kw_only=True)
class PlanInputs:
    """Inputs of a plan: `principal` over `periods`, by the options of `terms`."""

    terms: Terms
    periods: Sequence[Period]
    principal: int
    flat_fee: int
    guarantee_fee: int
    grace_principal: int = 0
    grace_interest: int = 0
    before: tuple[Span, ...] = ()  # balances borne by the first period before this plan
    deferred: Sequence[int] = (0, 0, 0, 0)  # falls due with the first instalment after the grace
    level: int | None = None  # keep this instalment
    parts: Sequence[int] = ()  # or these parts of principal
    ends_when_repaid: bool = False  # leave out instalments after the balance is nil
    pauses: Sequence[Pause] = ()


def fall_due(rows: Sequence[Row], grace: int, carried: Sequence[int]) -> None:
    """Let interest and fees fall due, those within the grace with the first after it."""
    wait = list(carried)
    grace = min(grace, len(rows) - 1)  # a plan made shorter by early money ends the grace
    for index, row in enumerate(rows):
        for c in (INTEREST, GUARANTEE_FEE, SERVICE_FEE):
            row.due[c] = row.own[c]
            if index < grace:
                wait[c] += row.own[c]
                row.due[c] = 0
            elif index == grace:
                row.due[c] += wait[c]


def deferred_charges(past: Sequence[Row], carried: Sequence[int]) -> list[int]:
    """Charges of past periods that have not fallen due with their instalments."""
    return [
        max(0, carried[c] + sum(row.own[c] - row.due[c] for row in past)) if c else 0
        for c in range(4)
    ]
