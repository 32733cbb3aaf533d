"""`usance match`: streams, plans, replays and explanations, file in, file out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import (
    AsJson,
    number,
    print_answer,
    print_line,
    print_table,
    show_help,
)
from usance.base.rates import PPM, percent_of

if TYPE_CHECKING:
    from usance.match.backtest.replay import Replay

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

StreamFile = Annotated[Path, typer.Argument(metavar="STREAM.csv", help="Requests, in order.")]
DemandFile = Annotated[Path, typer.Argument(metavar="DEMAND.csv", help="Demand by segment.")]
MandatesFile = Annotated[Path, typer.Argument(metavar="MANDATES.yaml", help="Mandates.")]
_BUDGETS = ("total", "month", "day")
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, help="Of every random draw.")]
Forecast = Annotated[
    Path | None,
    typer.Option("--demand", metavar="FILE", help="A forecast; else DEMAND.csv beside the stream."),
]


@app.callback()
def match(ctx: typer.Context) -> None:
    """Match loans with funding sources."""
    show_help(ctx)


@app.command()
def stream(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="steady, seasonal, drifting …")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the files.")],
    seed: Seed = 1,
    requests: Annotated[int, typer.Option(min=1, max=20_000_000, help="How many.")] = 100_000,
    sources: Annotated[int, typer.Option(min=1, max=2_000, help="How many.")] = 160,
    segments: Annotated[int, typer.Option(min=1, max=50_000, help="Kinds of request.")] = 400,
    as_json: AsJson = False,
) -> None:
    """Write STREAM.csv, MANDATES.yaml and DEMAND.csv of a made-up stream."""
    from usance.base.atomic_files import naming_failures
    from usance.base.errors import unknown
    from usance.match.backtest.streams import StreamKind, make_stream

    names = {each.value: each for each in StreamKind}
    if kind not in names:
        raise unknown("kind of stream", kind, names)
    made = make_stream(
        names[kind], seed=seed, requests=requests, sources=sources, segments=segments
    )
    with naming_failures(out):
        made.write(out)
    if as_json:
        print_answer({"folder": str(out), "requests": len(made.requests), "sources": sources})
        return
    print_line(f"{len(made.requests)} requests and {sources} sources in {out}")


@app.command()
def requests(
    table: Annotated[Path, typer.Argument(metavar="FILE", help="Your requests: CSV or Parquet.")],
    mandates_file: MandatesFile,
    mapping: Annotated[Path, typer.Option("--map", metavar="FILE", help="Its own names.")],
    out: Annotated[Path, typer.Option("--out", metavar="STREAM.csv", help="File to write.")],
    as_json: AsJson = False,
) -> None:
    """Make a stream of your own requests, under their own names of columns."""
    from usance.base.column_files import ColumnNames
    from usance.match.mandates.file import read_mandates
    from usance.match.own_requests import write_own_requests

    mandates = read_mandates(mandates_file)
    count = write_own_requests(table, out, ColumnNames.read(mapping), mandates)
    if as_json:
        print_answer({"file": str(out), "requests": count})
        return
    print_line(f"{count:,} requests in {out}")


@app.command()
def check(mandates_file: MandatesFile, as_json: AsJson = False) -> None:
    """Check a file of mandates; print its limits, or all its problems."""
    from usance.match.mandates.file import read_mandates
    from usance.match.mandates.limits import list_limits

    mandates = read_mandates(mandates_file)
    limits = list_limits(mandates)
    if as_json:
        rows = [{"limit": each.number, "what": each.text} for each in limits]
        print_answer({"mandates": len(mandates.mandates), "limits": rows})
        return
    print_line(f"{len(mandates.mandates)} mandates, {len(limits)} limits, no contradiction")


@app.command()
def forecast(
    history: Annotated[Path, typer.Argument(metavar="HISTORY.csv", help="Requests, in order.")],
    out: Annotated[Path, typer.Option("--out", metavar="DEMAND.csv", help="File to write.")],
    days: Annotated[int, typer.Option(min=1, max=1_000, help="Days to forecast.")] = 30,
    mandates_file: Annotated[
        Path | None, typer.Option("--mandates", metavar="FILE", help="For names and time zone.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Forecast demand by segment and day from a history of requests."""
    from usance.match.plan.demand_from_history import forecast_file

    answer = forecast_file(history, out, days=days, mandates_file=mandates_file).as_dict()
    if as_json:
        print_answer(answer)
        return
    print_line(
        f"{answer['requests']} requests ({answer['requests_low']} to {answer['requests_high']}) "
        f"in {answer['segments']} segments from {answer['from']} to {answer['to']} in {out}"
    )


@app.command()
def plan(demand_file: DemandFile, mandates_file: MandatesFile, as_json: AsJson = False) -> None:
    """Plan demand over sources: the amount of each, and the price of every limit."""
    from usance.match.plan.planner import plan_files
    from usance.match.presentation import plan_flows, print_limit_costs, print_plan_flows

    made = plan_files(demand_file, mandates_file)
    answer = made.as_dict() | {"flows": plan_flows(made)}
    if as_json:
        none = "the source has no such budget"
        print_answer(answer, missing={f"{each}_budget_used_ppm": none for each in _BUDGETS})
    else:
        _show_plan(answer, made.mandates.currency)
        print_plan_flows(answer["flows"], made.mandates.currency)
        print_limit_costs(answer, made.mandates.currency)
    if not made.feasible:
        raise typer.Exit(1)


