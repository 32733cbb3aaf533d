"""Public names of the room, each with its module."""

from usance.fund.results import (
    ClassResult as ClassResult,
    class_results as class_results,
)
from usance.fund.deal import (
    Deal as Deal,
    NoteClass as NoteClass,
    Scenario as Scenario,
)
from usance.fund.deal_file import (
    parse_deal as parse_deal,
    read_deal as read_deal,
)
from usance.fund.errors import (
    DealError as DealError,
    KernelRefused as KernelRefused,
    PaymentDateError as PaymentDateError,
    PoolError as PoolError,
)
from usance.fund.payment_date import (
    Collections as Collections,
    Distribution as Distribution,
    pay_date as pay_date,
)
from usance.fund.projection import (
    Projection as Projection,
    project as project,
)
from usance.fund.sample import (
    sample_deal as sample_deal,
)
from usance.fund.scenarios import (
    ScenarioResults as ScenarioResults,
    run_scenarios as run_scenarios,
    scenario_shorts as scenario_shorts,
)
from usance.fund.state import (
    DealState as DealState,
    opening_state as opening_state,
    state_of_dict as state_of_dict,
)

__all__: list[str]
