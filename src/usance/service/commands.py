"""Files of banks and providers in a folder: taken, a day reconciled, a day settled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.command_line import number, print_answer, print_line, print_table

if TYPE_CHECKING:
    from datetime import date

    from usance.service.reconciliation.reconcile import Reconciliation

Folder = Annotated[Path, typer.Option("--folder", metavar="DIR", help="Files taken so far.")]


def import_file(file: Path, profile: str, folder: Path, as_json: bool) -> None:
    """Take a file: new, sent again, or a correction; refused whole if a line is wrong."""
    from dataclasses import asdict

    from usance.service.bank_files.profile import load_profile
    from usance.service.money_folder import MoneyFolder

    taken = MoneyFolder(folder).take(file, load_profile(profile))
    if as_json:
        none = "the file states no closing balance"
        print_answer(
            [asdict(each) for each in taken],
            missing={"closing_minor": none, "closing_on": none},
        )
        return
    shown = [[each.account, each.source, f"{each.lines:,}", each.outcome] for each in taken]
    print_table(["account", "view", "lines", "outcome"], shown)


def reconcile_day(
    day: str, ours: Path, folder: Path, currency: str, fee: str, as_json: bool
) -> None:
    """Compare our movements, the providers' files and the bank's statements up to a day."""
    from usance.base.dates import parse_date
    from usance.base.rates import Rate
    from usance.service.bank_files.files import read_file
    from usance.service.bank_files.profile import FileSource, load_profile
    from usance.service.money_folder import MoneyFolder
    from usance.service.reconciliation.lines import Lines
    from usance.service.reconciliation.reconcile import ClearingTerms, reconcile

    through = parse_date(day, where="DAY")
    terms = replace(ClearingTerms.at(through, currency), fee_ppm=Rate.parse(fee, where="--fee").ppm)
    [own] = read_file(ours, load_profile("ours"))
    taken = MoneyFolder(folder)
    done = reconcile(
        Lines.of(line for line in own.lines if line.booked_on <= through),
        Lines.of(taken.lines(FileSource.PROVIDER, through)),
        Lines.of(taken.lines(FileSource.BANK, through)), terms, through=through,
    )  # fmt: skip
    if as_json:
        print_answer(_as_dict(done, through))
    else:
        _print(done, through, currency)
    if done.breaks:
        raise typer.Exit(1)


def settle_day(
    day: str, receipts: Path, shares: Path, folder: Path, layout: Path | None, currency: str,
    as_json: bool,
) -> None:  # fmt: skip
    """Close the settlement batches of a day, and write their files."""
    from usance.base.codes import Currency, parse
    from usance.base.dates import parse_date
    from usance.base.documents import read_text
    from usance.service.settlement.layout import parse_layout
    from usance.service.settlement.settlement_folder import SettlementFolder

    parse(Currency, currency, where="--currency")
    form = parse_layout(read_text(layout), layout.name) if layout else None
    made = SettlementFolder(folder).settle(receipts, shares, parse_date(day, where="DAY"), form)
    rows = [
        (each.institution, len(list(each.lines())), each.corrections_minor, each.total_minor)
        for each in made
    ]
    if as_json:
        names = ("institution", "lines", "corrections_minor", "total_minor")
        print_answer([dict(zip(names, row, strict=True)) for row in rows])
        return
    print_table(["institution", "lines", "corrections", "total"], [
        [str(who), f"{lines:,}", number(corrections, currency), number(total, currency)]
        for who, lines, corrections, total in rows
    ])  # fmt: skip


def _as_dict(done: Reconciliation, day: date) -> dict[str, object]:
    return {
        "day": day, "matched": done.matched_lines, "in_transit_minor": done.in_transit_minor,
        "breaks": [
            {"leg": each.leg.value, "class": each.kind.value, "reference": each.reference,
             "amount_minor": each.amount_minor, "difference_minor": each.difference_minor,
             "day": each.day, "age_days": each.age_days(day), "owner": each.owner,
             "command": each.command}
            for each in done.breaks
        ],
    }  # fmt: skip


def _print(done: Reconciliation, day: date, currency: str) -> None:
    if done.breaks:
        shown = [
            [each.leg.value, each.kind.value, each.reference or "-",
             number(each.amount_minor, currency), str(each.age_days(day)), each.owner,
             each.command]
            for each in done.breaks
        ]  # fmt: skip
        print_table(["leg", "class", "reference", "amount", "age", "owner", "command"], shown)
    transit = number(done.in_transit_minor, currency)
    print_line(f"{done.matched_lines:,} matched, {len(done.breaks):,} breaks, {transit} in transit")
