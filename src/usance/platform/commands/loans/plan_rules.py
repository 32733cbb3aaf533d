"""Rules of plans put in force by two people: who is offered one, how much a role may grant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usance.base.errors import UsanceError
from usance.platform.commands.command import Decided, Moment
from usance.platform.commands.control.in_force import put_setting
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal
from usance.service.help.plan_rules import parse_rules

if TYPE_CHECKING:
    import asyncpg

PLAN_RULES = "plan_rules"
ROLES = ("collector", "operations")
"""Roles that offers on the platform are granted as."""


@dataclass(frozen=True)
class PutPlanRules:
    """Rules of plans, as YAML; in force from the day that they name, at the earliest from today."""

    text: str


async def put_plan_rules(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PutPlanRules
) -> Decided:
    """Put rules of plans in force; everything wrong with them is told with its line."""
    try:
        rules = parse_rules(command.text, PLAN_RULES)
    except UsanceError as error:
        raise InvalidField(str(error), where="body.text", fix="Mend the rules") from error
    if missing := [each for each in ROLES if each not in rules.authority_ppm]:
        raise InvalidField(f"gives no authority to {', '.join(missing)}", where="body.text",
                           fix=f"Give authority to {', '.join(ROLES)}")  # fmt: skip
    first = max(rules.valid_from, moment.business_date)
    decided = await put_setting(transaction, PLAN_RULES, PLAN_RULES, first, {"text": command.text})
    most = {kind.value: rule.most for kind, rule in rules.rules.items()}
    return Decided({**decided.answer, "most": most}, decided.subject, 0, decided.changes,
                   as_platform=True)  # fmt: skip
