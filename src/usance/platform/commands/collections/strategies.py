"""Settings of collections in force by two people: strategies, contracts of agencies, C-scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from usance.base.errors import UsanceError
from usance.platform.commands.command import Decided, Moment
from usance.platform.commands.control.in_force import put_setting
from usance.platform.desk.collection_settings import C_SCORES, MODEL_FILES, STRATEGY, model_of
from usance.platform.errors import InvalidField
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.security.keys import SCOPES, principal_of_party
from usance.service.collections.history import features_known
from usance.service.collections.strategy_file import parse_strategy

if TYPE_CHECKING:
    import asyncpg

_PPM = 1_000_000
MAX_TAIL_DAYS = 365


@dataclass(frozen=True)
class PutStrategy:
    """A strategy, as YAML; in force from the day that it names, at the earliest from today."""

    text: str


@dataclass(frozen=True)
class PutAgency:
    """The contract of an agency from a day on."""

    name: str
    commission_ppm: int
    max_cases: int
    valid_from: date
    tail_days: int = 0
    """Days after a recall on which a payment is still the agency's."""
    fair_cases: int = 0
    """Its fair share: below it, an allocation prefers it."""
    target_ppm: int = 0
    """Part of what is owed that a batch is to bring."""


@dataclass(frozen=True)
class PutCScore:
    """A C-score in force from a day on: the files of the model that `usance assess train` wrote."""

    target: str
    files: Mapping[str, Any]
    valid_from: date


async def put_strategy(
    transaction: asyncpg.Connection, _principal: Principal, moment: Moment, command: PutStrategy
) -> Decided:
    """Put a strategy in force; everything wrong with it is told with its line."""
    try:
        strategy = parse_strategy(command.text, STRATEGY, moment.lender.parameters)
    except UsanceError as error:
        raise InvalidField(str(error), where="body.text", fix="Mend the strategy") from error
    if strategy.currency != moment.lender.currency.name:
        raise InvalidField(f"its amounts are in {strategy.currency}", where="body.text",
                           fix=f"Write them in {moment.lender.currency.name}")  # fmt: skip
    first = max(strategy.valid_from, moment.business_date)
    decided = await put_setting(transaction, STRATEGY, STRATEGY, first, {"text": command.text})
    arms = {arm.name: arm.share_ppm for arm in strategy.arms}
    return Decided({**decided.answer, "name": strategy.name, "arms": arms}, decided.subject, 0,
                   decided.changes, as_platform=True)  # fmt: skip


async def put_agency(
    transaction: asyncpg.Connection, principal: Principal, _moment: Moment, command: PutAgency
) -> Decided:
    """Put the contract of an agency in force; with its first one the agency can be given keys."""
    if not command.name.strip() or len(command.name) > 64:
        raise InvalidField("is no name", where="body.name", fix="Give 1 to 64 characters")
    bounds = {"commission_ppm": _PPM, "max_cases": _PPM, "tail_days": MAX_TAIL_DAYS,
              "fair_cases": command.max_cases, "target_ppm": _PPM}  # fmt: skip
    for name, most in bounds.items():
        if not 0 <= getattr(command, name) <= most:
            raise InvalidField(f"{name} is out of range", where=f"body.{name}",
                               fix=f"Give 0 to {most}")  # fmt: skip
    taken = await transaction.fetchval(
        "select kind from usance.principals where name = $1 and kind <> 'agency'", command.name
    )
    if taken:
        raise InvalidField(f"is the name of a {taken}", where="body.name", fix="Give another")
    await principal_of_party(
        transaction, PrincipalKind.AGENCY, command.name, SCOPES["agency"], principal.human
    )
    document = {name: getattr(command, name) for name in bounds}
    decided = await put_setting(transaction, "agency", command.name, command.valid_from, document)
    return Decided({**decided.answer, **document}, decided.subject, 0, decided.changes,
                   as_platform=True)  # fmt: skip


async def put_c_score(
    transaction: asyncpg.Connection, _principal: Principal, _moment: Moment, command: PutCScore
) -> Decided:
    """Put a C-score in force, if it reads nothing but what is known of a case."""
    if command.target not in C_SCORES:
        raise InvalidField("is no C-score", where="body.target", fix=f"Give {', '.join(C_SCORES)}")
    if set(command.files) != set(MODEL_FILES) or not all(
        isinstance(each, str) for each in command.files.values()
    ):
        raise InvalidField("are no files of a model", where="body.files",
                           fix=f"Give the texts of {' and '.join(MODEL_FILES)}")  # fmt: skip
    try:
        model = model_of(command.files)
    except UsanceError as error:
        raise InvalidField(error.what, where="body.files", fix=error.fix) from error
    if unknown := {column.name for column in model.columns} - set(features_known()):
        raise InvalidField(f"the model reads {', '.join(sorted(unknown))}", where="body.files",
                           fix="Train it on rows of 'usance collect history'")  # fmt: skip
    document = {"files": dict(command.files)}
    return await put_setting(transaction, "c_score", command.target, command.valid_from, document)
