"""The command `usance twin compare`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.command_line import (
    print_answer,
    print_json,
    print_line,
    print_table,
    show_help,
)
from usance.base.documents import parse_json, read_text
from usance.base.errors import DocumentError, InputError
from usance.twin.run.options import First, Last, parse_scale

if TYPE_CHECKING:
    from usance.twin.compare.comparison import Compared
    from usance.twin.compare.headline import ClassCount

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)
RUN = "run.json"


@app.callback()
def twin(ctx: typer.Context) -> None:
    """The whole life of a portfolio on columns."""
    show_help(ctx)


@app.command("compare")
def compare_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")],
    facts: Annotated[list[Path], typer.Argument(metavar="FACTS.csv", help="Published figures.")],
    scale: Annotated[
        str, typer.Option(metavar="S", help="The run's scale, if run.json does not say it.")
    ] = "",
    only: Annotated[
        bool, typer.Option("--only-tolerances", help="Only lines that have a tolerance.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Set each metric and statement line of a run beside the published one."""
    from usance.base.book import Book
    from usance.twin.compare.comparison import compare_run
    from usance.twin.compare.headline import headline, judge
    from usance.twin.compare.tolerances import load_rules

    comparison = compare_run(Book.open(folder), facts, scale_of(folder, scale))
    rows, rules = comparison.rows, load_rules()
    shown = [row for row in rows if row.tolerance is not None] if only else rows
    if as_json:
        left_out = {
            reason: [fact.place() for fact in some] for reason, some in comparison.left_out.items()
        }
        compared = [
            {**row.as_dict(), **(judged.as_dict() if (judged := judge(row, rules)) else {})}
            for row in shown
        ]
        by_class = [each.as_dict() for each in headline(rows, rules)]
        print_json(
            {"compared": compared, **_counts(rows), "headline": by_class, "left_out": left_out}
        )
        return
    head = ["line", "period", "published", "run", "error", "tolerance", ""]
    print_table(head, [_cells(row) for row in shown])
    counts = _counts(rows)
    print_line(
        f"{counts['figures']} figures; {counts['within']} of {counts['with_tolerance']} "
        "lie within their tolerance"
    )
    for reason, some in comparison.left_out.items():
        if some:
            print_line(f"{len(some)} more are {reason}")
    print_line()
    print_table(
        ["class", "sample", "figures", "within", "share", "wrong sign", "inputs"],
        [_class_cells(each) for each in headline(rows, rules)],
    )


def scale_of(folder: Path, given: str = "") -> Fraction:
    """The scale of a run: as given, else what its `run.json` says."""
    fix = "Give --scale, such as 0.01 or 1/100"
    if not given:
        path = folder / RUN
        if not path.exists():
            raise InputError(f"has no {RUN}", where=str(folder), fix=fix)
        run_file = parse_json(read_text(path), where=str(path))
        given = str(run_file.get("scale", "")) if isinstance(run_file, dict) else ""
        if not given:
            raise DocumentError("names no scale", where=str(path), fix=fix)
    return parse_scale(given)


@app.command("arms")
def arms_command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a run.")],
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="What was run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read off a run what each challenger of its strategy brought, beside what was planted."""
    from usance.base.book import Book
    from usance.twin.compare.arms import arm_uplifts
    from usance.twin.run.options import named_scenario

    found = arm_uplifts(Book.open(folder), named_scenario(scenario))
    if as_json:
        print_answer([{"arm": each.arm, **each.found._asdict(), "planted": each.planted}
                      for each in found])  # fmt: skip
        return
    print_table(["arm", "late dues", "champion", "challenger", "difference", "95% from", "to",
                 "planted"], [
        [each.arm, f"{each.found.challenger_cases:,}", f"{each.found.champion:.4f}",
         f"{each.found.challenger:.4f}", f"{each.found.difference:+.4f}",
         f"{each.found.low:+.4f}", f"{each.found.high:+.4f}", f"{each.planted:+.4f}"]
        for each in found
    ])  # fmt: skip


@app.command("collection")
def collection_command(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A scenario.")],
    first: First = None,
    last: Last = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Expect what a strategy, its people and outages bring, by month, before a scenario is run."""
    from usance.base.dates import format_month
    from usance.twin.compare.expected_collection import expected_collection
    from usance.twin.run.options import named_scenario, parse_span

    given = named_scenario(scenario)
    found = expected_collection(given, *parse_span(given, first, last))
    if as_json:
        print_answer([{**each._asdict(), "month": format_month(each.month)} for each in found])
        return
    print_table(["month", "late dues", "30-day collection", "as written", "difference"], [
        [format_month(each.month), f"{each.late_ppm / 10_000:.1f}%",
         f"{each.expected_ppm / 10_000:.2f}%", f"{each.written_ppm / 10_000:.2f}%",
         f"{(each.expected_ppm - each.written_ppm) / 10_000:+.2f}"]
        for each in found
    ])  # fmt: skip


@app.command("desks")
def desks_command(
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Years, each of its own seed.")] = 5,
    arrivals: Annotated[int, typer.Option(min=1, help="New cases a day.")] = 120,
    agents: Annotated[int, typer.Option(min=1, max=500, help="People at the desk.")] = 3,
    slots: Annotated[int, typer.Option(min=1, max=480, help="Calls of each a day.")] = 80,
    days: Annotated[int, typer.Option(min=1, max=2_000, help="Working days.")] = 250,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Simulate years at a desk: what an agent's hour brings by allocation and by plain rules."""
    from usance.twin.desk_year import ALLOCATION, Desk, years

    desk = Desk(arrivals, agents, slots, days)
    made = {seed: {year.way: year for year in years(desk, seed)} for seed in range(1, seeds + 1)}
    if as_json:
        print_answer([{"seed": seed, **year._asdict(), "per_hour_minor": year.per_hour_minor}
                      for seed, by_way in made.items() for year in by_way.values()])  # fmt: skip
        return
    rows = []
    for seed, by_way in made.items():
        own = by_way[ALLOCATION].per_hour_minor
        rows += [[str(seed), way, f"{year.minutes // 60:,}", f"{year.brought_minor // 100:,}",
                  f"{year.per_hour_minor // 100:,}",
                  "-" if way == ALLOCATION else _more(own, year.per_hour_minor)]
                 for way, year in by_way.items()]  # fmt: skip
    print_table(["seed", "way", "hours", "brought", "per hour", "allocation"], rows)


def _more(own: int, other: int) -> str:
    return f"{own / other - 1:+.1%}" if other > 0 else "-"


def _counts(rows: list[Compared]) -> dict[str, int]:
    checked = [row for row in rows if row.tolerance is not None]
    within = sum(row.is_near is True for row in checked)
    return {"figures": len(rows), "with_tolerance": len(checked), "within": within}


def _class_cells(count: ClassCount) -> list[str]:
    share = f"{count.within / count.figures:.0%}" if count.figures else ""
    return [
        count.line_class, count.sample, str(count.figures), str(count.within), share,
        str(count.wrong_sign), str(count.inputs),
    ]  # fmt: skip


def _cells(row: Compared) -> list[str]:
    from usance.disclose.facts import UNITS

    digits = 0 if row.published >= 1000 * UNITS[row.unit] else 2
    published, found = (float(each / UNITS[row.unit]) for each in (row.published, row.found))
    error = "" if row.error is None else f"{float(row.error):+.1%}"
    verdict = {True: "within", False: "outside", None: ""}[row.is_near]
    return [
        row.line[:60], row.period, f"{published:,.{digits}f}", f"{found:,.{digits}f}", error,
        str(row.tolerance or ""), verdict,
    ]  # fmt: skip
