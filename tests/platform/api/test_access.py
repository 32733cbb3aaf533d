"""Keys, sessions and sign-in as callers meet them."""

from __future__ import annotations

import json
import subprocess

from tests.platform.api.served import USANCE, Served, error_of, new_ref, refused


def usance(served: Served, *words: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [USANCE, *words, "--home", str(served.home), "--json"]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_file_of_a_sandbox_is_for_its_owner_alone(served: Served) -> None:
    path = served.home / "sandbox.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(served.keys) == sorted(
        ["channel", "channel_2", "institution", "institution_2", "provider", "provider_2",
         "operations", "finance", "control"]
    )  # fmt: skip
    assert all(key.startswith("usk_test_") for key in served.keys.values())
    assert [sorted(each) for each in served.operators] == [["email", "password"]] * 2


def test_a_session_opens_and_ends(served: Served) -> None:
    token = served.session()
    assert token.startswith("uss_")
    assert served.get("/v1/clock", token).status_code == 200
    assert served.ask("DELETE", "/v1/sessions", token).status_code == 200
    refused(served.get("/v1/clock", token), 401, "unknown_principal")
    refused(served.ask("DELETE", "/v1/sessions", "control"), 403, "session_needed")


def test_wrong_passwords_and_unknown_people_are_answered_alike(served: Served) -> None:
    made = usance(served, "people", "create", "--email", "locked@example.org", "--role", "auditor",
                  "--password-stdin", text="several words that fit\n")  # fmt: skip
    assert json.loads(made.stdout) == {"email": "locked@example.org", "role": "auditor"}
    wrong = {"email": "locked@example.org", "password": "wrong wrong wrong"}
    nobody = {"email": "nobody@example.org", "password": "wrong wrong wrong"}
    errors = [refused(served.post("/v1/sessions", each, ""), 401, "sign_in_failed")
              for each in (wrong, nobody)]  # fmt: skip
    assert errors[0]["message"] == errors[1]["message"]
    right = {"email": "Locked@Example.org", "password": "several words that fit"}
    assert served.post("/v1/sessions", right, "").status_code == 201
    for _ in range(5):
        served.post("/v1/sessions", wrong, "")
    refused(served.post("/v1/sessions", right, ""), 401, "sign_in_failed")  # it rests


def test_keys_and_people_are_made_on_the_terminal(served: Served) -> None:
    made = usance(served, "keys", "create", "--kind", "channel", "--party", "newcomer",
                  "--scope", "channel", "--per-minute", "3")  # fmt: skip
    key = json.loads(made.stdout)["key"]
    first = served.post("/v1/users", {"client_ref": new_ref(), "region": 3}, key)
    assert first.json()["channel"] == "newcomer"
    answers = [served.get("/v1/clock", key) for _ in range(4)]
    assert [each.status_code for each in answers] == [200, 200, 429, 429]
    assert error_of(answers[-1])["type"] == "rate_limited"
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
    wrong_scope = ("keys", "create", "--kind", "channel", "--party", "x", "--scope", "finance")
    for words, code in (
        (wrong_scope, "input.code"),
        (("keys", "create", "--kind", "robot", "--party", "x", "--scope", "finance"), "input.code"),
        (("people", "create", "--email", "a@b.example", "--role", "king", "--password-stdin"),
         "input.code"),
        (("people", "create", "--email", "a@b.example", "--role", "auditor", "--password-stdin"),
         "platform.weak_password"),
    ):  # fmt: skip
        told = usance(served, *words, text="password1234\n")
        assert (told.returncode, json.loads(told.stdout)["error"]["code"]) == (2, code)


def test_whoever_is_there_already_is_not_made_again(served: Served) -> None:
    words = ("people", "create", "--email", "twice@b.example", "--role", "auditor",
             "--password-stdin")  # fmt: skip
    made = usance(served, *words, text="several words are easy to keep\n")
    assert made.returncode == 0
    again = usance(served, *words, text="several words are easy to keep\n")
    error = json.loads(again.stdout)["error"]
    assert (again.returncode, error["code"]) == (2, "platform.name_taken")


def test_a_port_that_is_taken_and_a_home_without_a_lender(served: Served) -> None:
    port = served.url.rpartition(":")[2]
    command = [USANCE, "up", "--sandbox", "--home", str(served.home / "other"), "--port", port]
    told = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (told.returncode, told.stdout) == (2, "")
    assert f"port {port}" in told.stderr
    assert not (served.home / "other").exists()


def test_one_time_passwords_count_once(served: Served) -> None:
    import pyotp

    usance(served, "people", "create", "--email", "totp@example.org", "--role", "auditor",
           "--password-stdin", text="several words that fit\n")  # fmt: skip
    who = {"email": "totp@example.org", "password": "several words that fit"}
    token = served.post("/v1/sessions", who, "").json()["token"]
    secret = served.post("/v1/sessions/totp", None, token).json()["secret"]
    code = pyotp.TOTP(secret).now()
    wrong = {"secret": secret, "code": "000000" if code != "000000" else "000001"}
    refused(served.ask("PUT", "/v1/sessions/totp", token, json=wrong), 400, "invalid_field")
    right = {"secret": secret, "code": code}
    assert served.ask("PUT", "/v1/sessions/totp", token, json=right).json() == {"totp": True}
    refused(served.post("/v1/sessions", who, ""), 401, "sign_in_failed")
    first = served.post("/v1/sessions", {**who, "totp": code}, "")
    assert first.status_code == 201
    refused(served.post("/v1/sessions", {**who, "totp": code}, ""), 401, "sign_in_failed")
