"""What exists so far, in a few steps: a loan, a million of them, other people's files, books.

Called by `make demo`. Each step prints the command or the call it shows, then the answer.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from usance.base.codes import FactKind
from usance.base.command_line import number
from usance.base.compiled import available_cores
from usance.base.dates import from_day, to_day
from usance.base.ids import owned_id
from usance.books.close.checklist import close
from usance.books.closed_books import ClosedBooks
from usance.books.loans.journal import loan_journal
from usance.books.periods import parse_close_period
from usance.books.sample import sample_book
from usance.books.statements.ifrs_reconciliation import COLUMN_NAMES
from usance.loan import CONVENTIONS, Fact, FactColumns, TermColumns, Terms, replay, replay_columns
from usance.loan.batch import schedule_columns
from usance.loan.stored_rows import view_values

FILES = Path(__file__).parent / "files"
LOANS = 1_000_000
CHECKED = 500
AS_OF = date(2024, 9, 20)
QUARTERS = ("2023Q4", "2024Q1", "2024Q2")
SHOWN = (
    ("balance_sheet", "Financial assets receivable, net"),
    ("balance_sheet", "Loans receivable, net"),
    ("balance_sheet", "Guarantee liabilities-stand ready"),
    ("balance_sheet", "Guarantee liabilities-contingent"),
    ("operations", "Total net revenue"),
    ("operations", "Net income"),
    ("cash_flows", "Net cash provided by operating activities"),
)
LATE_LOAN = """\
terms: {principal: 10000, rate: 18%, coupon: 6%, instalments: 6, disbursed_on: 2024-01-15}
facts:
  - {kind: disbursed, on: 2024-01-15, amount: 10000}
  - {kind: paid, on: 2024-02-15, amount: 1755.25, ref: psp-1}
  - {kind: paid, on: 2024-03-15, amount: 1755.25, ref: psp-2}
  - {kind: reversed, on: 2024-03-18, reverses: psp-2}          # it bounced
  - {kind: fee_charged, on: 2024-03-20, amount: 20, fee: late_fee}
  - {kind: paid, on: 2024-04-02, amount: 1775.25, ref: psp-3}  # late, with the fee: cured
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        one_loan(Path(folder))
    many_loans()
    other_peoples_files()
    with tempfile.TemporaryDirectory() as folder:
        books(Path(folder))
    say("11. A lender of 20,000 users over 18 months: simulated, closed, published, and alive.")
    alive()


def alive() -> None:
    """Serve the lender on a terminal; elsewhere show it alive and end."""
    options = [] if sys.stdout.isatty() else ["--once"]
    done = subprocess.run(["usance", "demo", *options], check=False)
    if done.returncode:
        sys.exit(f"usance demo ended with {done.returncode}")


def one_loan(folder: Path) -> None:
    terms = "--principal 10000 --rate 18% --coupon 6% --instalments 6 --disbursed-on 2024-01-15"
    say("1. Price a loan. Every fee is inside the annual rates; above the cap there is no quote.")
    usance(f"loan quote {terms} --upfront-fee 50", folder)
    say("2. Its schedule, to the fen.")
    usance(f"loan schedule {terms}", folder)
    say(
        "3. A payment bounces, is made again late, and the loan is cured. Any day can be asked for."
    )
    (folder / "loan.yaml").write_text(LATE_LOAN)
    print(LATE_LOAN)
    usance("loan replay loan.yaml --as-of 2024-04-01", folder, lines=9)
    usance("loan replay loan.yaml --as-of 2024-04-02", folder)


