"""`usance assess`: train, evaluate, score, monitor and approve a credit model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.command_line import (
    AsJson,
    Session,
    print_answer,
    print_csv,
    print_json,
    print_line,
    print_pairs,
    print_table,
    print_warning,
    show_help,
)

if TYPE_CHECKING:
    from usance.assess.applicant_file import Table
    from usance.assess.scoring.model import Model
    from usance.base.arrays import F64
    from usance.base.column_files import ColumnNames

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Data = Annotated[Path, typer.Argument(metavar="DATA", help="Applicants: CSV, csv.gz or Parquet.")]
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A model folder.")]
Target = Annotated[str, typer.Option(metavar="COL", help="The outcome: 1 is bad, 0 is good.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the model goes.")]
Split = Annotated[str, typer.Option(metavar="COL=VALUE", help="Use these rows only.")]
Mapping = Annotated[
    Path | None,
    typer.Option("--map", metavar="FILE", help="Its own columns and ways to write, YAML."),
]
Threads = Annotated[
    int, typer.Option(min=0, max=1_024, metavar="N", help="Threads; 0 takes every core.")
]


@app.callback()
def assess(ctx: typer.Context) -> None:
    """Train and use credit models."""
    show_help(ctx)


@app.command()
def train(
    data: Data,
    target: Target,
    out: Out,
    identity: Annotated[str, typer.Option("--id", metavar="COL", help="A unique id.")] = "",
    time: Annotated[str, typer.Option(metavar="COL", help="The date of application.")] = "",
    exclude: Annotated[str, typer.Option(metavar="COL,...", help="Columns to leave out.")] = "",
    keep: Annotated[str, typer.Option(metavar="COL,...", help="Overrule the leak guard.")] = "",
    groups: Annotated[str, typer.Option(metavar="COL,...", help="Report fairness by these.")] = "",
    monotone: Annotated[
        str, typer.Option(metavar="COL:+,...", help="Risk rises (+) or falls (-) with a column.")
    ] = "",
    split: Split = "",
    pdo: Annotated[int, typer.Option(min=1, max=200, help="Points that double the odds.")] = 20,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Same seed, same model.")] = 1,
    threads: Threads = 0,
    mapping: Mapping = None,
    as_json: AsJson = False,
) -> None:
    """Fit a scorecard and trees, blend them, and write a model with its card."""
    from usance.assess.training.recipe import Recipe, read_trends
    from usance.assess.training.train import train as trained
    from usance.pages.reports.model_card import model_card

    recipe = Recipe(
        target, identity, time, _names(exclude), _names(keep), _names(groups),
        read_trends(monotone), split, pdo, seed,
    )  # fmt: skip
    made = trained(data, recipe, out, threads=threads, card=model_card, names=_own_names(mapping))
    _tell(made, out, as_json)


@app.command()
def retrain(
    folder: Folder, data: Data, out: Out, threads: Threads = 0, mapping: Mapping = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Train again on new data, with the arguments of an earlier model."""
    from usance.assess.scoring.model import load_model
    from usance.assess.training.recipe import Recipe
    from usance.assess.training.train import train as trained
    from usance.pages.reports.model_card import model_card

    recipe = Recipe.from_dict(load_model(folder).info["recipe"])
    made = trained(data, recipe, out, threads=threads, card=model_card, names=_own_names(mapping))
    _tell(made, out, as_json)


def _tell(model: object, out: Path, as_json: bool) -> None:
    from usance.assess.scoring.model import Model

    assert isinstance(model, Model)
    info = model.info
    if as_json:
        shown = ("data", "warnings", "why", "held_out", "out_of_time")
        print_json({"out": str(out), "kind": model.kind, **{name: info[name] for name in shown}})
        return
    for warning in info["warnings"]:
        print_warning(warning)
    head = ["", "AUC", "KS", "Brier", "ECE", "slope"]
    names = ("auc", "ks", "brier", "ece10", "slope")
    rows = {
        **info["held_out"],
        **({"latest months": late} if (late := info["out_of_time"]) else {}),
    }
    print_table(
        head, [[name, *(f"{row[each]:.4f}" for each in names)] for name, row in rows.items()]
    )
    print_line(info["why"])
    print_line(f"The model and its card are in {out}.")


