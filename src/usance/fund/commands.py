"""`usance fund`: check a deal, select its pool, project it, pay a date, report to investors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from usance.base.command_line import (
    AsJson,
    number,
    print_answer,
    print_csv,
    print_line,
    print_pairs,
    print_table,
    print_warning,
    show_help,
)
from usance.base.errors import InputError

if TYPE_CHECKING:
    from usance.fund.projection import Stratum

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

DealFile = Annotated[Path, typer.Argument(metavar="DEAL", help="A deal file, YAML or JSON.")]
_RESULTS = {
    "short": "short_minor", "life": "wal_ppm", "yield": "yield_ppb", "interest": "interest_minor",
    "principal": "principal_minor", "collected": "collected_minor", "paid": "paid_minor",
    "defaulted": "defaulted_minor", "bought": "bought_minor",
}  # fmt: skip
"""Results of a grid, by their names in JSON."""
_MISSING = {
    "yield_ppb": "no rate makes what the class is paid worth what it cost",
    "yield_at_price_ppb": "no rate makes what the class is paid worth its price",
    "spread_ppb": "the class has no yield, or no principal that is paid",
    "break_even_hundredths": "the class is paid in full at every multiple that was tried",
    "wal_ppm": "the class has no principal that is paid",
    "expected_loss_ppm": "the class has no principal",
}

PoolFile = Annotated[
    Path, typer.Argument(metavar="POOL", help="Loans, CSV or Parquet, or a book folder.")
]


@app.callback()
def fund(ctx: typer.Context) -> None:
    """Trusts and asset-backed deals: waterfalls, pools, reports."""
    show_help(ctx)


@app.command()
def sample(
    name: Annotated[str, typer.Argument(help="The deal to print.")] = "plan",
    as_json: AsJson = False,
) -> None:
    """Print a deal that comes with Usance, as a start for one's own."""
    from usance.fund.sample import sample_path

    text = sample_path(name).read_text(encoding="utf-8").rstrip()
    if as_json:
        print_answer({"deal": name, "text": text})
        return
    print_line(text)


