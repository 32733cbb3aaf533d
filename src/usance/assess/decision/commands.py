"""The commands of decisions: `usance assess decide`, `replay`, `backtest`, `report`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.codes import DEFAULT_PACK
from usance.base.command_line import (
    PackName,
    Session,
    print_json,
    print_line,
    print_pairs,
    print_table,
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)

Input = Annotated[Path, typer.Argument(metavar="INPUT", help="A request: JSON or YAML.")]
FlowName = Annotated[
    str, typer.Option("--flow", metavar="FLOW", help="A flow folder, or one that comes along.")
]
LogFolder = Annotated[Path, typer.Argument(metavar="LOG", help="The folder of a decision log.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def decisions() -> None:
    """Decide, replay and report."""


@app.command()
def decide(
    ctx: typer.Context,
    file: Input,
    flow: FlowName = "consumer",
    log: Annotated[
        Path | None, typer.Option("--log", metavar="LOG", help="Append the decision there.")
    ] = None,
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Decide one request by a flow, with reasons."""
    from usance.assess.decision.decide import Decider
    from usance.assess.decision.log import Log
    from usance.assess.flow.files import read_flow
    from usance.base.packs import CountryPack

    session: Session = ctx.obj
    read = read_flow(flow)
    decider = Decider(read, parameters=CountryPack.load(pack).parameters)
    decision = decider.decide(_request(file), session.now)
    if log is not None:
        with Log(log) as opened:
            opened.append(decision, read)
    shown = decision.as_dict(read)
    if as_json:
        print_json(shown)
        return
    _print_decision(shown)


@app.command()
def replay(log: LogFolder, as_json: AsJson = False) -> None:
    """Decide every stored decision again and name what differs; exit code 1 if something does."""
    from dataclasses import asdict

    from usance.assess.backtest import replay_log

    found = replay_log(log)
    if as_json:
        print_json(asdict(found))
    else:
        print_pairs(
            [("decisions", f"{found.decisions:,}"), ("flows", str(found.flows)),
             ("differences", str(len(found.differences)))]
        )  # fmt: skip
        for each in found.differences[:20]:
            what = f"{each.name} was {each.stored} and is {each.again}"
            print_line(f"{each.decision_id}: {what}")
    if found.differences:
        raise typer.Exit(1)


@app.command()
def backtest(
    log: LogFolder,
    flow: FlowName,
    months: Annotated[int, typer.Option(min=1, max=360, help="Tenor of the offers.")] = 12,
    funding: Annotated[str, typer.Option(metavar="RATE", help="Annual cost of funds.")] = "4.3%",
    as_json: AsJson = False,
) -> None:
    """Decide a log again with a candidate flow: who swaps sides, and what it is worth."""
    from usance.assess.backtest import backtest as tested
    from usance.assess.flow.files import read_flow
    from usance.assess.offer.profit import read_economics
    from usance.base.fields import rate_of
    from usance.base.rates import PPM

    cost = rate_of(0, PPM)(funding, "--funding")
    found = tested(log, read_flow(flow), read_economics(), months=months, funding_ppm=cost)
    if as_json:
        print_json(found.as_dict())
        return
    rows = [
        [swap.kind.replace("_", " "), f"{swap.decisions:,}", f"{swap.stored_profit_minor:,}",
         f"{swap.candidate_profit_minor:,}"]
        for swap in found.swaps
    ]  # fmt: skip
    print_table(["", "decisions", "profit as decided", "profit of candidate"], rows)
    print_line(f"gain {found.gain_minor:,} minor units on {found.decisions:,} decisions")


@app.command()
def report(
    file: Input,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the files go.")],
    flow: FlowName = "consumer",
    as_json: AsJson = False,
) -> None:
    """Write the pre-loan investigation report of a request: HTML and JSON."""
    from usance.assess.decision.investigation import investigate, write_report
    from usance.pages.reports.pre_loan_report import pre_loan_report

    found = investigate(_document(file), str(file), flow)
    files = write_report(found, out, pre_loan_report)
    if as_json:
        print_json(found)
        return
    print_line(f"{', '.join(files)} in {out}")


def _document(file: Path) -> Any:
    from usance.base.documents import read_document

    return read_document(file)


def _request(file: Path) -> Any:
    from usance.assess.decision.request import read_request
    from usance.base.documents import read_text
    from usance.base.fields import document_places

    return read_request(_document(file), document_places(str(file), partial(read_text, file)))


def _print_decision(shown: dict[str, Any]) -> None:
    said = "approved" if shown["approved"] else f"declined by {shown['declined_by']}"
    pairs = [("decision", shown["decision"]), ("outcome", said)]
    names = ("score", "grade", "pd_ppm", "line_minor", "rate_ppm")
    pairs += [(name, str(shown[name])) for name in names if shown[name]]
    pairs += [(f"reason {each['code']}", each["text"]) for each in shown["reasons"]]
    pairs += [("note", note) for note in shown["notes"]]
    flow = shown["flow"]
    pairs.append(("flow", f"{flow['name']} {flow['number']}, {flow['sha256'][:12]}"))
    print_pairs(pairs)
