"""Public names of the room, each with its module."""

from usance.service.bank_files.camt import (
    read_camt as read_camt,
)
from usance.service.bank_files.csv_file import (
    read_csv_file as read_csv_file,
)
from usance.service.bank_files.files import (
    FileRegister as FileRegister,
    Outcome as Outcome,
    read_file as read_file,
)
from usance.service.bank_files.pain import (
    Mandate as Mandate,
    OwnAccount as OwnAccount,
    Transfer as Transfer,
    credit_transfers as credit_transfers,
    direct_debits as direct_debits,
)
from usance.service.bank_files.profile import (
    BankProfile as BankProfile,
    load_profile as load_profile,
    parse_profile as parse_profile,
)
from usance.service.bank_files.statement import (
    FileLine as FileLine,
    Statement as Statement,
)
from usance.service.bank_files.status_report import (
    StatusLine as StatusLine,
    read_status_report as read_status_report,
)
from usance.service.collections.action_value import (
    action_value as action_value,
    priority as priority,
)
from usance.service.collections.agencies import (
    AgencyContract as AgencyContract,
    AgencyPayment as AgencyPayment,
    CommissionStatement as CommissionStatement,
    PlacementBook as PlacementBook,
)
from usance.service.collections.allocation import (
    AgencyTerms as AgencyTerms,
    Allocation as Allocation,
    allocate as allocate,
    by_balance as by_balance,
    first_come as first_come,
)
from usance.service.collections.candidates import (
    Agent as Agent,
    Agents as Agents,
    CaseValues as CaseValues,
)
from usance.service.collections.cases import (
    CaseRun as CaseRun,
    Cases as Cases,
    LoanArrears as LoanArrears,
    end_of_day as end_of_day,
)
from usance.service.collections.channels import (
    ChannelBoard as ChannelBoard,
    ChannelPort as ChannelPort,
    LocalChannel as LocalChannel,
    Outgoing as Outgoing,
)
from usance.service.collections.contact_rules import (
    Attempt as Attempt,
    Channel as Channel,
    Contact as Contact,
    ContactRule as ContactRule,
    ContactRules as ContactRules,
    Debtor as Debtor,
    Party as Party,
    ContactOutcome as ContactOutcome,
    Stop as Stop,
    broken_rules as broken_rules,
)
from usance.service.collections.contact_times import allowed_from as allowed_from
from usance.service.collections.experiment import (
    Uplift as Uplift,
    assigned_arms as assigned_arms,
    uplift as uplift,
)
from usance.service.collections.history import (
    Attempts as Attempts,
    CaseDays as CaseDays,
    Events as Events,
    training_rows as training_rows,
)
from usance.service.collections.outage_loss import (
    DueContacts as DueContacts,
    OutageLoss as OutageLoss,
    outage_loss as outage_loss,
)
from usance.service.collections.promises import (
    Payment as Payment,
    Promise as Promise,
    PromiseState as PromiseState,
    check_promise as check_promise,
    kept_rates as kept_rates,
    settle as settle,
)
from usance.service.collections.stages import (
    Stage as Stage,
    Stages as Stages,
)
from usance.service.collections.strategy import (
    Action as Action,
    Desk as Desk,
    Segment as Segment,
    Strategy as Strategy,
    Tone as Tone,
    in_force as in_force,
)
from usance.service.collections.strategy_file import (
    parse_strategy as parse_strategy,
    read_strategy as read_strategy,
    shipped_strategy as shipped_strategy,
)
from usance.service.documents.letters import (
    DocumentKind as DocumentKind,
    Letter as Letter,
    write_letter as write_letter,
)
from usance.service.errors import (
    AllocationError as AllocationError,
    AllocationRefused as AllocationRefused,
    BankFileError as BankFileError,
    BankProfileError as BankProfileError,
    BreakRefused as BreakRefused,
    CaseError as CaseError,
    ClaimRefused as ClaimRefused,
    ComplaintRefused as ComplaintRefused,
    ContactError as ContactError,
    DebitError as DebitError,
    LayoutError as LayoutError,
    LineError as LineError,
    MatchRefused as MatchRefused,
    OrderRefused as OrderRefused,
    SettlementRefused as SettlementRefused,
    PlacementError as PlacementError,
    PlanRefused as PlanRefused,
    PromiseError as PromiseError,
    StrategyError as StrategyError,
    TemplateError as TemplateError,
)
from usance.service.help.complaints import (
    Complaint as Complaint,
    ComplaintDeadlines as ComplaintDeadlines,
)
from usance.service.help.plan_offers import (
    HelpedLoan as HelpedLoan,
    PlanOffer as PlanOffer,
    PlanRequest as PlanRequest,
    Position as Position,
    offer_plan as offer_plan,
)
from usance.service.help.plan_rules import (
    PlanKind as PlanKind,
    PlanRule as PlanRule,
    PlanRules as PlanRules,
)
from usance.service.help.withdrawal import (
    Withdrawal as Withdrawal,
    withdraw as withdraw,
)
from usance.service.orders.debit_policy import (
    DebitAmount as DebitAmount,
    DebitAttempt as DebitAttempt,
    DebitPolicy as DebitPolicy,
)
from usance.service.orders.debit_run import (
    DebitColumns as DebitColumns,
    DebitOrders as DebitOrders,
    capped as capped,
    debit_run as debit_run,
)
from usance.service.orders.next_step import (
    ProviderTerms as ProviderTerms,
    Step as Step,
    holds_funds as holds_funds,
    next_step as next_step,
)
from usance.service.orders.order_facts import (
    MovedMoney as MovedMoney,
    order_facts as order_facts,
    payment_ref as payment_ref,
)
from usance.service.orders.payment_order import (
    EventKind as EventKind,
    OrderBreak as OrderBreak,
    OrderBreakKind as OrderBreakKind,
    OrderEvent as OrderEvent,
    OrderState as OrderState,
    PaymentOrder as PaymentOrder,
    Purpose as Purpose,
    Split as Split,
    fold as fold,
    order_breaks as order_breaks,
)
from usance.service.orders.provider_port import (
    Evidence as Evidence,
    Provider as Provider,
    evidence as evidence,
)
from usance.service.orders.receipts import (
    LoanDue as LoanDue,
    OverpaymentChoice as OverpaymentChoice,
    chargeback_fact as chargeback_fact,
    refund_fact as refund_fact,
    split_receipt as split_receipt,
)
from usance.service.orders.unallocated import (
    Candidate as Candidate,
    UnallocatedCash as UnallocatedCash,
    Use as Use,
    UseKind as UseKind,
    suggestions as suggestions,
)
from usance.service.reconciliation.bank_facts import (
    OwnBankAccount as OwnBankAccount,
    bank_balances as bank_balances,
    provider_settlement as provider_settlement,
)
from usance.service.reconciliation.breaks import (
    Break as Break,
    BreakCase as BreakCase,
    BreakClass as BreakClass,
    Leg as Leg,
    clearing_limit_minor as clearing_limit_minor,
)
from usance.service.reconciliation.lines import (
    Lines as Lines,
)
from usance.service.reconciliation.match_log import (
    MatchLog as MatchLog,
)
from usance.service.reconciliation.matching import (
    MatchRules as MatchRules,
    Rule as Rule,
)
from usance.service.reconciliation.reconcile import (
    ClearingTerms as ClearingTerms,
    Reconciliation as Reconciliation,
    reconcile as reconcile,
)
from usance.service.settlement.batch import (
    Difference as Difference,
    SettlementBatch as SettlementBatch,
    SettlementLine as SettlementLine,
    acknowledge as acknowledge,
    next_batches as next_batches,
)
from usance.service.settlement.layout import (
    SettlementLayout as SettlementLayout,
    parse_layout as parse_layout,
    write_file as write_file,
)
from usance.service.settlement.payable import (
    LineKind as LineKind,
    Payable as Payable,
    Receipts as Receipts,
    Shares as Shares,
    payable as payable,
)
from usance.service.payment_file import (
    PaymentFileIntake as PaymentFileIntake,
    PaymentNotice as PaymentNotice,
)
from usance.service.servicing_rules import (
    ServicingRules as ServicingRules,
    late_fee as late_fee,
)
from usance.service.event_review import (
    EventReview as EventReview,
    review_events as review_events,
)
from usance.service.loan_servicing import (
    ClaimHolder as ClaimHolder,
    DayPart as DayPart,
    loan_events as loan_events,
    worst_days_past_due as worst_days_past_due,
)
from usance.service.servicing_events import (
    DueFacts as DueFacts,
    Holders as Holders,
    due_facts as due_facts,
)

__all__: list[str]
