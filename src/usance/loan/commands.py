"""`usance loan`: price, schedule and replay one loan.

Nothing heavy is imported here. One loan is answered by the exact form unless the kernel is asked
for: they agree to the minor unit, and the compiler need not be loaded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from usance.base.codes import DEFAULT_PACK
from usance.base.command_line import (
    AsJson,
    PackName,
    Session,
    one_form,
    print_answer,
    print_csv,
    print_line,
    print_note,
    print_pairs,
    print_table,
    print_warning,
    show_help,
)
from usance.base.errors import InputError, UsanceError, unknown

if TYPE_CHECKING:
    from datetime import date, datetime

    from usance.base.packs import CountryPack
    from usance.loan.documents import LoanDocument
    from usance.loan.loan import Loan
    from usance.loan.loan_tables import LoanTable

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

# The options of a loan's terms: how the value is written, and what it is.
TERMS = {
    "principal": ("AMOUNT", "What is lent, in major units: 10000 or 10000.00."),
    "rate": ("RATE", "What the borrower pays a year: 18% or 0.18."),
    "instalments": ("COUNT", "How many instalments."),
    "disbursed_on": ("DATE", "YYYY-MM-DD; today if left out."),
    "first_due_on": ("DATE", "One step of the convention later if left out."),
    "convention": ("NAME", "One of our own; level_monthly if left out."),
    "coupon": ("RATE", "The funder's part of the rate; all of it if left out."),
    "flat_fee": ("AMOUNT", "Spread evenly over the instalments."),
    "guarantee_fee": ("AMOUNT", "The guarantor's part of all fees."),
    "upfront_fee": ("AMOUNT", "Withheld from the disbursement."),
    "vat": ("RATE", "The tax in every fee; that of the day if left out."),
    "currency": ("CODE", "Three letters; that of the pack if left out."),
}
TABLE_ENDINGS = (".csv", ".gz", ".parquet")
"""Endings of files with many loans."""
FORMS = ("exact", "kernel", "auto")

AsCsv = Annotated[bool, typer.Option("--csv", help="Print CSV, amounts in minor units.")]
LoanFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A loan document, or a table of loans.")
]
FactsCsv = Annotated[
    Path | None,
    typer.Option(metavar="CSV", help="The facts as a table; FILE then has the terms alone."),
]
AsOf = Annotated[
    str | None, typer.Option(metavar="DATE", help="The day to look at; else FILE's, else today.")
]
KnownAt = Annotated[
    str | None, typer.Option(metavar="MOMENT", help="Leave out what was booked after this.")
]
Form = Annotated[
    str, typer.Option(metavar="FORM", help="exact, kernel, or auto (the kernel where it can).")
]


MappingFile = Annotated[
    Path | None,
    typer.Option("--map", metavar="FILE", help="For a table: its names of our columns."),
]
OutFile = Annotated[
    Path | None,
    typer.Option("--out", metavar="FILE", help="For a table: .csv, .parquet or .jsonl to write."),
]


@dataclass(frozen=True)
class TableOfLoans:
    """A file of many loans that a command was given, and the pack they are read by."""

    file: Path
    pack: CountryPack


class LoanInput:
    """The loan a command was given, and what to say of the day if the clock chose it."""

    def __init__(
        self, session: Session, file: Path | None, options: dict[str, str], pack: str
    ) -> None:
        from usance.base.packs import CountryPack
        from usance.loan import documents

        self.note, self.pack = "", CountryPack.load(pack)
        if file is not None and options:
            name = "--" + next(iter(options)).replace("_", "-")
            fix = f"Give the file, or the options, and write {name[2:]} into the file"
            raise InputError(f"a file and {name}", where=str(file), fix=fix)
        if file is None and "disbursed_on" not in options:
            options = options | {"disbursed_on": session.today(self.pack).isoformat()}
            self.note = " (today)"
        self.document = (
            documents.read_loan(file, pack=self.pack)
            if file
            else documents.loan_from_options(options, self.pack)
        )
        self.terms = self.document.terms[0]


def with_terms_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command FILE and an option for every term; it gets them read, as `given`."""

    def run(**values: Any) -> None:
        session, file, pack = values.pop("ctx").obj, values.pop("file"), values.pop("pack")
        options = {name: values.pop(name) for name in TERMS}
        named = {name: value for name, value in options.items() if value is not None}
        if file is not None and file.suffix in TABLE_ENDINGS:
            command(_table_of_loans(file, named, pack), **values)
            return
        given = LoanInput(session, file, named, pack)
        with explained(given.document):
            command(given, **values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    file = Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Or: a loan document, or a table.")
    ]
    shared: list[tuple[str, Any, Any]] = [
        ("ctx", typer.Context, inspect.Parameter.empty), ("file", file, None),
    ]  # fmt: skip
    for name, (metavar, text) in TERMS.items():
        option = typer.Option(f"--{name.replace('_', '-')}", metavar=metavar, help=text)
        shared.append((name, Annotated[str | None, option], None))
    shared.append(("pack", PackName, DEFAULT_PACK))
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [inspect.Parameter(name, keyword, annotation=type_, default=default)
                  for name, type_, default in shared]  # fmt: skip
    parameters += [each.replace(kind=keyword) for each in own if each.name != "given"]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__name__, run.__doc__, run.__annotations__ = command.__name__, command.__doc__, {}
    return run


