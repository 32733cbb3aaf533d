"""`usance books`: what is closed, what the books hold, and how they leave for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from usance.base.command_line import number, print_json, print_line, print_table, show_help

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

BookFolder = Annotated[Path, typer.Option("--book", metavar="DIR", help="The book's folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
PeriodText = Annotated[
    str, typer.Argument(metavar="PERIOD", help="2024-06, 2024Q2, 2024H1 or 2024.")
]


@app.callback()
def books(ctx: typer.Context) -> None:
    """Periods, balances, exports and roll-forwards of a book."""
    show_help(ctx)


@app.command()
def periods(book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """List every close with the state of its period."""
    from usance.base.book import Book
    from usance.base.dates import format_month
    from usance.books.closes import all_closes, standing

    opened = Book.open(book)
    stand = set(standing(opened))
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
        print_json({"closes": rows})
    else:
        print_table(["period", "close", "state"], [list(row.values()) for row in rows])


@app.command()
def balance(book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show the trial balance after the latest close."""
    from usance.base.book import Book
    from usance.books.exports import trial_balance

    opened = Book.open(book)
    rows = trial_balance(opened)
    if as_json:
        print_json({"rows": rows, "total_minor": sum(row["amount_minor"] for row in rows)})
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
) -> None:
    """Write trial balance and journals as CSV, Parquet and a beancount file."""
    from usance.base.book import Book
    from usance.books.exports import export as write

    for path in write(Book.open(book), out):
        print_line(str(path))


@app.command()
def reopen(
    period: PeriodText,
    by: Annotated[list[str], typer.Option("--by", metavar="NAME", help="Who; twice.")],
    book: BookFolder = Path(),
) -> None:
    """Open a closed period and those after it; two people do it together."""
    from usance.base.book import Book
    from usance.books.closes import reopen as opens
    from usance.books.periods import parse_close_period

    for close in opens(Book.open(book), parse_close_period(period), by):
        print_line(f"{close.name} stays as it was; its period is open")


@app.command()
def lock(period: PeriodText, book: BookFolder = Path()) -> None:
    """Lock a closed period for good."""
    from usance.base.book import Book
    from usance.books.closes import lock as locks
    from usance.books.periods import parse_close_period

    locks(Book.open(book), parse_close_period(period))
    print_line(f"{period} is locked")


@app.command()
def statements(period: PeriodText, book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show balance sheet, operations, cash flows and the reconciliation to IFRS."""
    from usance.base.book import Book
    from usance.books.looking import looked_at
    from usance.books.periods import parse_close_period

    rows, currency = looked_at(Book.open(book), parse_close_period(period)).statements()
    if as_json:
        print_json({"currency": currency, "rows": [_as_dict(row) for row in rows]})
        return
    statement = ""
    for row in rows:
        if row.statement != statement:
            statement = row.statement
            print_line()
            print_line(f"{statement} ({row.period})")
        if row.amount_minor or row.is_total:
            print_line(f"  {row.line:<72} {number(row.amount_minor, currency):>20}")


@app.command("roll-forwards")
def roll_forwards(period: PeriodText, book: BookFolder = Path(), as_json: AsJson = False) -> None:
    """Show opening, movements and closing of allowances, guarantees, receivables, payables."""
    from usance.base.book import Book
    from usance.books.looking import looked_at
    from usance.books.periods import parse_close_period

    rolls, currency = looked_at(Book.open(book), parse_close_period(period)).roll_forwards()
    if as_json:
        print_json({"currency": currency, "roll_forwards": [
            {"name": roll.name, "opening_minor": roll.opening,
             "movements": {each.name: each.minor for each in roll.movements},
             "closing_minor": roll.closing} for roll in rolls
        ]})  # fmt: skip
        return
    for roll in rolls:
        print_line(roll.name)
        for name, minor, _ in roll.lines():
            print_line(f"  {name:<40} {number(minor, currency):>20}")


@app.command()
def loan(
    loan_id: Annotated[str, typer.Argument(metavar="LOAN", help="Such as ln_00000000G01.")],
    book: BookFolder = Path(),
    as_json: AsJson = False,
) -> None:
    """Make the journals of one loan again, close by close."""
    from usance.base.book import Book
    from usance.base.ids import parse_id
    from usance.books.looking import journal_of

    given = int(loan_id) if loan_id.isdigit() else parse_id(loan_id, "ln", where="LOAN")
    lines, currency = journal_of(Book.open(book), given)
    if as_json:
        print_json({"loan_id": given, "currency": currency,
                    "lines": [_as_dict(line) for line in lines]})  # fmt: skip
        return
    shown = [
        [line.close, str(line.rule), line.amount, str(line.entity), line.account,
         number(line.amount_minor, currency)]
        for line in lines
    ]  # fmt: skip
    print_table(["close", "rule", "amount behind it", "entity", "account", "posted"], shown)


def _as_dict(row: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row)
