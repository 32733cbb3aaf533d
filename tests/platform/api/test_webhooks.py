"""Events and webhooks: told at least once, in order for each subject, signed, again on request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.platform.api.served import Served, new_ref, refused
from tests.platform.sandbox import Sandbox
from usance.platform.live import Platform
from usance.platform.partners import deliveries, outbound
from usance.platform.partners.deliveries import Deliverer
from usance.platform.partners.signatures import is_signed


class Receiver(ThreadingHTTPServer):
    """A target that keeps what it is told, and refuses as often as it is asked to."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.told: list[tuple[dict[str, str], bytes]] = []
        self.refuse: dict[str, int] = {}
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook"

    def names(self) -> list[tuple[str, str]]:
        return [(each["name"], each["subject"]) for each in self.events()]

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.told]

    def wait_for(self, count: int, subject: str = "") -> None:
        for _ in range(400):
            if sum(subject in each["subject"] for each in self.events()) >= count:
                return
            time.sleep(0.05)
        raise AssertionError(f"{self.names()} and no more came")


class Handler(BaseHTTPRequestHandler):
    server: Receiver
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        subject = json.loads(body)["subject"]
        left = self.server.refuse.get(subject, 0)
        self.server.refuse[subject] = left - 1
        if left <= 0:
            self.server.told.append((dict(self.headers.items()), body))
        self.send_response(500 if left > 0 else 204)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    yield running
    running.shutdown()
    running.server_close()
    thread.join()


def register(served: Served, who: str = "channel") -> str:
    body = {"client_ref": new_ref(), "region": 3}
    return str(served.post("/v1/users", body, who).json()["user"])


def consent(served: Served, user: str) -> None:
    body = {"purpose": "credit_check", "text_version": "1", "granted": True}
    assert served.post(f"/v1/users/{user}/consents", body).status_code == 201


def test_a_channel_is_told_of_its_own_users_signed_and_no_others(
    served: Served, receiver: Receiver
) -> None:
    body = {"url": receiver.url, "names": ["user.registered"]}
    hook = served.post("/v1/webhooks", body, key="hook-1").json()
    again = served.post("/v1/webhooks", body, key="hook-1").json()
    assert again == {name: value for name, value in hook.items() if name != "secret"}
    register(served, "channel_2")
    mine = register(served)
    receiver.wait_for(1)
    headers, content = receiver.told[0]
    event = json.loads(content)
    assert (event["name"], event["subject"]) == ("user.registered", mine)
    assert event["id"].startswith("ev_")
    signature = headers["Usance-Signature"]
    assert is_signed(signature, content, [hook["secret"]], time.time())
    assert not is_signed(signature, content + b" ", [hook["secret"]], time.time())
    rotated = served.post(f"/v1/webhooks/{hook['webhook']}/rotate", {}).json()
    other = register(served)
    receiver.wait_for(1, other)
    headers, content = receiver.told[-1]
    for secret in (hook["secret"], rotated["secret"]):
        assert is_signed(headers["Usance-Signature"], content, [secret], time.time())
    listed = served.get(f"/v1/webhooks/deliveries?webhook={hook['webhook']}").json()["data"]
    assert [each["state"] for each in listed] == ["delivered"] * 2
    path = f"/v1/webhooks/deliveries/{listed[0]['delivery']}/resend"
    assert served.post(path, {}).status_code == 200
    receiver.wait_for(2, mine)
    refused(served.post(path, {}, "channel_2"), 404, "not_found")
    assert served.get("/v1/webhooks", "channel_2").json()["data"] == []
    assert served.ask("DELETE", f"/v1/webhooks/{hook['webhook']}").json()["state"] == "ended"
    refused(served.ask("DELETE", f"/v1/webhooks/{hook['webhook']}"), 404, "not_found")


def test_the_secret_of_a_partner_is_told_to_nobody_else(served: Served, receiver: Receiver) -> None:
    hook = served.post("/v1/webhooks", {"url": receiver.url}).json()["webhook"]
    session = served.session()
    for who in (session, "operations"):
        listed = {each["webhook"] for each in served.get("/v1/webhooks", who).json()["data"]}
        assert hook in listed
        refused(served.post(f"/v1/webhooks/{hook}/rotate", {}, who), 403, "forbidden")
    own = served.post("/v1/webhooks", {"url": receiver.url}, "operations").json()["webhook"]
    assert served.post(f"/v1/webhooks/{own}/rotate", {}, session).json()["secret"]
    for each in (hook, own):  # what goes wrong out there can be ended by those who run it
        assert served.ask("DELETE", f"/v1/webhooks/{each}", session).json()["state"] == "ended"


def test_a_target_that_fails_holds_back_its_subject_alone(
    served: Served, receiver: Receiver
) -> None:
    hook = served.post("/v1/webhooks", {"url": receiver.url}).json()["webhook"]
    held = register(served)
    receiver.wait_for(1, held)
    receiver.refuse[held] = 1
    served.post(f"/v1/users/{held}/consents",
                {"purpose": "a", "text_version": "1", "granted": True})  # fmt: skip
    free = register(served)
    receiver.wait_for(1, free)
    served.ask("DELETE", f"/v1/webhooks/{hook}")


