"""`usance books`: what is closed, what the books hold, and how they leave for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.codes import DEFAULT_PACK
from usance.base.command_line import (
    AsJson,
    PackName,
    Session,
    number,
    print_answer,
    print_line,
    print_table,
    show_help,
)

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

BookFolder = Annotated[Path, typer.Option("--book", metavar="DIR", help="The book's folder.")]
PeriodText = Annotated[
    str, typer.Argument(metavar="PERIOD", help="2024-06, 2024Q2, 2024H1 or 2024.")
]


@app.callback()
def books(ctx: typer.Context) -> None:
    """Periods, balances and exports of a book."""
    show_help(ctx)


@app.command()
def sample(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Make a small book to try things on: five loans, to be closed from 2023Q4 on."""
    from usance.base.ids import owned_id, print_id
    from usance.base.packs import CountryPack
    from usance.books.sample import LOANS, add_sample_group, sample_book

    add_sample_group(sample_book(folder, CountryPack.load(pack)))
    shown = [
        [print_id("ln", owned_id(place, 1)), name.replace("_", " "), model.label]
        for place, (name, model) in enumerate(LOANS.items(), start=1)
    ]
    if as_json:
        names = ("loan", "story", "funding_model")
        loans = [dict(zip(names, row, strict=True)) for row in shown]
        print_answer({"book": str(folder), "loans": loans})
        return
    print_table(["loan", "what becomes of it", "funding model"], shown)


