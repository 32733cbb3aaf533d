"""A lender's own files: what ties, which option would make more tie, and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.pages.checks import parsed
from usance.base.errors import Problems, UsanceError
from usance.loan.convention import Amortisation, Rounding
from usance.migration import MigratedTerms, schedule
from usance.migration.portfolio import PortfolioReport, check_portfolio
from usance.migration.terms import DaysInMonth, DaysInYear, InterestMethod
from usance.pages.reports.portfolio_check import portfolio_check

MAP = """\
terms: {loan: id, principal: amount, rate: rate, instalments: n, disbursed_on: start}
instalments: {loan: id, due_on: due, principal: capital, interest: interest}
options: {days_in_year: "360", days_in_month: "30"}
"""


def major(amount: int) -> str:
    return str(Decimal(amount).scaleb(-2))


def write(folder: Path, loans: Sequence[dict[str, Any]], mapping: str = MAP) -> tuple[Path, ...]:
    """The files of a lender whose system has some options."""
    terms_lines, row_lines = ["id,amount,rate,n,start"], ["id,due,capital,interest"]
    for number, options in enumerate(loans, start=1):
        terms = MigratedTerms(
            disbursed_on=date(2024, 1, number), rate_pct=Decimal(900 + number).scaleb(-2),
            instalments=12, **options,
        )  # fmt: skip
        amount = 10_000_00 + number * 1_37
        start = terms.disbursed_on
        terms_lines.append(f"L{number},{major(amount)},{terms.rate_pct},12,{start}")
        row_lines.extend(
            f"L{number},{row.end},{major(row.principal)},{major(row.interest)}"
            for row in schedule(terms, amount)
        )
    files = folder / "terms.csv", folder / "rows.csv", folder / "map.yaml"
    for file, text in zip(
        files, ("\n".join(terms_lines), "\n".join(row_lines), mapping), strict=True
    ):
        file.write_text(f"{text}\n", encoding="utf-8")
    return files


def checked(folder: Path, loans: Sequence[dict[str, Any]], mapping: str = MAP) -> PortfolioReport:
    terms, rows, mapped = write(folder, loans, mapping)
    return check_portfolio(terms, rows, mapped)


def test_loans_of_the_stated_options_tie(tmp_path: Path) -> None:
    report = checked(tmp_path, [{}] * 5)
    assert (report.total, report.ties, report.findings, report.failures) == (5, 5, (), ())


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (
            {"days_in_year": DaysInYear.D365, "days_in_month": DaysInMonth.ACTUAL},
            {"days_in_year": "365", "days_in_month": "actual"},
        ),
        ({"amortisation": Amortisation.EQUAL_PRINCIPAL}, {"amortisation": "equal_principal"}),
        ({"method": InterestMethod.FLAT}, {"method": "flat"}),
        ({"multiple_of": 10}, {"multiple_of": "10"}),
        ({"rounding": Rounding.HALF_UP}, {}),
    ],
)
def test_the_option_that_makes_loans_tie_is_found(
    tmp_path: Path, options: dict[str, Any], found: dict[str, str]
) -> None:
    report = checked(tmp_path, [{}, *[options] * 4])
    assert not report.failures
    for finding in report.findings:
        assert finding.changes == found
        assert set(finding.loans) <= {"L2", "L3", "L4", "L5"}


def test_two_kinds_of_loans_are_found_one_after_the_other(tmp_path: Path) -> None:
    by_days = {"days_in_year": DaysInYear.D365, "days_in_month": DaysInMonth.ACTUAL}
    report = checked(tmp_path, [{}, by_days, by_days, {"method": InterestMethod.FLAT}])
    assert (report.ties, report.would_tie, len(report.findings)) == (1, 3, 2)


def test_a_loan_that_no_option_explains_is_left_with_its_first_cell(tmp_path: Path) -> None:
    terms, rows, mapped = write(tmp_path, [{}, {}])
    lines = rows.read_text(encoding="utf-8").splitlines()
    name, due, capital, _ = lines[3].split(",")
    lines[3] = f"{name},{due},{capital},9.99"
    rows.write_text("\n".join(lines), encoding="utf-8")
    report = check_portfolio(terms, rows, mapped)
    [failure] = report.failures
    assert (failure.loan, failure.line, failure.gap.row, failure.gap.cell) == (
        "L1",
        2,
        3,
        "interest",
    )
    assert failure.gap.expected == "9.99"
    assert report.as_dict()["differs"] == 1


def test_a_missing_instalment_and_another_date_are_said(tmp_path: Path) -> None:
    terms, rows, mapped = write(tmp_path, [{}, {}])
    text = rows.read_text(encoding="utf-8").splitlines()
    rows.write_text("\n".join([*text[:12], *text[13:]]), encoding="utf-8")
    assert [f.gap.cell for f in check_portfolio(terms, rows, mapped).failures] == ["instalments"]
    rows.write_text("\n".join(text).replace("2024-02-02", "2024-02-03"), encoding="utf-8")
    assert [f.gap.cell for f in check_portfolio(terms, rows, mapped).failures] == ["due_on"]


def test_other_ways_of_writing_dates_and_rates(tmp_path: Path) -> None:
    terms, rows, mapped = write(tmp_path, [{}])
    for file in (terms, rows):
        text = file.read_text(encoding="utf-8")
        text = re.sub(r"(\d{4})-(\d\d)-(\d\d)", r"\3.\2.\1", text).replace(",9.01,", ",0.0901,")
        file.write_text(text, encoding="utf-8")
    mapped.write_text(MAP + 'dates: "%d.%m.%Y"\nrate_is: fraction\n', encoding="utf-8")
    assert check_portfolio(terms, rows, mapped).ties == 1


def test_the_page_stands_alone(tmp_path: Path) -> None:
    report = checked(tmp_path, [{}, {"method": InterestMethod.FLAT}])
    text = portfolio_check(report, sources=["terms <1>.csv"])
    assert "terms &lt;1&gt;.csv" in text
    assert "method: flat" in text
    assert len(list(parsed(text).iter("table"))) == 1


def test_everything_wrong_with_the_files_is_listed(tmp_path: Path) -> None:
    terms, rows, mapped = write(tmp_path, [{}, {}, {}])
    lines = terms.read_text(encoding="utf-8").splitlines()
    lines[1] = lines[1].replace("10001.37", "much")
    lines[2] = lines[2].removesuffix(",2024-01-02")
    terms.write_text("\n".join([*lines, lines[3]]), encoding="utf-8")
    rows.write_text(
        rows.read_text(encoding="utf-8").replace("L3,2024-02-03", "L3,2024-02-33", 1),
        encoding="utf-8",
    )
    with pytest.raises(Problems) as error:
        check_portfolio(terms, rows, mapped)
    said = str(error.value)
    assert "terms.csv line 2: principal is 'much'" in said
    assert "terms.csv line 3: 4 cells under 5 columns" in said
    assert "terms.csv line 5: loan 'L3' is there twice" in said
    assert "rows.csv line 26: due_on is '2024-02-33'" in said
    assert "has no terms" not in said  # line 3 may be its terms


def test_a_loan_without_terms_is_a_problem(tmp_path: Path) -> None:
    terms, rows, mapped = write(tmp_path, [{}, {}])
    lines = terms.read_text(encoding="utf-8").splitlines()
    terms.write_text("\n".join(lines[:2]), encoding="utf-8")
    with pytest.raises(Problems) as error:
        check_portfolio(terms, rows, mapped)
    assert [each.what for each in error.value.errors] == ["loan 'L2' has no terms"] * 12
    assert str(error.value).count("loan 'L2' has no terms") == 3
    assert str(error.value).endswith("… and 9 more like these")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (",12,", ",1000000,", "line 2: instalments is '1000000'"),
        ("2024-01-01", "9999-12-01", "line 2: disbursed_on is '9999-12-01'"),
        ("2024-01-01", "2024-W01-1", "line 2: disbursed_on is '2024-W01-1'"),
        ("10001.37", "1_000.00", "line 2: principal is '1_000.00'"),
        ("10001.37", "10001.375", "line 2: principal is '10001.375'"),
        ("10001.37", "0.00", "line 2: principal is 0"),
        ("10001.37", "1e99", "line 2: principal is '1e99'"),
        (",9.01,", ",-1,", "line 2: rate is '-1'"),
        ("L1,", ",", "line 2: loan is empty"),
        ("amount", "id", "has the column 'id' twice"),
    ],
)
def test_a_loan_out_of_bounds_is_a_problem_of_its_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    terms, rows, mapped = write(tmp_path, [{}, {}])
    text = terms.read_text(encoding="utf-8")
    terms.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(UsanceError) as error:
        check_portfolio(terms, rows, mapped)
    assert said in str(error.value)
    assert "has no terms" not in str(error.value)


def test_a_plan_beyond_the_calendar_is_a_problem(tmp_path: Path) -> None:
    mapping = MAP.replace("options: {", "options: {unit: years, every: 366, ")
    terms, rows, mapped = write(tmp_path, [{}], mapping)
    terms.write_text(terms.read_text(encoding="utf-8").replace(",12,", ",600,"), encoding="utf-8")
    with pytest.raises(UsanceError, match="leaves the calendar"):
        check_portfolio(terms, rows, mapped)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [("grace_principal", "12", "is 12"), ("down_payment_pct", "100", "is '100'")],
)
def test_terms_that_leave_nothing_to_pay_are_problems(
    tmp_path: Path, name: str, value: str, said: str
) -> None:
    terms, rows, mapped = write(tmp_path, [{}], MAP.replace("rate: rate", f"rate: rate, {name}: x"))
    head, line = terms.read_text(encoding="utf-8").splitlines()
    terms.write_text(f"{head},x\n{line},{value}\n", encoding="utf-8")
    with pytest.raises(UsanceError) as error:
        check_portfolio(terms, rows, mapped)
    assert f"line 2: {name} {said}" in str(error.value)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("- 1", "is no mapping"),
        ("instalments: {loan: id}", "terms is missing"),
        (MAP + "optoins: {}", "unknown key 'optoins'. Did you mean 'options'?"),
        (MAP.replace("principal: amount, ", ""), "terms names no principal"),
        (MAP.replace("loan: id, due", "lone: x, loan: id, due"), "column of instalments 'lone'"),
        (MAP.replace('"360"', '"361"'), "unknown days_in_year '361'"),
        (MAP.replace("days_in_month", "days_in_mouth"), "unknown option 'days_in_mouth'"),
        (MAP.replace('days_in_year: "360"', "levelling: 1"), "levelling is 1"),
        (MAP.replace('days_in_year: "360"', "decimals: 7"), "decimals is 7. Give 0 to 6"),
        (MAP.replace('days_in_year: "360"', "digits: 0"), "digits is 0. Give 1 to 50"),
        (MAP.replace('days_in_year: "360"', "every: 367"), "every is 367. Give 1 to 366"),
        (MAP.replace('days_in_year: "360"', "multiple_of: 0"), "multiple_of is 0"),
        (MAP + "rate_is: promille", "unknown rate_is 'promille'"),
        (MAP.replace("rate: rate", "rate: interest_rate"), "has no column 'interest_rate'"),
    ],
)
def test_a_mapping_that_cannot_be_used_says_why(tmp_path: Path, mapping: str, said: str) -> None:
    with pytest.raises(UsanceError) as error:
        checked(tmp_path, [{}], mapping)
    assert said in str(error.value)


def test_a_loan_without_instalments_is_a_problem(tmp_path: Path) -> None:
    terms, rows, mapped = write(tmp_path, [{}])
    rows.write_text("id,due,capital,interest\n", encoding="utf-8")
    with pytest.raises(UsanceError) as error:
        check_portfolio(terms, rows, mapped)
    assert "terms.csv line 2: loan 'L1' has no instalments" in str(error.value)


def test_many_loans_are_checked_by_more_than_one_process(tmp_path: Path) -> None:
    terms, rows, mapped = write(tmp_path, [{}])
    copies = range(2_000)
    head, line = terms.read_text(encoding="utf-8").splitlines()
    terms.write_text(
        "\n".join([head, *(line.replace("L1", f"L{n}") for n in copies)]), encoding="utf-8"
    )
    head, *lines = rows.read_text(encoding="utf-8").splitlines()
    rows.write_text(
        "\n".join([head, *(row.replace("L1", f"L{n}") for n in copies for row in lines)]),
        encoding="utf-8",
    )
    assert check_portfolio(terms, rows, mapped).ties == 2_000
