"""A scenario: everything the simulated economy is made of, as data.

Counts and budgets are those of the full size; a run multiplies them by its scale. Shares are parts
per million, money is minor units, months are numbers. `scenario_file` reads scenarios as people
write them and names every contradiction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from usance.base.codes import FundingModel, Product
from usance.base.rates import PPM
from usance.world.debtors import ChannelOutage, Operations
from usance.world.incidents import NO_INCIDENTS, Incidents
from usance.world.shocks import Shock


@dataclass(frozen=True, slots=True)
class Channel:
    """Channel that brings users: the own app, a partner's app, an agent or a campaign."""

    number: int
    name: str
    kind: str
    share_ppm: int
    cost_minor: int
    """Paid for each user approved with a line."""


@dataclass(frozen=True, slots=True)
class Users:
    """Users registered at the opening and later; regions are numbered from 1."""

    opening: int
    opening_approved_ppm: int
    """Of those registered."""
    opening_borrowers_ppm: int
    """Of those approved."""
    registered: Mapping[int, int]
    """New users by month."""
    applies_ppm: int
    """Of new users, those who apply in the month they register."""
    business_ppm: int
    region_ppm: tuple[int, ...]
    channels: tuple[Channel, ...]


@dataclass(frozen=True, slots=True)
class ProductMix:
    """One product's share of requests, its tickets and its tenors."""

    product: Product
    request_ppm: int
    ticket_minor: int
    """Median amount asked for."""
    ticket_spread_ppm: int
    """Standard deviation of the logarithm of the amount."""
    months_ppm: Mapping[int, int]
    """Share of requests by number of monthly instalments."""
    convention: str


@dataclass(frozen=True, slots=True)
class Demand:
    """Demand for loans by month, by first-time borrowers among them, and by product."""

    requests: Mapping[int, int]
    """Drawdown requests by month."""
    first_time_ppm: int
    """Of requests, those by users who never borrowed."""
    ticket_ppm: Mapping[int, int]
    """By month: amounts against the product's median, 1,000,000 where none is given."""
    products: tuple[ProductMix, ...]
    model_ppm: Mapping[int, Mapping[FundingModel, int]]
    """By month: how volume is to be split over the models; each month's shares sum to a million."""
    products_from: Mapping[int, tuple[ProductMix, ...]] = field(default_factory=dict)
    """By first month: the products from then on, where they are no longer those above."""

    def mix(self, month: int) -> tuple[ProductMix, ...]:
        """The products of a month."""
        since = max((each for each in self.products_from if each <= month), default=None)
        return self.products if since is None else self.products_from[since]


@dataclass(frozen=True, slots=True)
class CoFundingPair:
    """Two institutions of a model, by their places in it, that fund the loans of one together."""

    lead: int
    partner: int
    share_ppm: int
    """The partner's part of each loan of the lead."""


@dataclass(frozen=True, slots=True)
class Funding:
    """The institutions of one model: how many, on which terms, how they behave."""

    model: FundingModel
    sources: int
    coupon_ppm: int
    """A year, what the money costs. Of guaranteed and served loans (`capital_heavy`,
    `capital_light`) it is the coupon in the borrower's rate, and the rest of the rate is fees;
    under the other models the whole rate is interest."""
    fee_ppm: int
    """Of volume, what the institution pays the platform at the drawdown."""
    guarantee_fee_ppm: int
    """A year, of the balance as if principal were repaid in equal parts: of a loan of n monthly
    instalments, principal × fee × (n + 1) / 24. It is part of the fees, never on top of them."""
    service_fee_ppm: int
    """Of principal, over the whole life, in equal parts."""
    upfront_fee_ppm: int
    """Of principal, withheld from the disbursement."""
    trigger_days: int
    approval_ppm: int
    head_room_ppm: int
    """Budgets against the volume the model is to take; 1,100,000 leaves a tenth free."""
    eligible_ppm: int
    """Share of region × grade pairs that a mandate takes."""
    entity: int
    hazard_ppm: int = PPM
    """Likelihood of its loans to be late, against those of all models together."""
    settlement_days: int = 1
    """Days after which payment providers pass on what borrowers paid."""
    tenor_ppm: Mapping[int, int] = field(default_factory=dict, hash=False)
    """By number of instalments: its share in the budget against that in demand, one if left out."""
    co_funding: tuple[CoFundingPair, ...] = ()
    """Institutions of the model that lend together."""


