"""Public names of the room, each with its module."""

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
