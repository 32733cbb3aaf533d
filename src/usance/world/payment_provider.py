"""A simulated payment provider that keeps its own books and answers as real ones do: badly.

Requests and answers get lost, notices come late, twice, out of order or never, files are cut, and
now and then nobody is there. Only its own books are right: a reference is paid once at most.

>>> nine = datetime(2024, 7, 1, 9)
>>> provider = PaymentProvider(seed=1)
>>> provider.send("OR1", 500_00, nine)
ProviderReply(kind='accepted', reference='OR1', amount_minor=0, provider_ref='', on=None)
>>> later = nine + timedelta(days=3)
>>> [(word.kind, word.amount_minor) for word in provider.notices(later)]
[('settled', 50000)]
>>> provider.send("OR1", 500_00, later).kind, provider.paid_minor
('settled', {'OR1': 50000})
>>> print(provider.file(date(2024, 7, 1)), end="")
order_no,provider_ref,settled_on,amount,fee,batch,loan,payer
OR1,P1-OR1,2024-07-01,500.00,0.00,2024-07-01,,
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from hashlib import blake2b
from typing import NamedTuple

from usance.base.draws import draw
from usance.world.streams import Stream

HEADER = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer\n"
_PPM = 1_000_000


class ProviderReply(NamedTuple):
    """Something the provider says about a reference."""

    kind: str
    reference: str
    amount_minor: int = 0
    provider_ref: str = ""
    on: date | None = None


class ProviderFaults(NamedTuple):
    """Shares of what goes wrong, in parts per million, and the longest delay."""

    request_lost: int = 0
    answer_lost: int = 0
    outage: int = 0
    rejected: int = 0
    returned: int = 0
    notice_lost: int = 0
    notice_doubled: int = 0
    file_cut: int = 0
    wrong_amount: int = 0
    longest_delay: timedelta = timedelta(hours=2)


@dataclass
class _Taken:
    """An order that reached the provider."""

    amount_minor: int
    comes_in: bool
    ends_at: datetime
    is_rejected: bool
    returns_at: datetime | None
    shown_minor: int
    told: set[str] = field(default_factory=set)


@dataclass
class PaymentProvider:
    """The provider: what it was asked for, and what it has done."""

    seed: int
    faults: ProviderFaults = field(default_factory=ProviderFaults)
    taken: dict[str, _Taken] = field(default_factory=dict)
    calls: int = 0

    def send(
        self, reference: str, amount_minor: int, at: datetime, *, comes_in: bool = True
    ) -> ProviderReply | None:
        """Take an order; none if the request or its answer got lost."""
        self.calls += 1
        if self._happens("request", self.faults.request_lost):
            return None
        if reference not in self.taken:
            self.taken[reference] = self._take(reference, amount_minor, at, comes_in)
        if self._happens("answer", self.faults.answer_lost):
            return None
        return self._state(reference, at)

    def status(self, reference: str, at: datetime) -> ProviderReply | None:
        """The state of an order as the provider knows it; none in an outage."""
        self.calls += 1
        if self._happens("outage", self.faults.outage):
            return None
        if reference not in self.taken:
            return ProviderReply("not_found", reference)
        return self._state(reference, at)

    def notices(self, at: datetime) -> list[ProviderReply]:
        """Words about what ended since the last call: some never, some twice, in no order."""
        self.calls += 1
        words = []
        for reference in self.taken:
            for word in self._ended(reference, at):
                order = self.taken[reference]
                if word.kind in order.told:
                    continue
                order.told.add(word.kind)
                if self._chance(f"lost/{word}") < self.faults.notice_lost:
                    continue
                words.append(word)
                if self._chance(f"doubled/{word}") < self.faults.notice_doubled:
                    words.append(word)
        return sorted(words, key=lambda each: self._chance(f"order/{each}"))

    def file(self, day: date, *, is_whole: bool = False) -> str:
        """The file of a day: every movement, unless it is cut."""
        lines = []
        for reference in sorted(self.taken):
            for word in self._ended(reference, None):
                if word.on == day and word.kind != "rejected":
                    is_back = word.kind == "returned"
                    sign = "-" if is_back == self.taken[reference].comes_in else ""
                    units = f"{sign}{word.amount_minor // 100}.{word.amount_minor % 100:02d}"
                    lines.append(f"{reference},{word.provider_ref},{day},{units},0.00,{day},,\n")
        if not is_whole and lines and self._chance(f"cut/{day}") < self.faults.file_cut:
            lines = lines[: len(lines) // 2]
        return HEADER + "".join(lines)

    @property
    def paid_minor(self) -> dict[str, int]:
        """Money moved for each reference and not returned: the truth that others have to find."""
        return {
            reference: order.amount_minor
            for reference, order in self.taken.items()
            if not order.is_rejected and order.returns_at is None
        }

    def _take(self, reference: str, amount_minor: int, at: datetime, comes_in: bool) -> _Taken:
        share = self._chance(f"delay/{reference}")
        ends = at + self.faults.longest_delay * share / _PPM
        is_rejected = self._chance(f"rejected/{reference}") < self.faults.rejected
        returns = self._chance(f"returned/{reference}") < self.faults.returned
        wrong = self._chance(f"amount/{reference}") < self.faults.wrong_amount
        back = ends + timedelta(days=1) if returns and not is_rejected else None
        return _Taken(amount_minor, comes_in, ends, is_rejected, back, amount_minor - wrong)

    def _state(self, reference: str, at: datetime) -> ProviderReply:
        ended = list(self._ended(reference, at))
        return ended[-1] if ended else ProviderReply("accepted", reference)

    def _ended(self, reference: str, at: datetime | None) -> Iterator[ProviderReply]:
        """Words about the end of an order up to a moment, or all of them."""
        order = self.taken[reference]
        if at is not None and order.ends_at > at:
            return
        if order.is_rejected:
            yield ProviderReply("rejected", reference)
            return
        number = f"P{self.seed}-{reference}"
        yield ProviderReply("settled", reference, order.shown_minor, number, order.ends_at.date())
        if order.returns_at is not None and (at is None or order.returns_at <= at):
            day = order.returns_at.date()
            yield ProviderReply("returned", reference, order.shown_minor, f"{number}-R", day)

    def _happens(self, what: str, share_ppm: int) -> bool:
        return self._chance(f"{what}/{self.calls}") < share_ppm

    def _chance(self, key: str) -> int:
        """Parts per million that depend on the seed and a key alone."""
        entity = int.from_bytes(blake2b(key.encode(), digest_size=6).digest())
        return draw(self.seed, int(Stream.PROVIDER), entity, 0) % _PPM
