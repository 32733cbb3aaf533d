"""Refusals of the business: commands that are well formed and cannot be done, each by its code."""

from __future__ import annotations

from usance.platform.errors import Refused
from usance.service.collections.contact_rules import ContactRule


class NoLine(Refused):
    """A user without a line for the product."""

    code = "platform.no_line"


class MonthsNotOffered(Refused):
    """A number of months that the product does not have."""

    code = "platform.months_not_offered"


class CurrencyMismatch(Refused):
    """An amount in another currency than the loan's."""

    code = "platform.currency_mismatch"


class DateInFuture(Refused):
    """A day after the business date."""

    code = "platform.date_in_future"


class DateBeforeDisbursement(Refused):
    """A day before the loan was disbursed."""

    code = "platform.date_before_disbursement"


class ReferenceUsed(Refused):
    """A provider's reference that was told before with other content."""

    code = "platform.reference_used"
    http_status = 409


class NameTaken(Refused):
    """A name or address that somebody else has."""

    code = "platform.name_taken"
    http_status = 409


class AlreadyReversed(Refused):
    """A payment or fact that was reversed before."""

    code = "platform.already_reversed"
    http_status = 409


class WrongState(Refused):
    """Something that is not in the state the command needs."""

    code = "platform.wrong_state"
    http_status = 409


class QuoteExpired(Refused):
    """A quote whose time is over."""

    code = "platform.quote_expired"


class QuoteMismatch(Refused):
    """A drawdown or an agreement that is not the one quoted."""

    code = "platform.quote_mismatch"


class QuoteNeeded(Refused):
    """A drawdown in live without a quote and an agreement."""

    code = "platform.quote_needed"


class PersonNeeded(Refused):
    """A drawdown in live of a user whose person or consent is not known."""

    code = "platform.person_needed"


class AccountNeeded(Refused):
    """A payout without an account that is verified in the person's name."""

    code = "platform.account_needed"


class AccountWaits(Refused):
    """A payout to an account that was added less than a day ago, after another one."""

    code = "platform.account_waits"


class LoanInDeal(Refused):
    """A loan that a deal holds already."""

    code = "platform.loan_in_deal"
    http_status = 409


class NotEligible(Refused):
    """Loans that a deal may not take."""

    code = "platform.not_eligible"


class OfferClosed(Refused):
    """An offer that was answered otherwise, or ended before the answer."""

    code = "platform.offer_closed"
    http_status = 409


class RateCapExceeded(Refused):
    """Terms that cost more than the legal cap."""

    code = "platform.rate_cap_exceeded"


class NoSource(Refused):
    """A quote that no source of funds would take."""

    code = "platform.no_source"


class AmountBeyond(Refused):
    """More than there is to refund, to waive, to recover or to charge back."""

    code = "platform.amount_beyond"


class DuplicateIdentity(Refused):
    """A person who is another user of the same channel."""

    code = "platform.duplicate_identity"
    http_status = 409


class TermsRefused(Refused):
    """New terms or facts that the loan cannot take; the core's own code is in `cause`."""

    code = "platform.terms_refused"


class FileRefused(Refused):
    """A file of a bank or provider that cannot be read; nothing of it is kept."""

    code = "platform.file_refused"


class ApprovalSamePerson(Refused):
    """An approval by somebody who has given theirs already."""

    code = "platform.approval_same_person"


class ClockBackwards(Refused):
    """A clock that would move back, or too far at once."""

    code = "platform.clock_backwards"
    http_status = 409


class PeriodNotOpen(Refused):
    """A period that is not in the state its change needs."""

    code = "platform.period_not_open"
    http_status = 409


class PeriodNotOver(Refused):
    """A close of a period whose last day is not over."""

    code = "platform.period_not_over"


class PlanNotOffered(Refused):
    """A plan that its rules, or the authority of whoever offers it, do not allow."""

    code = "platform.plan_not_offered"


class WithdrawalOver(Refused):
    """A withdrawal outside the cooling-off days, or where there are none."""

    code = "platform.withdrawal_over"


class PlacementRefused(Refused):
    """A batch of cases that an agency cannot be given, or cannot give back."""

    code = "platform.placement_refused"
    http_status = 409


class ContactRefused(Refused):
    """A contact that a hard limit forbids; its kinds name the limit."""

    code = "platform.contact_refused"
    http_status = 409


class ContactStopped(ContactRefused):
    """A contact with a debtor who is on a stop list."""

    code = "platform.contact_stopped"


class ContactNotDebtor(ContactRefused):
    """A contact with somebody else than the debtor."""

    code = "platform.contact_not_debtor"


class ContactNoConsent(ContactRefused):
    """A contact by a channel that the debtor has not agreed to."""

    code = "platform.contact_no_consent"


class ContactQuietHours(ContactRefused):
    """A contact at an hour of the debtor's own clock at which nobody is contacted."""

    code = "platform.contact_quiet_hours"


class ContactQuietDay(ContactRefused):
    """A contact on a day of the debtor's own calendar on which nobody is contacted."""

    code = "platform.contact_quiet_day"


class ContactDailyLimit(ContactRefused):
    """A call beyond those that may reach a person in a day."""

    code = "platform.contact_daily_limit"


class ContactCoolOff(ContactRefused):
    """A contact while a promise to pay stands."""

    code = "platform.contact_cool_off"


CONTACT_REFUSALS: dict[ContactRule, type[ContactRefused]] = {
    ContactRule.STOPPED: ContactStopped,
    ContactRule.NOT_THE_DEBTOR: ContactNotDebtor,
    ContactRule.NO_CONSENT: ContactNoConsent,
    ContactRule.QUIET_HOURS: ContactQuietHours,
    ContactRule.DAILY_LIMIT: ContactDailyLimit,
    ContactRule.QUIET_DAY: ContactQuietDay,
    ContactRule.COOL_OFF: ContactCoolOff,
}
"""The refusal of each rule of contacts; its code is in the audit."""


class NoMessages(Refused):
    """A message that nobody carries."""

    code = "platform.no_messages"


class TooManyCodes(Refused):
    """More one-time codes than a phone or an address may ask for."""

    code = "platform.too_many_codes"
    http_status = 429
