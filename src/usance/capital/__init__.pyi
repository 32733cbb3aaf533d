"""Public names of the room, each with its module."""

from usance.capital.awards import (
    Award as Award,
    CostFunction as CostFunction,
    Estimate as Estimate,
    Grant as Grant,
    Holding as Holding,
    Source as Source,
    Tranche as Tranche,
    UnitChange as UnitChange,
    UnitKind as UnitKind,
)
from usance.capital.per_share import (
    income_per_share as income_per_share,
)
from usance.capital.dividends import (
    Dividend as Dividend,
    DividendPaid as DividendPaid,
    Entitlement as Entitlement,
    Market as Market,
    payable_minor as payable_minor,
    payout as payout,
)
from usance.capital.documents.record import (
    read_capital as read_capital,
)
from usance.capital.errors import (
    AwardError as AwardError,
    CapitalError as CapitalError,
    DividendError as DividendError,
    PerShareError as PerShareError,
    PricingError as PricingError,
    RegisterError as RegisterError,
    RepurchaseError as RepurchaseError,
)
from usance.capital.facts import (
    facts_of as facts_of,
    records_of as records_of,
)
from usance.capital.options import (
    Pricing as Pricing,
    option_value as option_value,
)
from usance.capital.per_share import (
    PerShare as PerShare,
    PotentialShares as PotentialShares,
    earnings_per_share as earnings_per_share,
    option_shares as option_shares,
)
from usance.capital.records import (
    Capital as Capital,
)
from usance.capital.register import (
    Register as Register,
    ShareChange as ShareChange,
    ShareKind as ShareKind,
)
from usance.capital.repurchases import (
    Programme as Programme,
    Utilisation as Utilisation,
    utilisation as utilisation,
)
from usance.capital.share_based_compensation import (
    IFRS as IFRS,
    US_GAAP as US_GAAP,
    RecognitionPolicy as RecognitionPolicy,
    compensation_by_function as compensation_by_function,
    cost_by_function as cost_by_function,
    cost_minor as cost_minor,
)

__all__: list[str]
