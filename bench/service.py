"""The service room: a debit run over a million loans, bank statements, reconciliation."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import numpy as np

from bench.report import Report
from usance.base.dates import to_day
from usance.loan.batch import replay_columns
from usance.loan.columns import FactColumns, TermColumns
from usance.service import (
    ClearingTerms,
    DebitColumns,
    DebitPolicy,
    Lines,
    Receipts,
    Shares,
    debit_run,
    next_batches,
    payable,
    read_camt,
    reconcile,
)
from usance.service.bank_files.csv_file import read_csv_file
from usance.service.bank_files.profile import load_profile

LOANS = 1_000_000
ENTRIES = 100_000
LINES = 1_000_000
RECEIPTS = 300_000
DAY = date(2024, 7, 1)


def run(report: Report) -> None:
    """Every figure of the room."""
    debits(report)
    statements(report)
    provider_file(report)
    reconciliation(report)
    settlement(report)


def seconds(function: Callable[[], object]) -> float:
    """Processor time of one call, so that other work does not count."""
    begun = time.process_time()
    function()
    return time.process_time() - begun


def debits(report: Report, loans: int = LOANS) -> None:
    """The run of a day over loans that all owe something, from terms and facts to orders."""
    report.section(f"service: debit run, {loans:,} active loans that all owe")
    terms, facts = portfolio(loans)
    loan_id = (np.arange(loans) // 2 + 1 << 14) + 1 + np.arange(loans) % 2
    provider, none_open = np.full(loans, 2, np.int16), np.zeros(loans, np.bool_)
    policy = DebitPolicy.at(DAY)
    made: list[int] = []

    def whole() -> None:
        views = replay_columns(terms, facts, DAY)
        owed = DebitColumns.of_views(loan_id, provider, views, none_open)
        orders = debit_run(owed, policy.attempts[0], policy.minimum_minor)
        at = datetime(2024, 7, 1, tzinfo=UTC)
        made.append(sum(1 for _ in orders.orders(DAY, 8, "CNY", 1, at, at)))

    whole()  # compiled and warm
    report.at_most("views, run and orders as objects", seconds(whole), 90, "s")
    report.line("orders", f"{made[-1]:,}")


def statements(report: Report, entries: int = ENTRIES) -> None:
    """A camt.053 of many entries, read to its end; then half of it, to see that time is linear."""
    report.section(f"service: camt.053 of {entries:,} entries")
    whole, half = camt_file(entries), camt_file(entries // 2)
    took = seconds(lambda: read_camt(whole, "s.xml"))
    report.at_most(f"read, {len(whole) / 1e6:.0f} MB", took, 3, "s")
    ratio = took / seconds(lambda: read_camt(half, "s.xml"))
    report.at_most("twice the entries take", ratio, 2.5, "times")


def provider_file(report: Report, lines: int = LINES) -> None:
    """A provider's CSV of a million lines, read to its end; then half of it."""
    report.section(f"service: CSV of {lines:,} lines")
    header = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer\n"
    rows = [f"OR{n},T{n},2024-07-01,{n % 900}.25,0.06,B{n // 1000},{n + 1},p{n}\n"
            for n in range(lines)]  # fmt: skip
    profile = load_profile("psp")
    whole, half = header + "".join(rows), header + "".join(rows[: lines // 2])
    took = seconds(lambda: read_csv_file(whole, "p.csv", profile))
    report.line("read", f"{took:.1f} s, {len(whole) / 1e6:.0f} MB")
    ratio = took / seconds(lambda: read_csv_file(half, "p.csv", profile))
    report.at_most("twice the lines take", ratio, 2.5, "times")


def reconciliation(report: Report, lines: int = LINES) -> None:
    """Our movements, the provider's file and the bank's statement, a line in fifty not agreeing."""
    report.section(f"service: three-way reconciliation, {lines:,} movements")
    made = three_views(lines)
    half = three_views(lines // 2)
    terms = ClearingTerms("CNY", fee_ppm=6_000)
    through = date(2024, 7, 8)
    done = reconcile(*made, terms, through=through)
    took = seconds(lambda: reconcile(*made, terms, through=through))
    report.at_most("matched and classified", took, 60, "s")
    report.line("breaks", f"{len(done.breaks):,}")
    report.at_most("sums that do not tie", len(list(done.tie_problems())), 0, "")
    ratio = took / seconds(lambda: reconcile(*half, terms, through=through))
    report.at_most("twice the lines take", ratio, 2.5, "times")


def settlement(report: Report, receipts: int = RECEIPTS, institutions: int = 160) -> None:
    """Batches of a day for every institution, a tenth of the loans co-funded, after a month's."""
    report.section(f"service: settlement, {institutions} institutions, {receipts:,} receipts a day")
    random = np.random.default_rng(1)
    loan = (np.arange(receipts) + 1 << 14) + 1
    lead = (np.arange(receipts) % institutions + 1).astype(np.int16)
    second = np.flatnonzero(np.arange(receipts) % 10 == 0)
    order = np.argsort(np.concatenate((loan, loan[second])), kind="stable")
    shares = Shares(
        np.concatenate((loan, loan[second]))[order],
        np.concatenate((lead, lead[second] % institutions + 1))[order].astype(np.int16),
        np.full(receipts + len(second), 1_000_00, np.int64),
    )

    def made(days: int) -> Receipts:
        rows = receipts * days
        day = to_day(DAY) + np.repeat(np.arange(days), receipts).astype(np.int32)
        return Receipts(
            np.tile(loan, days), day, np.full(rows, 2, np.int16),
            np.tile(random.integers(1, 9_000_00, receipts), days),
        )  # fmt: skip

    closed = next_batches(payable(made(1), shares), [], DAY)
    tomorrow = DAY + timedelta(days=1)
    two = made(2)
    took = seconds(lambda: next_batches(payable(two, shares), closed, tomorrow))
    report.at_most("batches, with those of the day before", took, 30, "s")
    found = next_batches(payable(two, shares), closed, tomorrow)
    gap = int(two.amount_minor.sum()) - sum(each.total_minor for each in [*closed, *found])
    report.at_most("minor units that are not settled", abs(gap), 0, "")


def three_views(lines: int) -> tuple[Lines, Lines, Lines]:
    """Views of one day: of every hundred movements one is missing on either side."""
    number = np.arange(lines)
    reference = np.char.add("OR", number.astype(str))
    batch = np.char.add("B", (number // 1000).astype(str))
    amount = 1_000_00 + number % 90_000
    fee = (amount * 6 + 500) // 1000
    day, party = np.full(lines, to_day(DAY)), np.char.add("p", number.astype(str))
    currency = np.full(lines, "CNY")
    ours, theirs = number % 100 != 3, number % 100 != 7

    def view(rows: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Lines:
        return Lines.columns(
            reference=reference[rows], amount_minor=amount[rows], day=day[rows], party=party[rows],
            batch=batch[rows], fee_minor=fee[rows], loan_id=number[rows] + 1,
            currency=currency[rows],
        )  # fmt: skip

    file = view(theirs)
    names, place = np.unique(batch[theirs], return_inverse=True)
    net = np.zeros(len(names), np.int64)
    np.add.at(net, place, (amount - fee)[theirs])
    bank = Lines.columns(
        reference=names, amount_minor=net, day=np.full(len(names), to_day(DAY) + 1),
        currency=np.full(len(names), "CNY"),
    )  # fmt: skip
    return view(ours), file, bank


def camt_file(entries: int) -> bytes:
    """A statement of entries with one detail each."""
    rows = "".join(
        f"""<Ntry><NtryRef>{n}</NtryRef><Amt Ccy="CNY">{n % 9000 + 1}.50</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts><BookgDt><Dt>2024-07-01</Dt></BookgDt>
<ValDt><Dt>2024-07-01</Dt></ValDt><AcctSvcrRef>A{n}</AcctSvcrRef><BkTxCd><Domn><Cd>PMNT</Cd><Fmly>
<Cd>RCDT</Cd><SubFmlyCd>ESCT</SubFmlyCd></Fmly></Domn></BkTxCd><NtryDtls><TxDtls><Refs>
<EndToEndId>OR{n}</EndToEndId></Refs><RltdPties><Dbtr><Pty><Nm>Borrower {n}</Nm></Pty></Dbtr>
</RltdPties><RmtInf><Ustrd>Instalment of loan {n}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
"""
        for n in range(entries)
    )
    return f"""<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt>
<Stmt><Id>S-1</Id><Acct><Id><IBAN>CN01</IBAN></Id><Ccy>CNY</Ccy></Acct>
{rows}</Stmt></BkToCstmrStmt></Document>""".encode()


def portfolio(loans: int) -> tuple[TermColumns, FactColumns]:
    """Loans of twelve instalments, drawn over half a year, whose borrowers have paid nothing."""
    drawn = (to_day(date(2024, 1, 1)) + np.arange(loans) % 150).astype(np.int32)
    principal = 1_000_00 + np.arange(loans, dtype=np.int64) % 9_000 * 100
    none = np.zeros(loans, np.int64)
    terms = TermColumns(
        principal, np.full(loans, 180_000, np.int32), np.full(loans, 180_000, np.int32),
        np.full(loans, 12, np.int16), drawn, (drawn + 30).astype(np.int32), none, none,
        np.ones(loans, np.int16),
    )  # fmt: skip
    facts = FactColumns(
        np.arange(loans + 1, dtype=np.int64), drawn, np.zeros(loans, np.int8), principal, none
    )
    return terms, facts
