"""Errors of a loan's terms, of its facts, and of what the kernel can replay.

InputError
├── TermsError                  loan.terms               422
│   ├── PrincipalError          loan.terms.principal     422
│   ├── InstalmentsError        loan.terms.instalments   422
│   ├── TermsRateError          loan.terms.rate          422
│   ├── TermsDateError          loan.terms.date          422
│   ├── FeeError                loan.terms.fee           422
│   └── OptionError             loan.terms.option        422
├── FactError                   loan.fact                422
│   ├── OrphanFacts             loan.fact.orphan         422
│   ├── NotDisbursed            loan.fact.not_disbursed  422
│   ├── DisbursementError       loan.fact.disbursement   422
│   ├── ReversalError           loan.fact.reversal       422
│   ├── DuplicateFact           loan.fact.duplicate      409
│   ├── FactAmountError         loan.fact.amount         422
│   └── UnknownTerms            loan.fact.unknown_terms  422
├── ConventionNotInKernel       loan.kernel.convention   422
├── FactNotInKernel             loan.kernel.fact         422
├── KernelRange                 loan.kernel.range        422
└── BackdatedStep               loan.kernel.backdated    409
"""

from __future__ import annotations

from usance.base.errors import InputError


class TermsError(InputError):
    """The terms of a loan contradict themselves."""

    code = "loan.terms"
    http_status = 422


class PrincipalError(TermsError):
    """The principal is zero, negative or too large."""

    code = "loan.terms.principal"


class InstalmentsError(TermsError):
    """The number of instalments, or a grace counted in them, is impossible."""

    code = "loan.terms.instalments"


class TermsRateError(TermsError):
    """A rate is negative, above what a loan may carry, or the coupon exceeds the rate."""

    code = "loan.terms.rate"


class TermsDateError(TermsError):
    """The dates of a loan are out of order or out of range."""

    code = "loan.terms.date"


class FeeError(TermsError):
    """A fee is negative, or more is guaranteed than the fees amount to."""

    code = "loan.terms.fee"


class OptionError(TermsError):
    """An option is unknown, or two options exclude each other."""

    code = "loan.terms.option"


class FactError(InputError):
    """A fact cannot be true of this loan."""

    code = "loan.fact"
    http_status = 422


class OrphanFacts(FactError):
    """Facts belong to loans that are not among those given."""

    code = "loan.fact.orphan"


class NotDisbursed(FactError):
    """Something happened to a loan before it was disbursed."""

    code = "loan.fact.not_disbursed"


class DisbursementError(FactError):
    """A disbursement differs from what the terms promise."""

    code = "loan.fact.disbursement"


class ReversalError(FactError):
    """A reversal names an unknown fact, a reversed one, or another reversal."""

    code = "loan.fact.reversal"


class DuplicateFact(FactError):
    """Two facts of one loan have the same reference."""

    code = "loan.fact.duplicate"
    http_status = 409


class FactAmountError(FactError):
    """The amount of a fact is negative, or more than there is to refund, charge back or waive."""

    code = "loan.fact.amount"


class UnknownTerms(FactError):
    """A change of terms names a version that was not given."""

    code = "loan.fact.unknown_terms"


class ConventionNotInKernel(InputError):
    """A batch holds a loan whose convention only the exact form knows."""

    code = "loan.kernel.convention"
    http_status = 422


class FactNotInKernel(InputError):
    """A batch holds a kind of fact that only the exact form knows."""

    code = "loan.kernel.fact"
    http_status = 422


class KernelRange(InputError):
    """A loan is too large for the 64-bit arithmetic of the kernel."""

    code = "loan.kernel.range"
    http_status = 422


class BackdatedStep(InputError):
    """A fact lies before the day a state was stepped to; such a loan is replayed from its start."""

    code = "loan.kernel.backdated"
    http_status = 409
