"""Conform: cases with known answers from outside, run through the rooms.

Worked examples of regulators (`check_annual_rates`) and of the standards (`check_accounting`), and
schedules and life cycles of other systems (`check_schedules`); each gives a report whose
`as_dict()` is the answer of `usance conform … --json`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.conform.accounting.run import check_accounting
    from usance.conform.apr.run import check_annual_rates
    from usance.conform.errors import CaseError
    from usance.conform.report import Report
    from usance.conform.schedules.run import check_schedules

__all__ = ["CaseError", "Report", "check_accounting", "check_annual_rates", "check_schedules"]

_MODULES = {
    "accounting.run": ("check_accounting",),
    "apr.run": ("check_annual_rates",),
    "errors": ("CaseError",),
    "report": ("Report",),
    "schedules.run": ("check_schedules",),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
