"""`usance loan` and `usance conform`: what a person and a program get to read."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.cli.answers import FACTS_YAML, LOAN_YAML, TERMS_YAML, Usance
from usance.base.fields import Fields
from usance.base.parameters import trace
from usance.cli import main
from usance.loan.commands import TERMS
from usance.loan.documents.terms import read_terms

QUOTE = "--principal 10000 --rate 18% --instalments 3 --disbursed-on 2024-01-31"


def test_quote(usance: Usance) -> None:
    call = f"loan quote {QUOTE} --coupon 6% --flat-fee 30 --guarantee-fee 40 --upfront-fee 15.90"
    answer = usance(call)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == dedent("""\
        disbursed on                  2024-01-31
        instalments                   3, from 2024-02-29 to 2024-04-30
        first instalment               3443.83 CNY
        last instalment                3443.83 CNY
        cash to the borrower           9984.10 CNY
        total to pay                  10331.49 CNY
        total cost                      347.39 CNY
          interest                      100.50 CNY
          guarantee fee                  40.00 CNY
          service fee                   190.99 CNY
          upfront fee                    15.90 CNY
        VAT in the fees                  13.97 CNY
        annual rate, nominal (IRR)    20.76%
        annual rate, effective (IRR)  23.35%
        annual rate, simple           21.14%
        APR, United States            20.76%
        APR, European Union           22.85%
        cap on 2024-01-31             24% nominal, in force since 2022-01-01
        """)


def test_quote_as_json(usance: Usance) -> None:
    shown = usance(f"loan quote {QUOTE} --json").data
    assert shown["instalments"][0] == {
        "number": 1, "due_on": "2024-02-29", "principal_minor": 328383, "interest_minor": 15000,
        "guarantee_fee_minor": 0, "service_fee_minor": 0, "total_minor": 343383,
        "balance_minor": 671617,
    }  # fmt: skip
    assert shown["cap"]["rate_ppm"] == 240_000
    assert shown["rates"]["nominal_ppb"] == pytest.approx(180_000_000, abs=5_000)
    assert list(shown["rates"]) == [
        "nominal_ppb", "effective_ppb", "simple_ppb", "us_apr_ppb", "eu_apr_ppb",
    ]  # fmt: skip
    amounts = {name: value for name, value in shown.items() if name.endswith("_minor")}
    assert all(type(value) is int for value in amounts.values())
    assert shown["cost_minor"] == shown["total_to_pay_minor"] - shown["cash_to_borrower_minor"]


def test_today_is_said_when_the_clock_chose_it(usance: Usance) -> None:
    call = "--principal 100 --rate 5% --instalments 2"
    assert "disbursed on                  2024-05-20 (today)" in usance(f"loan quote {call}").out
    first = usance(f"loan schedule {call}").out.splitlines()[0]
    assert first == "disbursed on 2024-05-20 (today)"
    assert "(today)" not in usance(f"loan quote {call} --disbursed-on 2024-05-20").out
    shown = usance("loan replay loan.yaml", loan_yaml=TERMS_YAML + FACTS_YAML).out
    assert shown.startswith("as of                      2024-05-20 (today)\n")


def test_today_is_the_day_of_the_platforms_time_zone(
    capsys: pytest.CaptureFixture[str],
) -> None:
    call = ["loan", "schedule", "--principal", "100", "--rate", "5%", "--instalments", "1"]
    midnight = datetime(2024, 5, 20, 16, tzinfo=UTC)  # in Shanghai
    for now, day in ((midnight - timedelta(seconds=1), 20), (midnight, 21)):
        assert main(call, now=partial(now.astimezone, UTC)) == 0
        assert capsys.readouterr().out.startswith(f"disbursed on 2024-05-{day} (today)\n")


def test_the_tax_in_fees_is_that_of_the_day(usance: Usance) -> None:
    call = "loan quote --principal 1000 --rate 18% --coupon 6% --instalments 6 --json"
    with trace() as reads:
        assert usance(f"{call} --disbursed-on 2016-05-01").data["vat_ppm"] == 60_000
    assert ("tax.vat", date(2016, 5, 1)) in {(read.name, read.on) for read in reads}
    before = usance(f"{call} --disbursed-on 2016-04-30").data
    assert (before["vat_ppm"], before["vat_minor"]) == (0, 0)
    assert usance(f"{call} --disbursed-on 2016-04-30 --vat 3%").data["vat_ppm"] == 30_000


def test_schedule(usance: Usance) -> None:
    answer = usance(f"loan schedule {QUOTE}")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == (
        " no      due on  principal  interest  instalment  balance\n"
        "  1  2024-02-29    3283.83    150.00     3433.83  6716.17\n"
        "  2  2024-03-31    3333.09    100.74     3433.83  3383.08\n"
        "  3  2024-04-30    3383.08     50.75     3433.83     0.00\n"
        "          total   10000.00    301.49    10301.49\n"
    )


def test_schedule_as_csv_and_json_hold_the_same(usance: Usance) -> None:
    call = f"loan schedule {QUOTE} --coupon 6% --guarantee-fee 50"
    rows, shown = usance(f"{call} --csv").rows, usance(f"{call} --json").data
    assert rows == [{k: str(v) for k, v in each.items()} for each in shown["instalments"]]
    assert sum(int(row["guarantee_fee_minor"]) for row in rows) == 5_000
    assert shown["total"]["principal_minor"] == shown["principal_minor"] == 1_000_000


def test_schedule_and_quote_take_a_file(usance: Usance) -> None:
    by_file = usance("loan schedule loan.yaml", loan_yaml=LOAN_YAML)
    options = "--principal 9000 --rate 18% --instalments 6 --disbursed-on 2023-12-31"
    by_options = usance(f"loan schedule {options} --convention equal_principal_monthly")
    assert by_file == by_options
    assert usance("loan quote loan.yaml").code == 0


def test_amounts_follow_the_currency(usance: Usance) -> None:
    call = "loan schedule --principal 1000 --rate 18% --instalments 1 --disbursed-on 2024-01-15"
    assert " 1015  " in usance(f"{call} --currency JPY").out
    assert " 1015.000  " in usance(f"{call} --currency KWD").out


def test_replay(usance: Usance) -> None:
    answer = usance("loan replay loan.yaml", loan_yaml=LOAN_YAML)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == dedent("""\
        as of                      2024-03-15
        status                     active, 15 days past due
        instalments paid           1 of 6
        principal outstanding      6112.50 CNY
        past due                    112.50 CNY
        paid                       3135.00 CNY
          principal                2887.50 CNY
          interest                  247.50 CNY
        accrued interest             43.55 CNY
        settles the loan that day  6156.05 CNY
        next due on 2024-03-31     1590.00 CNY
        form                       exact

                         principal  interest  principal  interest  principal  interest
         no      due on        due       due       paid      paid       left      left
          1  2024-01-31    1500.00    135.00    1500.00    135.00       0.00      0.00
          2  2024-02-29    1500.00    112.50    1387.50    112.50     112.50      0.00
          3  2024-03-31    1500.00     90.00       0.00      0.00    1500.00     90.00
          4  2024-04-30    1500.00     67.50       0.00      0.00    1500.00     67.50
          5  2024-05-31    1500.00     45.00       0.00      0.00    1500.00     45.00
          6  2024-06-30    1500.00     22.50       0.00      0.00    1500.00     22.50
        """)


def test_a_loan_before_its_disbursement(usance: Usance) -> None:
    shown = usance("loan replay loan.yaml --as-of 2023-12-30", loan_yaml=LOAN_YAML).out
    assert "status                     not disbursed\n" in shown
    assert "instalments" not in shown


def test_a_loan_after_its_terms_changed(usance: Usance) -> None:
    text = dedent("""\
        terms:
          - {principal: 10000, rate: 18%, instalments: 12, disbursed_on: 2024-01-15}
          - {rate: 12%, instalments: 18, first_due_on: 2024-06-15, change: hardship}
        facts:
          - {kind: disbursed, on: 2024-01-15, amount: 10000}
          - {kind: paid, on: 2024-02-15, amount: 916.80}
          - {kind: terms_changed, on: 2024-05-10, terms: 2}
          - {kind: paid, on: 2024-06-15, amount: 939.58}
        """)
    before = usance("loan replay loan.yaml --as-of 2024-05-09", loan_yaml=text).out
    assert "\ninstalments paid           1 of 12\n" in before
    lines = usance("loan replay loan.yaml --as-of 2024-06-15").out.splitlines()
    assert lines[1:4] == [
        "status                     active, 92 days past due",
        "past due since             2024-03-15, before the terms changed on 2024-05-10",
        "instalments paid           1 of 18 since the terms changed on 2024-05-10",
    ]


def test_the_order_of_facts_with_refs_does_not_matter(usance: Usance) -> None:
    pays = ["  - {kind: paid, on: 2024-01-31, amount: 1635, ref: a}\n",
            "  - {kind: paid, on: 2024-01-31, amount: 900, ref: b}\n"]  # fmt: skip
    rest = "  - {kind: reversed, on: 2024-02-01, reverses: b}\nas_of: 2024-02-10\n"
    head = TERMS_YAML + "facts:\n  - {kind: disbursed, on: 2023-12-31, amount: 9000}\n"
    one = usance("loan replay loan.yaml", loan_yaml=head + "".join(pays) + rest)
    other = usance("loan replay loan.yaml", loan_yaml=head + "".join(reversed(pays)) + rest)
    assert one == other
    assert one.code == 0


def test_replay_as_json(usance: Usance) -> None:
    shown = usance("loan replay loan.yaml --json", loan_yaml=LOAN_YAML).data
    assert (shown["status"], shown["days_past_due"], shown["settlement_minor"]) == (
        "active", 15, 615_605,
    )  # fmt: skip
    assert shown["past_due"] == {
        "principal_minor": 11250, "interest_minor": 0, "guarantee_fee_minor": 0,
        "service_fee_minor": 0, "penalty_minor": 0, "total_minor": 11250,
    }  # fmt: skip
    assert shown["next_due_on"] == "2024-03-31"
    assert shown["instalments"][1]["outstanding"]["principal_minor"] == 11_250
    assert shown["known_at"] is None


def test_replay_as_csv(usance: Usance) -> None:
    rows = usance("loan replay loan.yaml --csv", loan_yaml=LOAN_YAML).rows
    assert len(rows) == 6
    assert rows[1]["principal_paid_minor"] == "138750"
    for row in rows:
        for name in ("principal", "interest", "guarantee_fee", "service_fee"):
            due, paid, left = (
                int(row[f"{name}_{each}_minor"]) for each in ("due", "paid", "outstanding")
            )
            assert due == paid + left


def test_both_forms_print_the_same(usance: Usance) -> None:
    exact = usance("loan replay loan.yaml --json", loan_yaml=LOAN_YAML).data
    for form in ("kernel", "auto"):
        kernel = usance(f"loan replay loan.yaml --json --form {form}").data
        assert kernel.pop("form") == "kernel"
        assert kernel == {name: value for name, value in exact.items() if name != "form"}


@pytest.mark.parametrize("form", ["exact", "kernel"])
def test_a_reversal_counts_before_its_own_day(usance: Usance, form: str) -> None:
    text = LOAN_YAML.replace(
        "as_of", "  - {kind: reversed, on: 2024-04-01, reverses: psp-1}\nas_of"
    )
    shown = usance(f"loan replay loan.yaml --json --form {form}", loan_yaml=text).data
    assert shown["days_past_due"] == 44


def test_as_of_and_known_at_choose_what_is_seen(usance: Usance) -> None:
    late = LOAN_YAML.replace("ref: psp-1", "ref: psp-1, booked_at: 2024-04-02T08:00:00+08:00")
    late += "known_at: 2024-03-31T00:00:00Z\n"
    assert usance("loan replay loan.yaml --json", loan_yaml=late).data["days_past_due"] == 44
    later = usance("loan replay loan.yaml --json --known-at 2024-04-02T00:00:00Z").data
    assert (later["days_past_due"], later["known_at"]) == (15, "2024-04-02T00:00:00+00:00")
    assert usance("loan replay loan.yaml --json --as-of 2024-01-30").data["days_past_due"] == 0
    shown = usance("loan replay loan.yaml").out
    assert "\nknown at                   2024-03-31T00:00:00+00:00\n" in shown


def test_facts_from_a_table(usance: Usance) -> None:
    table = dedent("""\
        kind,on,amount,ref,arg,booked_at
        disbursed,2023-12-31,9000,,,
        paid,2024-01-31,1635.00,psp-1,,2024-02-01T00:00:00Z
        fee_charged,2024-02-20,10,,late_fee,
        waived,2024-02-21,10,,penalty,
        paid,2024-03-10,1500,,,
        paid,2024-03-11,77,wrong,,
        reversed,2024-03-12,,,wrong,
        """)
    call = "loan replay loan.yaml --facts facts.csv --as-of 2024-03-15 --json"
    shown = usance(call, loan_yaml=TERMS_YAML, facts_csv=table).data
    assert (shown["settlement_minor"], shown["waived"]["penalty_minor"]) == (615_605, 1_000)


def test_conform_apr(usance: Usance) -> None:
    case = {
        "id": "one", "jurisdiction": "US", "unit_period": "1 month", "expected_apr_pct": 12.0,
        "advances": [{"amount": 100, "t": 0}], "payment_streams": [{"amount": 101, "t": 1}],
    }  # fmt: skip
    wrong = case | {"id": "two", "expected_apr_pct": 13.0}
    right = usance("conform apr cases.json", cases_json=json.dumps({"cases": [case]}))
    assert (right.code, right.out.splitlines()[-1]) == (0, "1 of 1 cases passed")
    both = json.dumps({"cases": [case, wrong]})
    shown = usance("conform apr cases.json --json", cases_json=both)
    assert shown.code == 1
    assert (shown.json["total"], shown.json["passed"]) == (2, 1)
    assert [each["id"] for each in shown.json["failures"]] == ["two"]


def test_conform_runs_the_shared_cases(usance: Usance, shared: Path) -> None:
    answer = usance(f"conform apr {shared / 'cases' / 'apr.json'} --json")
    assert answer.code == 0
    assert answer.json["passed"] == answer.json["total"] > 0


def test_every_option_of_terms_is_one_of_the_document() -> None:
    found: list[Any] = []
    read_terms(Fields(dict.fromkeys(TERMS, "?"), lambda path: str(path[-1]), found))
    assert not [error for error in found if "unknown key" in error.what]
