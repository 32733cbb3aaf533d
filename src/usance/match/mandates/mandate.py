"""Mandates of funding sources: eligibility, terms and limits.

A mandate is one version of a source: dated, approved by two people, complete enough to filter,
price and limit every loan without asking anyone. Amounts are whole minor units, rates parts per
million. `file` reads them as people write them; `checks` names contradictions.

>>> from datetime import date
>>> mandate = Mandate(
...     source=7, valid_from=date(2024, 1, 1), valid_to=date(2024, 12, 31), model=FundingModel.ICE,
...     fee_ppm=27_000, budgets=Budgets(total_minor=5_000_000_00), co_share_ppm=0,
... )  # fmt: skip
>>> mandate.version, mandate.source_part_minor(10_000_00)
(1, 1000000)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum

from usance.base.codes import FundingModel, Product
from usance.base.rates import PPM
from usance.match.mandates.co_funding import CoFunding, partner_part_minor

NO_LIMIT = -1
MIDNIGHT = 24 * 3600
MICROSECONDS = 1_000_000
MAX_MONTHS = 120
# Amounts are multiplied by parts per million in 64 bits: 4 × 10^12 × 10^6 still fits.
MAX_BUDGET_MINOR = 4_000_000_000_000
MAX_AMOUNT_MINOR = 2_000_000_000


class Measure(StrEnum):
    """Measures of concentration limits; kernels know them by position, so append only."""

    REGION = "region"
    GRADE = "grade"
    PRODUCT = "product"
    EXPECTED_LOSS = "expected_loss"
    AVERAGE_RATE_MAX = "average_rate_max"
    AVERAGE_RATE_MIN = "average_rate_min"


class EventKind(StrEnum):
    """Unannounced events in the life of a source."""

    LEAVES = "leaves"
    RETURNS = "returns"
    TOTAL_BUDGET = "total_budget"
    APPROVAL_RATE = "approval_rate"


@dataclass(frozen=True, slots=True)
class Budgets:
    """Maximum lending of a source: each day, each month, over the whole mandate; -1 is no limit."""

    day_minor: int = NO_LIMIT
    month_minor: int = NO_LIMIT
    total_minor: int = NO_LIMIT


@dataclass(frozen=True, slots=True)
class ConcentrationLimit:
    """A limit on what a source holds, as a share or an average, judged with every loan."""

    measure: Measure
    bound_ppm: int
    member: int = 0
    """The region, grade or product that a share is about."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Loans that a source may take; an empty set means all."""

    min_amount_minor: int = 1
    max_amount_minor: int = MAX_AMOUNT_MINOR
    borrower_minor: int = NO_LIMIT
    """Maximum that one borrower may have from the source over the period."""
    months: frozenset[int] = frozenset()
    products: frozenset[Product] = frozenset()
    regions: frozenset[int] = frozenset()
    grades: frozenset[int] = frozenset()
    channels: frozenset[int] = frozenset()
    needs: frozenset[str] = frozenset()
    """Attributes a borrower must have."""
    refuses: frozenset[str] = frozenset()
    """Attributes a borrower must not have."""
    blacklist: frozenset[int] = frozenset()
    """Users the source does not lend to."""
    opens: int = 0
    """Seconds after midnight from which requests are taken."""
    cut_off: int = MIDNIGHT
    """Seconds after midnight from which requests are no longer taken."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The guarantor of defaults, its trigger and its cost."""

    guarantor: int = 0
    """A third party, or 0: the platform's own guarantee company, where the model has one."""
    trigger_days: int = 60
    premium_ppm: int = 0
    """A year, of the balance, to the guarantor."""
    deposit_ppm: int = 0
    """Of the loan, held as security while it runs."""


@dataclass(frozen=True, slots=True)
class MinimumTake:
    """Take or pay: the amount to lend over the period, and the fee on a shortfall."""

    amount_minor: int
    shortfall_fee_ppm: int = 10_000


class Distribution(StrEnum):
    """Frequency of interest payments to investors."""

    MONTHLY = "monthly"
    QUARTERLY = "quarterly"
    YEARLY = "yearly"
    AT_END = "at_end"


