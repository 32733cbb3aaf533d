"""Every command answers JSON in one form, by its schema: pages are lived again with `--json`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import json_answers
from tests.house import tree
from tests.house.in_process import Call, Printed, call_of, run_here
from tests.house.pages import Block, Command, Story, blocks, commands
from usance.books.chart import load_chart
from usance.cli import ROOMS, whole_tree
from usance.service.collections.strategy_file import shipped_text

LIVE = {name for name, (modules, _) in ROOMS.items() if modules.startswith("usance.platform")}
"""Groups whose answers are objects of the HTTP interface, which has a description of its own."""
LIVE_ALONE = {"twin load", "collect train", "collect watch"}
NO_ANSWER = {
    "completion": "prints a script for a shell",
    "complete": "is called by that script",
}
PAGES = (
    "tutorials/first-deal", "how-to/run-a-deal", "how-to/decide", "how-to/reconcile-a-day",
    "how-to/bring-a-book", "how-to/measure-a-tape", "how-to/close-a-period",
    "how-to/measure-a-book", "how-to/publish-a-release", "tutorials/past-loans-to-decisions",
    "how-to/collect",
)  # fmt: skip
MORE = (
    "match stream steady --requests 300 --sources 4 --segments 10 --out s",
    "match check s/MANDATES.yaml",
    "match requests own.csv s/MANDATES.yaml --map own.yaml --out OWN.csv",
    "match forecast s/STREAM.csv --out next.csv --days 3",
    "match plan s/DEMAND.csv s/MANDATES.yaml",
    "match replay s/STREAM.csv s/MANDATES.yaml",
    "match explain OWN.csv s/MANDATES.yaml --loan A",
    "match explain s/STREAM.csv s/MANDATES.yaml --source 1",
    "match explain s/DEMAND.csv s/MANDATES.yaml --limit 1",
    "books sample book",
    "close 2023Q4 --book book",
    "books general-ledger --book book --chart chart.yaml --out ledger.csv",
    "books lock 2023Q4 --book book",
    "pages book --out site --loans 1",
    "collect check strategy.yaml",
    "collect history days.csv payments.csv --out rows.csv",
    "twin collection collection-outage --from 2023-09 --to 2024-01",
)


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command that can be called, by its words."""
    for name, inner in command.commands.items():
        if getattr(inner, "commands", None):
            yield from leaves(inner, (*words, name))
        else:
            yield " ".join((*words, name)), inner


COMMANDS = dict(leaves(whole_tree()))
PURE = [name for name in COMMANDS if name.split()[0] not in LIVE and name not in LIVE_ALONE]


def takes_json(command: Any) -> bool:
    return any("--json" in option.opts for option in command.params)


@pytest.mark.parametrize("name", PURE)
def test_every_command_takes_json_and_has_a_schema(name: str) -> None:
    if name in NO_ANSWER:
        return
    assert takes_json(COMMANDS[name])
    schema = json.loads(json_answers.schema_path(name).read_text(encoding="utf-8"))
    assert schema["title"] == f"usance {name} --json"
    if not json_answers.AGREED.fullmatch(name):
        assert set(schema["properties"]) == {"data", "notes"}


def test_no_schema_is_left_of_a_command_that_is_gone() -> None:
    known = {json_answers.schema_path(name).name for name in COMMANDS} | {"error.json"}
    assert {path.name for path in json_answers.FOLDER.iterdir()} <= known


class AsJson(Story):
    """A page whose commands are asked for JSON; `json_answers` holds each answer to its schema."""

    def _console(self, _block: Block, command: Command) -> None:
        call = call_of(command.text)
        if call is None or "--csv" in call.words:
            self._printed(command)
            return
        _, text = self.ask(call.words)
        if call.rest.startswith("> "):  # the page goes on with what was printed
            (self.folder / call.rest[2:]).write_text(text, encoding="utf-8")

    def ask(self, words: list[str]) -> Printed:
        """Run a command for its JSON, and again as it is where a file is wanted."""
        named = [word for word in words if not word.startswith("-")]
        name = next(" ".join(named[:n]) for n in (2, 1, 3) if " ".join(named[:n]) in COMMANDS)
        if not takes_json(COMMANDS[name]):
            return run_here(Call(words, ""), self.folder, self.environment)
        told = run_here(Call([*words, "--json"], ""), self.folder, self.environment)
        assert told.code in (0, 1, 2), told.text
        if told.code == 2:
            assert set(json.loads(told.text[told.text.index("{") :])) == {"error"}
        if name == "fund sample":
            return run_here(Call(words, ""), self.folder, self.environment)
        return told


@pytest.mark.parametrize("page", PAGES)
def test_a_page_as_json(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    story = AsJson(tmp_path, set())
    text = (tree.ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    for block in blocks(page, text):
        if block.language == "console" and not block.is_left_out:
            for command in commands(block):
                story._console(block, command)
        else:
            story.run(block)


def test_commands_of_no_cheap_page(tmp_path: Path) -> None:
    story = AsJson(tmp_path, set())
    accounts = {name: account.number for name, account in load_chart().accounts.items()}
    chart = {"accounts": {name: str(no) for name, no in accounts.items()}, "entities": {1: "HQ"}}
    own = "at,loan,product,amount,months,rate,grade,region\n2024-06-03 08:00,A,sme,90,6,9%,1,1\n"
    (tmp_path / "own.csv").write_text(own, encoding="utf-8")
    days = "user_id,day,days_past_due,past_due_minor,principal_minor,loans\n1,100,2,500,4000,1\n"
    (tmp_path / "strategy.yaml").write_text(shipped_text(), encoding="utf-8")
    (tmp_path / "days.csv").write_text(f"{days}1,120,22,500,4000,1\n", encoding="utf-8")
    (tmp_path / "payments.csv").write_text("user_id,day,amount\n1,125,500\n", encoding="utf-8")
    (tmp_path / "own.yaml").write_text("columns: {requested_at: at}", encoding="utf-8")
    (tmp_path / "chart.yaml").write_text(json.dumps(chart), encoding="utf-8")
    for call in MORE:
        assert story.ask(call.split()).code == 0


def test_a_null_without_a_reason_is_found() -> None:
    answer = {"data": [{"a": None, "b_minor": 1.5}], "notes": ["c: why"]}
    assert json_answers.rules_broken(answer) == ["a is null without a reason", "b_minor is 1.5"]
    assert json_answers.rules_broken([]) == ["is not {data, notes}"]
