"""The commands of the room: `usance measure …`."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.atomic_files import check_file_place, check_folder_place
from usance.base.command_line import (
    AsJson,
    print_answer,
    print_json,
    print_line,
    print_pairs,
    print_table,
    show_help,
)
from usance.base.dates import parse_date

if TYPE_CHECKING:
    from usance.base.periods import MetricPeriod
    from usance.measure.inputs import Role

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

BookFolder = Annotated[
    Path, typer.Argument(metavar="BOOK", help="A book, or a folder of Parquet tables.")
]
AsOf = Annotated[str, typer.Option("--as-of", metavar="DATE", help="The day, such as 2024-06-30.")]
Period = Annotated[
    str | None,
    typer.Option(
        "--period", metavar="P", help="2024-06, 2024Q2, 2024H1 or 2024; else the quarter."
    ),
]
Engine = Annotated[str, typer.Option("--engine", help="duckdb or spark.")]
Roles = Annotated[
    Path | None,
    typer.Option(
        "--roles", metavar="FILE", help="Accounts of each role, if not those of the closes."
    ),
]


@app.callback()
def measure(ctx: typer.Context) -> None:
    """Measure a loan tape or a book."""
    show_help(ctx)


@app.command()
def tape(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="CSV, .csv.gz or Parquet.")],
    mapping: Annotated[
        Path, typer.Option("--map", metavar="MAP", help="What its columns and statuses mean.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write the whole report there.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a loan tape: roll rates, transitions, vintages, cohorts, waterfall."""
    from usance.measure.tape.report import measure_tape, summary, write_report
    from usance.pages.reports.tape_report import tape_files

    if out:
        check_folder_place(out, "--out")
    report = measure_tape(file, mapping)
    files = write_report(report, out, tape_files) if out else []
    shown = summary(report)
    if as_json:
        print_json(shown | {"files": files})
        return
    print_pairs(
        [
            ("loans", f"{report.loans:,}"),
            ("loan-months", f"{report.rows:,}"),
            ("gaps", f"{shown['gaps']:,}"),
            ("rows not used", f"{report.unused:,}"),
            *((f"ever more than {n} days", f"{count:,}") for n, count in report.ever.items()),
        ]
    )
    if out:
        print_line(f"{len(files)} files in {out}, the page is {out / 'index.html'}")


@app.command()
def book(
    book_folder: BookFolder,
    as_of: AsOf,
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="A metric; may be repeated; else all.")
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", help="A dimension; may be repeated.")
    ] = None,
    period: Period = None,
    engine: Engine = "duckdb",
    roles: Roles = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write the metrics as Parquet.")
    ] = None,
    charts: Annotated[
        Path | None, typer.Option("--charts", metavar="DIR", help="Draw curves there, as SVG.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Publish the metrics in the book.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure a book: every metric, or those named, by any dimension."""
    from usance.measure.inputs import Inputs
    from usance.measure.metrics import measure as measured
    from usance.measure.publication import publish_metrics, write_metrics

    day, over = _when(as_of, period)
    if out:
        check_file_place(out, "--out")
    if charts:
        check_folder_place(charts, "--charts")
    results = measured(
        Inputs.open(book_folder), metric or (), as_of=day, period=over, by=by or (),
        engine=engine, roles=_roles(roles),
    )  # fmt: skip
    if out:
        write_metrics(results, out)
    if charts:
        from usance.pages.reports.tape_report import write_metric_charts

        write_metric_charts(results, charts)
    if keep:
        publish_metrics(results, book_folder, day)
    if as_json:
        print_answer(
            [each.as_dict() for each in results],
            missing={"value": "there is no data; 'note' of the row says why"},
        )
        return
    shown = [each for each in results if each.series == "as_reported"]
    print_table(
        ["metric", "period", "segment", "value", ""],
        [
            [each.definition.name, each.period, each.segment_label, each.formatted,
             each.note if each.complete else "incomplete"]
            for each in shown
        ],
    )  # fmt: skip


@app.command()
def curves(
    book_folder: BookFolder,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Write the curves as JSON.")],
    cohorts: Annotated[int, typer.Option(min=1, help="The last so many cohorts.")] = 12,
    as_json: AsJson = False,
) -> None:
    """Measure default, prepayment and recovery by grade and age, to project deals by."""
    import json

    from usance.base.atomic_files import replace
    from usance.measure.curves import curves_of
    from usance.measure.inputs import Inputs

    check_file_place(out, "--out")
    found = curves_of(Inputs.open(book_folder), cohorts)
    replace(out, (json.dumps(found, indent=2) + "\n").encode())
    if as_json:
        print_answer({"file": str(out), "grades": len(found["segments"])})
        return
    print_line(f"curves of {len(found['segments'])} grades written to {out}")


@app.command()
def rows(
    book_folder: BookFolder,
    metric: Annotated[str, typer.Option("--metric", help="The metric.")],
    as_of: AsOf,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="KEY=NUMBER", help="The segment, as in the results."),
    ] = None,
    part: Annotated[str, typer.Option("--part", help="numerator or denominator.")] = "numerator",
    period: Period = None,
    limit: Annotated[int, typer.Option("--limit", min=0, help="At most so many rows.")] = 100,
    loans: Annotated[bool, typer.Option("--loans", help="Go on to the loans of each row.")] = False,
    roles: Roles = None,
    as_json: AsJson = False,
) -> None:
    """List the rows behind a figure, as CSV."""
    from usance.base.command_line import print_csv
    from usance.measure.drill import rows_of_figure

    day, over = _when(as_of, period)
    names, listed = rows_of_figure(
        book_folder, metric, day, over, where or (), part, limit, _roles(roles), loans=loans
    )
    if as_json:
        print_answer([dict(zip(names, row, strict=True)) for row in listed])
    else:
        print_csv(names, listed)


@app.command()
def definitions(as_json: AsJson = False) -> None:
    """List every metric with its definition."""
    from usance.measure.definitions import load_definitions

    every = [one for versions in load_definitions().values() for one in versions]
    if as_json:
        print_answer(
            [
                {"metric": one.name, "version": one.version, "valid_from": one.valid_from,
                 "unit": one.unit, "sentence": one.sentence}
                for one in every
            ]
        )  # fmt: skip
        return
    print_pairs([(f"{one.name} v{one.version}", one.sentence) for one in every])


def _when(as_of: str, period: str | None) -> tuple[date, MetricPeriod | None]:
    from usance.base.periods import MetricPeriod as Named

    over = Named.of(period, where="--period") if period else None
    return parse_date(as_of, where="--as-of"), over


def _roles(path: Path | None) -> dict[str, Role] | None:
    from usance.measure.drill import read_roles

    return read_roles(path) if path else None
