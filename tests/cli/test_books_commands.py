"""`usance close` and `usance books`: what they answer, and how they refuse."""

from __future__ import annotations

import re
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.answers import Answer, Usance
from usance.base.book import Book
from usance.books.close.checklist import close
from usance.books.close.closes import CloseRef, effective_closes
from usance.books.exports import trial_balance
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.books.periods import parse_close_period
from usance.books.presentation import MAX_VINTAGES, print_losses, print_statements
from usance.books.sample import LOANS, sample_book
from usance.books.statements.ifrs_reconciliation import COLUMN_NAMES
from usance.books.statements.primary import Row

CLOSED = ("2023Q4", "2024Q1")
ENTITIES = """\
currency: CNY
entities:
  - {number: 1, name: Example Platform, role: platform, owner: 2, tax: 25%}
  - {number: 2, name: Example Holding, role: parent}
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample book, closed for two quarters."""
    folder = tmp_path_factory.mktemp("books") / "book"
    book = sample_book(folder)
    for period in CLOSED:
        close(book, parse_close_period(period), clock=time.perf_counter)
    return folder


@pytest.fixture
def book(made: Path, tmp_path: Path) -> Path:
    """A copy of it, under the name `book`."""
    return Path(shutil.copytree(made, tmp_path / "book"))


def assert_refused(answer: Answer, *messages: str, code: int = 2) -> None:
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith("error: ")
    assert "Traceback" not in answer.err
    for message in messages:
        assert message in answer.err


# What commands answer.


def test_the_sample_is_made_and_closed_from_the_command_line(usance: Usance) -> None:
    answer = usance("books sample book")
    assert answer.code == 0
    assert "ln_00000000G01  guaranteed prepaid     capital_heavy" in answer.out
    assert len(answer.out.splitlines()) == len(LOANS) + 1
    closed = usance("close 2023Q4 --book book")
    assert closed.code == 0
    lines = closed.out.splitlines()
    assert [line.split()[-1] for line in lines[:1]] == ["seconds"]
    assert re.search(r"^(\d+) of \1 controls hold, 5 loans$", closed.out, re.MULTILINE)
    assert lines[-1] == "2023Q4 is closed as 2023-12.1"


def test_a_close_says_everything_as_json(usance: Usance, book: Path) -> None:
    found = usance(f"close 2024-04 --book {book.name} --json").data
    assert found["period"] == "2024-04"
    assert found["close"] == "2024-04.1"
    assert found["loans"] == 5
    assert {"name", "expected_minor", "found_minor", "holds", "loans"} == set(found["controls"][0])
    assert all(control["holds"] for control in found["controls"])
    assert next(iter(found["seconds"])) == "cut-off"
    assert list(found["seconds"])[-1] == "books"


def test_a_close_leaves_out_what_was_booked_later(usance: Usance) -> None:
    usance("books sample book")
    usance("close 2023Q4 --book book --json")
    early = usance("close 2024Q1 --book book --known-at 2024-04-01T00:00:00Z --json").data
    assert early["known_at"] == "2024-04-01T00:00:00+00:00"
    loans = _held(Path("book"), "loans")
    usance("books reopen 2024Q1 --by Ann --by Bo --book book")
    usance("close 2024Q1 --book book --json")
    # The third instalment of an own loan is booked on 2 April.
    assert loans - _held(Path("book"), "loans") == 1_500_00


def _held(folder: Path, account: str) -> int:
    rows = trial_balance(Book.open(folder))
    return sum(row["amount_minor"] for row in rows if row["name"] == account)


def test_periods(usance: Usance, book: Path) -> None:
    listed = usance(f"books periods --book {book.name} --json").data
    assert listed == {"closes": [
        {"period": "2023-12", "close": "2023-12.1", "state": "closed"},
        {"period": "2024-03", "close": "2024-03.1", "state": "closed"},
    ]}  # fmt: skip
    usance(f"books lock 2023Q4 --book {book.name}")
    usance(f"books reopen 2024-03 --by Ann --by Bo --book {book.name}")
    rows = usance(f"books periods --book {book.name}").out.split()
    assert rows[3:] == ["2023-12", "2023-12.1", "locked", "2024-03", "2024-03.1", "superseded"]


def test_the_balance_is_the_ledger_and_sums_to_zero(usance: Usance, book: Path) -> None:
    found = usance(f"books balance --book {book.name} --json").data
    assert found["total_minor"] == 0
    assert found["rows"] == trial_balance(Book.open(book))
    shown = usance(f"books balance --book {book.name}").out
    assert re.search(r" us_gaap +2050 +stand_ready +-254\.40\n", shown)


