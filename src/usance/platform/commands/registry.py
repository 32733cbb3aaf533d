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

CHANNEL = ("channel",)

COMMANDS = {
    spec.name: spec
    for spec in (
        Spec("user.register", "user.registered", CHANNEL, RegisterUser, register_user),
        Spec("person.set", "person.set", CHANNEL, SetPerson, set_person),
        Spec("account.add", "account.added", CHANNEL, AddAccount, add_account),
        Spec("consent.give", "consent.given", CHANNEL, GiveConsent, give_consent),
    )
}
"""Every command that the platform knows."""