@app.command()
def check(
    file: DealFile,
    pool: Annotated[
        Path | None, typer.Option("--pool", help="Loans whose eligibility is checked too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read a deal and name every contradiction; warn of what is surely not meant."""
    from usance.fund.deal_file import read_deal
    from usance.fund.deal_terms import read_terms

    deal, terms = read_deal(file), read_terms(file)
    answer: dict[str, Any] = {
        "deal": deal.name,
        "proceeds_minor": sum(each.balance_minor for each in deal.classes),
        "first_date": deal.paid_on(1),
        "last_date": deal.paid_on(deal.periods),
    }
    if pool is not None:
        from usance.fund.book_deal import offered_loans
        from usance.fund.pool_columns import eligible

        loans = offered_loans(pool, deal, terms)
        fits, refused = eligible(loans, terms.eligibility, deal.name)
        answer["loans"], answer["eligible"], answer["refused"] = (
            len(loans),
            int(fits.sum()),
            refused,
        )
    if as_json:
        print_answer(answer, deal.warnings)
        return
    pairs = [
        ("deal", deal.name),
        ("classes", ", ".join(each.name for each in deal.classes)),
        ("proceeds", number(answer["proceeds_minor"], terms.currency)),
        ("payment dates", f"{deal.periods}, {answer['first_date']} to {answer['last_date']}"),
    ]
    if pool is not None:
        pairs.append(("eligible", f"{answer['eligible']:,} of {answer['loans']:,} loans"))
        pairs += [
            (f"  refused by '{name}'", f"{count:,}") for name, count in answer["refused"].items()
        ]
    print_pairs(pairs)
    for warning in deal.warnings:
        print_warning(warning)


@app.command()
def select(
    file: DealFile,
    pool: PoolFile,
    target: Annotated[
        int, typer.Option("--target-minor", min=1, max=10**17, help="Principal wanted.")
    ],
    out: Annotated[Path, typer.Option("--out", help="The selection, a CSV of loan and principal.")],
    objective: Annotated[str, typer.Option(help="yield, margin or age.")] = "yield",
    seed: Annotated[
        int, typer.Option(min=0, max=2**63 - 1, help="Of the draws inside a stratum.")
    ] = 0,
    held: Annotated[
        Path | None, typer.Option("--held", help="Loans the deal has; limits count them too.")
    ] = None,
    deals: Annotated[
        Path | None, typer.Option("--deals", help="Folder of deals that hold loans of a book.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Select a pool within the limits of a deal; prints the gap to the best there could be."""
    import numpy as np

    from usance.base.fields import one_of
    from usance.fund.book_deal import offered_loans
    from usance.fund.deal_file import read_deal
    from usance.fund.deal_terms import read_terms
    from usance.fund.pool_columns import eligible, read_pool
    from usance.fund.selection import Objective, SelectionRules, select_pool

    deal, terms = read_deal(file), read_terms(file)
    loans = offered_loans(pool, deal, terms, deals)
    fits, _ = eligible(loans, terms.eligibility, deal.name)
    offered = loans.take(np.flatnonzero(fits))
    rules = SelectionRules(
        target, terms.limits, one_of(Objective)(objective, "--objective"), seed,
        terms.borrower_minor, read_pool(held) if held else None,
    )  # fmt: skip
    found = select_pool(offered, rules)
    taken = offered.take(found.rows)
    rows = zip(taken["loan_id"].tolist(), taken["principal_minor"].tolist(), strict=True)
    body = "".join(f"{loan},{minor}\n" for loan, minor in rows)
    _write(out, f"loan_id,principal_minor\n{body}".encode())
    if as_json:
        print_answer({
            "file": str(out), "loans": len(loans), "eligible": len(offered),
            "selected": len(taken), "principal_minor": found.principal_minor,
            "target_minor": target, "gap_ppm": found.gap_ppm,
        })  # fmt: skip
        return
    print_pairs([
        ("eligible", f"{len(offered):,} of {len(loans):,} loans"),
        ("selected", f"{len(taken):,} loans"),
        ("principal", number(found.principal_minor, terms.currency)),
        ("of the target", number(target, terms.currency)),
        ("gap", f"{found.gap_ppm / 10_000:.4f} % of the bound"),
    ])  # fmt: skip


@app.command()
def project(
    file: DealFile,
    default: Annotated[int, typer.Option(help="Default multiple in hundredths.")] = 100,
    prepayment: Annotated[int, typer.Option(help="Prepayment multiple in hundredths.")] = 100,
    pool: Annotated[Path | None, typer.Option("--pool", help="The loans themselves.")] = None,
    curves: Annotated[Path | None, typer.Option("--curves", help="Measured curves.")] = None,
    recovery: Annotated[int, typer.Option(help="Recovery multiple in hundredths.")] = 100,
    prices: Annotated[
        str, typer.Option(help="Prices of classes in ppm of par, such as A=990000,B=950000.")
    ] = "",
    yields: Annotated[
        str, typer.Option(help="Yields in ppm that classes are priced for, such as A=35000.")
    ] = "",
    curve: Annotated[
        Path | None, typer.Option("--curve", help="A dated curve of rates, for the spread.")
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the dates as CSV.")] = False,
    as_json: AsJson = False,
) -> None:
    """Project every payment date, and what comes of each class."""
    from usance.base.command_line import one_form
    from usance.fund.deal_file import read_deal, scenario_of
    from usance.fund.deal_terms import read_terms
    from usance.fund.payment_files import calculation_lines
    from usance.fund.presentation import class_result, market_of, print_dates, print_results
    from usance.fund.projection import project as project_deal
    from usance.fund.results import class_results
    from usance.fund.scenarios import scenario_shorts
    from usance.fund.strata import deal_on_loans

    one_form(as_csv=as_csv, as_json=as_json)
    scenario = scenario_of(default, prepayment, recovery)
    deal, currency = read_deal(file), read_terms(file).currency
    strata: Sequence[Stratum] = ()
    if pool:
        deal, strata = deal_on_loans(deal, pool, curves)
    run = project_deal(deal, scenario, strata=strata)
    if as_csv:
        lines = [calculation_lines(row) for row in run.distributions]
        header = ["period", "paid_on", "status", *lines[0]]
        rows = [
            [row.period, row.paid_on, row.status.value, *line.values()]
            for row, line in zip(run.distributions, lines, strict=True)
        ]
        print_csv(header, rows)
        return
    found = class_results(deal, shorts=scenario_shorts(deal, strata), strata=strata)
    market = market_of(run, found, prices, yields, curve)
    if as_json:
        print_answer({
            "dates": [{"period": row.period, "paid_on": row.paid_on, "status": row.status.value,
                       **calculation_lines(row)} for row in run.distributions],
            "classes": {name: {**class_result(each), **market.get(name, {})}
                        for name, each in found.items()},
        }, missing=_MISSING)  # fmt: skip
        return
    print_dates(run.distributions, currency)
    print_line()
    print_results(found, currency)
    for name, told in market.items():
        print_line(f"{name}: " + ", ".join(f"{key} {value}" for key, value in told.items()))


@app.command()
def grid(
    file: DealFile,
    result: Annotated[str, typer.Option(help=f"{', '.join(_RESULTS)}.")] = "short",
    of_class: Annotated[str, typer.Option("--class", help="The class looked at.")] = "A",
    down: Annotated[
        str, typer.Option(help="default, prepayment, recovery (hundredths) or price (ppm).")
    ] = "default=50,100,200,400",
    across: Annotated[str, typer.Option(help="Another of them.")] = "prepayment=50,100,200",
    as_json: AsJson = False,
) -> None:
    """Print a result of a class over two axes, such as multiples of default and prepayment."""
    from usance.fund.deal_terms import checked_deal
    from usance.fund.grids import grid_of, read_axis

    rows, columns = read_axis(down, "--down"), read_axis(across, "--across")
    cells = grid_of(checked_deal(file), of_class, result, rows, columns)
    if as_json:
        print_answer([
            {rows.unit: d, columns.unit: a, _RESULTS[result]: value}
            for d, line in zip(rows.values, cells, strict=True)
            for a, value in zip(columns.values, line, strict=True)
        ], missing=_MISSING)  # fmt: skip
        return
    listed = [[str(d), *("" if each is None else str(each) for each in line)]
              for d, line in zip(rows.values, cells, strict=True)]  # fmt: skip
    print_table([rows.name, *(f"{columns.name} {a}" for a in columns.values)], listed)


@app.command()
def pay(
    file: DealFile,
    collections: Annotated[
        Path,
        typer.Argument(metavar="COLLECTIONS", help="What the loans did: a file, or their book."),
    ],
    folder: Annotated[Path, typer.Option("--folder", help="The deal's state and dates.")],
    loans: Annotated[
        Path | None, typer.Option("--loans", help="With a book, the loans of the deal at closing.")
    ] = None,
    trustee: Annotated[
        Path | None, typer.Option("--trustee", help="The trustee's calculation to compare.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Pay the next date of a deal. Ends with 1 if the trustee's calculation differs."""
    from usance.fund.deal_file import read_deal
    from usance.fund.deal_terms import read_terms
    from usance.fund.payment_files import (
        calculation_lines,
        pay_from_files,
        read_trustee,
        trustee_differences,
    )
    from usance.fund.presentation import print_dates

    deal, terms = read_deal(file), read_terms(file)
    calculated = read_trustee(trustee) if trustee else {}
    if collections.is_dir():
        from usance.fund.book_deal import pay_in_folder

        row = pay_in_folder(deal, terms, collections, folder, loans)
    else:
        row = pay_from_files(deal, terms, collections, folder)
    differences = trustee_differences(row, calculated)
    agreed = f"{len(calculated) - len(differences)} of {len(calculated)} lines of the trustee agree"
    if as_json:
        print_answer(
            {"period": row.period, "paid_on": row.paid_on, "status": row.status.value,
             "lines": calculation_lines(row), "differences": [str(each) for each in differences]},
            [agreed] if trustee else (),
        )  # fmt: skip
    else:
        print_dates([row], terms.currency)
        for line in [*map(str, differences), *([agreed] if trustee else [])]:
            print_line(line)
    if differences:
        raise typer.Exit(1)


@app.command()
def mandate(
    file: DealFile,
    folder: Annotated[
        Path | None, typer.Option("--folder", help="The deal's state and dates; else its closing.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the mandate that a deal writes for itself, as `usance match` reads it."""
    from usance.fund.deal_file import read_deal
    from usance.fund.deal_terms import read_terms
    from usance.fund.mandate import deal_mandate, mandate_text
    from usance.fund.payment_files import read_state
    from usance.fund.state import opening_state

    deal, terms = read_deal(file), read_terms(file)
    state = opening_state(deal) if folder is None else read_state(folder, deal)
    made = deal_mandate(deal, terms, state, deal.paid_on(deal.periods))
    text = mandate_text(made, terms)
    if as_json:
        print_answer({"deal": deal.name, "budget_minor": made.budgets.total_minor,
                      "coupon_ppm": made.coupon_ppm, "text": text})  # fmt: skip
        return
    print_line(text.rstrip())


@app.command()
def report(
    file: DealFile,
    folder: Annotated[Path, typer.Option("--folder", help="The deal's state and dates.")],
    out: Annotated[Path, typer.Option("--out", help="The report: .html, .pdf or .xlsx.")],
    language: Annotated[str, typer.Option(help="en, zh or both.")] = "both",
    pool: Annotated[Path | None, typer.Option("--pool", help="Loans, for the strata.")] = None,
    tape: Annotated[
        Path | None, typer.Option("--tape", help="Write the loans, without names.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", help="A file with the tape's key.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write the investor report of the last payment date."""
    from usance.fund.deal_file import read_deal
    from usance.fund.deal_terms import read_terms
    from usance.fund.payment_files import read_dates
    from usance.fund.pool_columns import read_pool
    from usance.fund.presentation import last_report
    from usance.fund.report_files import investor_tape, report_pdf
    from usance.fund.workbook import report_workbook
    from usance.pages.reports.investor_report import investor_report_page

    deal, terms, rows = read_deal(file), read_terms(file), read_dates(folder)
    loans = read_pool(pool) if pool else None
    made = last_report(folder, deal, terms, rows, loans, language)
    if out.suffix == ".pdf":
        content = report_pdf(made)
    elif out.suffix == ".xlsx":
        content = report_workbook(deal, terms, rows, language=language)
    elif out.suffix == ".html":
        content = investor_report_page(made).encode()
    else:
        fix = "Name .html, .pdf or .xlsx"
        raise InputError(out.suffix or "no suffix", where=str(out), fix=fix)
    _write(out, content)
    if tape is not None:
        if loans is None or key is None:
            fix = "Give --pool and --key"
            raise InputError("a tape needs loans and a key", where="--tape", fix=fix)
        _write(tape, investor_tape(loans, key.read_bytes().strip()).encode())
    if as_json:
        print_answer({"files": [str(path) for path in (out, tape) if path is not None]})
        return
    print_line(f"written to {out}")


def _write(path: Path, content: bytes) -> None:
    from usance.base.atomic_files import naming_failures, replace

    with naming_failures(path):
        replace(path, content)
