"""Statements behind the routes: equal for foreign and unknown ids, and for pages of any size.

The application itself answers here, in this process, and every statement that its connections send
to PostgreSQL is noted.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from typing import Any

import asyncpg
import httpx
import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.sandbox import Sandbox
from usance.base.ids import print_id
from usance.platform.api.application import GROUPS, application
from usance.platform.api.parameters import PATH_IDS
from usance.platform.api.request_log import RequestLog
from usance.platform.live import Platform
from usance.platform.security.keys import create_key

PARTIES = ("channel", "channel_2", "institution", "provider", "operations", "finance", "control")


class Noted:
    """The API of a sandbox, and the statements of each request."""

    def __init__(self, platform: Platform, told: list[str]) -> None:
        outermost = application(nullcontext(platform), "sandbox")
        state = outermost.app.state
        state.platform, state.mode = platform, "sandbox"
        state.request_log = RequestLog(platform.database)
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(outermost), base_url="http://lender"
        )
        self.platform, self.told, self.keys = platform, told, dict[str, str]()

    async def let_in(self) -> None:
        """A key for every party."""
        async with self.platform.database.transaction(0) as transaction:
            for name in PARTIES:
                owner = await self.platform.principal(name)
                _, self.keys[name] = await create_key(
                    transaction, "sandbox", owner.principal_id, owner.scopes
                )

    async def ask(
        self, method: str, path: str, who: str, body: Any = None
    ) -> tuple[httpx.Response, list[str]]:
        """An answer with the texts of its statements."""
        self.told.clear()
        headers = {"Authorization": f"Bearer {self.keys[who]}", "Idempotency-Key": "k"}
        answer = await self.client.request(method, path, headers=headers, json=body)
        return answer, list(self.told)


def noted(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, work: Callable[[Noted], Awaitable[None]]
) -> None:
    """Do some work on the API of a sandbox whose statements are noted."""
    told: list[str] = []

    async def listen(connection: asyncpg.Connection) -> None:
        connection.add_query_logger(lambda record: told.append(record.query))

    monkeypatch.setattr(asyncpg, "create_pool", partial(asyncpg.create_pool, init=listen))

    async def run(platform: Platform) -> None:
        api = Noted(platform, told)
        await api.let_in()
        await work(api)
        await api.client.aclose()

    sandbox.within(run)


def routes() -> list[tuple[str, str, frozenset[str]]]:
    """Routes with an id of a user's own in their address: method, path and scopes."""
    found = []
    for group in GROUPS:
        for each in group.router.routes:
            route: Any = each
            names = re.findall(r"{(\w+)}", route.path)
            scopes = frozenset(route.openapi_extra["x-scopes"])
            if len(names) == 1 and PATH_IDS.get(names[0]) in OWNED:
                found += [(method, f"/v1{route.path}", scopes) for method in route.methods]
    return sorted(found)


OWNED = ("us", "ln", "de", "pm", "of", "ag", "qu", "ac", "cp", "ha", "pl", "st", "rr")
"""Prefixes of ids that carry their user."""


def test_foreign_and_unknown_ids_are_answered_by_the_same_statements(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = borrower(sandbox, "bea", channel="channel_2")
    drawn_by_other = sandbox.do(
        "channel_2", "drawdown.request",
        {"user": mine, "product": "instalment", "amount_minor": 100_000, "months": 6},
    ).answer  # fmt: skip
    known = {"us": mine, "ln": drawn_by_other["loan"], "de": drawn_by_other["decision"]}
    asked = routes()
    assert len(asked) > 30

    async def work(api: Noted) -> None:
        await api.ask("GET", "/v1/clock", "channel")  # what is read once is read
        for method, path, scopes in asked:
            if "channel" not in scopes:
                continue
            name = re.findall(r"{(\w+)}", path)[0]
            prefix = PATH_IDS[name]
            foreign = known.get(prefix, print_id(prefix, (1 << 14) + 1))
            unknown = print_id(prefix, 999 if prefix == "us" else (999 << 14) + 1)
            body: Any = {} if method in ("POST", "PUT") else None
            warm = print_id(prefix, 998 if prefix == "us" else (998 << 14) + 1)
            await api.ask(method, path.replace(f"{{{name}}}", warm), "channel", body)
            ended = []
            for each in (foreign, unknown):
                answer, told = await api.ask(
                    method, path.replace(f"{{{name}}}", each), "channel", body
                )
                assert answer.status_code in (400, 404), (path, answer.text)
                plain = re.sub(r"rq_\w+|" + each, "…", answer.text)
                ended.append((answer.status_code, plain, told))
            assert ended[0] == ended[1], (method, path)

    noted(sandbox, monkeypatch, work)


@pytest.mark.parametrize(
    ("path", "who"),
    [("/v1/users/{user}/loans", "channel"), ("/v1/users/{user}/lines", "channel"),
     ("/v1/institution/loans", "institution"), ("/v1/offers", "institution"),
     ("/v1/events", "channel"), ("/v1/ledger/journals", "finance"), ("/v1/audit", "control"),
     ("/v1/orders", "operations"), ("/v1/cases", "operations")],
)  # fmt: skip
def test_a_page_of_any_size_is_read_by_the_same_statements(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, path: str, who: str
) -> None:
    user = borrower(sandbox, region=9 if who == "institution" else 3)
    for _ in range(3):
        made = drawn(sandbox, user, 100_000).answer
        if who == "institution":
            for each in sandbox.read("institution", "offers", "open", 0, 10):
                sandbox.do("institution", "offer.answer",
                           {"offer": each["offer"], "approved": True})  # fmt: skip
        else:
            assert made["state"] == "active"

    async def work(api: Noted) -> None:
        await api.ask("GET", "/v1/clock", who)
        address, sizes = path.format(user=user), {}
        for limit in (1, 200):
            answer, told = await api.ask("GET", f"{address}?limit={limit}", who)
            assert answer.status_code == 200, answer.text
            sizes[limit] = len(answer.json()["data"]), told
        assert sizes[1][1] == sizes[200][1]
        if path in ("/v1/users/{user}/loans", "/v1/institution/loans", "/v1/events"):
            assert sizes[200][0] >= 3 > sizes[1][0] == 1

    noted(sandbox, monkeypatch, work)