def many_loans() -> None:
    say(f"4. The same kernel on a column of {LOANS:,} loans ({available_cores()} cores).")
    terms = portfolio(LOANS)
    # The first pass compiles, if that was never done, and makes the memory; the second is timed.
    plan = schedule_columns(terms)
    with timed("scheduled, 12 instalments each"):
        schedule_columns(terms, out=plan)
    facts = payments(terms, plan.due_on, plan.total)
    views = replay_columns(terms, facts, to_day(AS_OF))
    with timed(f"replayed from {len(facts.day):,} facts"):
        replay_columns(terms, facts, to_day(AS_OF), out=views)
    late = views.column("days_past_due") > 0
    principal = views.column("principal_outstanding")
    share = 100 * int(principal[late].sum()) / int(principal.sum())
    print(
        f"  on {AS_OF}: {int(late.sum()):,} loans past due, {share:.2f} % of principal outstanding"
    )

    say(f"5. {CHECKED} of them again, one by one, by the exact form in plain Python.")
    rows = range(0, LOANS, LOANS // CHECKED)
    different = [row for row in rows if list(views.values[row]) != exactly(terms, facts, row)]
    print(f"  {len(rows) - len(different)} of {len(rows)} agree in every figure to the minor unit")
    if different:
        sys.exit(f"the two forms differ on loan {different[0]}")


def other_peoples_files() -> None:
    say("6. Loans from another system, before they move: which come out the same here?")
    call = "conform portfolio terms.csv instalments.csv --map map.yaml"
    usance(call, FILES, ends=1)

    say("7. A published page: does every figure follow from the others?")
    usance("disclose check quarter.csv", FILES, lines=7, ends=1)


def books(folder: Path) -> None:
    say("8. The books of five loans, closed quarter by quarter (usance close 2024Q1 --book ...).")
    book = sample_book(folder / "book")
    for quarter in QUARTERS:
        made = close(book, parse_close_period(quarter), clock=perf_counter)
        held = sum(control.holds for control in made.controls)
        lines = book.read("postings", folder=made.ref.folder).num_rows
        print(
            f"  {quarter}: {lines} lines of journals, {held} of {len(made.controls)} controls hold"
        )

    say("9. What they say, with every line from the same journals (usance books statements).")
    closed = [ClosedBooks.of(book, parse_close_period(quarter)) for quarter in QUARTERS]
    figures = [
        {(row.statement, row.line): row.amount_minor for row in each.statements()}
        for each in closed
    ]
    show("", QUARTERS)
    for statement, line in SHOWN:
        show(line, [number(each[statement, line], "CNY") for each in figures])
    print(f"\n  Net income of {QUARTERS[1]}, from US GAAP to IFRS:\n")
    for column, name in COLUMN_NAMES.items():
        profit = figures[1][f"ifrs_reconciliation_operations:{column}", "Net income"]
        show(name, [number(profit, "CNY")])

    say("10. A loan repaid early: what its last close posted (usance books loan ln_00000000G01).")
    journal = loan_journal(book, owned_id(1, 1))
    last = [line for line in journal if line.close == "2024-06.1" and not line.tag]
    for debit, credit in zip(last[::2], last[1::2], strict=True):
        sides = debit.account, credit.account
        dr, cr = sides if debit.amount_minor > 0 else sides[::-1]
        amount = number(abs(debit.amount_minor), "CNY")
        print(f"  {debit.amount.replace('_', ' '):<22} Dr {dr:<22} Cr {cr:<22} {amount:>9}")


def show(line: str, cells: Sequence[str], width: int = 42) -> None:
    print(f"  {line:<{width}}" + "".join(f"{cell:>12}" for cell in cells))


def say(text: str) -> None:
    print(f"\n{text}\n", flush=True)


def usance(call: str, folder: Path, *, lines: int | None = None, ends: int = 0) -> None:
    print(f"$ usance {call}", flush=True)
    done = subprocess.run(["usance", *call.split()], cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE)  # fmt: skip
    if done.returncode != ends:
        sys.exit(f"usance {call} ended with {done.returncode}")
    print("\n".join(done.stdout.splitlines()[:lines]) + ("" if lines is None else "\n...\n"))


@contextmanager
def timed(what: str) -> Iterator[None]:
    start = perf_counter()
    yield
    seconds = perf_counter() - start
    print(f"  {what}: {seconds:.2f} s, {LOANS / seconds / 1e6:.1f} million loans a second")


def portfolio(loans: int) -> TermColumns:
    """Loans of 1,000 to 50,000 at 12 to 24 %, drawn over six months; a third of it is coupon."""
    number = np.arange(loans, dtype=np.int64)
    drawn = to_day(date(2024, 1, 1)) + number * 31 % 180
    rate = (120_000 + number * 101 % 120_000).astype(np.int32)
    principal = 1_000_00 + number * 7919 % 49_000_00
    return TermColumns(
        principal_minor=principal, rate_ppm=rate, coupon_ppm=rate // 3,
        instalments=np.full(loans, 12, np.int16), disbursed_on=drawn.astype(np.int32),
        first_due_on=(drawn + 30).astype(np.int32), flat_fee_minor=np.zeros(loans, np.int64),
        guarantee_fee_minor=principal // 50, convention=np.full(loans, 1, np.int16),
    )  # fmt: skip


def payments(
    terms: TermColumns, due_on: NDArray[np.int32], total: NDArray[np.int64]
) -> FactColumns:
    """Most pay on the day; some a few days late; every fiftieth stops after three instalments."""
    loans = len(terms)
    number = np.arange(loans)[:, None]
    late = np.where(number % 9 == 0, number % 25, 0)
    due, amount = due_on.reshape(loans, 12), total.reshape(loans, 12)
    paid = np.broadcast_to((number % 50 != 7) | (np.arange(12) < 3), due.shape)
    kept = np.concatenate((np.ones((loans, 1), bool), paid), axis=1)
    day = np.concatenate((terms.disbursed_on[:, None], due + late), axis=1)
    money = np.concatenate((terms.principal_minor[:, None], amount), axis=1)
    kind = np.full(kept.shape, FactKind.PAID, np.int8)
    kind[:, 0] = FactKind.DISBURSED
    offsets = np.concatenate(([0], np.cumsum(kept.sum(axis=1)))).astype(np.int64)
    return FactColumns(offsets, day[kept].astype(np.int32), kind[kept], money[kept],
                       np.zeros(int(offsets[-1]), np.int64))  # fmt: skip


def exactly(terms: TermColumns, facts: FactColumns, row: int) -> list[int]:
    """One row of the batch by the exact form, in the order of the kernel's view."""
    own = Terms(
        principal_minor=int(terms.principal_minor[row]),
        rate_ppm=int(terms.rate_ppm[row]),
        coupon_ppm=int(terms.coupon_ppm[row]),
        instalments=int(terms.instalments[row]),
        disbursed_on=from_day(int(terms.disbursed_on[row])),
        first_due_on=from_day(int(terms.first_due_on[row])),
        guarantee_fee_minor=int(terms.guarantee_fee_minor[row]),
        convention=CONVENTIONS["level_monthly"],
    )
    span = range(int(facts.offsets[row]), int(facts.offsets[row + 1]))
    happened = [Fact(FactKind(int(facts.kind[at])), from_day(int(facts.day[at])),
                     int(facts.amount_minor[at]), ref=at) for at in span]  # fmt: skip
    return view_values(replay(own, happened, AS_OF, form="exact").view())


if __name__ == "__main__":
    main()
