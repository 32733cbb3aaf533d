"""The command `usance twin calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from usance.base.command_line import AsJson, print_answer, print_line, print_table, show_help
from usance.base.documents import read_text

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


@app.callback()
def twin(ctx: typer.Context) -> None:
    """The whole life of a portfolio on columns."""
    show_help(ctx)


@app.command("calibrate")
def calibrate_command(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="A name or a .yaml file.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the scenario is written.")],
    targets: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The figures it is fitted to.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fit how borrowers behave to published figures, and write the scenario with what was found."""
    from usance.twin.calibrate.fitted_text import FittedText, check_out, write_out
    from usance.twin.calibrate.search import fit_scenario
    from usance.twin.calibrate.targets import read_targets, targets_of
    from usance.twin.run.options import named_scenario
    from usance.world.scenario.file import scenario_path

    given, path = named_scenario(scenario), scenario_path(scenario)
    text = FittedText.of(read_text(path), where=str(path))
    figures = targets or targets_of(scenario)
    read = read_targets(figures, given)
    check_out(out, figures)
    fit = fit_scenario(given, read).as_dict()
    write_out(out, text.with_values(fit["fitted"]))
    if as_json:
        print_answer({**fit, "file": str(out)})
        return
    head = ["figure", "period", "published", "expected", "error", "tolerance"]
    print_table(head, [
        [row["figure"], row["period"], *(_shown(row["figure"], row[key]) for key in head[2:4]),
         f"{row['error']:+.1%}", f"{row['tolerance']:.0%}"]
        for row in fit["residuals"]
    ])  # fmt: skip
    print_line(f"objective {fit['objective']:.4f} after {fit['steps']} steps")
    for key, value in fit["fitted"].items():
        print_line(f"{key} {value if isinstance(value, str) else ', '.join(value)}")
    print_line(f"written to {out}")


def _shown(figure: str, value: float) -> str:
    return f"{value / 1e8:,.0f} million" if figure == "balance" else f"{value:.2%}"