def test_events_are_read_page_by_page(served: Served) -> None:
    users = [register(served) for _ in range(3)]
    last = served.get("/v1/events?limit=200").json()
    while last["next"]:
        last = served.get(f"/v1/events?limit=200&after={last['next']}").json()
    assert [each["subject"] for each in last["data"]][-3:] == users
    from_here = last["data"][-3]["id"]
    page = served.get(f"/v1/events?limit=1&after={from_here}").json()
    assert [each["subject"] for each in page["data"]] == users[1:2]
    rest = served.get(f"/v1/events?after={page['next']}").json()
    assert [each["subject"] for each in rest["data"]][:1] == users[2:]
    refused(served.get("/v1/events?after=ln_00000000G01"), 400, "invalid_cursor")


NO_TARGETS = ["ftp://a.example/", "http://", "http://a b", "http://u:p@a.example/",
              "javascript:alert(1)", "http://a.example/#x", "//a.example"]  # fmt: skip


@pytest.mark.parametrize("url", NO_TARGETS)
def test_targets_that_are_none(served: Served, url: str) -> None:
    refused(served.post("/v1/webhooks", {"url": url}), 400, "invalid_field")


class Trickle(ThreadingHTTPServer):
    """A target that answers, and never ends to."""

    daemon_threads = True

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            for _ in range(100):
                self.wfile.write(b" ")
                self.wfile.flush()
                time.sleep(0.05)

        def log_message(self, *_: object) -> None:
            """Say nothing."""


def told_to(sandbox: Sandbox, url: str, *, allow_private: bool) -> Callable[[], tuple[str, str]]:
    """Deliver what is due to a new webhook of the channel; the state of its only delivery."""

    async def prepare(platform: Platform) -> None:
        channel = await platform.principal("channel")
        async with platform.database.transaction(0) as transaction:
            mode = await transaction.fetchval("select mode from usance.installation")
        assert mode == 0
        await platform.do(channel, "webhook.add", {"url": url, "names": ["user.registered"]})
        await platform.do(channel, "user.register", {"client_ref": "anna", "region": 3})

    sandbox.within(prepare)

    def deliver() -> tuple[str, str]:
        async def work(platform: Platform) -> tuple[str, str]:
            keys = platform.services.keys
            one = Deliverer(platform.database, keys, allow_private=allow_private)
            await one.step()
            await one.close()
            async with platform.database.loader() as loader:
                await loader.execute("reset role")
                row = await loader.fetchrow("select state, problem from usance.deliveries")
                await loader.execute("update usance.deliveries set due_at = clock_timestamp()")
            return str(row["state"]), str(row["problem"])

        return sandbox.within(work)

    return deliver


def test_the_address_that_was_looked_at_is_the_one_that_is_called(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside, outside = Receiver(), ThreadingHTTPServer(("127.0.0.2", 0), Handler)
    outside.told, outside.refuse = [], {}  # type: ignore[attr-defined]
    port = outside.server_address[1]
    servers = [outside, inside]
    for each in servers:
        threading.Thread(target=each.serve_forever, daemon=True).start()
    answers = iter(["127.0.0.2", "127.0.0.1", "127.0.0.1"])
    asked: list[str] = []

    async def rebound(_self: Any, host: str, _port: int, **_: Any) -> list[Any]:
        """A name server whose answer changes from one question to the next."""
        asked.append(host)
        return [(2, 1, 6, "", (next(answers), 0))]

    monkeypatch.setattr("asyncio.base_events.BaseEventLoop.getaddrinfo", rebound)
    monkeypatch.setattr(outbound, "is_public", lambda address: address == "127.0.0.2")
    monkeypatch.setattr(outbound, "check_url", partial(checked, outbound.check_url))
    deliver = told_to(sandbox, f"http://rebinds.example:{port}/hook", allow_private=False)
    assert deliver()[0] == "delivered"
    assert asked == ["rebinds.example"]  # once: what was looked at is what was called
    assert len(outside.told) == 1  # type: ignore[attr-defined]

    async def again(platform: Platform) -> None:
        channel = await platform.principal("channel")
        await platform.do(channel, "user.register", {"client_ref": "bea", "region": 3})

    sandbox.within(again)

    async def second(platform: Platform) -> list[str]:
        one = Deliverer(platform.database, platform.services.keys, allow_private=False)
        await one.step()
        await one.close()
        async with platform.database.loader() as loader:
            await loader.execute("reset role")
            rows = await loader.fetch("select problem from usance.deliveries order by event_id")
        return [row["problem"] for row in rows]

    assert "private network" in sandbox.within(second)[1]
    assert (len(outside.told), inside.told) == (1, [])  # type: ignore[attr-defined]
    for each in servers:
        each.shutdown()
        each.server_close()


def checked(check: Callable[..., Any], url: str, *, allow_private: bool) -> Any:
    """The check of a URL, that takes plain HTTP for the receivers of this test."""
    assert not allow_private
    return check(url, allow_private=True)


def test_a_target_that_never_ends_its_answer_holds_nobody_up(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    trickle = Trickle(("127.0.0.1", 0), Trickle.Handler)
    threading.Thread(target=trickle.serve_forever, daemon=True).start()
    monkeypatch.setattr(deliveries, "WHOLE_SECONDS", 0.5)
    url = f"http://127.0.0.1:{trickle.server_address[1]}/"
    state, problem = told_to(sandbox, url, allow_private=True)()
    assert state == "waiting"
    assert problem.startswith("TimeoutError")
    trickle.shutdown()
    trickle.server_close()
