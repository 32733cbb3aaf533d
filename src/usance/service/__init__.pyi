"""Public names of the room, each with its module."""

from usance.service.errors import (
    AllocationRefused as AllocationRefused,
    BankFileError as BankFileError,
    BankProfileError as BankProfileError,
    DebitError as DebitError,
    LineError as LineError,
    MatchRefused as MatchRefused,
    OrderRefused as OrderRefused,
    TemplateError as TemplateError,
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
from usance.service.payment_file import (
    PaymentFileIntake as PaymentFileIntake,
    PaymentNotice as PaymentNotice,
)
from usance.service.servicing_rules import (
    ServicingRules as ServicingRules,
    late_fee as late_fee,
)
from usance.service.servicing_events import (
    DueFacts as DueFacts,
    Holders as Holders,
    due_facts as due_facts,
)

__all__: list[str]
