"""A slow router on plain Python values, written from the mandates' words; it knows no kernel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from usance.base.codes import FundingModel
from usance.base.draws import draw
from usance.match.draws import ANSWERS
from usance.match.mandates.mandate import NO_LIMIT, ConcentrationLimit, Mandate, Mandates, Measure
from usance.match.mandates.margins import margin_coefficients
from usance.match.router.requests import Requests

MILLION, BILLION = 10**6, 10**9


class SlowGreedy:
    """Asks by margin, highest first; keeps every limit by adding up what was placed."""

    def __init__(
        self, mandates: Mandates, requests: Requests, seed: int,
        came_back: Sequence[tuple[date, int, int]] = (),
    ) -> None:  # fmt: skip
        self.book, self.requests, self.seed = mandates, requests, seed
        self.came_back = came_back
        self.placed: list[tuple[int, int]] = []

    def run(self) -> list[int]:
        """The column that took each request, -1 if none did."""
        return [self._one(row) for row in range(len(self.requests))]

    def _one(self, row: int) -> int:
        ranked = []
        for column, mandate in enumerate(self.book.mandates):
            margin = self._margin(mandate, row)
            partner = self._partner(mandate, row)
            if mandate.co_funding and not (
                partner is not None
                and self._takes(partner, row)
                and self._has(partner, mandate, row)
            ):
                continue
            if margin > 0 and self._takes(mandate, row) and self._fits(column, row):
                ranked.append((-margin, column))
        for _, column in sorted(ranked):
            mandate = self.book.mandates[column]
            partner = self._partner(mandate, row)
            if self._says_yes(mandate, row) and (partner is None or self._says_yes(partner, row)):
                self.placed.append((row, column))
                return column
        return -1

    def _says_yes(self, mandate: Mandate, row: int) -> bool:
        answer = draw(self.seed, ANSWERS, int(self.requests.loan_id[row]), mandate.source)
        return answer >> 11 < (1 << 53) * mandate.approval_ppm // MILLION

    def _partner(self, mandate: Mandate, row: int) -> Mandate | None:
        """The partner's mandate on the day of a request."""
        day = self._when(row).date()
        own = (each for each in self.book.mandates if mandate.co_funding
               and each.source == mandate.co_funding.partner
               and each.valid_from <= day <= each.valid_to)  # fmt: skip
        return next(own, None)

    def _has(self, partner: Mandate, lead: Mandate, row: int) -> bool:
        """True if a partner's budgets have room for its part."""
        lent = self._lent(self.book.mandates.index(partner))
        return self._has_room(
            partner, lent, lead.partner_part_minor(int(self.requests.amount_minor[row])), row
        )

    def _lent(self, column: int) -> dict[object, int]:
        """What a source lent so far of loans of its own and of those it is partner of."""
        mandate = self.book.mandates[column]
        lent: dict[object, int] = defaultdict(int)
        for r, c in self.placed:
            then, lead = self._when(r), self.book.mandates[c]
            amount = int(self.requests.amount_minor[r])
            part = mandate.source_part_minor(amount) if c == column else 0
            if self._partner(lead, r) is mandate:
                part += lead.partner_part_minor(amount)
            for key in ("total", (then.year, then.month), then.date()):
                lent[key] += part
        return lent

    def _has_room(self, mandate: Mandate, lent: dict[object, int], new: int, row: int) -> bool:
        now, budgets = self._when(row), mandate.budgets
        limits = (
            ("total", budgets.total_minor), ((now.year, now.month), budgets.month_minor),
            (now.date(), budgets.day_minor),
        )  # fmt: skip
        return all(most == NO_LIMIT or lent[key] + new <= most for key, most in limits)

    def _margin(self, mandate: Mandate, row: int) -> int:
        loss = self.book.platform.losses[int(self.requests.grade[row])]
        base, slope = margin_coefficients(
            mandate, self.book.platform, int(self.requests.months[row]), loss
        )
        return int(base + slope * int(self.requests.rate_ppm[row]) // MILLION)

    def _when(self, row: int) -> datetime:
        moment = datetime.fromtimestamp(int(self.requests.requested_at[row]) // MILLION, UTC)
        return moment.astimezone(ZoneInfo(self.book.time_zone))

    def _takes(self, mandate: Mandate, row: int) -> bool:
        own, requests, now = mandate.eligibility, self.requests, self._when(row)
        has = {
            name
            for bit, name in enumerate(self.book.attributes)
            if int(requests.attributes[row]) >> bit & 1
        }
        pairs = (
            (requests.product, own.products), (requests.region, own.regions),
            (requests.grade, own.grades), (requests.channel, own.channels),
            (requests.months, own.months),
        )  # fmt: skip
        return (
            mandate.valid_from <= now.date() <= mandate.valid_to
            and own.min_amount_minor <= requests.amount_minor[row] <= own.max_amount_minor
            and all(not allowed or int(values[row]) in allowed for values, allowed in pairs)
            and own.needs <= has
            and not own.refuses & has
            and int(requests.user_id[row]) not in own.blacklist
            and own.opens <= now.hour * 3600 + now.minute * 60 + now.second < own.cut_off
        )

    def _fits(self, column: int, row: int) -> bool:
        mandate, amount = self.book.mandates[column], int(self.requests.amount_minor[row])
        mine = [r for r, c in self.placed if c == column]
        now, lent = self._when(row), self._lent(column)
        for day, source, principal in self.came_back:
            if source == mandate.source and day <= now.date() and self._revolves(mandate, day):
                lent["total"] -= principal
        if not self._has_room(mandate, lent, mandate.source_part_minor(amount), row):
            return False
        user, most = self.requests.user_id[row], mandate.eligibility.borrower_minor
        has = sum(
            int(self.requests.amount_minor[r]) for r in mine if self.requests.user_id[r] == user
        )
        if most != NO_LIMIT and has + amount > most:
            return False
        in_all = sum(int(self.requests.amount_minor[r]) for r in mine) + amount
        return self._platform(mandate, amount) and all(
            sum(self._mix(each, r) for r in (*mine, row)) <= 0
            or self._mix(each, row) <= 0
            or in_all <= mandate.ramp_minor
            for each in mandate.concentration_limits
        )

    @staticmethod
    def _revolves(mandate: Mandate, day: date) -> bool:
        until = mandate.structure and mandate.structure.revolving_until
        return bool(until and mandate.valid_from <= day <= min(mandate.valid_to, until))

    def _mix(self, limit: ConcentrationLimit, row: int) -> int:
        requests, amount = self.requests, int(self.requests.amount_minor[row])
        if limit.measure is Measure.EXPECTED_LOSS:
            loss = self.book.platform.losses[int(requests.grade[row])]
            return amount * (loss - limit.bound_ppm)
        if limit.measure is Measure.AVERAGE_RATE_MAX:
            return amount * (int(requests.rate_ppm[row]) - limit.bound_ppm)
        if limit.measure is Measure.AVERAGE_RATE_MIN:
            return amount * (limit.bound_ppm - int(requests.rate_ppm[row]))
        values = {
            Measure.REGION: requests.region, Measure.GRADE: requests.grade,
            Measure.PRODUCT: requests.product,
        }[limit.measure]  # fmt: skip
        return amount * ((MILLION if values[row] == limit.member else 0) - limit.bound_ppm)

    def _platform(self, mandate: Mandate, amount: int) -> bool:
        platform = self.book.platform
        rooms = (platform.guarantee_minor, platform.microcredit_minor, platform.liquidity_minor)
        for part, room in zip(self._parts(mandate), rooms, strict=True):
            used = [
                self._parts(self.book.mandates[c])[rooms.index(room)]
                * int(self.requests.amount_minor[r]) // MILLION
                for r, c in self.placed
            ]  # fmt: skip
            if room != NO_LIMIT and part and sum(used) + amount * part // MILLION > room:
                return False
        for each in platform.model_shares:
            if each.model is not mandate.model:
                continue
            state = sum(
                int(self.requests.amount_minor[r])
                * ((MILLION if self.book.mandates[c].model is each.model else 0) - each.max_ppm)
                for r, c in self.placed
            )
            in_all = sum(int(self.requests.amount_minor[r]) for r, _ in self.placed) + amount
            after = state + amount * (MILLION - each.max_ppm)
            if after > 0 and in_all > platform.ramp_minor:
                return False
        return True

    @staticmethod
    def _parts(mandate: Mandate) -> tuple[int, int, int]:
        theirs = MILLION - mandate.co_share_ppm
        own = mandate.model is FundingModel.CAPITAL_HEAVY and not mandate.guarantee.guarantor
        return theirs if own else 0, theirs if mandate.microcredit else 0, mandate.co_share_ppm
