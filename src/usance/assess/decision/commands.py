"""The commands of decisions: `usance assess decide`, `replay`, `backtest`, `report`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.codes import DEFAULT_PACK
from usance.base.command_line import (
    AsJson,
    PackName,
    Session,
    null_names,
    print_answer,
    print_line,
    print_note,
    print_pairs,
    print_table,
    show_help,
)

app = typer.Typer(rich_markup_mode=None, add_completion=False)

Input = Annotated[Path, typer.Argument(metavar="INPUT", help="A request: JSON or YAML.")]
FlowName = Annotated[
    str, typer.Option("--flow", metavar="FLOW", help="A flow folder, or one that comes along.")
]
LogFolder = Annotated[Path, typer.Argument(metavar="LOG", help="The folder of a decision log.")]


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
    mapping: Annotated[
        Path | None, typer.Option("--map", metavar="MAP", help="Columns of the file, by input.")
    ] = None,
    identity: Annotated[str, typer.Option("--id", metavar="COL", help="A column to keep.")] = "",
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="Decisions of many: .csv, .parquet, .jsonl."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Decide one request, or a CSV or Parquet file of many, by a flow, with reasons."""
    if file.suffix in (".csv", ".gz", ".parquet"):
        _decide_file(ctx.obj, file, flow, pack, mapping, identity, out, as_json)
        return
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
        unknown_inputs = null_names(shown.get("inputs", {}))
        print_answer(
            shown,
            missing=dict.fromkeys(sorted(unknown_inputs), "not known for this request"),
        )
        return
    _print_decision(shown, CountryPack.load(pack).currency)


def _decide_file(
    session: Session, file: Path, flow: str, pack: str, mapping: Path | None, identity: str,
    out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    from usance.assess.applicant_file import read_table
    from usance.assess.decision.applicant_columns import decision_table, flow_columns
    from usance.assess.decision.columns import decide_columns
    from usance.assess.flow.files import read_flow
    from usance.base.codes import DecisionKind
    from usance.base.column_files import ColumnNames
    from usance.base.packs import CountryPack
    from usance.base.table_files import check_table_place, print_table_rows

    if out is not None:
        check_table_place(out)
    read, rules = read_flow(flow), CountryPack.load(pack)
    table = read_table(file, ColumnNames.read(mapping) if mapping else None)
    columns = flow_columns(
        table, read, DecisionKind.APPLICATION, rules.parameters, session.today(rules)
    )
    decided = decide_columns(read, DecisionKind.APPLICATION, columns)
    print_table_rows(decision_table(table, decided, identity), out, as_json=as_json)
    said = f"{int(decided.approved.sum()):,} of {table.rows:,} approved"
    said += f", {int(decided.referred.sum()):,} referred" if decided.referred.any() else ""
    print_note(said if out is None else f"{said}, written to {out}")


flow_app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)
app.add_typer(flow_app, name="flow")


@flow_app.callback()
def flows(ctx: typer.Context) -> None:
    """Make a decision flow."""
    show_help(ctx)


@flow_app.command()
def use(
    ctx: typer.Context,
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="FLOW", help="A new folder.")],
    cut_off: Annotated[
        str, typer.Option(metavar="RATE", help="Decline above this probability of default.")
    ] = "10%",
    as_json: AsJson = False,
) -> None:
    """Put a trained model into a decision flow that is ready to decide."""
    from usance.assess.flow.from_model import flow_of_model
    from usance.base.fields import rate_of
    from usance.base.rates import PPM

    session: Session = ctx.obj
    cut = rate_of(0, PPM)(cut_off, "--cut-off")
    made = flow_of_model(model, out, cut_off_ppm=cut, valid_from=session.today())
    if as_json:
        print_answer(
            {"flow": str(out), "inputs": len(made.inputs), "cut_off_ppm": cut},
            [f"Approve the model: usance assess approve {out / 'model'} --by NAME"],
        )
        return
    print_line(f"{out}: {len(made.inputs)} inputs, declines above {cut_off}.")
    print_line(f"Approve the model: usance assess approve {out / 'model'} --by NAME")
    print_line(f"Then decide: usance assess decide APPLICANTS.csv --flow {out}")


@app.command()
def replay(log: LogFolder, as_json: AsJson = False) -> None:
    """Decide every stored decision again and name what differs; exit code 1 if something does."""
    from dataclasses import asdict

    from usance.assess.backtest import replay_log

    found = replay_log(log)
    if as_json:
        print_answer(asdict(found))
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
        print_answer(found.as_dict())
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
        print_answer(found)
        return
    print_line(f"{', '.join(files)} in {out}")


def _document(file: Path) -> Any:
    from usance.base.documents import read_document

    return read_document(file)


def _request(file: Path) -> Any:
    from usance.assess.decision.request import read_request
    from usance.base.document_places import document_places
    from usance.base.documents import read_text

    return read_request(_document(file), document_places(str(file), partial(read_text, file)))


def _print_decision(shown: dict[str, Any], currency: str) -> None:
    from usance.base.money import Money

    def percent(ppm: int) -> str:
        return f"{ppm / 10_000:g}%"

    said = "approved" if shown["approved"] else f"declined by {shown['declined_by']}"
    said = f"referred by {shown['referred_by']}" if shown["referred_by"] else said
    pairs = [("decision", shown["decision"]), ("outcome", said)]
    pairs += [
        (label, written(shown[name]))
        for name, label, written in (
            ("score", "score", str), ("grade", "grade", str),
            ("pd_ppm", "probability of default", percent),
            ("line_minor", "line", lambda minor: str(Money(minor, currency))),
            ("rate_ppm", "rate a year", percent),
        )
        if shown[name]
    ]  # fmt: skip
    pairs += [(f"reason {each['code']}", each["text"]) for each in shown["reasons"]]
    pairs += [("note", note) for note in shown["notes"]]
    flow = shown["flow"]
    pairs.append(("flow", f"{flow['name']} {flow['number']}, {flow['sha256'][:12]}"))
    print_pairs(pairs)
