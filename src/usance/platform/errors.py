"""Failures of the live platform.

UsanceError
└── PlatformError             platform                           500
    ├── ServerError           platform.server                    503
    ├── MigrationError        platform.migration                 503
    ├── NotInstalled          platform.not_installed             503
    ├── BackupError           platform.backup                    409
    │   └── OrdersNotAsked    platform.orders_not_asked          409
    ├── LenderPaused          platform.paused                    409
    ├── LakeError             platform.lake                      409
    │   └── LakeBehind        platform.lake_behind               409
    ├── LedgerDiffers         platform.ledger_differs            409
    ├── PlanUnsolved          platform.plan_unsolved             409
    ├── JobError              platform.job                       409
    │   ├── UnknownJob        platform.unknown_job               404
    │   ├── WrongJobState     platform.wrong_job_state           409
    │   ├── JobCancelled      platform.job_cancelled             409
    │   └── LeaseLost         platform.lease_lost                409
    ├── StaleRead             platform.stale                     409
    ├── NoHeadroom            platform.no_headroom               409
    ├── NotYours              platform.not_yours                 404
    ├── NotFound              platform.not_found                 404
    ├── UnknownPrincipal      platform.unknown_principal         401
    │   └── SignInFailed      platform.sign_in_failed            401
    ├── WeakPassword          platform.weak_password             400
    ├── OutboundRefused       platform.outbound_refused          422
    │   ├── UnreadableAnswer  platform.unreadable_answer         502
    │   └── CircuitOpen       platform.circuit_open              503
    ├── Forbidden             platform.forbidden                 403
    │   ├── AuthorityExceeded platform.authority_exceeded        403
    │   └── TotpNeeded        platform.totp_needed               403
    ├── RolesRefused          platform.roles                     400
    ├── ListsRefused          platform.lists                     400
    ├── KeyMismatch           platform.idempotency_mismatch      409
    ├── KeyInFlight           platform.idempotency_in_flight     409
    ├── InvalidCommand        platform.invalid                   400
    │   ├── UnknownField      platform.unknown_field             400
    │   ├── MissingField      platform.missing_field             400
    │   ├── DateOutOfRange    platform.date_out_of_range         400
    │   ├── InvalidField      platform.invalid_field             400
    │   ├── UnknownInput      platform.unknown_input             400
    │   └── InputNotYours     platform.input_not_yours           400
    └── Refused               platform.refused                   422
        ├── RefusedBefore     that of the first refusal          that of the first refusal
        ├── ClientRefTaken    platform.client_ref_taken          409
        └── one class for each reason, in `refusals`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from usance.base.errors import UsanceError


class PlatformError(UsanceError):
    """A failure of the live platform itself."""

    code = "platform"


class ServerError(PlatformError):
    """The database server cannot be made, started or reached."""

    code = "platform.server"
    http_status = 503


class MigrationError(PlatformError):
    """The schema of the database is not the one this version works with, or cannot become it."""

    code = "platform.migration"
    http_status = 503


class MasterKeyRefused(PlatformError):
    """A master key that is lost, or is not the one that personal data lies under."""

    code = "platform.master_key_refused"
    http_status = 503


class WrongMode(PlatformError):
    """A sandbox that is asked to be live, a live lender that is asked to be a sandbox."""

    code = "platform.wrong_mode"
    http_status = 409


class NotInstalled(PlatformError):
    """A database without a lender: no currency, no clock, no products."""

    code = "platform.not_installed"
    http_status = 503


class LakeError(PlatformError):
    """The book folder of the lake and the database do not belong together."""

    code = "platform.lake"
    http_status = 409


class BackupError(PlatformError):
    """A backup that cannot be taken, is damaged, or has no way to a moment."""

    code = "platform.backup"
    http_status = 409
    exit_code = 1


class OrdersNotAsked(BackupError):
    """A lender is not let go while a provider has not said what it knows of its orders."""

    code = "platform.orders_not_asked"


class LenderPaused(PlatformError):
    """A lender that was restored and waits for its release."""

    code = "platform.paused"
    http_status = 409
    exit_code = 1


class HeadRefused(PlatformError):
    """Heads of seals that cannot be signed or checked."""

    code = "platform.head"
    http_status = 409
    exit_code = 1


class LakeBehind(LakeError):
    """A transaction from before a cut-off is still running."""

    code = "platform.lake_behind"


class PlanUnsolved(PlatformError):
    """A plan of the router that its solver did not find."""

    code = "platform.plan_unsolved"
    http_status = 409


class LedgerDiffers(PlatformError):
    """Live postings that do not come to the movement of a close."""

    code = "platform.ledger_differs"
    http_status = 409


class JobError(PlatformError):
    """A job of the queue that cannot be done as asked."""

    code = "platform.job"
    http_status = 409


class UnknownJob(JobError):
    """A job that the queue does not hold."""

    code = "platform.unknown_job"
    http_status = 404


class WrongJobState(JobError):
    """A job whose state does not allow what was asked."""

    code = "platform.wrong_job_state"


class JobCancelled(JobError):
    """A job that somebody asked to stop."""

    code = "platform.job_cancelled"


class LeaseLost(JobError):
    """A job that another worker took over because this one was silent for too long."""

    code = "platform.lease_lost"


class StaleRead(PlatformError):
    """Something that a decision rested on has moved since it was read; the command runs again."""

    code = "platform.stale"
    http_status = 409


class NoHeadroom(PlatformError):
    """A limit has no headroom for what a command would take of it."""

    code = "platform.no_headroom"
    http_status = 409


class NotYours(PlatformError):
    """A principal writes about a user that it does not own; to it the user does not exist."""

    code = "platform.not_yours"
    http_status = 404


class NotFound(PlatformError):
    """Nothing of this id is there for this principal; a foreign id is answered alike."""

    code = "platform.not_found"
    http_status = 404


class UnknownPrincipal(PlatformError):
    """Nobody of this name acts on the platform."""

    code = "platform.unknown_principal"
    http_status = 401


class SignInFailed(UnknownPrincipal):
    """A sign-in that opens no session, for whatever reason."""

    code = "platform.sign_in_failed"


class WeakPassword(PlatformError):
    """A password that would be guessed."""

    code = "platform.weak_password"
    http_status = 400


class Forbidden(PlatformError):
    """A principal lacks the scope of a command."""

    code = "platform.forbidden"
    http_status = 403


class KeyMismatch(PlatformError):
    """A key that was used for another command."""

    code = "platform.idempotency_mismatch"
    http_status = 409


class KeyInFlight(PlatformError):
    """A key whose first command is still running."""

    code = "platform.idempotency_in_flight"
    http_status = 409


class InvalidCommand(PlatformError):
    """A command that cannot be read; nothing of it is kept."""

    code = "platform.invalid"
    http_status = 400


class UnknownField(InvalidCommand):
    """A field that the command does not have."""

    code = "platform.unknown_field"


class MissingField(InvalidCommand):
    """A field that the command needs."""

    code = "platform.missing_field"


class InvalidField(InvalidCommand):
    """A field with a value of the wrong form or beyond its bounds."""

    code = "platform.invalid_field"


class DateOutOfRange(InvalidCommand):
    """A day or a moment beyond sense."""

    code = "platform.date_out_of_range"


class UnknownInput(InvalidCommand):
    """An input that the flow in force does not declare."""

    code = "platform.unknown_input"


class InputNotYours(InvalidCommand):
    """An input that the platform itself works out."""

    code = "platform.input_not_yours"


class AuthorityExceeded(Forbidden):
    """An amount beyond the authority of a role."""

    code = "platform.authority_exceeded"


class TotpNeeded(Forbidden):
    """A command that takes a one-time password, in a live session that was opened without one."""

    code = "platform.totp_needed"


class ListsRefused(PlatformError):
    """A list that people are screened against and that cannot be read."""

    code = "platform.lists"
    http_status = 400


class RolesRefused(PlatformError):
    """A file of roles with a gap or a limit that means nothing."""

    code = "platform.roles"
    http_status = 400


class OutboundRefused(PlatformError):
    """A call that must not go out, or has nowhere to go."""

    code = "platform.outbound_refused"
    http_status = 422


class UnreadableAnswer(OutboundRefused):
    """An answer of a partner that is no word of it: nothing is known."""

    code = "platform.unreadable_answer"
    http_status = 502


class CircuitOpen(OutboundRefused):
    """A partner that has failed several times in a row is not asked for a while."""

    code = "platform.circuit_open"
    http_status = 503


class Refused(PlatformError):
    """A command that the business refuses; its answer is kept under its key."""

    code = "platform.refused"
    http_status = 422


class RefusedBefore(Refused):
    """A command that was refused under the same key before, with the words of then."""

    code = "platform.refused_before"

    def __init__(self, first: Mapping[str, Any]) -> None:
        super().__init__(first["what"], where=first["where"], fix=first["fix"])
        self.first = first

    def as_dict(self) -> dict[str, str]:
        """The parts of the first refusal."""
        return {part: str(self.first[part]) for part in ("code", "what", "where", "fix")}


class ClientRefTaken(Refused):
    """A channel's name for a user that it already gave to another."""

    code = "platform.client_ref_taken"
    http_status = 409
