"""Public names of the room, each with its module."""

from usance.fund.deal import (
    Deal as Deal,
    NoteClass as NoteClass,
    Scenario as Scenario,
)
from usance.fund.deal_file import (
    parse_deal as parse_deal,
    read_deal as read_deal,
)
from usance.fund.deal_terms import (
    DealTerms as DealTerms,
    PoolLimit as PoolLimit,
    read_terms as read_terms,
)
from usance.fund.errors import (
    DealError as DealError,
    KernelRefused as KernelRefused,
    PaymentDateError as PaymentDateError,
    PoolError as PoolError,
)
from usance.fund.facts import (
    deal_facts as deal_facts,
    schedule_facts as schedule_facts,
)
from usance.fund.report_tables import (
    InvestorReport as InvestorReport,
    investor_report as investor_report,
)
from usance.fund.loan_collections import (
    DealLoans as DealLoans,
)
from usance.fund.mandate import (
    average_cost_ppm as average_cost_ppm,
    deal_mandate as deal_mandate,
)
from usance.fund.payment_date import (
    Collections as Collections,
    Distribution as Distribution,
    pay_date as pay_date,
)
from usance.fund.payment_files import (
    pay_from_files as pay_from_files,
    trustee_differences as trustee_differences,
)
from usance.fund.pool_columns import (
    PoolColumns as PoolColumns,
    eligible as eligible,
    pool_of_rows as pool_of_rows,
    read_pool as read_pool,
)
from usance.fund.projection import (
    Projection as Projection,
    Stratum as Stratum,
    project as project,
)
from usance.fund.report_files import (
    investor_tape as investor_tape,
    report_pdf as report_pdf,
)
from usance.fund.workbook import (
    report_workbook as report_workbook,
)
from usance.fund.results import (
    ClassResult as ClassResult,
    class_results as class_results,
)
from usance.fund.sample import (
    sample_deal as sample_deal,
)
from usance.fund.scenarios import (
    ScenarioResults as ScenarioResults,
    run_scenarios as run_scenarios,
    scenario_shorts as scenario_shorts,
)
from usance.fund.selection import (
    Objective as Objective,
    Selection as Selection,
    SelectionRules as SelectionRules,
    select_pool as select_pool,
)
from usance.fund.state import (
    DealState as DealState,
    opening_state as opening_state,
    state_of_dict as state_of_dict,
)
from usance.fund.strata import (
    Curves as Curves,
    read_curves as read_curves,
    strata_of_pool as strata_of_pool,
)

__all__: list[str]