@dataclass(frozen=True, slots=True)
class Specialisations:
    """Groups of tenors and of grades; each institution takes one group of either.

    Budgets of a model are divided over the groups as requests are, so that no model is left with
    the long loans or the good borrowers alone. Institutions that take everything have none.
    """

    months: tuple[tuple[int, ...], ...]
    grades: tuple[tuple[int, ...], ...]
    grade_ppm: tuple[int, ...]
    """Of the volume asked for, the share of each group of grades."""


NO_SPECIALISATIONS = Specialisations((), (), ())

FOR_GOOD = 2**31 - 1
"""The last day of an event that does not end."""


class SourceEventKind(StrEnum):
    """Change of an institution between two mandates."""

    OUTAGE = "outage"
    """No answer comes."""
    LEAVES = "leaves"
    """It takes no more loans."""
    APPROVAL = "approval"
    """It approves so often."""
    BUDGET = "budget"
    """It lends so much of what it would have lent."""
    ELIGIBLE = "eligible"
    """It takes so many of the region × grade pairs."""

    @property
    def has_value(self) -> bool:
        """True if the event gives a new value."""
        return self not in (SourceEventKind.OUTAGE, SourceEventKind.LEAVES)


@dataclass(frozen=True, slots=True)
class SourceEvent:
    """A change of institutions from one day to another that their mandates did not state."""

    kind: SourceEventKind
    model: FundingModel
    first_day: int
    last_day: int = FOR_GOOD
    value_ppm: int = 0
    numbers: tuple[int, ...] = ()
    """Numbers of the model's institutions, from 1; all if empty."""


@dataclass(frozen=True, slots=True)
class Macro:
    """Prices and work by month, and the shocks of the scenario."""

    cpi_ppm: Mapping[int, int]
    """A year, by how much prices rise."""
    unemployment_ppm: Mapping[int, int]
    shocks: tuple[Shock, ...]
    late_elasticity_ppm: int = 0
    """By how many parts late payment rises when unemployment rises by one against the first
    month; 1,000,000 is one for one. The others say the same of prices."""
    ticket_elasticity_ppm: int = 0
    income_elasticity_ppm: int = 0


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Payment behaviour: the fitted values. Only calibration writes them for scenario `2024`."""

    late_ppm: int
    """Of instalments of loans with nothing overdue, unpaid at the end of their due day."""
    collected30_ppm: int
    """Of those, paid within 30 days."""
    cure_ppm: tuple[int, ...]
    """Chance in a month that a loan 31–60, 61–90, … 151–180 days past due pays all that is due."""
    partial_ppm: int
    """Chance in a month that such a loan pays one instalment instead."""
    recovery_ppm: int
    """Chance in a month that a charged-off loan pays something."""
    recovered_share_ppm: int
    """Share of its claim that it pays then."""
    prepay_ppm: int
    """Chance in a month that a loan with nothing overdue is settled in whole."""
    repeat_ppm: int
    """Likelihood of a user who has just repaid a loan to borrow again, against others."""
    hazard_spread_ppm: int
    """Standard deviation of the logarithm of a user's hazard."""
    first_loan_hazard_ppm: int
    """Likelihood of a first loan to be late, against others."""
    season_ppm: tuple[int, ...]
    """Late payment by calendar month, twelve numbers around 1,000,000."""
    fraud_ppm: int
    """Of first loans, taken by rings that never pay."""
    early_ppm: int = 0
    """Likelihood of the first due of a loan to be late beyond the average one, and of the last one
    below it: of the k-th of n dues by 1 + early × (n + 1 − 2k) / (n − 1), 1 where n is 1."""
    ring_seen_ppm: int = 0
    """Of users in rings, those whose shared devices and phones are seen when they register."""
    life_event_ppm: int = 0
    """Chance in a month that something shakes a user's income: work lost, illness, a parting."""
    life_event_months: int = 0
    """Months that it lasts."""
    life_event_hazard_ppm: int = PPM
    """Likelihood of the user to be late meanwhile, against before."""


@dataclass(frozen=True, slots=True)
class Providers:
    """Payment providers, and how often a notice is late, lost for a day, or sent twice."""

    providers: int
    late_notice_ppm: int
    late_notice_days: int
    failed_ppm: int
    """Debits that fail on their day and succeed on the next."""
    duplicate_ppm: int
    lost_ppm: int = 0
    """Notices that get lost on the way; they come again with the next day's file."""
    damaged_ppm: int = 0
    """Lines of a file that cannot be read; they come again as well."""
    crash_ppm: int = 0
    """Files over which the platform goes down: the whole file comes again."""
    fee_ppm: int = 0
    """Of what borrowers pay, withheld by the provider."""
    fee_minor: int = 0
    """Withheld for each payment."""


