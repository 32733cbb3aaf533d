"""Tapes that people bring: right against published answers and against plain loops."""

from __future__ import annotations

import csv
import gzip
import json
from decimal import Decimal
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.measure.tape_oracle import Oracle, Row
from tests.pages.checks import parsed
from usance.base.errors import UsanceError
from usance.measure.tape.loan_states import roll_steps
from usance.measure.tape.mapping import TapeMapping, parse_mapping
from usance.measure.tape.report import TapeReport, measure_tape, write_report
from usance.pages.reports.tape_report import tape_files

MAPS = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "maps"


@pytest.fixture(scope="module")
def panel(shared: Path) -> tuple[TapeReport, dict[str, Any]]:
    folder = shared / "data" / "card_status_panel"
    pack = measure_tape(folder / "monthly_status.csv.gz", MAPS / "card-status-panel.yaml")
    return pack, json.loads((folder / "reference_metrics.json").read_text())


def test_the_panel_counts_as_published(panel: tuple[TapeReport, dict[str, Any]]) -> None:
    pack, answers = panel
    assert (pack.rows, pack.loans) == (answers["rows"], answers["accounts"])
    assert (pack.tables["gaps"].num_rows, pack.unused) == (answers["gaps"], answers["dup"])
    counts = {row["status"]: row["loan_months"] for row in pack.records("statuses")}
    assert counts == answers["status_counts"]
    assert pack.ever[60] == answers["ever60_accounts"]


def test_the_panel_moves_as_published(panel: tuple[TapeReport, dict[str, Any]]) -> None:
    pack, answers = panel
    moves: dict[str, dict[str, int]] = {}
    for row in pack.records("matrix"):
        moves.setdefault(row["from"], {})[row["to"]] = row["loans"]
    assert moves == answers["transition_counts"]


def test_the_panel_ages_as_published(panel: tuple[TapeReport, dict[str, Any]]) -> None:
    pack, answers = panel
    ever = {(row["cohort"], row["mob"]): row for row in pack.records("ever") if row["days"] == 60}
    for cohort, answer in answers["vintage_half_year"].items():
        assert ever[int(cohort), 0]["loans"] == answer["n"]
        for mob in (6, 12, 24):
            row = ever[int(cohort), mob]
            rate = None if row["rate"] is None else round(row["rate"], 5)
            assert [row["observed"], rate] == answer[f"ever60_by_mob{mob}"]


def test_short_loans_age_from_their_own_dates(shared: Path) -> None:
    file = shared / "data" / "superlender" / "previous_loans.csv.gz"
    pack = measure_tape(file, MAPS / "short-term-loans.yaml")
    with gzip.open(file, "rt") as text:
        rows = list(csv.DictReader(text))
    assert pack.loans == len(rows)
    last = [row for row in pack.records("cohorts") if not row["segment"]]
    assert sum(row["loans"] for row in last if row["status"] == "closed") == len(rows)
    principal = sum(round(float(row["loanamount"]) * 100) for row in rows)
    assert sum(row["principal"] for row in last) == principal
    flows = pack.records("waterfall")
    assert sum(row["new"] for row in flows) == principal == -sum(row["repaid"] for row in flows)


@pytest.mark.slow
def test_charge_offs_add_up_to_what_the_file_says(shared: Path) -> None:
    file = shared / "data" / "sba" / "loans.csv.gz"
    pack = measure_tape(file, MAPS / "small-business-loans.yaml")
    with gzip.open(file, "rt") as text:
        rows = list(csv.DictReader(text))
    assert pack.loans + pack.unused == len(rows)
    wrong = {int(error.where.rpartition(" line ")[2]) for error in pack.findings}
    good = [row for line, row in enumerate(rows, start=2) if line not in wrong]
    ends = [row for row in pack.records("cohorts") if not row["segment"]]
    lost = [row for row in good if row["ChgOffDate"]]
    assert len(good) == pack.loans
    charged_off = [row for row in ends if row["status"] == "charged_off"]
    assert sum(row["loans"] for row in charged_off) == len(lost)
    assert sum(row["balance"] for row in charged_off) == sum(
        round(float(row["ChgOffPrinGr"]) * 100) for row in lost
    )
    assert pack.tables["gaps"].num_rows == 0
    by_region = {row["segment"] for row in pack.records("vintages")}
    assert by_region == {"", "0", "1", "2"}