@app.command()
def evaluate(
    folder: Folder, data: Data, target: Target = "", split: Split = "", mapping: Mapping = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Measure a model on rows with outcomes."""
    from usance.assess.applicant_file import read_table
    from usance.assess.model_quality import measures
    from usance.assess.scoring.model import load_model
    from usance.assess.training.recipe import outcomes, rows_where

    model, table = load_model(folder), rows_where(read_table(data, _own_names(mapping)), split)
    bad = outcomes(table, target or model.info["recipe"]["target"])
    inputs = model.inputs(table)
    found = measures(bad, model.score_inputs(inputs).log_odds)
    if as_json:
        print_json(found)
    else:
        _tell_unseen(model, table, inputs)
        print_pairs([(name, f"{value:.5g}") for name, value in found.items()])


@app.command()
def score(
    folder: Folder,
    data: Data,
    identity: Annotated[str, typer.Option("--id", metavar="COL", help="Print this id.")] = "",
    reasons: Annotated[bool, typer.Option("--reasons", help="Print the reasons in words.")] = False,
    texts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Words for the reasons, YAML.")
    ] = None,
    live: Annotated[bool, typer.Option("--live", help="Refuse an unapproved model.")] = False,
    mapping: Mapping = None,
    as_json: AsJson = False,
) -> None:
    """Score applicants; prints CSV."""
    from usance.assess.applicant_file import read_table
    from usance.assess.monitoring.approval import live_model
    from usance.assess.scoring.model import load_model
    from usance.assess.scoring.reasons import read_texts
    from usance.assess.scoring.reasons import reasons as explained

    model = (live_model if live else load_model)(folder)
    table = read_table(data, _own_names(mapping))
    inputs = model.inputs(table)
    if not as_json:
        _tell_unseen(model, table, inputs)
    found = model.score_inputs(inputs)
    names = table.column(identity).to_pylist() if identity else range(1, table.rows + 1)
    header = [identity or "row", "score", "pd_ppm"]
    columns = [names, found.score.tolist(), found.pd_ppm.tolist()]
    if reasons:
        header.append("reasons")
        explanations = explained(model, inputs, read_texts(texts) if texts else None)
        columns.append(["; ".join(each.text for each in row) for row in explanations])
    rows = zip(*columns, strict=True)
    if as_json:
        from usance.assess.columns import batch_unseen_warnings

        print_answer(
            [dict(zip(header, row, strict=True)) for row in rows],
            batch_unseen_warnings(model.columns, table, inputs),
        )
    else:
        print_csv(header, rows)


def _tell_unseen(model: Model, table: Table, inputs: F64) -> None:
    from usance.assess.columns import batch_unseen_warnings

    for note in batch_unseen_warnings(model.columns, table, inputs):
        print_warning(note)


@app.command()
def monitor(
    folder: Folder,
    data: Data,
    time: Annotated[str, typer.Option(metavar="COL", help="The date of application.")],
    target: Target = "",
    mapping: Mapping = None,
    as_json: AsJson = False,
) -> None:
    """Watch a model month by month; ends with 1 if there is an alarm."""
    from usance.assess.applicant_file import read_table
    from usance.assess.monitoring.monitor import monitor as watched
    from usance.assess.scoring.model import load_model

    table = read_table(data, _own_names(mapping))
    months = watched(load_model(folder), table, time=time, target=target)
    if as_json:
        print_answer(
            [month.as_dict() for month in months],
            missing={
                "auc": "not enough outcomes of both kinds in that month",
                "bad_rate": "no outcomes are known in that month",
            },
        )
    else:
        rows = [
            [
                each.month, str(each.rows), f"{each.mean_score:.0f}", f"{each.psi:.3f}",
                f"{each.stated:.4f}", _number(each.bad_rate), _number(each.auc), each.state,
            ]
            for each in months
        ]  # fmt: skip
        print_table(["month", "rows", "score", "PSI", "stated", "bad rate", "AUC", "state"], rows)
        for each in months:
            for note in each.notes:
                print_line(f"{each.month}: {note}")
    if any(each.state == "alarm" for each in months):
        raise typer.Exit(1)


@app.command()
def approve(
    ctx: typer.Context,
    folder: Folder,
    by: Annotated[str, typer.Option(metavar="NAME", help="Who approves.")],
    note: Annotated[str, typer.Option(metavar="TEXT", help="On what grounds.")] = "",
    as_json: AsJson = False,
) -> None:
    """Record who approved a model; without it the model is refused for live use."""
    from usance.assess.monitoring.approval import approve as approved

    session: Session = ctx.obj
    entry = approved(folder, by, session.today(), note)
    if as_json:
        print_answer({"model": str(folder), **entry})
        return
    print_line(f"{folder} is approved by {entry['by']} on {entry['on']}.")


def _own_names(mapping: Path | None) -> ColumnNames | None:
    """The mapping of a file, if it has one."""
    from usance.base.column_files import ColumnNames

    return ColumnNames.read(mapping) if mapping else None


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