@app.command()
def run(
    ctx: typer.Context,
    tape: Annotated[Path, typer.Argument(metavar="TAPE", help="Loans by month: Parquet or CSV.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The book to make or go on.")],
    policies: Annotated[
        Path | None, typer.Option("--policies", metavar="DIR", help="Policies; else simple ones.")
    ] = None,
    every: Annotated[str, typer.Option(metavar="month|quarter", help="How often.")] = "month",
    currency: Annotated[
        str | None, typer.Option(metavar="CODE", help="Of all amounts; else that of the pack.")
    ] = None,
    pack: Annotated[
        str | None,
        typer.Option("--pack", metavar="PACK", help="The country of a new book: cn, nl, a folder."),
    ] = None,
    mapping: Annotated[
        Path | None, typer.Option("--map", metavar="FILE", help="The tape's names of our columns.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make the books of a portfolio from its tape: a book folder with a close a period."""
    from usance.base.packs import CountryPack
    from usance.books.tape.run import run_tape

    session: Session = ctx.obj
    made = run_tape(
        tape, out=out, policies=policies, every=every, currency=currency,
        pack=CountryPack.load(pack) if pack else None, clock=session.seconds, mapping=mapping,
    )  # fmt: skip
    if as_json:
        closes = [closing.as_dict() for closing in made]
        notes = [note for close in closes for note in close.pop("notes")]
        print_answer({"book": str(out), "closes": closes}, dict.fromkeys(notes))
        return
    shown = [
        [closing.period.label, closing.ref.name, f"{closing.loans:,}",
         f"{sum(each.holds for each in closing.controls)} of {len(closing.controls)}"]
        for closing in made
    ]  # fmt: skip
    print_table(["period", "close", "loans", "controls that hold"], shown)
    for note in made[-1].notes if made else ():
        print_line(f"note: {note}")
    print_line(f"{len(made)} closes in {out}" if made else f"nothing new for {out}")


@app.command()
def periods(book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """List every close with the state of its period."""
    from usance.base.book import Book
    from usance.base.dates import format_month
    from usance.books.close.closes import all_closes, effective_closes

    opened = Book.open(book)
    stand = set(effective_closes(opened))
    states = opened.manifest.periods
    rows = [
        {
            "period": format_month(close.month),
            "close": close.name,
            "state": states[format_month(close.month)].state if close in stand else "superseded",
        }
        for close in all_closes(opened)
    ]
    if as_json:
        print_answer({"closes": rows})
    else:
        print_table(["period", "close", "state"], [list(row.values()) for row in rows])


@app.command()
def check(book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Compare files, rows and journals of a book as published; ends with 1 if one differs."""
    from usance.base.book import Book
    from usance.books.integrity import integrity_findings

    opened = Book.open(book)
    findings = integrity_findings(opened)
    files, tables = len(opened.named()), len(opened.manifest.tables)
    if as_json:
        found = [finding.as_dict() for finding in findings]
        print_answer({"files": files, "tables": tables, "findings": found})
    else:
        for finding in findings:
            print_line(str(finding))
        said = f"findings: {len(findings)}" if findings else "all are as they were published"
        print_line(f"{files} files, {tables} tables; {said}")
    if findings:
        raise typer.Exit(1)


@app.command()
def balance(book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show the trial balance after the latest close."""
    from usance.base.book import Book
    from usance.books.exports import trial_balance

    opened = Book.open(book)
    rows = trial_balance(opened)
    if as_json:
        print_answer({"rows": rows, "total_minor": sum(row["amount_minor"] for row in rows)})
        return
    shown = [
        [str(row["entity"]), row["tag"] if row["tag"] != "none" else row["basis"],
         str(row["account"]), row["name"], number(row["amount_minor"], row["currency"])]
        for row in rows
    ]  # fmt: skip
    print_table(["entity", "basis", "account", "name", "amount"], shown)


@app.command()
def export(
    book: BookFolder = Path(),
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where to write.")] = Path(
        "export"
    ),
    as_json: AsJson = False,
) -> None:
    """Write trial balance and journals as CSV, Parquet and a beancount file."""
    from usance.base.book import Book
    from usance.books.exports import export as write

    paths = [str(path) for path in write(Book.open(book), out)]
    if as_json:
        print_answer({"files": paths})
        return
    for path in paths:
        print_line(path)


@app.command()
def reopen(
    period: PeriodText,
    by: Annotated[list[str], typer.Option("--by", metavar="NAME", help="Who; twice.")],
    book: BookFolder = Path(),
    as_json: AsJson = False,
) -> None:
    """Open a closed period and those after it; two people do it together."""
    from usance.base.book import Book
    from usance.books.close.closes import reopen as opens
    from usance.books.periods import parse_close_period

    opened = opens(Book.open(book), parse_close_period(period), by)
    if as_json:
        print_answer({"period": period, "closes": [close.name for close in opened], "by": by})
        return
    for close in opened:
        print_line(f"{close.name} stays as it was; its period is open")


@app.command()
def lock(period: PeriodText, book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Lock a closed period for good."""
    from usance.base.book import Book
    from usance.books.close.closes import lock as locks
    from usance.books.periods import parse_close_period

    locks(Book.open(book), parse_close_period(period))
    if as_json:
        print_answer({"period": period, "state": "locked"})
        return
    print_line(f"{period} is locked")


@app.command()
def statements(period: PeriodText, book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show balance sheet, operations, cash flows and the reconciliation to IFRS."""
    from usance.base.book import Book
    from usance.books.closed_books import ClosedBooks
    from usance.books.periods import parse_close_period
    from usance.books.presentation import print_statements

    closed = ClosedBooks.of(Book.open(book), parse_close_period(period))
    rows, currency = closed.statements(), closed.currency
    if as_json:
        print_answer({"currency": currency, "rows": [_as_dict(row) for row in rows]})
        return
    print_statements(rows, currency)


@app.command()
def notes(period: PeriodText, book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show changes in equity, the tax rate explained, awards to come, and figures per share."""
    from usance.base.book import Book
    from usance.books.closed_books import ClosedBooks
    from usance.books.periods import parse_close_period
    from usance.books.presentation import print_notes

    closed = ClosedBooks.of(Book.open(book), parse_close_period(period))
    rows = closed.notes()
    if as_json:
        print_answer({"currency": closed.currency, "rows": [_as_dict(row) for row in rows]})
        return
    print_notes(rows, closed.currency)


@app.command("roll-forwards")
def roll_forwards(period: PeriodText, book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show opening, movements and closing of allowances, guarantees, receivables, payables."""
    from usance.base.book import Book
    from usance.books.closed_books import ClosedBooks
    from usance.books.periods import parse_close_period
    from usance.books.presentation import print_roll_forwards

    closed = ClosedBooks.of(Book.open(book), parse_close_period(period))
    rolls, currency = closed.roll_forwards(), closed.currency
    if as_json:
        print_answer({"currency": currency, "roll_forwards": [
            {"name": roll.name, "opening_minor": roll.opening,
             "movements": {each.name: each.minor for each in roll.movements},
             "closing_minor": roll.closing} for roll in rolls
        ]})  # fmt: skip
        return
    print_roll_forwards(rolls, currency)


@app.command()
def loan(
    loan_id: Annotated[
        str, typer.Argument(metavar="LOAN", help="ln_00000000G01, or the tape's own.")
    ],
    book: BookFolder = Path(),
    as_json: AsJson = False,
) -> None:
    """Make the journals of one loan again, close by close."""
    from usance.base.book import Book
    from usance.base.codes import IfrsAdjustment
    from usance.base.ids import print_id
    from usance.books.loans.journal import find_loan, loan_journal

    opened = Book.open(book)
    given, ref = find_loan(opened, loan_id)
    lines, currency = list(loan_journal(opened, given)), opened.manifest.currency
    if as_json:
        named = [_as_dict(line) | {"tag": IfrsAdjustment(line.tag).label} for line in lines]
        print_answer(
            {"loan_id": given, "loan_ref": ref or None, "currency": currency, "lines": named},
            missing={"loan_ref": "the loan came without a reference of its own"},
        )
        return
    print_line(f"loan {ref} ({print_id('ln', given)})" if ref else f"loan {print_id('ln', given)}")
    shown = [
        [line.close, str(line.rule), line.amount, str(line.entity),
         IfrsAdjustment(line.tag).label if line.tag else "us_gaap", line.account,
         number(line.amount_minor, currency)]
        for line in lines
    ]  # fmt: skip
    print_table(
        ["close", "rule", "amount behind it", "entity", "basis", "account", "posted"], shown
    )


@app.command()
def losses(period: PeriodText, book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show provisions by new volume and true-up, the sensitivity, and the back-test."""
    from usance.base.book import Book
    from usance.books.closed_books import ClosedBooks
    from usance.books.periods import parse_close_period
    from usance.books.presentation import print_losses

    closed = ClosedBooks.of(Book.open(book), parse_close_period(period))
    found, currency = closed.losses(), closed.currency
    if as_json:
        print_answer({"currency": currency, **found})
        return
    print_losses(found, currency)


def _as_dict(row: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row)


def close_book(
    session: Session, period: str, book: Path, policies: Path | None, known_at: str | None,
    *, whole: bool, as_json: bool,
) -> None:  # fmt: skip
    """Close a period of a book for `usance close`; print its steps, controls and notes."""
    from usance.base.book import Book
    from usance.base.dates import parse_moment
    from usance.base.progress import tell
    from usance.books.close.checklist import close
    from usance.books.periods import parse_close_period

    made = close(
        Book.open(book), parse_close_period(period), policies=policies,
        known_at=None if known_at is None else parse_moment(known_at, where="--known-at"),
        clock=session.seconds, progress=tell, whole=whole,
    )  # fmt: skip
    if as_json:
        shown = made.as_dict()
        print_answer(shown, shown.pop("notes"))
        return
    steps = [[name, f"{seconds:,.2f}"] for name, seconds in made.seconds.items()]
    print_table(["step", "seconds"], steps)
    print_line()
    held = sum(control.holds for control in made.controls)
    print_line(f"{held} of {len(made.controls)} controls hold, {made.loans:,} loans")
    for note in made.notes:
        print_line(f"note: {note}")
    print_line(f"{period} is closed as {made.ref.name}")