@app.callback()
def loan(ctx: typer.Context) -> None:
    """Price, schedule and replay a loan."""
    show_help(ctx)


def _table_of_loans(file: Path, options: dict[str, str], pack: str) -> TableOfLoans:
    from usance.base.packs import CountryPack

    if options:
        name = "--" + next(iter(options)).replace("_", "-")
        fix = f"Leave {name} out: every loan of the table has its own"
        raise InputError(f"a table and {name}", where=str(file), fix=fix)
    return TableOfLoans(file, CountryPack.load(pack))


@app.command()
@with_terms_options
def quote(
    given: LoanInput | TableOfLoans, mapping: MappingFile = None, out: OutFile = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Price a loan, or every loan of a table: cost and annual rates, held against the cap."""
    from usance.loan import presentation
    from usance.loan.quote import quote as priced

    if isinstance(given, TableOfLoans):
        _quote_many(given, mapping, out, as_json)
        return
    _refuse_table_options(mapping, out)
    offer = priced(given.terms, given.pack.parameters)
    if as_json:
        print_answer(presentation.quote_json(offer))
    else:
        print_pairs(presentation.quote_pairs(offer, note=given.note))


def _quote_many(given: TableOfLoans, mapping: Path | None, out: Path | None, as_json: bool) -> None:
    from usance.base.table_files import print_table_rows
    from usance.loan.quote_table import quote_table

    loans = _loans_of_table(given, mapping, out)
    made = quote_table(loans, given.pack)
    print_table_rows(made, out, as_json=as_json)
    refused = sum(bool(why) for why in made["refused"].to_pylist())
    _tell_many(f"{len(loans.loans):,} quotes, {refused:,} of them refused", out)


def _loans_of_table(given: TableOfLoans, mapping: Path | None, out: Path | None) -> LoanTable:
    """The loans of a table under our names; the place of the answer is looked at first."""
    from usance.base.column_files import ColumnNames
    from usance.base.table_files import check_table_place
    from usance.loan.loan_tables import read_loan_table

    if out is not None:
        check_table_place(out)
    names = ColumnNames.read(mapping) if mapping else ColumnNames()
    return read_loan_table(given.file, names, given.pack.currency)


@app.command()
@with_terms_options
def schedule(
    given: LoanInput | TableOfLoans, mapping: MappingFile = None, out: OutFile = None,
    as_csv: AsCsv = False, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Print the instalments of a loan as agreed, or of every loan of a table."""
    from usance.loan import presentation
    from usance.loan.exact.plan import schedule as planned

    one_form(as_csv=as_csv, as_json=as_json)
    if isinstance(given, TableOfLoans):
        _schedule_many(given, mapping, out, as_json)
        return
    _refuse_table_options(mapping, out)
    rows = planned(given.terms)
    if as_json:
        print_answer(presentation.schedule_json(given.terms, rows))
    elif as_csv:
        print_csv(presentation.SCHEDULE_COLUMNS, presentation.schedule_csv(rows))
    else:
        if given.note:
            print_line(f"disbursed on {given.terms.disbursed_on}{given.note}")
        print_table(*presentation.schedule_table(given.terms, rows))


def _schedule_many(
    given: TableOfLoans, mapping: Path | None, out: Path | None, as_json: bool
) -> None:
    from usance.base.table_files import print_table_rows
    from usance.loan.loan_tables import schedule_table

    loans = _loans_of_table(given, mapping, out)
    made = schedule_table(loans)
    print_table_rows(made, out, as_json=as_json)
    _tell_many(f"{made.num_rows:,} instalments of {len(loans.loans):,} loans", out)


def _tell_many(said: str, out: Path | None) -> None:
    print_note(said if out is None else f"{said}, written to {out}")


def _refuse_table_options(mapping: Path | None, out: Path | None) -> None:
    for name, value in (("--map", mapping), ("--out", out)):
        if value is not None:
            fix = "Give a .csv or .parquet file of loans, or leave it out"
            raise InputError("goes with a table of loans", where=name, fix=fix)


@app.command()
def replay(
    ctx: typer.Context, file: LoanFile, facts: FactsCsv = None, as_of: AsOf = None,
    known_at: KnownAt = None, form: Form = "exact", pack: PackName = DEFAULT_PACK,
    mapping: MappingFile = None, out: OutFile = None,
    as_csv: AsCsv = False, as_json: AsJson = False,
) -> None:  # fmt: skip
    """Replay a loan, or every loan of a table, from terms and facts, as of a day."""
    from usance.base.dates import parse_date, parse_moment
    from usance.base.packs import CountryPack
    from usance.loan import presentation
    from usance.loan.documents import read_loan

    one_form(as_csv=as_csv, as_json=as_json)
    rules = CountryPack.load(pack)
    if file.suffix in TABLE_ENDINGS:
        moments = as_of or ctx.obj.today(rules).isoformat(), known_at
        _replay_many(TableOfLoans(file, rules), facts, moments, mapping, out, as_json)
        return
    _refuse_table_options(mapping, out)
    document = read_loan(file, facts_csv=facts, pack=rules)
    if facts is not None and not document.facts:
        print_warning(f"{facts}: no facts. The loan is shown as not disbursed.")
    day = parse_date(as_of, where="--as-of") if as_of else document.as_of
    moment = parse_moment(known_at, where="--known-at") if known_at else document.known_at
    note, day = ("", day) if day else (" (today)", ctx.obj.today(rules))
    with explained(document):
        replayed = _replayed(document, day, moment, form)
    view, rows = replayed.view(), replayed.rows()
    if as_json:
        print_answer({
            "currency": document.currency, "form": replayed.form, "known_at": moment,
            **presentation.view_json(view), "instalments": presentation.replay_json(rows),
        }, missing={
            "known_at": "everything that was booked is looked at",
            "next_due_on": "no instalment falls due after this day",
        })  # fmt: skip
    elif as_csv:
        print_csv(presentation.REPLAY_COLUMNS, presentation.replay_csv(rows))
    else:
        known = [("known at", moment.isoformat())] if moment else []
        said = presentation.view_pairs(
            view, rows, document.currency, replayed.form,
            changed_on=document.changed_on(day, moment),
        )  # fmt: skip
        print_pairs([("as of", f"{day}{note}"), *known, *said])
        if rows:
            print_line()
            print_table(*presentation.replay_table(rows, document.currency))


def _replay_many(
    given: TableOfLoans, facts: Path | None, moments: tuple[str, str | None],
    mapping: Path | None, out: Path | None, as_json: bool,
) -> None:  # fmt: skip
    from usance.base.column_files import ColumnNames
    from usance.base.dates import parse_date, parse_moment
    from usance.base.table_files import check_table_place, print_table_rows
    from usance.loan.facts import END_OF_TIME
    from usance.loan.loan_tables import read_loan_table, replay_table

    if out is not None:
        check_table_place(out)
    day, known = parse_date(moments[0], where="--as-of"), moments[1]
    names = ColumnNames.read(mapping) if mapping else ColumnNames()
    of_facts = ColumnNames.read(mapping, "facts") if mapping else names
    loans = read_loan_table(given.file, names, given.pack.currency)
    made = replay_table(
        loans, facts, of_facts, given.pack.currency, day,
        parse_moment(known, where="--known-at") if known else END_OF_TIME,
    )  # fmt: skip
    print_table_rows(made, out, as_json=as_json)
    _tell_many(f"{len(loans.loans):,} loans as of {day}", out)


def _replayed(document: LoanDocument, day: date, moment: datetime | None, form: str) -> Loan:
    from usance.loan.facts import END_OF_TIME

    arguments = document.terms, document.facts, day, moment or END_OF_TIME
    if form == "exact":
        from usance.loan import exact

        return exact.replay(*arguments)
    if form not in FORMS:
        raise unknown("form", form, FORMS, where="--form")
    from usance.loan import replay as replayed

    return replayed(*arguments, form=cast("Literal['kernel', 'auto']", form))


@contextmanager
def explained(document: LoanDocument) -> Iterator[None]:
    """Let errors name the file, line or option instead of what they are inside."""
    try:
        yield
    except UsanceError as error:
        raise document.explained(error) from error