def test_one_month_of_servicing_rows_has_no_rolls(shared: Path) -> None:
    file = shared / "data" / "lendingclub2018" / "loans_full_schema_10k.csv.gz"
    pack = measure_tape(file, MAPS / "servicing-rows.yaml")
    assert pack.loans == 10_000
    assert pack.tables["roll_rates"].num_rows == pack.tables["matrix"].num_rows == 0
    with gzip.open(file, "rt") as text:
        late = [row for row in csv.DictReader(text) if row["loan_status"] == "Late (31-120 days)"]
    cells = [row for row in pack.records("vintages") if not row["segment"] and row["past_due"]]
    charged_off = sum(
        row["balance"] for row in pack.records("statuses")
        if not row["segment"] and row["status"] == "Charged Off"
    )  # fmt: skip
    owed = sum(round(float(row["balance"]) * 100) for row in late)
    assert sum(row["past_due"] for row in cells) == owed + charged_off


STATUSES = ("current", "1-30", "31-60", "61-90", "91+", "closed", "charged_off", "absent")
MAP = (
    "rows: loan_month\ncolumns: {loan: id, month: m, status: s, balance: b, principal: p}\n"
    "months: relative\ncurrency: JPY\ncohorts: quarter\nvintages: [30, 60]\never: [30]\nstatuses: {"
    + ", ".join(f"{name}: {name}" for name in STATUSES)
    + "}"
)


@st.composite
def panels(draw: st.DrawFn) -> list[tuple[int, int, str, int, int]]:
    """Rows of a few loans with gaps, in any order."""
    rows = []
    for loan in range(draw(st.integers(1, 16))):
        principal = draw(st.integers(1, 900))
        first = draw(st.integers(-9, 0))
        for month in range(first, draw(st.integers(first, 0)) + 1):
            if month == first or draw(st.integers(0, 9)):
                status = draw(st.sampled_from(STATUSES))
                owes = status not in ("closed", "absent")
                rows.append((loan, month, status, draw(st.integers(0, 999)) * owes, principal))
    return draw(st.permutations(rows))


@settings(max_examples=12)
@given(panels())
def test_every_table_is_what_plain_loops_give(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, str, int, int]]
) -> None:
    mapped = parse_mapping(MAP)
    file = tmp_path_factory.getbasetemp() / "tape.csv"
    lines = [",".join(map(str, row)) for row in rows]
    file.write_text("\n".join(["id,m,s,b,p", *lines]) + "\n")
    pack = measure_tape(file, mapped)
    labels = [state.label for state in mapped.states]
    oracle = Oracle(
        [
            Row(
                loan,
                month,
                labels.index(s),
                mapped.states[labels.index(s)].kind.label,
                mapped.states[labels.index(s)].last_day,
                balance,
                principal,
            )
            for loan, month, s, balance, principal in rows
        ],
        3,
        roll_steps(mapped.states),
    )
    _same(pack, oracle, labels, mapped)
    _flows_close(pack, oracle)


def _same(pack: TapeReport, oracle: Oracle, labels: list[str], mapped: TapeMapping) -> None:
    matrix = {
        (labels.index(row["from"]), labels.index(row["to"])): (row["loans"], row["balance"])
        for row in pack.records("matrix") if row["loans"]
    }  # fmt: skip
    assert matrix == oracle.matrix()
    rolls = {
        (row["month"], labels.index(row["from"]), labels.index(row["to"])): (
            row["loans"], row["loans_before"], row["balance"], row["balance_before"])
        for row in pack.records("roll_rates")
    }  # fmt: skip
    assert rolls == oracle.rolls()
    for days in mapped.vintages:
        vintages = {
            (row["cohort"], row["mob"]): (row["past_due"], row["principal"])
            for row in pack.records("vintages") if row["days"] == days and row["complete"]
        }  # fmt: skip
        assert vintages == oracle.vintages(days)
    ever = {
        (row["cohort"], row["mob"]): (row["observed"], row["ever"]) for row in pack.records("ever")
    }
    wanted = oracle.ever(30)
    assert {key: value for key, value in wanted.items() if value[0]} == {
        key: value for key, value in ever.items() if value[0]
    }


