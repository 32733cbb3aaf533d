"""Commands of a live lender answer JSON in the one form of all commands, by their schemas."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import json_answers
from tests.cli.test_json_form import COMMANDS, LIVE, LIVE_ALONE, takes_json
from tests.platform.databases import fresh
from usance.cli import main
from usance.platform.store.server import Embedded

SERVERS = {"up", "demo"}
"""Commands that serve: they tell one line when they are ready, and no answer."""
LIVE_COMMANDS = [
    name
    for name in COMMANDS
    if (name.split()[0] in LIVE or name in LIVE_ALONE) and name not in SERVERS
]
CALLS = (
    "live install", "live commands", "live do user.register client_ref=anna region=3 --as channel",
    "live read user us_00000000001 --as channel", "live read trial_balance --as finance",
    "live read clock --as channel", "audit list", "audit show {entry}", "audit verify",
    "config export --out {out}", "config import {out}", "ledger seal", "ledger verify",
    "db status", "db migrate", "day --through 2024-07-01", "jobs list", "jobs work", "doctor",
    "keys create --kind channel --party other --scope channel",
    "people create --email a@b.example --role auditor --password-stdin",
)  # fmt: skip
OF_SERVER = {"live commands"}
"""Commands without a home."""


@pytest.fixture
def home(server: Embedded) -> Iterator[Path]:
    fresh(server, "usance")
    before = set(server.home.iterdir())
    yield server.home
    fresh(server, "usance")
    for made in set(server.home.iterdir()) - before:
        shutil.rmtree(made) if made.is_dir() else made.unlink()


@pytest.mark.parametrize("name", LIVE_COMMANDS)
def test_every_live_command_takes_json_and_has_a_schema(name: str) -> None:
    assert takes_json(COMMANDS[name])
    schema = json.loads(json_answers.schema_path(name).read_text(encoding="utf-8"))
    assert schema["title"] == f"usance {name} --json"
    if not json_answers.AGREED.fullmatch(name):
        assert set(schema["properties"]) == {"data", "notes"}


def test_answers_of_a_live_lender_are_by_their_schemas(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse battery staple\n"))
    entry = ""
    for call in CALLS:
        words = call.format(out=tmp_path / "config.json", entry=entry).split()
        at = [] if call in OF_SERVER else ["--home", str(home)]
        code = main([*words, *at, "--json"])
        told: Any = json.loads(capsys.readouterr().out)  # one value, whatever was found
        assert code in (0, 1), (call, told)
        assert "error" not in told, (call, told)
        if call == "audit list":
            entry = told["data"][-1]["id"]
