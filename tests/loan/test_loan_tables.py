"""Tables of many loans, against the exact form of each; one message for a bad column."""

from __future__ import annotations

import csv
import json
import re
from datetime import date, timedelta
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from usance.base.errors import UsanceError
from usance.base.parameters import Parameters
from usance.cli import main
from usance.loan import exact
from usance.loan.documents import read_loan
from usance.loan.exact.plan import schedule
from usance.loan.quote import quote

CONVENTIONS = ("level_monthly", "equal_principal_monthly", "level_daily", "")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(count: int = 40) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Loans of several conventions in two files, with payments, some of them reversed."""
    chance = Random(7)
    loans: list[dict[str, object]] = []
    facts: list[dict[str, object]] = []
    for n in range(count):
        start = date(2023, 1, 31) + timedelta(days=chance.randrange(300))
        amount = f"{chance.randrange(1000, 90000)}.{chance.randrange(100):02}"
        loans.append({"loan": f"K-{n}", "principal": amount, "rate": f"{chance.randrange(5, 24)}%",
                      "coupon": "4%", "instalments": chance.choice((3, 6, 12)),
                      "disbursed_on": start, "convention": chance.choice(CONVENTIONS),
                      "flat_fee": chance.choice(("", "120.5"))})  # fmt: skip
        facts.append({"loan": f"K-{n}", "kind": "disbursed", "on": start, "amount": amount,
                      "ref": "d", "arg": ""})  # fmt: skip
        for k in range(chance.randrange(4)):
            on = start + timedelta(days=31 * (k + 1) + chance.randrange(5))
            facts.append({"loan": f"K-{n}", "kind": "paid", "on": on, "ref": f"p-{k}", "arg": "",
                          "amount": f"{chance.randrange(100, 3000)}"})  # fmt: skip
            if k == 1:
                facts.append({"loan": f"K-{n}", "kind": "reversed", "on": on, "amount": "",
                              "ref": f"r-{k}", "arg": f"p-{k}"})  # fmt: skip
    chance.shuffle(facts)
    for name, rows in (("loans.csv", loans), ("facts.csv", facts)):
        with Path(name).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return loans, facts


def document(loan: dict[str, object], facts: list[dict[str, object]]) -> Path:
    """One of the loans as a document of its own, for the exact form."""
    terms = {key: str(value) for key, value in loan.items() if value != "" and key != "loan"}
    terms["instalments"] = int(terms["instalments"])  # type: ignore[assignment]
    own = [
        {key: str(value) for key, value in fact.items()
         if value != "" and key not in ("loan", "arg")}
        | ({"reverses": fact["arg"]} if fact["arg"] else {})
        for fact in facts if fact["loan"] == loan["loan"]
    ]  # fmt: skip
    path = Path(f"{loan['loan']}.json")
    path.write_text(json.dumps({"terms": terms, "facts": own}))
    return path


def test_every_loan_is_as_by_itself() -> None:
    loans, facts = written()
    assert main(["loan", "schedule", "loans.csv", "--out", "plan.parquet"]) == 0
    replay = ["loan", "replay", "loans.csv", "--facts", "facts.csv", "--as-of", "2023-09-15"]
    assert main([*replay, "--out", "views.parquet"]) == 0
    plan = pq.read_table("plan.parquet").to_pylist()
    views = {row["loan"]: row for row in pq.read_table("views.parquet").to_pylist()}
    for loan in loans:
        read = read_loan(document(loan, facts))
        wanted = [(row.number, row.due_on, row.principal, row.interest, row.guarantee_fee,
                   row.service_fee, row.total, row.balance)
                  for row in schedule(read.terms[0])]  # fmt: skip
        assert [tuple(row.values())[1:] for row in plan if row["loan"] == loan["loan"]] == wanted
        view = exact.replay(read.terms, read.facts, date(2023, 9, 15)).view()
        found = views[loan["loan"]]
        assert found["principal_outstanding_minor"] == view.principal_outstanding
        assert found["settlement_minor"] == view.settlement
        status = view.status.label if view.disbursed else "not disbursed"
        assert (found["days_past_due"], found["status"]) == (view.days_past_due, status)
        assert (found["next_due_on"], found["next_due_minor"]) == (view.next_due_on, view.next_due)


def test_a_loan_that_is_not_disbursed_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("loans.csv").write_text(
        "loan,principal,rate,instalments,disbursed_on\n"
        "A,5000,12%,6,2024-01-31\nB,5000,12%,6,2024-06-30\nC,5000,12%,6,2024-01-31\n"
    )
    Path("facts.csv").write_text(
        "loan,kind,on,amount\nA,disbursed,2024-01-31,5000\nB,disbursed,2024-06-30,5000\n"
    )
    replay = ["loan", "replay", "loans.csv", "--facts", "facts.csv", "--as-of", "2024-05-01"]
    assert main(replay) == 0
    rows = csv.DictReader(capsys.readouterr().out.splitlines())
    told = {row["loan"]: row["status"] for row in rows}
    assert told == {"A": "active", "B": "not disbursed", "C": "not disbursed"}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("K-2,disbursed,2024-01-31,3000.50,1,\n",
         "facts.csv line 3, loan 'K-2': disbursed of 2024-01-31 over 3000.50 CNY differs"),
        ("K-2,disbursed,2024-01-31,3000,1,\nK-2,reversed,2024-01-31,,2,9\n",
         "loans.csv line 3, loan 'K-2': a reversed fact names no known fact"),
        ("K-2,paid,2024-02-29,100,1,\n",
         "facts.csv line 3, loan 'K-2': paid of 2024-02-29 over 100.00 CNY happened before"),
    ],
)  # fmt: skip
def test_a_refused_fact_is_told_as_the_files_do(
    rows: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("loans.csv").write_text(
        "loan,principal,rate,instalments,disbursed_on\n"
        "K-1,5000,12%,6,2024-01-31\nK-2,3000,12%,6,2024-01-31\n"
    )
    head = "loan,kind,on,amount,ref,arg\nK-1,disbursed,2024-01-31,5000,1,\n"
    Path("facts.csv").write_text(head + rows)
    replay = ["loan", "replay", "loans.csv", "--facts", "facts.csv", "--as-of", "2024-05-01"]
    assert main(replay) == 2
    assert said in capsys.readouterr().err


def test_three_forms_and_a_mapping(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.csv").write_text('Nr,Betrag,Zins,Raten,Start\nA,"1.200,50",18%,3,15.01.2024\n')
    Path("map.yaml").write_text(
        "columns: {loan: Nr, principal: Betrag, rate: Zins, instalments: Raten, "
        'disbursed_on: Start}\namounts: "1.234,56"\ndates: "%d.%m.%Y"\n'
    )
    call = ["loan", "schedule", "own.csv", "--map", "map.yaml"]
    assert main(call) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert sum(int(row["principal_minor"]) for row in rows) == 120050
    assert main([*call, "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["total_minor"] for line in lines] == [int(row["total_minor"]) for row in rows]
    assert lines[0]["due_on"] == "2024-02-15"
    assert main([*call, "--out", "plan.jsonl"]) == 0
    assert [json.loads(each) for each in Path("plan.jsonl").read_text().splitlines()] == lines


BAD = {
    "amount": "3,000 cells of column 'principal' are no amount: 'x0' (line 2), 'x1' (line 3), "
              "'x2' (line 4) and 2,997 more",
    "loan": "1 cell of column 'loan' is no loan of the other file: 'Z' (line 2)",
}  # fmt: skip


def test_a_bad_column_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join(f"x{n},18%,3,2024-01-15\n" for n in range(3000))
    Path("bad.csv").write_text("principal,rate,instalments,disbursed_on\n" + rows)
    assert main(["loan", "schedule", "bad.csv"]) == 2
    told = capsys.readouterr().err
    assert BAD["amount"] in told
    assert len(told.splitlines()) == 1
    written(3)
    Path("other.csv").write_text("loan,kind,on\nZ,paid,2024-01-01\n")
    assert main(["loan", "replay", "loans.csv", "--facts", "other.csv"]) == 2
    assert BAD["loan"] in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rate\n18%\n", "has no column 'principal'"),
        ("loan,principal,rate,instalments,disbursed_on\nA,5,1%,3,2024-01-01\nA,5,1%,3,2024-01-01\n",
         "1 loans have a second row: 'A'"),
        ("principal,rate,instalments,disbursed_on\n5,1%,99999,2024-01-01\n", "t.csv line 2: "),
        ("principal,rate,instalments,disbursed_on,convention\n5,1%,9,2024-01-01,weekly\n",
         "is no convention of the kernel: 'weekly'"),
    ],
)  # fmt: skip
def test_tables_that_are_wrong(text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("t.csv").write_text(text)
    assert main(["loan", "schedule", "t.csv"]) == 2
    assert said in capsys.readouterr().err


def test_tables_are_for_tables(capsys: pytest.CaptureFixture[str]) -> None:
    written(1)
    Path("loan.yaml").write_text(
        "terms: {principal: 900, rate: 9%, instalments: 3, disbursed_on: 2024-01-15}"
    )
    for call in (["schedule", "loans.csv", "--rate", "1%"],
                 ["quote", "loan.yaml", "--out", "q.csv"],
                 ["schedule", "loan.yaml", "--map", "m.yaml"]):  # fmt: skip
        assert main(["loan", *call]) == 2
        assert "a table" in capsys.readouterr().err


def test_quotes_are_those_of_each_loan(capsys: pytest.CaptureFixture[str]) -> None:
    loans, _ = written(12)
    loans[0]["rate"] = "60%"  # above any cap
    with Path("loans.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(loans[0]))
        writer.writeheader()
        writer.writerows(loans)
    Path("m.yaml").write_text("columns: {principal: principal}")
    call = ["loan", "quote", "loans.csv", "--map", "m.yaml", "--json"]
    assert main(call) == 0
    out, err = capsys.readouterr()
    rows = {row["loan"]: row for row in map(json.loads, out.splitlines())}
    assert list(rows) == [loan["loan"] for loan in loans]
    refused = 0
    for loan in loans:
        row, terms = rows[str(loan["loan"])], read_loan(document(loan, [])).terms[0]
        if row["refused"]:
            refused += 1
            with pytest.raises(UsanceError, match=re.escape(row["refused"])):
                quote(terms, Parameters.load())
            assert row["cost_minor"] is None
            continue
        offer = quote(terms, Parameters.load())
        for name in ("instalment_minor", "total_to_pay_minor", "cost_minor", "vat_minor"):
            assert row[name] == getattr(offer, name), name
        for name in offer.rates.__slots__:
            assert row[name] == getattr(offer.rates, name), name
    assert 0 < refused < len(loans)
    assert f"12 quotes, {refused} of them refused" in err
