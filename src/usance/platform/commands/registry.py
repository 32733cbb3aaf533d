"""The table of commands: name, event, scope, form and function of each."""

from __future__ import annotations

from usance.platform.commands.command import Spec
from usance.platform.commands.users import RegisterUser, register_user

COMMANDS = {
    spec.name: spec
    for spec in (Spec("user.register", "user.registered", "channel", RegisterUser, register_user),)
}
"""Every command that the platform knows."""
