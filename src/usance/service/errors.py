"""Failures of moving money, of proving that it moved, and of collecting it.

    UsanceError                  usance                      500
    ├── InputError               input                       400
    │   ├── BankFileError        input.bank_file             400
    │   ├── AllocationError      input.allocation            422
    │   ├── BankProfileError     input.bank_profile          400
    │   ├── CaseError            input.case                  422
    │   ├── ContactError         input.contact               422
    │   ├── DebitError           input.debit                 422
    │   ├── LayoutError          input.layout                422
    │   ├── LineError            input.line                  422
    │   ├── PlacementError       input.placement             422
    │   ├── PromiseError         input.promise               422
    │   ├── StrategyError        input.strategy              422
    │   └── TemplateError        input.template              422
    ├── SettlementRefused        settlement.refused          409
    ├── OrderRefused             order.refused               409
    ├── AllocationRefused        unallocated.refused         422
    ├── MatchRefused             reconciliation.match        409
    ├── BreakRefused             reconciliation.break        409
    ├── PlanRefused              plan.refused                422
    ├── ClaimRefused             claim.refused               409
    └── ComplaintRefused         complaint.refused           409

Messages say what was wrong, where, and what to do next.
"""

from __future__ import annotations

from usance.base.errors import InputError, UsanceError


class BankFileError(InputError):
    """A bank's or provider's file cannot be read; `where` has the file, the line and the column."""

    code = "input.bank_file"


class BankProfileError(InputError):
    """The description of a bank's habits is incomplete or contradicts itself."""

    code = "input.bank_profile"


class DebitError(InputError):
    """A debit run lacks a column, or its retry policy cannot be followed."""

    code = "input.debit"
    http_status = 422


class LineError(InputError):
    """Lines to be reconciled lack a column, or name one line twice."""

    code = "input.line"
    http_status = 422


class TemplateError(InputError):
    """A document lacks a value, has one too many, or its template holds code."""

    code = "input.template"
    http_status = 422


class LayoutError(InputError):
    """A layout of settlement files with an unknown column, or a value that does not fit it."""

    code = "input.layout"
    http_status = 422


class SettlementRefused(UsanceError):
    """A settlement of a day that is settled, of loans of nobody, or answered by somebody else."""

    code = "settlement.refused"
    http_status = 409


class OrderRefused(UsanceError):
    """A step of ours that the order's state does not allow."""

    code = "order.refused"
    http_status = 409


class AllocationRefused(UsanceError):
    """Unallocated cash would be used beyond its amount, or by nobody."""

    code = "unallocated.refused"
    http_status = 422


class MatchRefused(UsanceError):
    """A line would be matched twice, or taken from a match it is not in."""

    code = "reconciliation.match"
    http_status = 409


class BreakRefused(UsanceError):
    """A break would be explained by nobody, or cleared by its proposer above the limit."""

    code = "reconciliation.break"
    http_status = 409


class CaseError(InputError):
    """Columns of loans or cases do not fit together."""

    code = "input.case"
    http_status = 422


class StrategyError(InputError):
    """A strategy contradicts itself, leaves cases unworked or asks for a forbidden contact."""

    code = "input.strategy"
    http_status = 422


class ContactError(InputError):
    """A contact or its debtor cannot be judged."""

    code = "input.contact"
    http_status = 422


class PromiseError(InputError):
    """A promise of nothing, of more than is owed, or for a day that cannot be promised."""

    code = "input.promise"
    http_status = 422


class AllocationError(InputError):
    """Agents, agencies or cases to be allocated contradict each other."""

    code = "input.allocation"
    http_status = 422


class PlacementError(InputError):
    """A placement, recall or reported payment that its agency's contract does not allow."""

    code = "input.placement"
    http_status = 422


class PlanRefused(UsanceError):
    """A plan that its rules, or the authority of whoever offers it, do not allow."""

    code = "plan.refused"
    http_status = 422


class ComplaintRefused(UsanceError):
    """A step of a complaint that was taken already, or by the wrong person."""

    code = "complaint.refused"
    http_status = 409


class ClaimRefused(UsanceError):
    """A claim on a guarantor that cannot be answered, disputed or closed so."""

    code = "claim.refused"
    http_status = 409
