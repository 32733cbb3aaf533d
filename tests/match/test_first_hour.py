"""What people meet first: refusals by name, plans that cannot be met, names, and readable files."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.match.mandates import document, mandates, source
from usance.base.codes import RoutingOutcome
from usance.cli import main
from usance.match.backtest.replay import replay_files
from usance.match.backtest.streams import StreamKind, make_stream
from usance.match.commands import app
from usance.match.errors import DemandError
from usance.match.mandates.limits import list_limits
from usance.match.plan.demand_file import demand_of, read_demand
from usance.match.plan.planner import make_plan
from usance.match.router.explanation import explain_loan
from usance.match.router.router import route
from usance.match.router.routing_table import write_routing
from usance.match.router.state import ENGINE

DEMAND = "product,region,grade,months,amount_minor,rate_ppm,requests\n"
PERIOD = "period: {from: 2024-06-01, to: 2024-06-30}\n"


def demand_file(folder: Path, *rows: str, header: str = DEMAND) -> Path:
    file = folder / "DEMAND.csv"
    file.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


def test_demand_without_the_attributes_a_mandate_asks_for_is_refused(tmp_path: Path) -> None:
    book = mandates(source(name="Northern Bank", needs="[owner]"), top="attributes: [owner]\n")
    plain = "instalment,1,3,12,500000,240000,200"
    with pytest.raises(DemandError, match=r"no column attributes, and Northern Bank .* owner"):
        read_demand(demand_file(tmp_path, plain), book)
    header = DEMAND.replace("requests", "requests,attributes")
    told = demand_file(tmp_path, f"{plain},owner", f"{plain},", header=header)
    demand = read_demand(told, book)
    assert demand.segments.attributes.tolist() == [1, 0]
    assert make_plan(demand, book).as_dict()["placed_minor"] == 200 * 500_000
    assert len(read_demand(demand_file(tmp_path, plain), mandates()).requests) == 1


def test_minimum_takes_that_cannot_be_met_end_the_command_with_one(tmp_path: Path) -> None:
    take = "{amount: 900000}"
    text = document(source(minimum_take=take), source(source="2", minimum_take=take), top=PERIOD)
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    file = demand_file(tmp_path, "instalment,1,3,12,500000,240000,200")
    done = CliRunner().invoke(app, ["plan", str(file), str(tmp_path / "m.yaml")])
    assert done.exit_code == 1
    assert "no plan meets every limit" in done.output
    assert "minimum take 900000.00 CNY: gives way by 800000.00 CNY" in done.output
    as_json = CliRunner().invoke(app, ["plan", str(file), str(tmp_path / "m.yaml"), "--json"])
    assert as_json.exit_code == 1


def test_versions_and_institutions_have_names() -> None:
    first = source(name="Northern Bank", valid="{from: 2024-01-01, to: 2024-06-15}",
                   budgets="{day: 200000, month: 3000000, total: 4000000}")  # fmt: skip
    second = source(name="Northern Bank", version="2", valid="{from: 2024-06-16, to: 2024-12-31}")
    book = mandates(first, second, source(source="2"), top=PERIOD)
    assert [book.label_of(each) for each in book.mandates] == [
        "Northern Bank (source 1) version 1", "Northern Bank (source 1) version 2", "source 2",
    ]  # fmt: skip
    assert list_limits(book)[0].text == (
        "Northern Bank (source 1) version 1: total budget 4000000.00 CNY"
    )
    demand = demand_of(
        product=[1], region=[1], grade=[3], months=[12], amount_minor=[500_000],
        rate_ppm=[240_000], requests=[100],
    )  # fmt: skip
    rows = make_plan(demand, book).by_source()
    assert [row["name"] for row in rows] == [book.label_of(each) for each in book.mandates]
    used = rows[0]
    lent = used["planned_minor"] * 1_000_000
    assert used["total_budget_used_ppm"] == lent // 400_000_000
    assert used["month_budget_used_ppm"] == lent // 300_000_000
    assert used["day_budget_used_ppm"] == lent // (15 * 20_000_000)


def test_routing_as_csv_has_names_and_printed_ids(tmp_path: Path) -> None:
    made = make_stream(StreamKind.STEADY, seed=2, requests=150, sources=6, segments=12)
    result = route(made.requests, made.mandates, ENGINE, demand=made.demand)
    write_routing(tmp_path / "routing.csv", result)
    with (tmp_path / "routing.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["outcome"] for row in rows} <= {each.label for each in RoutingOutcome}
    assert all(row["loan_id"].startswith("ln_") and row["at"].endswith("Z") for row in rows)
    placed = sum(row["outcome"] == "approved" for row in rows)
    assert placed == int((result.column >= 0).sum()) > 0


def test_a_replay_without_a_forecast_says_what_that_costs(tmp_path: Path) -> None:
    made = make_stream(StreamKind.STEADY, seed=2, requests=200, sources=6, segments=12)
    made.write(tmp_path)
    stream, file = tmp_path / "STREAM.csv", tmp_path / "MANDATES.yaml"
    assert replay_files(stream, file).as_dict()["with_perfect_forecast_minor"] is None
    (tmp_path / "DEMAND.csv").unlink()
    answer = replay_files(stream, file).as_dict()
    assert answer["forecast"] == "none"
    assert answer["with_perfect_forecast_minor"] > 0


def test_an_explanation_names_sources_and_says_nothing_of_what_is_not() -> None:
    made = make_stream(StreamKind.STEADY, seed=2, requests=60, sources=6, segments=12)
    rows = tuple(replace(each, name=f"bank {each.source}") for each in made.mandates.mandates)
    book = replace(made.mandates, mandates=rows, period=(date(2024, 6, 1), date(2024, 6, 30)))
    placed = route(made.requests, book, ENGINE, demand=made.demand).column >= 0
    loan = int(made.requests.loan_id[placed][-1])
    why = explain_loan(made.requests, book, loan, made.demand)
    assert all("excluded" not in each for each in why["candidates"])
    assert why["candidates"]
    assert all(each["name"].startswith("bank ") for each in why["candidates"])
    assert all(name.startswith("bank ") and reason for name, reason in why["excluded"].items())


def test_a_replay_with_nothing_to_place_shows_no_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stream = tmp_path / "STREAM.csv"
    stream.write_text(
        "requested_at,loan_id,product,amount_minor,months,rate_ppm,grade,region,channel\n"
        "2024-06-01T08:00:00+08:00,16385,instalment,500000,12,240000,3,1,1\n"
    )
    take = "{amount: 500, shortfall_fee: 10%}"
    book = tmp_path / "MANDATES.yaml"
    book.write_text(document(source(minimum_take=take, amount="{from: 10000}"), top=PERIOD))
    assert main(["match", "replay", str(stream), str(book)]) == 0
    told = capsys.readouterr().out
    assert "nothing could be placed at a gain" in told
    assert "%" not in told
    policies = replay_files(stream, book).as_dict()["policies"]
    assert {each["captured_ppm"] for each in policies} == {0}
    assert all(each["margin_minor"] < 0 for each in policies)