def test_statements(usance: Usance, book: Path) -> None:
    found = usance(f"books statements 2024Q1 --book {book.name} --json").data
    assert found["currency"] == "CNY"
    rows = {(row["statement"], row["line"]): row["amount_minor"] for row in found["rows"]}
    assert rows["balance_sheet", "Guarantee liabilities-stand ready"] == 254_40
    assert rows["operations", "Revenue from releasing of guarantee liabilities"] == 240_00
    columns = ("us_gaap", "ecl_net_of_tax", "effective_interest_net_of_tax",
               "share_based_compensation", "financial_guarantee_net_of_tax", "ifrs")  # fmt: skip
    matrix = [rows[f"ifrs_reconciliation_operations:{each}", "Net income"] for each in columns]
    assert sum(matrix[:-1]) == matrix[-1] != matrix[0]
    shown = usance(f"books statements 2024Q1 --book {book.name}").out
    heading = next(line for line in shown.splitlines() if "US GAAP  " in line)
    assert re.split(r"  +", heading.strip()) == ["Statement of operations", *COLUMN_NAMES.values()]
    assert sum(line.startswith(" Net income  ") for line in shown.splitlines()) == 3
    assert "_" not in shown
    lines = [line.split("  ")[0].strip() for line in shown.splitlines()]
    for total in ("TOTAL ASSETS", "TOTAL LIABILITIES"):  # each right below its own lines
        assert lines[lines.index(total) - 1].startswith("Total non-current")


