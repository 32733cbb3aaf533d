"""Live mode: the first administrator on a terminal, and what a live lender refuses."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyotp
import pytest

from tests.platform.api.served import USANCE, Served, error_of
from usance.platform.lender import sandbox_document

EMAIL, PASSWORD = "first@lender.example", "several words that fit"


def lender_file(folder: Path) -> Path:
    """The sandbox's lender without what is simulated in it."""
    document = sandbox_document()
    (folder / "mandates.yaml").write_text(document["mandates"], encoding="utf-8")
    kept = {name: value for name, value in document.items() if name not in ("principals", "payout")}
    path = folder / "lender.json"
    path.write_text(json.dumps({**kept, "mandates": "mandates.yaml"}), encoding="utf-8")
    return path


def up(home: Path, *options: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    command = [USANCE, "up", "--home", str(home), "--port", "0", *options]
    return subprocess.Popen(
        command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip


def wait_for(running: subprocess.Popen[str], prompt: str) -> None:
    """Read what is told on standard error until it asks for something."""
    assert running.stderr is not None
    told = ""
    while not told.endswith(prompt):
        more = running.stderr.read(1)
        assert more, told[-800:]
        told += more


def refusal(home: Path, *options: str) -> str:
    """What `usance up` says when it does not start."""
    out, told = up(home, *options).communicate(timeout=120)
    assert out == ""
    return told


@pytest.fixture(scope="module")
def live(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    assert served.url  # where PostgreSQL cannot start, these tests are skipped with the others
    home = tmp_path_factory.mktemp("live")
    file = lender_file(home)
    own, other = pty.openpty()
    running = up(home, "--live", "--lender", str(file), stdin=other)
    assert running.stdout is not None
    for prompt, answer in (("Email: ", EMAIL), ("Password: ", PASSWORD)):
        wait_for(running, prompt)
        os.write(own, f"{answer}\n".encode())
    line = running.stdout.readline()
    if not line:
        pytest.fail(running.communicate(timeout=60)[1][-800:])
    told = json.loads(line)
    assert told["mode"] == "live"
    yield home, told["url"]
    running.terminate()
    running.communicate(timeout=60)
    assert running.returncode == 0
    os.close(own)
    os.close(other)


def service_key(home: Path) -> str:
    """A new key of a service with the scope of control."""
    made = subprocess.run(
        [USANCE, "keys", "create", "--kind", "service", "--party", "desk", "--scope", "control",
         "--home", str(home), "--json"], capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return str(json.loads(made.stdout)["key"])


def test_a_live_lender_knows_no_test_keys_no_clock_and_no_sandbox(
    live: tuple[Path, str], served: Served
) -> None:
    home, url = live
    assert not (home / "sandbox.json").exists()
    own = service_key(home)
    assert own.startswith("usk_live_")
    with httpx.Client(base_url=url, timeout=30) as client:

        def get(token: str) -> httpx.Response:
            return client.get("/v1/clock", headers={"Authorization": f"Bearer {token}"})

        assert get(own).status_code == 200
        assert error_of(get(served.keys["control"]))["code"] == "wrong_mode"
        assert error_of(served.get("/v1/clock", own))["code"] == "wrong_mode"
        headers = {"Authorization": f"Bearer {own}", "Idempotency-Key": "1"}
        body = {"to": "2099-01-01T00:00:00Z"}
        moved = client.post("/v1/clock/advance", headers=headers, json=body)
        assert (moved.status_code, error_of(moved)["param"]) == (400, "body.to")
    assert "stays so" in refusal(home, "--sandbox")


def test_who_approves_live_has_signed_in_with_a_code(live: tuple[Path, str]) -> None:
    home, url = live
    with httpx.Client(base_url=url, timeout=30) as client:

        def post(path: str, body: object, token: str = "", method: str = "POST") -> httpx.Response:
            headers = {"Idempotency-Key": os.urandom(8).hex()}
            if token:
                headers["Authorization"] = f"Bearer {token}"
            return client.request(method, path, headers=headers, json=body)

        account = {"email": EMAIL, "password": PASSWORD}
        token = post("/v1/sessions", account).json()["token"]
        path = "/v1/approvals/ap_0000000ZZZZ/approve"
        assert error_of(post(path, {}, token))["code"] == "totp_needed"
        with httpx.Client(base_url=url, timeout=30, follow_redirects=True) as browser:
            browser.post("/console/sign-in", data=account)
            value = {"name": "servicing.late_fee", "value": "1%", "valid_from": "2099-01-01",
                     "source": "a notice"}  # fmt: skip
            proposed = post("/v1/parameters", value, service_key(home))
            assert proposed.status_code == 202, proposed.text
            address = f"/console/control/{proposed.json()['approval']}/approve"
            page = browser.post(address, data={"key": "1"})
            assert page.status_code == 403
            assert "one-time password" in page.text
        secret = post("/v1/sessions/totp", {}, token).json()["secret"]
        code = pyotp.TOTP(secret).now()
        confirmed = post("/v1/sessions/totp", {"secret": secret, "code": code}, token, "PUT")
        assert confirmed.status_code == 200, confirmed.text
        assert post("/v1/sessions", account).status_code == 401
        signed = post("/v1/sessions", {**account, "totp": pyotp.TOTP(secret).now()})
        assert signed.status_code == 201, signed.text
        assert error_of(post(path, {}, signed.json()["token"]))["code"] == "not_found"


def test_a_lost_or_another_master_key_is_refused_by_name(live: tuple[Path, str]) -> None:
    home, _ = live
    path = home / "master.key"
    right = path.read_bytes()

    def create() -> str:
        command = [USANCE, "people", "create", "--email", "x@lender.example", "--role", "auditor",
                   "--password-stdin", "--home", str(home)]  # fmt: skip
        ran = subprocess.run(command, input=f"{PASSWORD}\n", capture_output=True, text=True,
                             timeout=120, check=False)  # fmt: skip
        assert ran.returncode != 0
        return ran.stderr

    try:
        path.unlink()
        assert "is not there" in create()
        assert not path.exists()  # none is made in its place
        path.write_bytes(bytes(32))
        assert "random bytes" in create()
        path.write_bytes(bytes(range(32)))
        assert "is not the one" in create()
    finally:
        path.write_bytes(right)


def test_no_live_lender_begins_without_its_file_or_its_administrator(tmp_path: Path) -> None:
    assert "two modes" in refusal(tmp_path, "--sandbox", "--live")
    assert "is not set" in refusal(tmp_path, "--live", "--clock", "2024-07-01T01:00:00Z")
    given = json.loads(lender_file(tmp_path).read_text()) | {"principals": {}}
    (tmp_path / "lender.json").write_text(json.dumps(given))
    told = refusal(tmp_path, "--live", "--lender", str(tmp_path / "lender.json"))
    assert "is for sandboxes" in told
