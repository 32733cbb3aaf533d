"""The table of commands: name, event, scopes, form and function of each."""

from __future__ import annotations

from usance.platform.commands.command import Spec
from usance.platform.commands.users import (
    AddAccount,
    GiveConsent,
    RegisterUser,
    SetPerson,
    add_account,
    give_consent,
    register_user,
    set_person,
)
from usance.platform.partners.webhooks import (
    AddWebhook,
    EndWebhook,
    ResendDelivery,
    RotateWebhook,
    add_webhook,
    end_webhook,
    resend_delivery,
    rotate_webhook,
)

CHANNEL = ("channel",)
ANYONE = ("channel", "institution", "provider", "operations", "finance", "control")

COMMANDS = {
    spec.name: spec
    for spec in (
        Spec("user.register", "user.registered", CHANNEL, RegisterUser, register_user),
        Spec("person.set", "person.set", CHANNEL, SetPerson, set_person),
        Spec("account.add", "account.added", CHANNEL, AddAccount, add_account),
        Spec("consent.give", "consent.given", CHANNEL, GiveConsent, give_consent),
        Spec("webhook.add", "webhook.added", ANYONE, AddWebhook, add_webhook),
        Spec("webhook.rotate", "webhook.rotated", ANYONE, RotateWebhook, rotate_webhook),
        Spec("webhook.end", "webhook.ended", ANYONE, EndWebhook, end_webhook),
        Spec("delivery.resend", "delivery.resent", ANYONE, ResendDelivery, resend_delivery),
    )
}
"""Every command that the platform knows."""
