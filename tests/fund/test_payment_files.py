"""A deal lived through files: dates paid from what its loans did, reported, and in the books."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tests.disclose.workbook import Workbook
from usance.base.codes import Currency
from usance.base.errors import UsanceError
from usance.base.money import Money
from usance.books.group.documents import read_facts
from usance.books.group.funding import deals
from usance.fund.commands import app
from usance.fund.deal import Scenario
from usance.fund.deal_file import parse_deal
from usance.fund.deal_terms import DealTerms, read_terms
from usance.fund.errors import PaymentDateError
from usance.fund.payment_files import pay_from_files, read_dates, read_state, read_trustee
from usance.fund.pool_columns import pool_of_rows
from usance.fund.pool_strata import strata_of
from usance.fund.projection import PoolRun, Projection, project
from usance.fund.report_files import investor_tape, report_pdf, report_source
from usance.fund.report_tables import investor_report
from usance.fund.sample import sample_deal, sample_path
from usance.fund.workbook import report_workbook


def lived(folder: Path, dates: int = 12, scenario: Scenario | None = None) -> Projection:
    """Dates paid one by one from files; what the projection says of the same months."""
    deal, terms = sample_deal(), read_terms(sample_path())
    scenario = scenario or Scenario()
    pool = PoolRun(deal, scenario)
    for number in range(dates):
        given = pool.period()
        flows = given.flows
        content = {
            "interest_minor": flows.interest_minor, "principal_minor": flows.principal_minor,
            "defaulted_minor": flows.defaulted_minor, "recovered_minor": flows.recovered_minor,
            "pool_end_minor": given.pool_end_minor,
        }  # fmt: skip
        file = folder / f"collections-{number}.json"
        file.write_text(json.dumps(content), encoding="utf-8")
        pay_from_files(deal, terms, file, folder / "plan1")
    return project(deal, scenario)


def test_dates_paid_from_files_are_the_projection(tmp_path: Path) -> None:
    run = lived(tmp_path, scenario=Scenario(0, 1_700, 100))
    folder = tmp_path / "plan1"
    assert tuple(read_dates(folder)) == run.distributions
    assert read_state(folder, sample_deal()) == run.state
    facts = read_facts(folder / "facts.json", Currency.CNY)
    for each in sample_deal().classes:
        deal = deals(facts)[f"PLAN1/{each.name}"]
        assert deal.owed(run.state.paid_on) == 0
        last = run.distributions[5]
        assert deal.owed(last.paid_on) == last.classes[each.name].balance_minor
    with pytest.raises(UsanceError, match="the deal ended with date 12"):
        lived(tmp_path, dates=1)


def test_instructions_add_up_to_what_was_paid(tmp_path: Path) -> None:
    run = lived(tmp_path, dates=2)
    with (tmp_path / "plan1/instructions-002.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sum(int(row["amount_minor"]) for row in rows) == run.distributions[1].paid_minor
    assert rows[0]["payee"] == "Northern Trust Company"


def test_collections_that_do_not_fit_the_pool_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    names = ("interest_minor", "principal_minor", "defaulted_minor", "recovered_minor")
    file.write_text(json.dumps({**dict.fromkeys(names, 5), "pool_end_minor": 7}), encoding="utf-8")
    with pytest.raises(UsanceError, match="Let pool_end_minor be 9999999990"):
        pay_from_files(sample_deal(), DealTerms(), file, tmp_path / "plan1")
    assert not (tmp_path / "plan1").exists()


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_folder_of_another_deal_is_refused(tmp_path: Path) -> None:
    lived(tmp_path, dates=1)
    text = sample_path().read_text(encoding="utf-8")
    other, folder, given = tmp_path / "other.yaml", tmp_path / "plan1", tmp_path / "c.json"
    given.write_text((tmp_path / "collections-0.json").read_text(encoding="utf-8"))
    for renamed, odd in (
        (re.sub(r"\bA\b", "X", text), "the state has A.balance"),
        (text.replace("reserve", "cash"), "the deal has account.cash"),
    ):
        other.write_text(renamed, encoding="utf-8")
        for words in (["pay", other, given], ["mandate", other],
                      ["report", other, "--out", tmp_path / "report.html"]):  # fmt: skip
            answer = call(*words, "--folder", folder)
            assert isinstance(answer.exception, PaymentDateError), (words, answer.output)
            assert f"a state of another deal: only {odd}" in str(answer.exception)


def test_the_trustee_is_compared_line_by_line(tmp_path: Path) -> None:
    lived(tmp_path, dates=1)
    trustee = tmp_path / "trustee.csv"
    trustee.write_text("line,amount_minor\nB.interest,4290411\nA.interest,1\n", encoding="utf-8")
    collections = tmp_path / "next.json"
    flows = project(sample_deal()).distributions[1]
    given = {
        "interest_minor": flows.flows.interest_minor,
        "principal_minor": flows.flows.principal_minor,
        "defaulted_minor": flows.flows.defaulted_minor,
        "recovered_minor": 0, "pool_end_minor": flows.pool_end_minor,
    }  # fmt: skip
    collections.write_text(json.dumps(given), encoding="utf-8")
    folder = tmp_path / "plan1"
    answer = call("pay", sample_path(), collections, "--folder", folder, "--trustee", trustee)
    assert answer.exit_code == 1
    assert "A.interest: trustee 1, ours 18150079" in answer.output
    assert "1 of 2 lines of the trustee agree" in answer.output


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    trustee = tmp_path / "trustee.csv"
    trustee.write_text("line,amount_minor\nA.interest,1\nA.interest,2\n", encoding="utf-8")
    with pytest.raises(UsanceError, match=r"line 3: the line A\.interest is there twice"):
        read_trustee(trustee)
    for words, told in ((("--default", -100), "--default: -100 is too small"),
                        (("--recovery", 10**20), "--recovery: 100000000000000000000 is too large"),
                        (("--prepayment", -1), "--prepayment: -1 is too small")):  # fmt: skip
        assert told in str(call("project", sample_path(), *words).exception)


def test_a_report_in_three_forms(tmp_path: Path) -> None:
    run = lived(tmp_path, dates=3)
    deal, terms, rows = sample_deal(), read_terms(sample_path()), run.distributions[:3]
    state = read_state(tmp_path / "plan1", deal)
    pool = pool_of_rows([
        {"loan_id": n, "principal_minor": 100, "grade": n % 3, "dpd": 20 * n} for n in range(1, 7)
    ])  # fmt: skip
    report = investor_report(deal, terms, rows, state, list(strata_of(pool)))
    by_title = {table.title: table for table in report.tables}
    first = by_title["Classes 证券分层"].rows[0]
    assert first[:3] == ("A", "3.2000 %", "62,327,964.16")
    triggers = by_title["Distance to triggers 触发事件距离"].rows
    assert triggers[0] == (
        "cumulative default above 5 %", "defaulted_to_date * 100 > pool_original * 5",
        "6,120,872,700", "50,000,000,000", "12.2417 %", "no 否",
    )  # fmt: skip
    arrears = [row[1:3] for row in by_title["Strata 资产池分布"].rows if "逾期" in row[0]]
    assert arrears == [("0", "0"), ("1–30", "1"), ("31–60", "2"), ("61–90", "1"), ("91+", "2")]
    since = by_title["Since closing and cover 累计情况与覆盖率"].rows[0]
    assert since[:5] == ("A", "80,000,000.00", "66.1341 %", "27,092,753.93", "666,512.69")
    assert by_title["Accounts 账户"].rows == (
        ("collection", "0.00", "", "", "0.00"), ("reserve", "1,000,000.00", "", "", "1,000,000.00"),
        ("Total 合计", "1,000,000.00", "10,458,050.44", "10,458,050.44", "1,000,000.00"),
    )  # fmt: skip
    assert ("Trustee 受托机构", "Northern Trust Company") in report.facts
    assert report_pdf(report).startswith(b"%PDF")
    assert "投资者报告" in report_source(report)


def computed(file: Path) -> dict[tuple[str, str], float | str]:
    """Every formula of a workbook worked out from its numbers; sums of ranges written out."""
    workbook = Workbook(file)
    for place, formula in workbook.formulas.items():
        if found := re.search(r"SUM\(([A-Z])(\d+):[A-Z](\d+)\)", formula):
            column, first, last = found[1], int(found[2]), int(found[3])
            cells = "+".join(f"{column}{line}" for line in range(first, last + 1))
            workbook.formulas[place] = formula.replace(found[0], f"({cells})")
    return {place: workbook.value(place) for place in workbook.formulas}


def test_workbook_formulas_give_what_was_paid(tmp_path: Path) -> None:
    deal = sample_deal()
    run = project(deal, Scenario(0, 300, 100))
    file = tmp_path / "stress.xlsx"
    file.write_bytes(report_workbook(deal, DealTerms(), run.distributions, language="en"))
    cached = Workbook(file).cached
    worked = computed(file)
    assert len(cached) > 250
    for place, value in cached.items():
        assert round(float(worked[place]), 6) == round(value, 6), place
    for line, row in enumerate(run.distributions, start=2):
        assert worked["Accounts", f"H{line}"] == 0
        assert worked["Pool", f"J{line}"] == float(Money(row.pool_end_minor, "CNY").number)
        oc = row.classes["B"].oc_ppm
        assert oc is None or worked["Since closing and cover", f"D{line}"] == oc / 1_000_000
    assert sum(place[0] == "A" for place in cached) == 12 + 11 + 3


def test_a_workbook_of_a_called_revolving_deal_with_odd_names(tmp_path: Path) -> None:
    """Sheets get names a workbook allows; a class may be called as a sheet is."""
    text = sample_path().read_text(encoding="utf-8")
    terms = "rate_ppm: 200000, months: 12, amortisation: level"
    buys = f"purchase: {{{terms}, price_ppm: 990000, supply_minor: 300000000}}\nclean_up: "
    called = "{when: period == 3, price: pool_end}"
    text = text.replace("fees:\n", f"{buys}{called}\nfees:\n", 1)
    text = text.replace("    - {residual: S}\n", "    - {buy: account.collection}\n"
                        "    - {residual: S}\n", 1)  # fmt: skip
    text = re.sub(r"\bB\b", "Pool", text)
    deal = parse_deal(text)
    rows = project(deal).distributions
    assert len(rows) == 3
    assert rows[0].bought_minor > 0
    file = tmp_path / "called.xlsx"
    file.write_bytes(report_workbook(deal, DealTerms(), rows, language="en"))
    worked = computed(file)
    assert [worked["Accounts", f"H{line}"] for line in (2, 3, 4)] == [0, 0, 0]
    assert [round(float(worked["Pool 2", f"J{line}"]) * 100) for line in (2, 3, 4)] == [
        row.pool_end_minor for row in rows
    ]
    assert worked["Pool 2", "L4"] == float(Money(rows[2].collected_minor, "CNY").number)


def test_a_tape_names_no_loan() -> None:
    pool = pool_of_rows(
        [{"loan_id": 16385, "principal_minor": 5}, {"loan_id": 3, "principal_minor": 6}]
    )
    tape = investor_tape(pool, b"sixteen bytes or more")
    assert "16385" not in tape
    assert "borrower" not in tape
    assert investor_tape(pool, b"another key of sixteen bytes") != tape
    with pytest.raises(UsanceError, match="too short"):
        investor_tape(pool, b"short")


def test_commands(tmp_path: Path) -> None:
    lived(tmp_path, dates=2)
    folder, out = tmp_path / "plan1", tmp_path / "report.html"
    pool, key, tape = tmp_path / "pool.csv", tmp_path / "key", tmp_path / "tape.csv"
    pool.write_text("loan_id,principal_minor,instalments_paid\n16385,100,1\n", encoding="utf-8")
    key.write_text("0123456789abcdef", encoding="utf-8")
    answer = call("report", sample_path(), "--folder", folder, "--out", out, "--pool", pool,
                  "--tape", tape, "--key", key)  # fmt: skip
    assert answer.exit_code == 0, answer.output
    assert "投资者报告" in out.read_text(encoding="utf-8")
    assert len(tape.read_text(encoding="utf-8").splitlines()) == 2
    checked = call("check", sample_path(), "--pool", pool, "--json")
    assert json.loads(checked.output)["data"]["eligible"] == 1
    dates = call("project", sample_path(), "--csv")
    assert len(dates.output.splitlines()) == 13
    cells = call(
        "grid", sample_path(), "--class", "B", "--down", "default=100,800", "--result", "short"
    )
    assert "128737742" in cells.output
    assert cells.exit_code == 0
    dollars = tmp_path / "dollars.yaml"
    ours = sample_path().read_text(encoding="utf-8")
    dollars.write_text(ours.replace("currency: CNY", "currency: USD"), encoding="utf-8")
    for words in (("project",), ("grid", "--class", "B", "--down", "default=100")):
        refused = call(words[0], dollars, *words[1:])
        assert "the currency is USD" in str(refused.exception)


def test_a_class_at_a_price_and_over_a_curve(tmp_path: Path) -> None:
    curve = tmp_path / "curve.yaml"
    curve.write_text("2023-12-29: {1: 20000, 12: 23000}\n", encoding="utf-8")
    answer = call("project", sample_path(), "--prices", "A=990000", "--yields", "A=50000,B=0",
                  "--curve", curve, "--json")  # fmt: skip
    classes = json.loads(answer.output)["data"]["classes"]
    assert classes["A"]["yield_at_price_ppb"] == 55_723_189
    assert classes["A"]["price_ppm"] == 992_429
    # The curve at 0.455122 years, 5.461464 months: 2.1217 %.
    assert classes["A"]["spread_ppb"] == 32_467_946 - 21_216_763
    interest = 12_000_000_00 * 45_000 / 10**6  # about a year of it, undiscounted
    assert abs(classes["B"]["price_ppm"] - 10**6 * (1 + interest / 12_000_000_00)) < 5_000
    told = call("project", sample_path(), "--curve", curve)
    assert "A: spread_ppb 11251183" in told.output
    for wrong in (["--prices", "Z=1"], ["--yields", "A=x"], ["--curve", tmp_path / "none.yaml"]):
        assert isinstance(call("project", sample_path(), *wrong).exception, UsanceError)
    curve.write_text("2025-01-01: {1: 20000}\n", encoding="utf-8")
    late = call("project", sample_path(), "--curve", curve)
    assert "the curve begins after 2024-01-01" in str(late.exception)


def test_a_grid_of_any_two_axes() -> None:
    answer = call("grid", sample_path(), "--down", "recovery=0,100", "--across",
                  "price=1000000,990000", "--result", "yield", "--json")  # fmt: skip
    rows = json.loads(answer.output)["data"]
    assert len(rows) == 4
    assert rows[3] == {"recovery_hundredths": 100, "price_ppm": 990_000, "yield_ppb": 55_723_189}
    for wrong, told in (
        (["--down", "rate=1"], "unknown axis 'rate'"),
        (["--across", "default=1"], "default is on both axes"),
        (["--result", "worth"], "unknown result 'worth'"),
        (["--class", "Z"], "unknown class 'Z'"),
        (["--down", "default=1,x"], "'x'"),
    ):
        refused = call("grid", sample_path(), *wrong)
        assert isinstance(refused.exception, UsanceError)
        assert told in str(refused.exception)