def _flows_close(pack: TapeReport, oracle: Oracle) -> None:
    """Opening and the flows give closing, closing is the next opening."""
    before = 0
    for row in pack.records("waterfall"):
        flows = ("new", "drawn", "returned", "repaid", "charged_off", "gone")
        assert row["opening"] == before
        assert row["opening"] + sum(row[name] for name in flows) == row["closing"]
        assert row["closing"] == oracle.closing().get(row["month"], 0)
        before = row["closing"]


LOANS = "loan,out,amount,first,count\n1,2024-01-10,600,2024-02-10,3\n2,2024-02-01,90,2024-03-01,1\n"
PAID = "loan,on,amount\n1,2024-02-10,200\n1,2024-04-20,150\n1,2024-06-01,250\n2,2024-03-15,90\n"
LOAN_MAP = """
rows: loan
columns: {loan: loan, disbursed_on: out, principal: amount, first_due_on: first, instalments: count}
payments: {file: paid.csv, columns: {loan: loan, paid_on: on, amount: amount}}
as_of: 2024-06-15
"""


def test_payments_cover_the_oldest_due_first(tmp_path: Path) -> None:
    (tmp_path / "loans.csv").write_text(LOANS)
    (tmp_path / "paid.csv").write_text(PAID)
    pack = measure_tape(tmp_path / "loans.csv", parse_mapping(LOAN_MAP))
    moves = {(row["from"], row["to"]): row["loans"] for row in pack.records("matrix")}
    # Loan 1 misses the instalment of 10 March, pays 150 of 200 in April and the rest in June.
    # At the month ends from January: current, current, 21 days, 51 days, 82 days, closed.
    assert moves["current", "current"] == 1
    assert moves["current", "1-30"] == moves["1-30", "31-60"] == moves["31-60", "61-90"] == 1
    assert moves["61-90", "closed"] == 1
    assert moves["current", "closed"] == 1  # loan 2, a fortnight late within its month
    owed = {row["month"]: row["closing"] for row in pack.records("waterfall")}
    assert [owed[month] for month in sorted(owed)] == [60000, 49000, 40000, 25000, 25000, 0]


def test_parquet_gives_what_csv_gives(tmp_path: Path) -> None:
    (tmp_path / "paid.csv").write_text(PAID)
    (tmp_path / "loans.csv").write_text(LOANS)
    rows = list(csv.DictReader(LOANS.splitlines()))
    table = pa.table(
        {
            "loan": [int(row["loan"]) for row in rows],
            "out": pa.array([row["out"] for row in rows]).cast(pa.date32()),
            "amount": [float(row["amount"]) for row in rows],
            "first": pa.array([row["first"] for row in rows]).cast(pa.timestamp("us")),
            "count": [int(row["count"]) for row in rows],
        }
    )
    pq.write_table(table, tmp_path / "loans.parquet")
    one, other = (
        measure_tape(tmp_path / name, parse_mapping(LOAN_MAP))
        for name in ("loans.csv", "loans.parquet")
    )
    assert {n: t.to_pylist() for n, t in one.tables.items()} == {
        n: t.to_pylist() for n, t in other.tables.items()
    }


@pytest.mark.parametrize(
    ("separator", "amounts", "written"),
    [
        (";", "1.234,56", "1.600,00"),
        ("\t", "1,234.56", "$1,600.00"),
        ("|", "1234,56", "1600,00"),
        (";", "1 234,56", "1 600,00"),
    ],
)
def test_other_separators_and_other_ways_to_write_amounts(
    tmp_path: Path, separator: str, amounts: str, written: str
) -> None:
    columns = "rows: loan_month\ncolumns: {loan: a, month: m, days_past_due: d, balance: b}\n"
    text = f'{columns}months: "%Y%m"\ncurrency: USD\namounts: "{amounts}"\n'
    rows = (("a", "m", "d", "b"), ("1", "202401", "0", written), ("1", "202402", "31", "50"))
    (tmp_path / "tape.txt").write_text("\n".join(separator.join(row) for row in rows))
    pack = measure_tape(tmp_path / "tape.txt", parse_mapping(text))
    closing = {row["month"]: row["closing"] for row in pack.records("waterfall")}
    assert list(closing.values()) == [160_000, 5_000]


