"""The table of commands: name, event, scopes, form and function of each."""

from __future__ import annotations

from usance.platform.commands import (
    applications,
    breaks,
    clock,
    control,
    debits,
    drawdowns,
    loan_events,
    money_files,
    offers,
    orders,
    payment_booking,
    payments,
    quotes,
    reconciliation,
    servicing,
    unallocated,
    users,
)
from usance.platform.commands.command import Many, Spec
from usance.platform.partners import webhooks
from usance.platform.security import access_commands as access
from usance.platform.security import rights

CHANNEL, MONEY, OPERATIONS = ("channel",), ("provider", "operations"), ("operations",)
INSTITUTION, FINANCE, CONTROL = ("institution",), ("finance",), ("control",)
REVIEW, APPROVE, REVEAL, JOBS = ("review",), ("approve",), ("reveal",), ("jobs",)
DESKS = ("operations", "finance")
ANYONE = ("channel", "institution", "provider", "operations", "finance", "control")
TWO = 2
"""People who have to agree."""

_TABLE = (
    Spec("user.register", "user.registered", CHANNEL, users.RegisterUser, users.register_user),
    Spec("person.set", "person.set", CHANNEL, users.SetPerson, users.set_person),
    Spec("account.add", "account.added", CHANNEL, users.AddAccount, users.add_account),
    Spec("consent.give", "consent.given", CHANNEL, users.GiveConsent, users.give_consent),
    Spec("application.decide", "application.decided", CHANNEL, applications.Apply,
         applications.apply),
    Spec("application.review", "application.reviewed", REVIEW, applications.ReviewApplication,
         applications.review),
    Spec("quote.make", "quote.made", CHANNEL, quotes.MakeQuote, quotes.quote),
    Spec("agreement.make", "agreement.made", CHANNEL, quotes.Agree, quotes.agree),
    Spec("drawdown.request", "drawdown.requested", CHANNEL, drawdowns.Draw, drawdowns.draw,
         routes=True, many=Many(drawdowns.draw_many, drawdowns.user_of)),
    Spec("drawdown.withdraw", "drawdown.withdrawn", CHANNEL, drawdowns.Withdraw,
         drawdowns.withdraw, routes=True),
    Spec("offer.answer", "offer.answered", INSTITUTION, offers.AnswerOffer, offers.answer,
         routes=True),
    Spec("offer.expire", "offer.timed_out", JOBS, offers.ExpireOffer, offers.expire, routes=True),
    Spec("payout.end", "payout.ended", MONEY, orders.EndPayout, orders.end_payout),
    Spec("order.step", "order.moved", JOBS, orders.StepOrder, orders.step),
    Spec("order.note", "order.noted", MONEY, orders.NoteOrder, orders.note),
    Spec("order.cancel", "order.cancelled", OPERATIONS, orders.CancelOrder, orders.cancel),
    Spec("debit.order", "debit.ordered", JOBS, debits.OrderDebit, debits.order_debit),
    Spec("cash.receive", "cash.received", MONEY, unallocated.ReceiveCash, unallocated.receive),
    Spec("cash.assign", "cash.assigned", OPERATIONS, unallocated.AssignCash, unallocated.assign),
    Spec("cash.return", "cash.returned", OPERATIONS, unallocated.ReturnCash,
         unallocated.give_back, TWO),
    Spec("file.take", "file.taken", MONEY, money_files.TakeFile, money_files.take),
    Spec("bank_account.put", "bank_account.in_force", FINANCE, money_files.PutBankAccount,
         money_files.put_account, TWO),
    Spec("day.reconcile", "day.reconciled", FINANCE, reconciliation.ReconcileDay,
         reconciliation.reconcile_day),
    Spec("break.assign", "break.assigned", DESKS, breaks.AssignBreak, breaks.assign),
    Spec("break.clear", "break.cleared", DESKS, breaks.ClearBreak, breaks.clear),
    Spec("payment.book", "payment.booked", MONEY, payments.BookPayment, payment_booking.book,
         many=Many(payment_booking.book_many, payments.user_of)),
    Spec("payment.reverse", "payment.reversed", MONEY, payments.ReversePayment, payments.reverse),
    Spec("payment.refund", "payment.refunded", MONEY, loan_events.Refund, loan_events.refund),
    Spec("payment.charge_back", "payment.charged_back", MONEY, loan_events.ChargeBack,
         loan_events.charge_back),
    Spec("fee.charge", "fee.charged", OPERATIONS, loan_events.ChargeFee, loan_events.charge_fee),
    Spec("loan.waive", "loan.waived", OPERATIONS, loan_events.Waive, loan_events.waive),
    Spec("loan.reschedule", "loan.rescheduled", OPERATIONS, loan_events.Reschedule,
         loan_events.reschedule),
    Spec("loan.pause", "loan.paused", OPERATIONS, loan_events.Pause, loan_events.pause),
    Spec("loan.charge_off", "loan.charged_off", OPERATIONS, loan_events.ChargeOff,
         loan_events.charge_off, TWO),
    Spec("loan.recover", "loan.recovered", MONEY, loan_events.Recover, loan_events.recover),
    Spec("loan.serve", "loan.served", JOBS, servicing.ServeLoan, servicing.serve),
    Spec("group_fact.state", "group_fact.stated", FINANCE, control.StateGroupFact,
         control.state_group_fact, TWO),
    Spec("period.move", "period.moved", FINANCE, control.MovePeriod, control.move_period),
    Spec("mandate.put", "mandate.in_force", ("institution", "control"), control.PutMandates,
         control.put_mandates, TWO),
    Spec("parameter.put", "parameter.in_force", CONTROL, control.PutParameter,
         control.put_parameter, TWO),
    Spec("flow.put", "flow.in_force", CONTROL, control.PutFlow, control.put_flow, TWO),
    Spec("model.put", "model.in_force", CONTROL, control.PutModel, control.put_model, TWO),
    Spec("approval.reject", "approval.rejected", APPROVE, control.Reject, control.reject),
    Spec("key.create", "key.created", CONTROL, access.CreateKey, access.create, TWO),
    Spec("key.rotate", "key.rotated", ANYONE, access.RotateKey, access.rotate),
    Spec("key.end", "key.ended", CONTROL, access.EndKey, access.end),
    Spec("person.invite", "person.invited", CONTROL, access.InvitePerson, access.invite, TWO),
    Spec("person.reveal", "person.revealed", REVEAL, access.Reveal, access.reveal),
    Spec("user.export", "user.exported", CHANNEL, rights.ExportUser, rights.export_user),
    Spec("user.erase", "user.erased", CHANNEL, rights.EraseUser, rights.erase_user),
    Spec("webhook.add", "webhook.added", ANYONE, webhooks.AddWebhook, webhooks.add_webhook),
    Spec("webhook.rotate", "webhook.rotated", ANYONE, webhooks.RotateWebhook,
         webhooks.rotate_webhook),
    Spec("webhook.end", "webhook.ended", ANYONE, webhooks.EndWebhook, webhooks.end_webhook),
    Spec("delivery.resend", "delivery.resent", ANYONE, webhooks.ResendDelivery,
         webhooks.resend_delivery),
    Spec("clock.advance", "clock.advanced", CONTROL, clock.AdvanceClock, clock.advance),
)  # fmt: skip
_BY_NAME = {spec.name: spec for spec in _TABLE}
COMMANDS = {
    **_BY_NAME,
    "approval.approve": Spec("approval.approve", "approval.approved", APPROVE, control.Approve,
                             control.approve_with(_BY_NAME)),
}  # fmt: skip
"""Every command that the platform knows."""
