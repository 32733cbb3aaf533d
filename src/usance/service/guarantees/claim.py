"""A claim on a third-party guarantor: filed, answered, disputed, closed; paid once at most.

A guarantor pays out of the deposit that lies with it, and what it bears itself by its own money.
What it declines can be disputed; a claim whose compensation is undone is withdrawn, and what was
paid on it goes back.

>>> filed = Claim(1_000_00)
>>> paid = filed.answered(deposit_minor=700_00, own_minor=300_00)
>>> paid.state.value, paid.left_minor
('paid', 0)
>>> declined = filed.answered(deposit_minor=0, own_minor=0, reason="no contract")
>>> declined.disputed("contract 7 covers it").answered(
...     deposit_minor=0, own_minor=1_000_00
... ).state.value
'paid'
>>> paid.disputed("more")
Traceback (most recent call last):
usance.service.errors.ClaimRefused: claim: it is paid. Dispute what was declined.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from usance.service.errors import ClaimRefused


class ClaimState(Enum):
    """States of a claim; `paid`, `closed` and `withdrawn` are its ends."""

    FILED = "filed"
    PAID = "paid"
    DECLINED = "declined"
    """In whole or in part."""
    DISPUTED = "disputed"
    CLOSED = "closed"
    """The platform bears the part that was declined."""
    WITHDRAWN = "withdrawn"


_ANSWERED = (ClaimState.FILED, ClaimState.DISPUTED)


@dataclass(frozen=True, slots=True)
class Claim:
    """The amount that an institution was compensated with, and what came of it."""

    amount_minor: int
    state: ClaimState = ClaimState.FILED
    deposit_minor: int = 0
    """Paid out of the platform's deposit."""
    own_minor: int = 0
    """Paid by the guarantor itself: later receipts are its own in this part."""
    passed_minor: int = 0
    """Recoveries that were passed on to it."""
    reason: str = ""

    @property
    def left_minor(self) -> int:
        """The part that nobody has paid."""
        return self.amount_minor - self.deposit_minor - self.own_minor

    def answered(self, *, deposit_minor: int, own_minor: int, reason: str = "") -> Claim:
        """The claim after an answer that pays so much of what is left."""
        if self.state not in _ANSWERED:
            raise _refused(self, "Answer a claim that is filed or disputed")
        if deposit_minor < 0 or own_minor < 0 or deposit_minor + own_minor > self.left_minor:
            what = f"it pays {deposit_minor} and {own_minor} of {self.left_minor}"
            raise ClaimRefused(what, where="claim", fix=f"Pay 0 to {self.left_minor} in all")
        left = self.left_minor - deposit_minor - own_minor
        if left and not reason.strip():
            raise ClaimRefused(f"{left} is declined without a reason", where="claim",
                               fix="Give the reason")  # fmt: skip
        return replace(
            self, state=ClaimState.DECLINED if left else ClaimState.PAID, reason=reason,
            deposit_minor=self.deposit_minor + deposit_minor, own_minor=self.own_minor + own_minor,
        )  # fmt: skip

    def disputed(self, reason: str) -> Claim:
        """The claim after we have contradicted."""
        if self.state is not ClaimState.DECLINED:
            raise _refused(self, "Dispute what was declined")
        return replace(self, state=ClaimState.DISPUTED, reason=_needed(reason))

    def closed(self, reason: str) -> Claim:
        """The claim after we have taken what was declined upon ourselves."""
        if self.state not in (ClaimState.DECLINED, ClaimState.DISPUTED):
            raise _refused(self, "Close what was declined")
        return replace(self, state=ClaimState.CLOSED, reason=_needed(reason))

    def withdrawn(self) -> Claim:
        """The claim after its compensation was undone: nothing was paid on it in the end."""
        return replace(self, state=ClaimState.WITHDRAWN, deposit_minor=0, own_minor=0,
                       passed_minor=0)  # fmt: skip

    def due_to_guarantor(self, recovered_minor: int) -> int:
        """Recoveries that are the guarantor's and were not passed on, below zero if too many were.

        Whoever has borne a part of the claim gets that part of every later receipt: of the
        recovered amount so far, rounded down, so that the whole is the guarantor's at the end.

        >>> Claim(300, own_minor=100, passed_minor=30).due_to_guarantor(150)
        20
        """
        mine = min(max(recovered_minor, 0), self.amount_minor) * self.own_minor
        return mine // self.amount_minor - self.passed_minor


def _needed(reason: str) -> str:
    if not reason.strip():
        raise ClaimRefused("there is no reason", where="claim", fix="Give the reason")
    return reason


def _refused(claim: Claim, fix: str) -> ClaimRefused:
    return ClaimRefused(f"it is {claim.state.value}", where="claim", fix=fix)
