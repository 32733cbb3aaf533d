"""Guessing: passwords, one-time passwords and codes have few tries, however many ask at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pyotp

from tests.platform.sandbox import Sandbox
from usance.platform.errors import SignInFailed
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.refusals import TooManyCodes
from usance.platform.security.borrower_access import ENTER, Message, enter_code, send_code
from usance.platform.security.keys import owner_of_key
from usance.platform.security.sessions import create_operator, set_totp, sign_in

EMAIL, PASSWORD = "guessed@lender.example", "several words that fit"
TRIES, MAX_FAILURES, MAX_CODE_TRIES, MAX_CODES = 24, 5, 5, 5


async def made(platform: Platform, secret: str = "") -> None:
    pool = await platform.database.pool()
    async with pool.acquire() as connection:
        number = await create_operator(connection, EMAIL, "auditor", PASSWORD)
        if secret:
            who = Principal(number, EMAIL, PrincipalKind.OPERATOR)
            code = pyotp.TOTP(secret).now()
            await set_totp(connection, platform.services.keys, who, secret, code)


async def all_at_once(
    platform: Platform, ask: Callable[[Any, int], Awaitable[Any]], count: int = TRIES
) -> list[Any]:
    """What each of many got, on connections of their own, in the order in which they came."""
    pool = await platform.database.pool()

    async def one(number: int) -> Any:
        async with pool.acquire() as connection:
            return await ask(connection, number)

    return await asyncio.gather(*(one(n) for n in range(count)), return_exceptions=True)


async def failures(platform: Platform) -> int:
    async with platform.database.loader() as loader:
        found = await loader.fetchval("select failures from usance.operators where email = $1",
                                      EMAIL)  # fmt: skip
        return int(found)


def test_a_password_has_five_tries_however_many_guess_at_once(sandbox: Sandbox) -> None:
    async def work(platform: Platform) -> tuple[list[Any], int]:
        await made(platform)

        async def guess(connection: Any, number: int) -> Any:
            word = PASSWORD if number == TRIES - 1 else f"a wrong guess {number}"
            return await sign_in(connection, platform.services.keys, EMAIL, word)

        return await all_at_once(platform, guess), await failures(platform)

    ended, counted = sandbox.within(work)
    assert all(isinstance(each, SignInFailed) for each in ended)  # the right one came too late
    assert counted == MAX_FAILURES  # what came while the account rests was not even looked at
    assert len({str(each) for each in ended}) == 1


def test_whoever_comes_in_begins_anew(sandbox: Sandbox) -> None:
    async def work(platform: Platform) -> int:
        await made(platform)
        pool, keys = await platform.database.pool(), platform.services.keys
        async with pool.acquire() as connection:
            for _ in range(3):
                for word in ("a wrong guess", PASSWORD):
                    try:
                        await sign_in(connection, keys, EMAIL, word)
                    except SignInFailed:
                        assert word != PASSWORD
        return await failures(platform)

    assert sandbox.within(work) == 0


def test_a_one_time_password_has_five_tries_for_whoever_knows_the_password(
    sandbox: Sandbox,
) -> None:
    secret = pyotp.random_base32()

    async def work(platform: Platform) -> tuple[list[Any], int]:
        await made(platform, secret)
        right = pyotp.TOTP(secret).now()

        async def guess(connection: Any, number: int) -> Any:
            code = right if number == TRIES - 1 else f"{(int(right) + 1 + number) % 10**6:06}"
            return await sign_in(connection, platform.services.keys, EMAIL, PASSWORD, totp=code)

        return await all_at_once(platform, guess), await failures(platform)

    ended, counted = sandbox.within(work)
    assert all(isinstance(each, SignInFailed) for each in ended)
    assert counted == MAX_FAILURES


def test_a_code_has_five_tries_and_a_phone_five_codes_an_hour(sandbox: Sandbox) -> None:
    phone = "+8613800000042"

    async def work(platform: Platform) -> tuple[list[Any], list[Any]]:
        keys, message = platform.services.keys, Message("{code}", is_sandbox=True)
        channel = await platform.principal("channel")
        body = {"client_ref": "anna", "region": 3}
        user = (await platform.do(channel, "user.register", body)).answer["user"]
        await platform.do(channel, "person.set", {
            "user": user, "name": "Anna Lin", "national_id": "1101", "phone": phone})  # fmt: skip
        pool = await platform.database.pool()
        async with pool.acquire() as connection:
            code = await send_code(connection, keys, phone, ENTER, message)

        async def guess(connection: Any, number: int) -> Any:
            told = code if number == TRIES - 1 else f"{(int(code) + 1 + number) % 10**6:06}"
            return await enter_code(connection, keys, phone, told)

        async def ask(connection: Any, _number: int) -> Any:
            return await send_code(connection, keys, phone, ENTER, message)

        return await all_at_once(platform, guess), await all_at_once(platform, ask)

    guessed, asked = sandbox.within(work)
    assert all(isinstance(each, SignInFailed) for each in guessed)
    assert sum(isinstance(each, TooManyCodes) for each in asked) == TRIES - (MAX_CODES - 1)


def test_an_address_asks_for_sixty_codes_an_hour_whatever_the_phones(sandbox: Sandbox) -> None:
    async def work(platform: Platform) -> list[Any]:
        message = Message("{code}", is_sandbox=True)

        async def ask(connection: Any, number: int) -> Any:
            return await send_code(connection, platform.services.keys, f"+86138{number:08}", ENTER,
                                   message, address="10.0.0.1")  # fmt: skip

        return await all_at_once(platform, ask, 70)

    asked = sandbox.within(work)
    assert sum(isinstance(each, TooManyCodes) for each in asked) == 10


def test_keys_are_random_and_a_wrong_one_says_nothing(sandbox: Sandbox) -> None:
    async def work(platform: Platform) -> list[Any]:
        async def guess(connection: Any, number: int) -> Any:
            return await owner_of_key(connection, f"usk_test_{number:043}")

        return await all_at_once(platform, guess)

    ended = sandbox.within(work)
    assert len({(type(each), str(each)) for each in ended}) == 1
    assert isinstance(ended[0], Exception)