def _show_plan(answer: dict[str, Any], currency: str) -> None:
    if answer["conflicts"]:
        print_line("no plan meets every limit; this is the nearest that can be met")
    print_line(
        f"{number(answer['placed_minor'], currency)} of "
        f"{number(answer['demand_minor'], currency)} {currency} placed, "
        f"margin {number(answer['margin_minor'], currency)}"
    )
    for each in answer["conflicts"]:
        way = f"gives way by {number(each['relaxed_minor'], currency)} {currency}"
        print_line(f"{each['what']}: {way if each['relaxed_minor'] else 'stands in the way'}")
    used = tuple(f"{each}_budget_used_ppm" for each in _BUDGETS)
    rows = [
        [e["name"], number(e["planned_minor"], currency), *(percent_of(e[name]) for name in used)]
        for e in answer["sources"]
    ]
    print_table(["source", "planned", "of its total", "of its months", "of its days"], rows)


@app.command()
def replay(
    ctx: typer.Context,
    stream_file: StreamFile,
    mandates_file: MandatesFile,
    demand_file: Forecast = None,
    seed: Seed = 1,
    attempts: Annotated[int, typer.Option(min=1, max=32, help="Sources asked at most.")] = 8,
    releases: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Principal that comes back: CSV by day.")
    ] = None,
    routing: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the engine's routing: Parquet, or .csv."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay a stream by this engine and four baseline policies, against the hindsight bound."""
    from usance.base.atomic_files import check_writable, naming_failures
    from usance.match.backtest.replay import replay_files

    if routing is not None:
        check_writable(routing)
    done = replay_files(
        stream_file, mandates_file, demand_file, seed=seed, attempts=attempts, clock=_clock(ctx),
        releases_file=releases,
    )  # fmt: skip
    if routing is not None:
        from usance.match.router.requests import loan_refs
        from usance.match.router.routing_table import write_routing

        with naming_failures(routing):
            write_routing(routing, done.runs[0].result, loan_refs(stream_file, done.mandates))
    answer = done.as_dict()
    if as_json:
        forecast = "a forecast was given, so none was made in hindsight"
        print_answer(answer, missing={"with_perfect_forecast_minor": forecast})
        return
    print_line(
        f"{done.requests} requests, {done.sources} sources, forecast {done.forecast}; "
        f"hindsight {number(done.bound.bound_minor, done.currency)} {done.currency}"
    )
    if done.bound.bound_minor <= 0:
        print_line("nothing could be placed at a gain, so no share of it is captured")
    elif done.foreseen_minor is not None:
        known = percent_of(done.foreseen_minor * PPM // done.bound.bound_minor)
        print_line(f"without a forecast; one that knew this stream would have captured {known}")
    headings = ["policy", "captured", "regret/loan", "broken", "fallbacks", "no source", "µs"]
    print_table(headings, [_row(each, done) for each in answer["policies"]])


@app.command()
def explain(
    stream_file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Stream; demand for --limit.")
    ],
    mandates_file: MandatesFile,
    loan: Annotated[str, typer.Option(metavar="ID", help="A loan: its own name, or its id.")] = "",
    source: Annotated[int, typer.Option(metavar="N", help="A source.")] = 0,
    limit: Annotated[int, typer.Option(metavar="N", help="A limit.")] = 0,
    demand_file: Forecast = None,
    seed: Seed = 1,
    as_json: AsJson = False,
) -> None:
    """Explain a loan, a source, or a limit; for a limit FILE is a demand forecast."""
    from usance.match.mandates.file import read_mandates
    from usance.match.presentation import (
        print_explained_limit,
        print_explained_loan,
        print_explained_source,
    )
    from usance.match.router.explanation import explain_files

    mandates = read_mandates(mandates_file)
    answer = explain_files(stream_file, mandates, demand_file, loan, source, limit, seed)
    if as_json:
        print_answer(answer, missing={"next_best": "no other source could have been asked",
                                      "loan_ref": "the stream keeps no names of its own"}
                     )  # fmt: skip
        return
    show = (
        print_explained_loan if loan else print_explained_source if source
        else print_explained_limit
    )  # fmt: skip
    show(answer, mandates.currency)


def _clock(ctx: typer.Context) -> Callable[[], int]:
    """Nanoseconds by the command line's own clock."""
    return lambda: int(ctx.obj.now().timestamp() * 1_000_000) * 1_000


def _row(each: dict[str, Any], done: Replay) -> list[str]:
    return [
        each["title"],
        percent_of(each["captured_ppm"]) if done.bound.bound_minor > 0 else "–",
        number(each["regret_per_loan_minor"], done.currency),
        str(each["violations"] + each["concentration_limits_broken"]),
        str(each["fallbacks"]),
        str(each["no_source"]),
        f"{each['nanoseconds_per_decision'] / 1000:.2f}",
    ]
