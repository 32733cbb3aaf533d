"""Intake of a book from files: what comes in is what was kept elsewhere, once, or not at all."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from usance.base.book import Book
from usance.base.codes import FactKind, Fee, FundingModel
from usance.base.errors import InputError, UsanceError
from usance.books.group.fact_kinds import GroupFactKind
from usance.books.intake.importer import import_first_rows, import_rows
from usance.books.intake.mapping import parse_intake
from usance.books.sample import LOANS, sample_book
from usance.cli import main
from usance.loan.convention import CONVENTION_CODES

LOAN_MAP = """
rows: loan
columns: {loan: contract, principal: Betrag, rate: Zins, coupon: Kupon, instalments: Raten,
          disbursed_on: Beginn, first_due_on: Erste, guarantee_fee: Garantie, flat_fee: Gebuehr,
          upfront_fee: Vorab, convention: Plan, model: Modell}
amounts: "1.234,56"
dates: "%d.%m.%Y"
"""
FACT_MAP = """
rows: fact
columns: {loan: contract, kind: what, effective_on: day, ref: no, amount: amount, reverses: undoes,
          fee: fee, provider: via, party: to, booked_at: known}
kinds: {drawdown: disbursed, repayment: paid}
"""
GROUP_MAP = """
rows: group_fact
columns: {id: no, kind: what, entity: company, effective_on: day, amount: amount, detail: detail}
"""


def german(minor: int) -> str:
    return f"{minor // 100:,}".replace(",", ".") + f",{minor % 100:02d}"


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def loan_files(folder: Path, sample: Book) -> tuple[Path, Path]:
    """The sample as another system would export it."""
    names = {(place << 14) + 1: name for place, name in enumerate(LOANS, start=1)}
    plans = {code: name for name, code in CONVENTION_CODES.items()}
    loans = [
        {"contract": names[row["loan_id"]], "Betrag": german(row["principal_minor"]),
         "Zins": f"{row['rate_ppm'] / 10_000}%", "Kupon": f"{row['coupon_ppm'] / 10_000}%",
         "Raten": row["instalments"], "Beginn": f"{row['disbursed_on']:%d.%m.%Y}",
         "Erste": f"{row['first_due_on']:%d.%m.%Y}",
         "Garantie": german(row["guarantee_fee_minor"]), "Gebuehr": german(row["flat_fee_minor"]),
         "Vorab": german(row["upfront_fee_minor"]), "Plan": plans[row["convention"]],
         "Modell": FundingModel(row["model"]).label}
        for row in sample.read("loans").to_pylist()
    ]  # fmt: skip
    words = {FactKind.DISBURSED: "drawdown", FactKind.PAID: "repayment"}
    facts = []
    for row in sample.read("facts").to_pylist():
        kind = FactKind(row["kind"])
        facts.append(
            {"contract": names[row["loan_id"]], "what": words.get(kind, kind.label),
             "day": row["effective_on"], "no": row["ref"], "amount": row["amount_minor"] / 100,
             "undoes": row["arg"] if kind is FactKind.REVERSED else "",
             "fee": Fee(row["arg"]).label if kind is FactKind.FEE_CHARGED else "",
             "via": row["arg"] if kind is FactKind.PAID else "",
             "to": row["arg"] if kind in (FactKind.COMPENSATED, FactKind.BOUGHT_OUT) else "",
             "known": row["booked_at"].isoformat()}
        )  # fmt: skip
    return write(folder / "loans.csv", loans), write(folder / "facts.csv", facts)


def test_a_book_comes_out_as_it_was_kept_and_a_file_again_adds_nothing(tmp_path: Path) -> None:
    sample = sample_book(tmp_path / "sample")
    loans, facts = loan_files(tmp_path, sample)
    book = Book.create(tmp_path / "book")
    loan_map, fact_map = parse_intake(LOAN_MAP, "l.yaml"), parse_intake(FACT_MAP, "f.yaml")
    assert import_rows(book, loans, loan_map) == ("loans", 5, 0)
    assert import_rows(book, facts, fact_map) == ("facts", 27, 0)
    names = list(LOANS)
    order = [names.index(ref) for ref in book.read("refs")["loan_ref"].to_pylist()]
    assert sorted(order) == list(range(5))
    renamed = dict(zip(book.read("refs")["loan_id"].to_pylist(),
                       [(place + 1 << 14) + 1 for place in order], strict=True))  # fmt: skip

    def rows(of: Book, table: str, leave: tuple[str, ...]) -> list[tuple[Any, ...]]:
        found = []
        for row in of.read(table).to_pylist():
            row["loan_id"] = renamed[row["loan_id"]] if of is book else row["loan_id"]
            found.append(tuple(sorted((k, str(v)) for k, v in row.items() if k not in leave)))
        return sorted(found)

    given = ("line_id", "decision_id")
    assert rows(book, "loans", given) == rows(sample, "loans", given)
    assert rows(book, "facts", ()) == rows(sample, "facts", ())
    before = [book.digest(name) for name in ("loans", "facts", "refs")]
    assert import_rows(book, loans, loan_map) == ("loans", 0, 5)
    assert import_rows(book, facts, fact_map) == ("facts", 0, 27)
    assert [book.digest(name) for name in ("loans", "facts", "refs")] == before


def test_an_amount_in_another_notation_is_refused(tmp_path: Path) -> None:
    loans, _ = loan_files(tmp_path, sample_book(tmp_path / "sample"))
    with loans.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows[1]["Betrag"] = "3000.00"
    book = Book.create(tmp_path / "book")
    with pytest.raises(UsanceError, match=r"line 3, principal: '3000\.00' is no amount. Write it"):
        import_rows(book, write(loans, rows), parse_intake(LOAN_MAP, "l.yaml"))


def test_parquet_is_read_as_csv_is(tmp_path: Path) -> None:
    data = pa.table({"id": ["A"], "amount": [1_000.5], "rate": ["18%"], "n": [6],
                     "start": [date(2024, 1, 15)], "first": [date(2024, 2, 15)]})  # fmt: skip
    pq.write_table(data, tmp_path / "loans.parquet")
    mapping = parse_intake(
        "rows: loan\ncolumns: {loan: id, principal: amount, rate: rate, instalments: n,"
        " disbursed_on: start, first_due_on: first}\ndefaults: {model: capital_light}", "m.yaml",
    )  # fmt: skip
    book = Book.create(tmp_path / "book")
    assert import_rows(book, tmp_path / "loans.parquet", mapping).added == 1
    [row] = book.read("loans").to_pylist()
    assert (row["principal_minor"], row["model"]) == (1_000_50, FundingModel.CAPITAL_LIGHT)


@pytest.fixture(scope="module")
def one_loan(tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder = tmp_path_factory.mktemp("one")
    book = Book.create(folder / "book")
    rows = [{"contract": "A", "Betrag": "9.000,00", "Zins": "18%", "Kupon": "7%", "Raten": 6,
             "Beginn": "15.01.2024", "Erste": "15.02.2024", "Garantie": "", "Gebuehr": "",
             "Vorab": "", "Plan": "", "Modell": ""}]  # fmt: skip
    import_rows(book, write(folder / "l.csv", rows), parse_intake(LOAN_MAP, "l.yaml"))
    return book


GOOD = {"contract": "A", "what": "drawdown", "day": "2024-01-15", "no": "1", "amount": "9000",
        "undoes": "", "fee": "", "via": "", "to": "", "known": ""}  # fmt: skip
BAD: dict[str, tuple[dict[str, str], str]] = {
    "unknown loan": ({"contract": "B"}, "no loan 'B'"),
    "unknown kind": ({"what": "gift"}, "unknown fact kind 'gift'"),
    "day": ({"day": "2024-02-30"}, "is no day"),
    "amount": ({"amount": "9.000,00"}, "amount"),
    "reference": ({"no": ""}, "ref is empty"),
    "reversal": ({"what": "reversed", "no": "2", "amount": ""}, "reverses nothing"),
    "target": ({"what": "reversed", "no": "2", "amount": "", "undoes": "77"}, "cannot be replayed"),
    "too much": ({"what": "refunded", "no": "2", "amount": "1"}, "cannot be replayed"),
    "new terms": ({"what": "terms_changed", "no": "2"}, "needs new terms"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_row_that_cannot_be_true_refuses_the_file(
    name: str, one_loan: Book, tmp_path: Path
) -> None:
    change, what = BAD[name]
    file = write(tmp_path / "f.csv", [GOOD, GOOD | change])
    with pytest.raises(UsanceError, match=what) as found:
        import_rows(one_loan, file, parse_intake(FACT_MAP, "f.yaml"))
    assert f"{file} line 3" in str(found.value)
    assert one_loan.rows("facts") == 0


def test_a_book_begins_with_a_file_that_is_taken_or_not_at_all(tmp_path: Path) -> None:
    mapping = parse_intake(LOAN_MAP.replace("Erste", "Ende"), "loans.yaml")
    loans, _ = loan_files(tmp_path, sample_book(tmp_path / "sample"))
    with pytest.raises(UsanceError, match="unknown column 'Ende'"):
        import_first_rows(tmp_path / "new", loans, mapping)
    assert not (tmp_path / "new").exists()
    made = import_first_rows(tmp_path / "new", loans, parse_intake(LOAN_MAP, "loans.yaml"))
    assert made == ("loans", 5, 0)


def test_a_reference_with_another_content_is_refused(one_loan: Book, tmp_path: Path) -> None:
    file = write(tmp_path / "f.csv", [GOOD, GOOD, GOOD | {"amount": "8000"}])
    with pytest.raises(UsanceError, match="another content"):
        import_rows(one_loan, file, parse_intake(FACT_MAP, "f.yaml"))


LOAN_BAD: dict[str, tuple[dict[str, str], str]] = {
    "principal": ({"Betrag": "-5,00"}, "principal"),
    "instalments": ({"Raten": "0"}, "instalments"),
    "first due": ({"Erste": "15.01.2023"}, "first_due_on"),
    "convention": ({"Plan": "odd"}, "unknown convention 'odd'"),
    "twice": ({}, "there twice"),
}


@pytest.mark.parametrize("name", LOAN_BAD)
def test_a_loan_that_cannot_be_refuses_the_file(name: str, tmp_path: Path) -> None:
    change, what = LOAN_BAD[name]
    row = {"contract": "A", "Betrag": "9.000,00", "Zins": "18%", "Kupon": "7%", "Raten": "6",
           "Beginn": "15.01.2024", "Erste": "15.02.2024", "Garantie": "", "Gebuehr": "",
           "Vorab": "", "Plan": "", "Modell": ""}  # fmt: skip
    other = row | change | ({} if name == "twice" else {"contract": "B"})
    book = Book.create(tmp_path / "book")
    with pytest.raises(UsanceError, match=what):
        import_rows(book, write(tmp_path / "l.csv", [row, other]), parse_intake(LOAN_MAP, "l"))
    assert book.rows("loans") == 0
    changed = row | {"Betrag": "9.001,00"}
    import_rows(book, write(tmp_path / "l.csv", [row]), parse_intake(LOAN_MAP, "l"))
    with pytest.raises(UsanceError, match="other terms"):
        import_rows(book, write(tmp_path / "l.csv", [changed]), parse_intake(LOAN_MAP, "l"))


def test_loans_of_one_user_are_numbered_together(tmp_path: Path) -> None:
    rows = [{"id": f"L{n}", "who": f"U{n % 2}"} for n in range(4)]
    mapping = parse_intake(
        "rows: loan\ncolumns: {loan: id, user: who}\ndefaults: {principal: '100', rate: 18%,"
        " instalments: 3, disbursed_on: 2024-01-15, first_due_on: 2024-02-15}", "m.yaml",
    )  # fmt: skip
    book = Book.create(tmp_path / "book")
    import_rows(book, write(tmp_path / "l.csv", rows), mapping)
    assert book.read("refs")["loan_ref"].to_pylist() == ["L0", "L2", "L1", "L3"]
    assert book.read("loans")["user_loan_no"].to_pylist() == [1, 2, 1, 2]


def test_rates_with_a_comma_and_amounts_with_a_sign(tmp_path: Path) -> None:
    row = {"contract": "A", "Betrag": "€ 9.000,00", "Zins": "12,61%", "Kupon": "7.5%", "Raten": "6",
           "Beginn": "15.01.2024", "Erste": "15.02.2024", "Garantie": "", "Gebuehr": "",
           "Vorab": "", "Plan": "", "Modell": ""}  # fmt: skip
    book = Book.create(tmp_path / "book")
    import_rows(book, write(tmp_path / "l.csv", [row]), parse_intake(LOAN_MAP, "l.yaml"))
    kept = book.read("loans").to_pylist()[0]
    assert (kept["principal_minor"], kept["rate_ppm"], kept["coupon_ppm"]) == (
        900_000, 126_100, 75_000)  # fmt: skip


def test_facts_of_the_group_are_read_by_their_kind(tmp_path: Path) -> None:
    row = {"no": "1", "what": "cost_incurred", "company": "2", "day": "2024-01-31",
           "amount": "500", "detail": '{"function": "marketing"}'}  # fmt: skip
    book, mapping = Book.create(tmp_path / "book"), parse_intake(GROUP_MAP, "g.yaml")
    file = write(tmp_path / "g.csv", [row])
    assert import_rows(book, file, mapping) == ("group_facts", 1, 0)
    assert import_rows(book, file, mapping) == ("group_facts", 0, 1)
    [stored] = book.read("group_facts").to_pylist()
    assert stored["kind"] == GroupFactKind.COST_INCURRED
    assert stored["booked_at"] == datetime(2024, 1, 31, tzinfo=UTC)
    for change, what in (
        ({"detail": "{"}, "detail"), ({"no": "2", "amount": "-1"}, "above zero"),
        ({"amount": "501"}, "another content"), ({"no": "3", "detail": "{}"}, "function"),
        ({"no": "4", "what": "gift"}, "unknown group fact kind"),
    ):  # fmt: skip
        with pytest.raises(UsanceError, match=what):
            import_rows(book, write(tmp_path / "g.csv", [row | change]), mapping)


def test_a_document_of_group_facts_needs_no_mapping(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    cost = "  - {id: 1, kind: cost_incurred, entity: 1, on: 2024-01-31, amount: 5, function: rent}"
    Path("g.yaml").write_text(f"facts:\n{cost.replace('rent', 'marketing')}\n")
    for said in ("1 row added to group_facts, 0 were", "0 rows added to group_facts, 1 were"):
        assert main(["books", "import", "g.yaml", "--book", "book"]) == 0
        assert said in capsys.readouterr().out
    for call, says in (
        ("g.yaml --map m.yaml", "is a document of facts. Leave --map out"),
        ("g.csv", "is a table. Give --map FILE"),
    ):
        assert main(["books", "import", *call.split(), "--book", "book"]) == 2
        assert says in capsys.readouterr().err
    Path("g.yaml").write_text(f"facts:\n{cost.replace('rent', 'servicing_cost')}\n")
    assert main(["books", "import", "g.yaml", "--book", "book"]) == 2
    assert "fact 1 is in the book with another content" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    ["rows: loan", "rows: loan\ncolumns: {loan: a}", "rows: fact\ncolumns: {loen: a}",
     "rows: fact\ncolumns: {loan: a, kind: b, effective_on: c, ref: d}\nkinds: 5",
     "rows: fact\ncolumns: {loan: a, kind: b, effective_on: c, ref: d}\ndefaults: {kind: paid}"],
)  # fmt: skip
def test_a_mapping_that_says_too_little_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_intake(text, "m.yaml")


def test_the_general_ledger_leaves_whole_under_another_chart(tmp_path: Path) -> None:
    import json
    from decimal import Decimal

    from usance.books.chart import load_chart
    from usance.books.errors import ChartError
    from usance.books.exports import trial_balance
    from usance.books.general_ledger import parse_chart_map, write_general_ledger
    from usance.cli import main

    folder = tmp_path / "book"
    assert main(["books", "sample", str(folder)]) == 0
    assert main(["close", "2023Q4", "--book", str(folder)]) == 0
    book = Book.open(folder)
    numbers = {account.name: f"X{account.number}" for account in load_chart()}
    chart = parse_chart_map(json.dumps({"accounts": numbers, "entities": {"2": "HQ"}}), "c.json")
    written = write_general_ledger(book, chart, tmp_path / "gl.csv")
    with (tmp_path / "gl.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == written > 0
    sums: dict[tuple[str, str], Decimal] = {}
    for row in rows:
        key = row["account"], row["basis"]
        amount = Decimal(row["debit"] or 0) - Decimal(row["credit"] or 0)
        sums[key] = sums.get(key, Decimal(0)) + amount
    expected: dict[tuple[str, str], Decimal] = {}
    for line in trial_balance(book):
        key = f"X{line['account']}", line["basis"]
        expected[key] = expected.get(key, Decimal(0)) + Decimal(line["amount_minor"]) / 100
    assert {k: v for k, v in sums.items() if v} == {k: v for k, v in expected.items() if v}
    adjusted = {line["name"] for line in trial_balance(book) if line["basis"] != "us_gaap"}
    plain = {line["name"] for line in trial_balance(book) if line["basis"] == "us_gaap"}
    alone = {name: each for name, each in numbers.items() if name not in adjusted - plain}
    assert adjusted - plain
    text = json.dumps({"accounts": alone, "ifrs_adjustments": False})
    assert (
        write_general_ledger(book, parse_chart_map(text, "c.json"), tmp_path / "us.csv") < written
    )
    del numbers["cash"]
    lacking = parse_chart_map(json.dumps({"accounts": numbers}), "c.json")
    with pytest.raises((ChartError, InputError), match="cash"):
        write_general_ledger(book, lacking, tmp_path / "none.csv")
    assert not (tmp_path / "none.csv").exists()
