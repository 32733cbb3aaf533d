"""`usance collect train` and `watch`: C-scores of a live lender from its own tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import AsJson, print_answer, print_line, print_table
from usance.platform.desk.collection_settings import C_SCORES, MODEL_FILES
from usance.platform.terminal.homes import on_platform
from usance.platform.terminal.up import Home

if TYPE_CHECKING:
    from usance.assess.scoring.model import Model
    from usance.platform.desk.c_scores import CaseHistory
    from usance.platform.live import Platform

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def train(
    home: Home,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the model goes.")],
    target: Annotated[str, typer.Option(help="unpaid, rolled, missed, missed_voice …")] = "unpaid",
    proposer: Annotated[
        str, typer.Option("--as", metavar="NAME", help="Whoever proposes it; else it is kept.")
    ] = "",
    valid_from: Annotated[
        str, typer.Option(metavar="DAY", help="First day in force; else the business date.")
    ] = "",
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same model.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Train a C-score on a lender's own cases, and propose it: two people have to agree."""
    from usance.assess.training.train import write_model
    from usance.base.dates import parse_date
    from usance.pages.reports.model_card import model_card
    from usance.platform.desk.c_scores import trained

    first = parse_date(valid_from, where="--valid-from") if valid_from else None
    model = trained(on_platform(home, _history), target, seed=seed)
    write_model(model, out, model_card)
    proposal = (
        on_platform(home, lambda platform: _propose(platform, proposer, target, out, first))
        if proposer
        else None
    )
    held = model.info["held_out"][model.kind]
    data = model.info["data"]
    told = {
        "target": target,
        "rows": data["rows"],
        "bad": data["bads"],
        "kind": model.kind,
        "auc": held["auc"],
        "ece10": held["ece10"],
        "out": str(out),
        "proposal": proposal,
    }

    if as_json:
        print_answer(
            told, missing={} if proposal else {"proposal": "nobody proposed it: --as NAME"}
        )
        return
    print_line(f"{told['rows']:,} case days, {told['bad']:,} of them {target}; "
               f"AUC {held['auc']:.4f}, calibration error {held['ece10']:.4f}")  # fmt: skip
    print_line(f"The model and its card are in {out}.")
    if proposal:
        print_line(f"{proposal['approval']} waits for {proposal['needed']} people")


@app.command()
def watch(home: Home, as_json: AsJson = False) -> None:
    """Watch the C-scores in force: drift, true probabilities, ranks; ends with 1 if any alarms."""
    from usance.platform.desk.c_scores import watched

    history, models = on_platform(home, _in_force)
    found = [(target, is_judged, month) for target, model in models.items()
             for is_judged, month in watched(model, history, target)]  # fmt: skip
    if as_json:
        unknown = dict.fromkeys(("bad_rate", "auc"), "outcomes are not known yet")
        rows = [{"target": target, "outcomes_known": is_judged, **month.as_dict()}
                for target, is_judged, month in found]  # fmt: skip
        print_answer(rows, missing=unknown)
    elif not models:
        print_line("no C-score is in force")
    else:
        head = ["score", "month", "cases", "PSI", "stated", "observed", "AUC", "state"]
        print_table(head, [
            [target, each.month, f"{each.rows:,}", f"{each.psi:.3f}", f"{each.stated:.1%}",
             "" if each.bad_rate is None else f"{each.bad_rate:.1%}",
             "" if each.auc is None else f"{each.auc:.3f}", each.state]
            for target, _, each in found])  # fmt: skip
        for target, _, each in found:
            for note in each.notes:
                print_line(f"{target} {each.month}: {note}")
    if any(each.state == "alarm" for _, _, each in found):
        raise typer.Exit(1)


async def _history(platform: Platform) -> CaseHistory:
    from usance.platform.desk.c_scores import case_history

    async with platform.database.transaction(0) as transaction:
        return await case_history(transaction)


async def _in_force(platform: Platform) -> tuple[CaseHistory, dict[str, Model]]:
    from usance.platform.commands.unit_of_work import now
    from usance.platform.desk.c_scores import case_history

    async with platform.database.transaction(0) as transaction:
        moment = await now(transaction, platform.services)
        first = await transaction.fetchval(
            "select min(valid_from) from usance.settings where kind = 'c_score'"
        )
        history = await case_history(transaction, first)
    models = moment.lender.collections.models
    return history, {name: models[name] for name in C_SCORES if name in models}


async def _propose(
    platform: Platform, proposer: str, target: str, folder: Path, first: Any
) -> dict[str, Any]:
    """A proposal to put a model in force."""
    if first is None:
        async with platform.database.transaction(0) as transaction:
            first = await transaction.fetchval("select business_date from usance.installation")
    files = {name: (folder / name).read_text(encoding="utf-8") for name in MODEL_FILES}
    body = {"target": target, "files": files, "valid_from": first}
    outcome = await platform.do(await platform.principal(proposer), "c_score.put", body)
    return dict(outcome.answer)
