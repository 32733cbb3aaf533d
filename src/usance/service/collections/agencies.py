"""Agencies: cases placed with a target, recalled, and the commission on what they brought.

A case is with one agency at most. Commission is due on money that was paid from the day of placing
to the day of recall and some days after it, once for each payment, whoever reported it; a payment
that an agency reports and nobody received is a difference, not commission.

>>> contract = AgencyContract("north", commission_ppm=180_000, tail_days=5, max_cases=10)
>>> book = PlacementBook([contract])
>>> book.place("north", [1, 2], date(2024, 7, 1), target_ppm=120_000, owed_minor=[500_00, 900_00])
>>> book.recall([2], date(2024, 7, 10))
>>> paid = [
...     AgencyPayment(1, "psp-1", date(2024, 7, 5), 200_00),
...     AgencyPayment(2, "psp-2", date(2024, 7, 16), 300_00),
... ]
>>> made = book.statement("north", date(2024, 7, 1), date(2024, 7, 31), paid, reported=["psp-9"])
>>> made.collected_minor, made.commission_minor, made.owed_minor, made.unknown_reports
(20000, 3600, 140000, ('psp-9',))
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from typing import NamedTuple

from usance.base.errors import UsanceError, raise_all, unknown
from usance.service.errors import PlacementError

_PPM = 1_000_000


class AgencyContract(NamedTuple):
    """Fee of an agency and the cases it may hold."""

    name: str
    commission_ppm: int
    """Of what is collected."""
    tail_days: int
    """Days after a recall on which a payment is still the agency's."""
    max_cases: int


class AgencyPayment(NamedTuple):
    """A payment of a borrower, by its reference."""

    user_id: int
    reference: str
    paid_on: date
    amount_minor: int


@dataclass(frozen=True)
class Placement:
    """A case with an agency, until it is recalled."""

    agency: str
    user_id: int
    placed_on: date
    owed_minor: int
    target_ppm: int
    """Part of what is owed that the batch is to bring."""
    recalled_on: date | None = None


class CommissionStatement(NamedTuple):
    """Collections of an agency in a period, and the commission it is owed for them."""

    agency: str
    first: date
    last: date
    placements: int
    owed_minor: int
    target_minor: int
    collected_minor: int
    commission_minor: int
    payments: tuple[AgencyPayment, ...]
    unknown_reports: tuple[str, ...]
    """References that the agency reported and nobody received."""
    unreported: tuple[str, ...]
    """References that were received and that the agency did not report."""


@dataclass
class PlacementBook:
    """Contracts, and every placement that was ever made."""

    contracts: Iterable[AgencyContract]
    placements: list[Placement] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_name = {each.name: each for each in self.contracts}

    def place(
        self, agency: str, users: Sequence[int], day: date, *, target_ppm: int,
        owed_minor: Sequence[int],
    ) -> None:  # fmt: skip
        """Place a batch; whole or not at all."""
        contract = self._contract(agency)
        held = {each.user_id: each for each in self.placements if each.recalled_on is None}
        wrong: list[UsanceError] = [
            PlacementError(f"case {user} is with {held[user].agency}", where=agency,
                           fix="Recall it first")
            for user in users if user in held
        ]  # fmt: skip
        own = sum(each.agency == agency for each in held.values())
        if own + len(users) > contract.max_cases:
            what = f"{own} cases and {len(users)} more are above {contract.max_cases}"
            wrong.append(PlacementError(what, where=agency, fix="Place fewer"))
        if len(set(users)) != len(users) or len(owed_minor) != len(users):
            fix = "Give each case once, with what it owes"
            wrong.append(PlacementError("the batch names a case twice", where=agency, fix=fix))
        raise_all(wrong, where=agency)
        self.placements += [
            Placement(agency, user, day, owed, target_ppm)
            for user, owed in zip(users, owed_minor, strict=True)
        ]

    def place_unchecked(
        self, agency: str, user_id: int, day: date, owed_minor: int, target_ppm: int,
        recalled_on: date | None = None,
    ) -> None:  # fmt: skip
        """Add a placement that was made before."""
        made = Placement(agency, user_id, day, owed_minor, target_ppm, recalled_on)
        self.placements.append(made)

    def recall(self, users: Sequence[int], day: date) -> None:
        """Take cases back from whoever has them; whole or not at all."""
        wanted = set(users)
        rows = {each.user_id: row for row, each in enumerate(self.placements)
                if each.recalled_on is None and each.user_id in wanted}  # fmt: skip
        raise_all([
            PlacementError(f"case {user} is with no agency", where="recall", fix="Leave it out")
            for user in sorted(wanted - rows.keys())
        ])  # fmt: skip
        for row in rows.values():
            self.placements[row] = replace(self.placements[row], recalled_on=day)

    def statement(
        self, agency: str, first: date, last: date, payments: Iterable[AgencyPayment],
        reported: Iterable[str] = (),
    ) -> CommissionStatement:  # fmt: skip
        """The commission of a period: rounded once, on the sum, half up."""
        contract = self._contract(agency)
        own = [each for each in self.placements if each.agency == agency and each.placed_on <= last
               and (each.recalled_on is None or each.recalled_on >= first)]  # fmt: skip
        counted = {
            each.reference: each for each in payments
            if first <= each.paid_on <= last and self._is_earned(contract, each)
        }  # fmt: skip
        collected = sum(each.amount_minor for each in counted.values())
        said = set(reported)
        return CommissionStatement(
            agency, first, last, len(own), sum(each.owed_minor for each in own),
            sum(each.owed_minor * each.target_ppm for each in own) // _PPM, collected,
            (2 * collected * contract.commission_ppm + _PPM) // (2 * _PPM),
            tuple(counted.values()), tuple(sorted(said - counted.keys())),
            tuple(sorted(counted.keys() - said)),
        )  # fmt: skip

    def _is_earned(self, contract: AgencyContract, payment: AgencyPayment) -> bool:
        """True if the agency had the case on that day; a later agency's day ends the tail."""
        ours = None
        for each in self.placements:
            if each.user_id == payment.user_id and each.placed_on <= payment.paid_on:
                ours = each
        if ours is None or ours.agency != contract.name:
            return False
        if ours.recalled_on is None:
            return True
        return payment.paid_on <= ours.recalled_on + timedelta(days=contract.tail_days)

    def _contract(self, agency: str) -> AgencyContract:
        if agency not in self.by_name:
            raise unknown("agency", agency, self.by_name)
        return self.by_name[agency]
