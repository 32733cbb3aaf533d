"""Public names of the room, each with its module."""

from usance.conform.accounting.run import (
    check_accounting as check_accounting,
)
from usance.conform.apr.run import (
    check_annual_rates as check_annual_rates,
)
from usance.conform.deals import (
    check_deals as check_deals,
)
from usance.conform.errors import (
    CaseError as CaseError,
)
from usance.conform.report import (
    Report as Report,
)
from usance.conform.schedules.run import (
    check_schedules as check_schedules,
)

__all__: list[str]
