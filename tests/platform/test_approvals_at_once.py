"""Two people who approve at once: one effect, and nobody's word is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.platform.sandbox import Sandbox
from usance.platform.commands.control import in_force
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.refusals import WrongState
from usance.platform.security.sessions import create_operator

FACT = {"entity": 1, "kind": "cost_incurred", "effective_on": "2024-07-01",
        "amount_minor": 1_000_00, "currency": "CNY",
        "detail": {"function": "marketing"}}  # fmt: skip


async def operators(platform: Platform, count: int) -> list[Principal]:
    """People who may propose and approve."""
    made = []
    pool = await platform.database.pool()
    async with pool.acquire() as connection:
        for number in range(count):
            email = f"person{number}@lender.example"
            principal = await create_operator(
                connection, email, "finance_controller", "several words that fit"
            )
            scopes = frozenset({"group_fact.state", "approval.approve"})
            made.append(Principal(principal, email, PrincipalKind.OPERATOR, scopes=scopes,
                                  human=email))  # fmt: skip
    return made


def at_once(sandbox: Sandbox, rounds: int) -> tuple[list[Any], int]:
    """Two people approve each of some proposals at once: how it ended, and the facts there are."""

    async def work(platform: Platform) -> tuple[list[Any], int]:
        proposer, *others = await operators(platform, 3)
        ended: list[Any] = []
        for _ in range(rounds):
            told = await platform.do(proposer, "group_fact.state", FACT)
            body = {"approval": told.answer["approval"]}
            ended += await asyncio.gather(
                *(platform.do(each, "approval.approve", body) for each in others),
                return_exceptions=True,
            )
        async with platform.database.transaction(0) as transaction:
            facts = await transaction.fetchval(
                "select count(*) from usance.group_facts where amount_minor = 100000"
            )
        return ended, facts

    return sandbox.within(work)


def test_two_who_approve_at_once_have_one_effect(sandbox: Sandbox) -> None:
    ended, facts = at_once(sandbox, 8)
    assert facts == 8
    refused = [each for each in ended if isinstance(each, Exception)]
    assert len(refused) == 8
    assert all(isinstance(each, WrongState) for each in refused)


def test_without_turns_there_would_be_two(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_force, "TURN", "select $1::bigint")
    _, facts = at_once(sandbox, 8)
    assert facts > 8


def test_no_word_is_lost_where_more_than_two_are_needed(sandbox: Sandbox) -> None:
    async def work(platform: Platform) -> Any:
        people = await operators(platform, 2)
        key = await platform.principal("finance")
        told = await platform.do(
            key, "group_fact.state", FACT
        )  # a key is nobody: two have to agree
        body = {"approval": told.answer["approval"]}
        await asyncio.gather(*(platform.do(each, "approval.approve", body) for each in people))
        async with platform.reading(await platform.principal("control")) as read:
            return await read.approval(told.answer["approval"])

    shown = sandbox.within(work)
    assert (shown["state"], shown["given"]) == ("approved", 2)
