"""A sandbox in a process of its own, and requests to it as each of its parties."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

USANCE = str(Path(sys.executable).with_name("usance"))
COUNT = itertools.count(1)


class Served:
    """`usance up` on a port that is free, with the keys of its sandbox."""

    def __init__(self, home: Path, *options: str) -> None:
        self.home, self.options = home, options
        self.url = ""
        self.keys: dict[str, str] = {}
        self.operators: list[dict[str, str]] = []
        self.process: subprocess.Popen[str] | None = None
        self.client = httpx.Client()

    def start(self) -> None:
        """Start and wait until it says that it is ready."""
        command = [USANCE, "up", "--sandbox", "--home", str(self.home), "--port", "0"]
        with (self.home / "up.log").open("a") as log:
            self.process = subprocess.Popen(
                [*command, *self.options], stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.stop()
            raise RuntimeError((self.home / "up.log").read_text()[-500:])
        told = json.loads(line)
        assert told == {"ready": True, "url": told["url"], "mode": "sandbox"}
        self.url = told["url"]
        self.client = httpx.Client(base_url=self.url, timeout=30)
        content = json.loads((self.home / "sandbox.json").read_text())
        self.keys, self.operators = content["keys"], content["operators"]

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it and give its exit code."""
        assert self.process is not None
        self.process.send_signal(how)
        code = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.client.close()
        return code

    def ask(self, method: str, path: str, who: str = "channel", **options: Any) -> httpx.Response:
        """One request as a party; a POST has a fresh key unless one is given."""
        headers = {"Authorization": f"Bearer {self.keys.get(who, who)}"} if who else {}
        if method == "POST" and "key" not in options:
            headers["Idempotency-Key"] = f"test-{next(COUNT)}"
        elif options.get("key"):
            headers["Idempotency-Key"] = options["key"]
        options.pop("key", None)
        headers |= options.pop("headers", {})
        return self.client.request(method, path, headers=headers, **options)

    def post(self, path: str, body: Any, who: str = "channel", **options: Any) -> httpx.Response:
        """A POST of a JSON body."""
        return self.ask("POST", path, who, json=body, **options)

    def get(self, path: str, who: str = "channel", **options: Any) -> httpx.Response:
        """A GET."""
        return self.ask("GET", path, who, **options)

    def session(self, number: int = 0) -> str:
        """The token of a new session of an operator."""
        answer = self.post("/v1/sessions", self.operators[number], "")
        assert answer.status_code == 201, answer.text
        return str(answer.json()["token"])


def new_ref() -> str:
    """A client_ref that no test has used."""
    return f"ref-{next(COUNT)}"


def error_of(answer: httpx.Response) -> dict[str, Any]:
    """The error of an answer, which has the one form that errors have."""
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) - {"cause"} == {"type", "code", "message", "param", "doc", "request_id"}
    if "idempotent-replay" not in answer.headers:
        assert error["request_id"] == answer.headers["request-id"]
    assert error["doc"] == f"/docs/errors#{error['code']}"
    return error


def refused(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The error of an answer that has this status and code."""
    assert (answer.status_code, error_of(answer)["code"]) == (status, code), answer.text
    return error_of(answer)
