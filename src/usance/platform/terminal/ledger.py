"""`usance ledger`: the seals over what was appended, and journals that balance."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import typer

from usance.base.command_line import AsJson, print_answer, print_pairs, show_help
from usance.base.ids import print_id
from usance.platform.commands.unit_of_work import now
from usance.platform.errors import PlatformError
from usance.platform.ledger.heads import broken_heads
from usance.platform.ledger.recompute import differing_states
from usance.platform.ledger.seals import seal, verify
from usance.platform.live import Platform
from usance.platform.terminal.homes import on_platform
from usance.platform.terminal.up import Home

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)


class LedgerBroken(PlatformError):
    """Seals that do not hold, or journals that do not balance."""

    code = "platform.ledger_broken"
    exit_code = 1


@app.callback()
def ledger(ctx: typer.Context) -> None:
    """The ledger of a live lender."""
    show_help(ctx)


@app.command("seal")
def make_seals(home: Home, as_json: AsJson = False) -> None:
    """Seal what has been appended since the last seals."""

    async def work(platform: Platform) -> dict[str, int]:
        async with platform.database.transaction(0) as transaction:
            return await seal(transaction, datetime.now(UTC))

    made = on_platform(home, work)
    if as_json:
        print_answer(made)
    else:
        print_pairs([(stream, str(no)) for stream, no in made.items()])


@app.command("verify")
def check_ledger(home: Home, as_json: AsJson = False) -> None:
    """Check every seal and signed head, that journals balance, that states follow from facts."""
    found = on_platform(home, lambda platform: _ledger_findings(platform, home))
    if as_json:
        print_answer(found)
        if found:
            raise typer.Exit(LedgerBroken.exit_code)
        return
    if found:
        first = found[0]
        fix = "Compare with the last backup before anything else is done"
        raise LedgerBroken(f"{len(found)} findings, the first: {first}", where="ledger", fix=fix)
    print_pairs([("ledger", _SOUND)])


_SOUND = "every seal and head holds, every journal balances, every state follows from its facts"


async def _ledger_findings(platform: Platform, home: Path) -> list[str]:
    async with platform.database.transaction(0) as transaction:
        broken = [f"seal {each.no} of {each.stream}: {each.problem}"
                  for each in await verify(transaction)]  # fmt: skip
        broken += await broken_heads(transaction, home)
        rows = await transaction.fetch(
            "select journal_id, entity, basis from usance.postings "
            "group by journal_id, entity, basis, tag, currency having sum(amount_minor) <> 0"
        )
        lender = (await now(transaction, platform.services)).lender
        states = [
            f"the state of {print_id('ln', each.loan_id)} is not what its facts give: "
            f"{', '.join(each.fields)}"
            async for each in differing_states(transaction, lender)
        ]
        unbalanced = [f"journal {row['journal_id']} does not balance" for row in rows]
        return [*broken, *unbalanced, *states]
