"""Public names of the room, each with its module."""

from usance.base.book import (
    Book as Book,
)
from usance.base.calendars import (
    Calendar as Calendar,
)
from usance.base.codes import (
    Basis as Basis,
    ChannelKind as ChannelKind,
    Component as Component,
    Currency as Currency,
    DecisionKind as DecisionKind,
    FactKind as FactKind,
    Fee as Fee,
    FundingModel as FundingModel,
    IfrsAdjustment as IfrsAdjustment,
    Product as Product,
    RoutingOutcome as RoutingOutcome,
    Scope as Scope,
    Status as Status,
)
from usance.base.errors import (
    AmountError as AmountError,
    BookLocked as BookLocked,
    CodeError as CodeError,
    CorruptFile as CorruptFile,
    CurrencyMismatch as CurrencyMismatch,
    DateError as DateError,
    DocumentError as DocumentError,
    DuplicateKey as DuplicateKey,
    FileRefused as FileRefused,
    FormulaError as FormulaError,
    IdError as IdError,
    InputError as InputError,
    ParameterError as ParameterError,
    Problems as Problems,
    RateError as RateError,
    SchemaError as SchemaError,
    TableError as TableError,
    UsanceError as UsanceError,
)
from usance.base.ids import (
    fact_ref as fact_ref,
    parse_id as parse_id,
    print_id as print_id,
)
from usance.base.money import (
    Money as Money,
)
from usance.base.packs import (
    CountryPack as CountryPack,
    PackError as PackError,
)
from usance.base.parameters import (
    Parameters as Parameters,
)
from usance.base.rates import (
    Rate as Rate,
)
from usance.base.stated_fact import (
    StatedFact as StatedFact,
)
from usance.base.tables import (
    TABLES as TABLES,
)

__all__: list[str]
