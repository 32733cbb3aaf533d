"""Events and webhooks: told at least once, in order for each subject, signed, again on request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.platform.api.served import Served, new_ref, refused
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
