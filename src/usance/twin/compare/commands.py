"""The command `usance twin compare`."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.command_line import print_json, print_line, print_table, show_help
from usance.base.documents import parse_json, read_text
from usance.base.errors import DocumentError, InputError
from usance.twin.run.options import parse_scale

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