@dataclass(frozen=True, slots=True)
class OpeningBook:
    """The loans at the opening, drawn and not simulated."""

    balance_minor: Mapping[FundingModel, int]
    """Unpaid principal not more than 180 days past due."""
    bucket_ppm: tuple[int, ...]
    """Share of balance current and in buckets 1 to 6."""


@dataclass(frozen=True, slots=True)
class Pricing:
    """The borrower's nominal annual rate by grade, 1 the best."""

    rate_ppm: tuple[int, ...]
    grade_share_ppm: tuple[int, ...]
    late_fee_ppm: Mapping[int, int] = field(default_factory=dict)
    """By month: what a late fee is of the instalment that is overdue; where none is given, the
    parameter `servicing.late_fee`."""


@dataclass(frozen=True, slots=True)
class Group:
    """The group beside its loans; costs are shares of volume or amounts by month."""

    policies: Mapping[str, str]
    """The policies of the closes: text by file name, as a folder of policies holds them."""
    facts: str
    """Group facts that are stated as such: opening balances, shares, rates, dividends; a text."""
    cost_of_volume_ppm: Mapping[str, int]
    """By function, such as `sales_and_marketing`: cost against origination volume."""
    cost_minor: Mapping[str, int]
    """By function: cost of a month whatever the volume."""
    funding_cost_ppm: Mapping[int, int]
    """By month: annual cost of what funds the loans on the balance sheet."""
    leverage_ppm: int
    """Share of those loans that others fund."""
    leverage_from: Mapping[int, int] = field(default_factory=dict)
    """The same by month, where it is not always so."""
    non_current_ppm: int = 0
    """Of what others fund, the share that falls due after a year."""
    bank_interest_ppm: int = 0
    """The annual rate that banks pay on the cash of the group."""
    tax_paid_ppm: int = PPM
    """Of the income tax owed at a close, what is paid in the month after."""
    vat_prepaid_ppm: int = 0
    """Of the value-added tax of a quarter, what is paid within it; the rest after its end."""
    trust_kept_ppm: int = 500_000
    """Of the interest of a trust's loans, what it keeps for their losses before it distributes."""
    deals: Mapping[str, str] = field(default_factory=dict)
    """Deals that hold loans on the balance sheet: texts of deal files by name."""

    def leverage(self, month: int) -> int:
        """The share of loans that others fund at the end of a month."""
        return self.leverage_from.get(month, self.leverage_ppm)


@dataclass(frozen=True, slots=True)
class Collections:
    """How what is late is collected; the strategy as text, empty for the one that is shipped."""

    strategy: str = ""
    minutes: tuple[tuple[str, int], ...] = ()
    """Minutes a day of a desk for each debtor who falls late a day; enough where none is given."""
    outages: tuple[ChannelOutage, ...] = ()

    @property
    def operations(self) -> Operations:
        """People and channels."""
        return Operations(dict(self.minutes), self.outages)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A whole economy; `first_month` is the first one simulated, the opening is its eve."""

    name: str
    text: str
    currency: str
    time_zone: str
    seed: int
    first_month: int
    last_month: int
    users: Users
    demand: Demand
    funding: tuple[Funding, ...]
    macro: Macro
    behaviour: Behaviour
    providers: Providers
    opening: OpeningBook
    pricing: Pricing
    group: Group
    funding_from: Mapping[int, tuple[Funding, ...]] = field(default_factory=dict)
    """By first month: funding on terms that are no longer those above; number, approval, room,
    eligibility and entity of the institutions stay."""
    flow: Mapping[str, str] = field(default_factory=dict)
    """The decision flow: text by file name, as a folder of it holds them; empty for the one for
    consumers that comes with the platform."""
    source_events: tuple[SourceEvent, ...] = ()
    """Changes of institutions that their mandates did not state."""
    specialisations: Specialisations = NO_SPECIALISATIONS
    """Tenors and grades that institutions specialise in."""
    collections: Collections = Collections()
    """How what is late is collected; the reference, under which the behaviour is as written."""
    incidents: Incidents = NO_INCIDENTS
    """Payments taken back, complaints and help; none by default."""
    forecast_to: int = 0
    """The last month that a run may be asked to go on to, beyond `last_month`; 0 for none."""

    @property
    def final_month(self) -> int:
        """The last month that a run can reach."""
        return max(self.last_month, self.forecast_to)

    def terms(self, model: FundingModel, month: int) -> Funding:
        """The funding of a model on the terms of a month's new loans."""
        found = next(each for each in self.funding if each.model is model)
        for since in sorted(self.funding_from):
            if since <= month:
                later = (each for each in self.funding_from[since] if each.model is model)
                found = next(later, found)
        return found