@dataclass(frozen=True, slots=True)
class Structure:
    """A trust or microcredit source as the group sees it."""

    capital_minor: int = 0
    revolving_until: date | None = None
    buy_out_days: int = 60
    distribution: Distribution = Distribution.MONTHLY
    residual_ppm: int = PPM
    """The platform's part of the residual after the investors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mandate:
    """One version of one source."""

    source: int
    version: int = 1
    name: str = ""
    institution: int = 0
    entity: int = 1
    valid_from: date
    valid_to: date
    approved_by: tuple[str, ...] = ()
    model: FundingModel
    coupon_ppm: int = 0
    """Annual cost of the money: the yield of the institution or the trust's investors."""
    fee_ppm: int = 0
    """Fee that the source pays the platform, once, of the volume."""
    approval_ppm: int = PPM
    """Expected approval rate."""
    priority: int = 1
    """Only the rule "priority and remaining capacity" reads it; 1 comes first."""
    microcredit: bool = False
    home_region: int = NO_LIMIT
    co_share_ppm: int = 0
    """The platform's own part in each loan; the source lends the rest."""
    co_funding: CoFunding | None = None
    """A partner that lends a part of each loan."""
    settlement_lag: int = 1
    calendar: str = "weekends"
    guarantee: Guarantee = Guarantee()
    eligibility: Eligibility = Eligibility()
    budgets: Budgets = Budgets()
    concentration_limits: tuple[ConcentrationLimit, ...] = ()
    ramp_minor: int = 0
    """Amount placed before which shares and averages are not judged; 0 judges every loan."""
    counts_from: date | None = None
    """First day that the total budget, borrower limits and shares count from, also over versions;
    none: the first day in force."""
    minimum_take: MinimumTake | None = None
    structure: Structure | None = None

    @property
    def since(self) -> date:
        """First day of the use that its total, borrower limits and shares count."""
        return self.counts_from or self.valid_from

    @property
    def others_ppm(self) -> int:
        """Part of each loan that the source itself does not lend: the platform's or a partner's."""
        return self.co_funding.share_ppm if self.co_funding else self.co_share_ppm

    def source_part_minor(self, amount_minor: int) -> int:
        """Part of a loan that the source itself lends; the platform's own part is rounded down."""
        if self.co_funding is not None:
            return amount_minor - self.partner_part_minor(amount_minor)
        return amount_minor - amount_minor * self.co_share_ppm // PPM

    def parts_minor(self, amount_minor: int) -> dict[int, int]:
        """Parts of a co-funded loan by source, in order of source; none of any other."""
        if self.co_funding is None:
            return {}
        theirs = self.partner_part_minor(amount_minor)
        parts = {self.source: amount_minor - theirs, self.co_funding.partner: theirs}
        return dict(sorted(parts.items()))

    def partner_part_minor(self, amount_minor: int) -> int:
        """Part of a loan that the partner lends, 0 without one."""
        given = self.co_funding
        if given is None:
            return 0
        is_first = given.partner < self.source
        return int(partner_part_minor(amount_minor, given.share_ppm, given.least_ppm, is_first))


@dataclass(frozen=True, slots=True)
class ModelShare:
    """Minimum and maximum share of a funding model in everything placed."""

    model: FundingModel
    min_ppm: int = 0
    max_ppm: int = PPM


@dataclass(frozen=True, slots=True)
class Platform:
    """The platform's own limits and the costs that every margin needs."""

    vat_ppm: int = 60_000
    service_cost_ppm: int = 8_000
    own_funding_ppm: int = 43_000
    deposit_cost_ppm: int = 43_000
    expected_loss_ppm: tuple[tuple[int, int], ...] = (
        (1, 20_000), (2, 35_000), (3, 50_000), (4, 70_000),
        (5, 90_000), (6, 120_000), (7, 160_000), (8, 220_000),
    )  # fmt: skip
    """A year, of the balance, by grade."""
    guarantee_minor: int = NO_LIMIT
    """Headroom for new guarantees under the leverage limit of the guarantee company."""
    microcredit_minor: int = NO_LIMIT
    """Headroom for new loans under the leverage limit of the microcredit company."""
    liquidity_minor: int = NO_LIMIT
    """The platform's own money for its parts in co-funded loans."""
    model_shares: tuple[ModelShare, ...] = ()
    ramp_minor: int = 0
    """Amount placed in all before which shares of models are not judged."""

    @property
    def losses(self) -> dict[int, int]:
        """Annual expected loss by grade."""
        return dict(self.expected_loss_ppm)


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happens to a source during the period."""

    at: datetime
    source: int
    kind: EventKind
    value: int = 0
    """The new budget in minor units, or the new approval rate in parts per million."""

    @property
    def moment(self) -> int:
        """Microseconds since 1970 in UTC, as requests have them."""
        return int(self.at.timestamp()) * MICROSECONDS


@dataclass(frozen=True, slots=True)
class Names:
    """Names of regions or channels and their numbers; without names every number is known."""

    what: str
    numbers: dict[str, int] = field(default_factory=dict)
    lowest: int = 0
    highest: int = 32_767

    def __contains__(self, number: int) -> bool:
        return number in self.numbers.values() if self.numbers else 0 <= number <= self.highest

    def label_of(self, number: int) -> str:
        """The name of a number, or the number itself."""
        return next((name for name, own in self.numbers.items() if own == number), str(number))


@dataclass(frozen=True, slots=True)
class Mandates:
    """The content of a file of mandates, free of contradictions."""

    mandates: tuple[Mandate, ...]
    currency: str = "CNY"
    time_zone: str = "Asia/Shanghai"
    platform: Platform = Platform()
    regions: Names = field(default_factory=lambda: Names("region"))
    channels: Names = field(default_factory=lambda: Names("channel"))
    attributes: tuple[str, ...] = ()
    period: tuple[date, date] | None = None
    events: tuple[Event, ...] = ()
    where: str = "mandates"

    def label_of(self, mandate: Mandate) -> str:
        """A mandate as people call it: its name and number, and its version if there are more."""
        label = f"source {mandate.source}"
        if mandate.name and mandate.name.casefold() != label:
            label = f"{mandate.name} ({label})"
        several = len(self.of_source(mandate.source)) > 1
        return f"{label} version {mandate.version}" if several else label

    def of_source(self, source: int) -> tuple[Mandate, ...]:
        """Every version of one source."""
        return tuple(each for each in self.mandates if each.source == source)