def test_codes_of_one_bucket_roll_together(tmp_path: Path) -> None:
    columns = "rows: loan_month\ncolumns: {loan: a, month: m, status: s}\n"
    states = "statuses: {new: current, paid: current, late: 1-30, rate: 1-30, lost: 31+, sold: 31+}"
    rows = [
        *(f"{loan},202401,{state}" for loan, state in enumerate(("new", "paid", "paid", "lost"))),
        *(f"{loan},202402,{state}" for loan, state in enumerate(("paid", "rate", "late", "sold"))),
    ]
    (tmp_path / "tape.csv").write_text("\n".join(["a,m,s", *rows]))
    pack = measure_tape(
        tmp_path / "tape.csv", parse_mapping(f'{columns}months: "%Y%m"\n{states}\n')
    )
    assert [
        (row["from"], row["to"], row["loans"], row["loans_before"])
        for row in pack.records("roll_rates")
    ] == [("new + paid", "late + rate", 2, 3)]
    assert {row["from"] for row in pack.records("matrix")} == {"new", "paid", "lost"}


def test_amounts_that_are_written_otherwise_are_named(tmp_path: Path) -> None:
    columns = "rows: loan_month\ncolumns: {loan: a, month: m, days_past_due: d, balance: b}\n"
    text = f'{columns}months: "%Y%m"\namounts: "1,234.56"\n'
    (tmp_path / "tape.txt").write_text("a;m;d;b\n1;202401;0;1,00\n")
    with pytest.raises(UsanceError, match="line 2: balance is '1,00'"):
        measure_tape(tmp_path / "tape.txt", parse_mapping(text))
    (tmp_path / "tape.txt").write_text("a;m;d;b\n1;202401;0;3000.00\n")
    with pytest.raises(UsanceError, match=r"line 2: balance is '3000\.00'.*as the mapping says"):
        measure_tape(tmp_path / "tape.txt", parse_mapping(text.replace("1,234.56", "1.234,56")))


def test_numbers_of_parquet_are_plain_in_any_notation(tmp_path: Path) -> None:
    columns = "rows: loan_month\ncolumns: {loan: a, month: m, days_past_due: d, balance: b}\n"
    rows = {"a": ["1"], "m": ["202401"], "d": [0], "b": [Decimal("1600.50")]}
    pq.write_table(pa.table(rows), tmp_path / "tape.parquet")
    mapping = parse_mapping(f'{columns}months: "%Y%m"\namounts: "1.234,56"\n')
    pack = measure_tape(tmp_path / "tape.parquet", mapping)
    assert [row["closing"] for row in pack.records("waterfall")] == [160_050]


def test_the_pack_is_files_and_one_page_that_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "loans.csv").write_text(LOANS)
    (tmp_path / "paid.csv").write_text(PAID)
    pack = measure_tape(tmp_path / "loans.csv", parse_mapping(LOAN_MAP + "title: A <b> & c\n"))
    names = write_report(pack, tmp_path / "out", tape_files)
    assert sorted(names) == sorted(path.name for path in (tmp_path / "out").iterdir())
    page = (tmp_path / "out" / "index.html").read_text()
    assert "A &lt;b&gt; &amp; c" in page
    drawn = [name for name in names if name.endswith(".svg")]
    assert len(list(parsed(page).iter("svg"))) == len(drawn) > 3
    for name in drawn:
        assert ElementTree.parse(tmp_path / "out" / name).getroot().tag.endswith("svg")
    written = pq.read_table(tmp_path / "out" / "vintages.parquet").to_pylist()
    assert written == json.loads((tmp_path / "out" / "vintages.json").read_text())
    with (tmp_path / "out" / "vintages.csv").open() as file:
        assert len(list(csv.DictReader(file))) == len(written)