def test_lines_of_one_name_are_printed_under_their_own_totals(
    usance: Usance, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both groups of revenue have other services fees; a matrix shows each with its amounts."""
    del usance, book
    names = ("us_gaap", "ecl_net_of_tax", "effective_interest_net_of_tax",
             "share_based_compensation", "financial_guarantee_net_of_tax", "ifrs")  # fmt: skip
    rows = [
        Row(f"matrix:{name}", "Other services fees", parent, "2024Q1", minor)
        for name in names
        for parent, minor in (("Credit driven services", 100), ("Platform services", 200))
    ]
    print_statements(rows, "CNY")
    lines = [line.split()[3] for line in capsys.readouterr().out.splitlines()[3:]]
    assert lines == ["1.00", "2.00"]


def test_roll_forwards_add_up(usance: Usance, book: Path) -> None:
    found = usance(f"books roll-forwards 2024Q1 --book {book.name} --json").data
    rolls = {roll["name"]: roll for roll in found["roll_forwards"]}
    ready = rolls["Guarantee liabilities-stand ready"]
    assert (ready["opening_minor"], ready["closing_minor"]) == (508_80, 254_40)
    for roll in rolls.values():
        assert roll["opening_minor"] + sum(roll["movements"].values()) == roll["closing_minor"]
    shown = usance(f"books roll-forwards 2024Q1 --book {book.name}").out
    assert re.search(r"Guarantee liabilities-stand ready +CNY\n opening +508\.80\n", shown)


def test_losses_are_split_by_new_volume_and_true_up(usance: Usance, book: Path) -> None:
    found = usance(f"books losses 2024Q1 --book {book.name} --json").data
    assert found["currency"] == "CNY"
    split = found["provisions"]["contingent_provision"]
    moved = usance(f"books roll-forwards 2024Q1 --book {book.name} --json").data["roll_forwards"]
    provision = next(roll for roll in moved if roll["name"] == "Guarantee liabilities-contingent")
    assert sum(split.values()) == provision["movements"]["provision"]
    shown = usance(f"books losses 2024Q1 --book {book.name}").out
    assert re.search(r" payouts to come +[\d.-]+ +[\d.-]+\n", shown)


def test_estimates_are_told_beside_what_became_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    vintage = {"claim": "payout", "segment": 1, "age": 3, "cohort": "2024-01"}
    told = [
        {**vintage, "close_no": CloseRef.parse(f"2024-{month:02}.1").close_no,
         "expected_ppb": 10_000_000 * month, "actual_ppb": 0, "missed_ppb": -10_000_000 * month,
         "missed_minor": -month}
        for month in range(2, 13)
    ]  # fmt: skip
    told += [
        {**vintage, "cohort": f"2023-{month:02}", "close_no": CloseRef.parse("2024-12.2").close_no,
         "expected_ppb": 0, "actual_ppb": rate, "missed_ppb": rate, "missed_minor": rate}
        for month in range(1, 13) for rate in (0, 90_000_000)
    ]  # fmt: skip
    small = {"expected_ppb": 0, "actual_ppb": 10**9, "missed_ppb": 10**9, "missed_minor": 0}
    told += [{**told[-1], **small, "cohort": "2022-01"}]  # all of a vintage of nearly nothing
    told += [{**told[-2], "segment": 24, "cohort": "2022-02"}]  # ICE: no loss of ours
    print_losses({"back_test": told}, "CNY")
    shown = capsys.readouterr().out
    assert shown.count("payout") == MAX_VINTAGES
    assert "capital heavy, instalment  2024-01  2024-12.1" in shown
    assert "2024-02.1" not in shown  # of those that moved, what missed least are left out
    assert "the 20 that missed most money of 24" in shown
    assert "2022-0" not in shown
    assert re.search(r"2023-01 .* payout +0.000% +9.000% +9.000% +900000.00\n", shown)


def test_a_loan_has_its_own_journals(usance: Usance, book: Path) -> None:
    printed = usance(f"books loan ln_00000000G01 --book {book.name} --json").data
    assert printed == usance(f"books loan 16385 --book {book.name} --json").data
    assert printed["loan_id"] == 16385
    assert {line["tag"] for line in printed["lines"]} == {"none", "ecl", "guarantee"}
    assert {line["close"] for line in printed["lines"]} == {"2023-12.1", "2024-03.1"}
    assert sum(line["amount_minor"] for line in printed["lines"]) == 0
    ready = [line["amount_minor"] for line in printed["lines"]
             if (line["account"], line["tag"]) == ("stand_ready", "none")]  # fmt: skip
    assert ready == [-254_40, 127_20]
    title, header, *shown = usance(f"books loan 16385 --book {book.name}").out.splitlines()
    assert title == "loan ln_00000000G01"
    assert header.split()[:2] == ["close", "rule"]
    assert len(shown) == len(printed["lines"])


def test_an_export_names_its_files(usance: Usance, book: Path) -> None:
    answer = usance(f"books export --book {book.name} --out given")
    assert answer.code == 0
    assert answer.out.splitlines()[-1] == "given/books.beancount"
    assert all(Path(name).is_file() for name in answer.out.splitlines())


def test_reopening_keeps_both_closes(usance: Usance, book: Path) -> None:
    answer = usance(f"books reopen 2024Q1 --by Ann --by Bo --book {book.name}")
    assert answer.out == "2024-03.1 stays as it was; its period is open\n"
    assert usance(f"close 2024Q1 --book {book.name} --json").data["close"] == "2024-03.2"
    states = [row["state"] for row in
              usance(f"books periods --book {book.name} --json").data["closes"]]  # fmt: skip
    assert states == ["closed", "superseded", "closed"]


def test_policies_are_kept_by_the_book(usance: Usance, book: Path) -> None:
    Path("own").mkdir()
    Path("own/entities.yaml").write_text(ENTITIES)
    assert usance(f"close 2024-04 --book {book.name} --policies own --json").code == 0
    shutil.rmtree("own")
    assert usance(f"close 2024-05 --book {book.name} --json").code == 0
    shown = usance(f"books statements 2024-05 --book {book.name}").out
    assert "TOTAL EXAMPLE HOLDING EQUITY" in shown


# What they refuse.

BAD_CALLS = {
    "close 2024Q5 --book book": "'2024Q5' is no period. Write a month, quarter, half or year",
    "close June --book book": "'June' is no period.",
    "close 2024-13 --book book": "'2024-13' is no period.",
    "close 2024H3 --book book": "'2024H3' is no period.",
    "close 2024Q1 --book book": "2024Q1 is closed (2024-03.1). Reopen it first: usance books reo",
    "close 2023Q4 --book book": "2023Q4 is closed (2023-12.1).",
    "close 2024Q3 --book book": "2024-04 is not closed yet. Close the months from 2024-04 on befo",
    "close 2024-04 --book elsewhere": "elsewhere: is not a book: it has no manifest.json.",
    "close 2024-04 --book .": "is not a book: it has no manifest.json. Name a book folder.",
    "close 2024-04 --book book --policies none": "none: is no folder of policies. Name a folder",
    "close 2024-04 --book book --known-at 2024-04-30": "--known-at: ",
    "close 2024-04 --book book --known-at soon": "--known-at: ",
    "close": "Missing argument 'PERIOD'.",
    "books periods --book elsewhere": "elsewhere: is not a book",
    "books balance --book elsewhere": "elsewhere: is not a book",
    "books export --book elsewhere": "elsewhere: is not a book",
    "books statements 2024Q2 --book book": "2024Q2 is not closed. Close it first: usance close",
    "books statements Q1 --book book": "'Q1' is no period.",
    "books roll-forwards 2024Q2 --book book": "2024Q2 is not closed.",
    "books losses 2024Q2 --book book": "2024Q2 is not closed.",
    "books loan 16386 --book book": "loan 16386: the book has no such loan. Check its id.",
    "books loan ln_0000000ZZZZ --book book": "the book has no such loan.",
    "books loan 99999999999999999999999 --book book": "the book has no such loan.",
    "books loan ² --book book": "LOAN: ",
    "books loan us_00000000G01 --book book": "LOAN: ",
    "books loan mine --book book": "LOAN: ",
    "books reopen 2024Q1 --book book": "Missing option '--by'.",
    "books reopen 2024Q1 --by Ann --book book": "two people reopen a period together. Give --by",
    "books reopen 2024Q1 --by Ann --by Ann --book book": "two people reopen a period together.",
    "books reopen 2024Q2 --by Ann --by Bo --book book": "2024Q2 is not closed. See the periods",
    "books lock 2024Q2 --book book": "2024-04 is open. Close it first: usance close 2024-04.",
    "books sample book": "book: is not an empty folder. Choose another folder",
    "books reconcile --book book": "No such command 'reconcile'.",
}


@pytest.mark.parametrize(("call", "message"), BAD_CALLS.items(), ids=BAD_CALLS.keys())
@pytest.mark.usefixtures("book")
def test_a_bad_call_is_refused(usance: Usance, call: str, message: str) -> None:
    before = Path("book/manifest.json").read_bytes()
    assert_refused(usance(call), message)
    assert Path("book/manifest.json").read_bytes() == before


def test_a_refusal_as_json(usance: Usance, book: Path) -> None:
    error = usance(f"close 2024Q1 --book {book.name} --json").json["error"]
    assert error["code"] == "books.period"
    assert error["fix"] == "Reopen it first: usance books reopen 2024-03"


def test_a_locked_period_stays_closed(usance: Usance, book: Path) -> None:
    assert usance(f"books lock 2024Q1 --book {book.name}").out == "2024Q1 is locked\n"
    answer = usance(f"books reopen 2024Q1 --by Ann --by Bo --book {book.name}")
    assert_refused(answer, "2024-01 is locked. Correct it in the open period;")
    assert_refused(usance(f"close 2024Q1 --book {book.name}"), "2024Q1 is closed")


BAD_POLICIES = {
    "unknown key": (
        "entities.yaml",
        ENTITIES + "holdings: []\n",
        "entities.yaml line 5, holdings: unknown key 'holdings'.",
    ),
    "no parent": (
        "entities.yaml",
        ENTITIES.replace("role: parent", "role: guarantee, owner: 1"),
        "entities.yaml line 3",
    ),
    "other currency": (
        "entities.yaml",
        ENTITIES.replace("currency: CNY", "currency: USD"),
        "entities.yaml: the group reports in USD and the book in CNY.",
    ),
    "weights": (
        "losses.yaml",
        "scenarios:\n  - {name: base, weight: 70%, cpi: [2%], collection: [85%]}\n",
        "losses.yaml line 2, scenarios[1]: the weights sum to 70%. Make them sum to 100%.",
    ),
    "curve": (
        "losses.yaml",
        "curves:\n  - {segment: 1, claim: payout, rates: [0%, 101%]}\n",
        "losses.yaml line 2, curves[1]",
    ),
    "ended overlay": (
        "losses.yaml",
        """overlays:
  - {estimate: contingent, segment: 1, factor: 1.1, reason: Floods, approver: Credit committee,
     ends_on: 2024-03-31}
""",
        "losses.yaml line 2, overlays[1]",
    ),
    "rising shares": (
        "expected_life.yaml",
        "curves:\n  - segment: 9\n    shares: [90%, 100%]\n",
        "expected_life.yaml line 3, curves[1].shares: the shares rise. Let every share be at most",
    ),
    "share above one": (
        "expected_life.yaml",
        "curves:\n  - {segment: 9, shares: [120%, 100%]}\n",
        "expected_life.yaml line 2, curves[1].shares: 120% is too large.",
    ),
    "no YAML": (
        "losses.yaml",
        "curves: [\n",
        "losses.yaml line ",
    ),
    "a list": (
        "entities.yaml",
        "- 1\n",
        "entities.yaml",
    ),
}


@pytest.mark.parametrize(
    ("name", "written", "message"), BAD_POLICIES.values(), ids=BAD_POLICIES.keys()
)
def test_a_bad_policy_is_refused_with_its_line(
    usance: Usance, book: Path, name: str, written: str, message: str
) -> None:
    Path("own").mkdir()
    (Path("own") / name).write_text(written)
    before = (book / "manifest.json").read_bytes()
    assert_refused(usance(f"close 2024-04 --book {book.name} --policies own"), message)
    assert (book / "manifest.json").read_bytes() == before


def test_a_damaged_file_is_named(usance: Usance, book: Path) -> None:
    damaged = next((book / "tables" / "facts").rglob("*.parquet"))
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    place = str(damaged.relative_to(book))
    assert_refused(usance(f"close 2024-04 --book {book.name}"), place, "has changed since")


def test_a_damaged_close_is_named(usance: Usance, book: Path) -> None:
    postings = book / "closes" / "2024-03.1" / "postings.parquet"
    postings.write_bytes(postings.read_bytes()[:-20])
    for command in ("balance", "export", "statements 2024Q1", "roll-forwards 2024Q1"):
        answer = usance(f"books {command} --book {book.name}")
        assert_refused(answer, "closes/2024-03.1/postings.parquet")


def test_a_damaged_subledger_is_named(usance: Usance, book: Path) -> None:
    subledger = book / "closes" / "2024-03.1" / "subledger.parquet"
    subledger.write_bytes(subledger.read_bytes()[:-20])
    answer = usance(f"books loan 16385 --book {book.name}")
    assert_refused(answer, "closes/2024-03.1/subledger.parquet")


def test_a_book_is_checked(usance: Usance, book: Path) -> None:
    whole = usance(f"books check --book {book.name} --json")
    assert whole.data["findings"] == []
    assert whole.data["files"] > whole.data["tables"] > 5
    subledger = book / "closes" / "2024-03.1" / "subledger.parquet"
    subledger.write_bytes(subledger.read_bytes()[:-20])
    (book / "closes" / "2024-03.1" / "controls.json").unlink()
    answer = usance(f"books check --book {book.name}")
    assert answer.code == 1
    assert answer.out.endswith("; findings: 2\n")
    assert "closes/2024-03.1/subledger.parquet: has changed" in answer.out
    found = usance(f"books check --book {book.name} --json")
    assert found.code == 1
    assert [each["code"] for each in found.data["findings"]] == ["input.table.corrupt"] * 2


def test_a_missing_file_is_named(usance: Usance, book: Path) -> None:
    (book / "closes" / "2024-03.1" / "controls.json").unlink()
    answer = usance(f"books statements 2024Q1 --book {book.name}")
    assert_refused(answer, "closes/2024-03.1/controls.json")


def test_a_manifest_that_is_none_is_named(usance: Usance, book: Path) -> None:
    (book / "manifest.json").write_text("{}")
    assert_refused(usance(f"books periods --book {book.name}"), "manifest.json")


def test_a_failed_control_stops_the_close_and_says_why(usance: Usance, book: Path) -> None:
    """The bank says something else than the ledger; nothing is published."""
    given = parse_facts(
        "facts: [{id: 1, kind: bank_balance, entity: 1, on: 2024-04-30, amount: 100.00}]",
        where="facts.yaml",
    )
    opened = Book.open(book)
    with opened.writing() as step:
        step.add("group_facts", table_of_facts(given))
    before = (book / "manifest.json").read_bytes()
    answer = usance(f"close 2024-04 --book {book.name}")
    assert_refused(answer, "entity 1, cash: banks hold", "more than the ledger", code=1)
    assert (book / "manifest.json").read_bytes() == before
    assert [each.name for each in effective_closes(Book.open(book))] == ["2023-12.1", "2024-03.1"]


def test_a_close_knows_what_its_facts_know(book: Path) -> None:
    """Without `--known-at`, everything the book holds is known."""
    made = close(Book.open(book), parse_close_period("2024-04"), clock=time.perf_counter)
    assert made.known_at == datetime(2024, 11, 15, tzinfo=UTC)


def test_what_was_not_closed_is_neither_reopened_nor_called_closed(usance: Usance) -> None:
    usance("books sample book")
    usance("close 2023Q4 --book book --json")
    before = usance("close 2023Q3 --book book").err
    assert "lies before 2023-12.1" in before
    assert "not closed" in usance("books reopen 2023Q3 --book book --by Ann --by Bo").err
    one = "books reopen 2023Q4 --book book --by Ann --by ann"
    assert "two people" in usance(one).err
    early = usance("close 2024Q1 --book book --known-at 2020-04-01T00:00:00Z").err
    assert "not even 2023-12.1 was over" in early
    usance("books reopen 2023Q4 --book book --by Ann --by Bo")
    assert "was reopened" in usance("close 2024-04 --book book").err
