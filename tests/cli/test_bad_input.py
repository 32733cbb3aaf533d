"""Bad input through the command line: each kind is refused by name, with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.answers import LOAN_YAML, TERMS_YAML, Answer, Usance


def assert_refused(answer: Answer, message: str) -> None:
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert message in answer.err
    assert "Traceback" not in answer.err


BAD_OPTIONS = {
    "--principal 0": "--principal: 0 is too small. Give 0.01 to 10000000000000.00 CNY.",
    "--principal -5": "--principal: -5 is too small.",
    "--principal NaN": "--principal: 'NaN' is not an amount.",
    "--principal 10.005": "--principal: amount 10.005 is finer than the smallest unit of CNY.",
    "--principal 99999999999999999": "--principal: 99999999999999999 is too large.",
    "--principal 10000000000001": "--principal: 10000000000001 is too large.",
    "--principal 12345678901234567890123456": "--principal: 12345678901234567890123456 is too lar",
    "--instalments 0": "--instalments: 0 is too small. Give 1 to 1200.",
    "--instalments 12345678901234567890123": "12345678901234567890123 is too large. Give 1 to",
    "--instalments 1.5": "--instalments: '1.5' is not a whole number.",
    "--rate 18": "--rate: rate 18 could mean 18% or 1800%. Write 18% or 0.18.",
    "--rate -1%": "error: --rate: -1% is too small. Give 0% to 1000%.",
    "--rate 123456789012%": "error: --rate: 123456789012% is too large.",
    "--vat 101%": "--vat: 101% is too large. Give 0% to 100%.",
    "--first-due-on 9999-12-31": "error: --first-due-on: 9999-12-31 is too late. Give a date from",
    "--rate 24.5%": "above the cap of 24% in force on 2024-01-15",
    "--upfront-fee 400": "above the cap of 24% in force on 2024-01-15",
    "--first-due-on 2024-01-14": "--first-due-on: the first instalment is due 2024-01-14, not",
    "--first-due-on 2024-02-30": "--first-due-on: 2024-02-30 does not exist. February 2024 has 29",
    "--disbursed-on 2014-01-15": "pricing.cap_measure: has no value on 2014-01-15.",
    "--disbursed-on 15.1.2024": "--disbursed-on: '15.1.2024' is not a date. Write YYYY-MM-DD",
    "--convention level_montly": "--convention: unknown convention 'level_montly'. Did you mean",
    "--coupon 30%": "--coupon: the coupon of 30% is more than the rate of 20%.",
    "--guarantee-fee 1": "--guarantee-fee: the guarantee fee of 1.00 CNY is more than all fees",
    "--flat-fee -1": "--flat-fee: -1 is too small. Give 0.00 to",
    "--currency RMB": "--currency: unknown currency 'RMB'.",
    "--currency USD --flat-fee 1CNY": "--flat-fee: 1 CNY where amounts are in USD.",
}


@pytest.mark.parametrize(("options", "message"), BAD_OPTIONS.items(), ids=BAD_OPTIONS.keys())
def test_a_bad_option_is_refused_by_name(usance: Usance, options: str, message: str) -> None:
    good = {"--principal": "1000", "--rate": "20%", "--instalments": "6",
            "--disbursed-on": "2024-01-15"}  # fmt: skip
    words = options.split()
    given = good | dict(zip(words[::2], words[1::2], strict=True))
    answer = usance("loan quote " + " ".join(f"{name} {value}" for name, value in given.items()))
    assert_refused(answer, message)


def test_a_file_and_options_exclude_each_other(usance: Usance) -> None:
    answer = usance("loan quote loan.yaml --rate 5%", loan_yaml=LOAN_YAML)
    assert_refused(answer, "loan.yaml: a file and --rate.")


# What is replaced in the good document, by what, and what is said of it.
REVERSE = "  - {kind: reversed, on: 2024-03-11, reverses: psp-1}\n"
BAD_LINES = {
    "payment first": (
        "on: 2024-01-31, amount: 1635",
        "on: 2023-12-30, amount: 1635",
        "loan.yaml line 9, facts[2]: paid of 2023-12-30 (ref 'psp-1') comes before",
    ),
    "never disbursed": (
        "- {kind: disbursed, on: 2023-12-31, amount: 9000}",
        "",
        "facts[1]: paid of 2024-01-31 (ref 'psp-1') comes before",
    ),
    "other amount": (
        "2023-12-31, amount: 9000",
        "2023-12-31, amount: 8000",
        "loan.yaml line 8, facts[1]: disbursed of 2023-12-31 (ref 1) of 800000 differs",
    ),
    "negative amount": (
        "1635.00",
        "-1635.00",
        "loan.yaml line 9, facts[2].amount: -1635.00 is too small. Give 0.01 to",
    ),
    "zero amount": (
        "1635.00",
        "0",
        "loan.yaml line 9, facts[2].amount: 0 is too small. Give 0.01 to",
    ),
    "amount left out": (
        ", amount: 1635.00",
        "",
        "loan.yaml line 9, facts[2].amount: amount is miss",
    ),
    "empty amount": (
        "1635.00",
        "",
        "loan.yaml line 9, facts[2].amount: amount is empty.",
    ),
    "no number": (
        "1635.00",
        ".nan",
        "loan.yaml line 9: .nan is not a number here.",
    ),
    "words": (
        "1635.00",
        "lots",
        "loan.yaml line 9, facts[2].amount: 'lots' is not an amount.",
    ),
    "too fine": (
        "1635.00",
        "1635.001",
        "is finer than the smallest unit of CNY.",
    ),
    "overflow": (
        "1635.00",
        "1e30",
        "loan.yaml line 9, facts[2].amount: 1E+30 is too large.",
    ),
    "far too large": (
        "1635.00",
        "900000000000000",
        "facts[2].amount: 900000000000000 is too large. Give 0.01 to 100000000000000.00 CNY.",
    ),
    "other currency": (
        "1635.00",
        "1635.00 USD",
        "loan.yaml line 9, facts[2].amount: 1635.00 USD where amounts are in CNY.",
    ),
    "currency of a fact": (
        "ref: psp-1",
        "currency: USD",
        "loan.yaml line 9, facts[2].currency: USD where amounts are in CNY.",
    ),
    "impossible day": (
        "2024-03-10",
        "2024-02-30",
        "loan.yaml line 10, facts[3].on: 2024-02-30 does not exist.",
    ),
    "not a day": (
        "2024-03-10",
        "tomorrow",
        "facts[3].on: 'tomorrow' is not a date.",
    ),
    "moment without offset": (
        "ref: psp-1",
        "booked_at: 2024-02-01T00:00:00",
        "facts[2].booked_at: 2024-02-01T00:00:00 has no offset from UTC.",
    ),
    "unknown kind": (
        "kind: paid, on: 2024-03-10",
        "kind: payed, on: 2024-03-10",
        "facts[3].kind: unknown fact kind 'payed'. Did you mean 'paid'?",
    ),
    "unknown key": (
        "rate: 18%",
        "rate: 18%\n  intrest: 3%",
        "loan.yaml line 4, terms.intrest: unknown key 'intrest'.",
    ),
    "key of another kind": (
        "ref: psp-1",
        "component: penalty",
        "facts[2].component: unknown key 'component'.",
    ),
    "unknown reversal": (
        "kind: paid, on: 2024-03-10, amount: 1500.00",
        "kind: reversed, on: 2024-03-10, reverses: psp-2",
        "loan.yaml line 10, facts[3].reverses: no fact has the reference 'psp-2'.",
    ),
    "reversed twice": (
        "as_of:",
        REVERSE + REVERSE + "as_of:",
        "loan.yaml line 12, facts[5].reverses: 'psp-1' is already reversed.",
    ),
    "reversal of a reversal": (
        "as_of:",
        REVERSE.replace("on:", "ref: r, on:") + REVERSE.replace("psp-1", "r") + "as_of:",
        "loan.yaml line 12, facts[5].reverses: 'r' is a reversal itself.",
    ),
    "reversal by position": (
        "as_of:",
        REVERSE.replace("psp-1", "3") + "as_of:",
        "facts[4].reverses: loan.yaml line 10, facts[3] has no ref of its own, only its position.",
    ),
    "reversal with an amount": (
        "as_of:",
        REVERSE.replace("psp-1", "psp-1, amount: 1") + "as_of:",
        "loan.yaml line 11, facts[4].amount: an amount beside a reversal.",
    ),
    "pause ends first": (
        "kind: paid, on: 2024-03-10, amount: 1500.00",
        "kind: interest_paused, on: 2024-03-10, until: 2024-03-01",
        "loan.yaml line 10, facts[3].until: the pause ends before it begins. Give 2024-03-10 or",
    ),
    "day for a moment": (
        "ref: psp-1",
        "booked_at: 2024-02-01",
        "facts[2].booked_at: 2024-02-01 is not a moment.",
    ),
    "half an instalment": (
        "instalments: 6",
        "instalments: 1.5",
        "loan.yaml line 4, terms.instalments: 1.5 is not a whole number.",
    ),
    "roll without a calendar": (
        "convention: equal_principal_monthly",
        "convention: {roll: following}",
        "loan.yaml line 6, terms.convention.roll: a roll without a calendar.",
    ),
    "calendar without a roll": (
        "convention: equal_principal_monthly",
        "convention: {calendar: weekends}",
        "loan.yaml line 6, terms.convention.calendar: a calendar without a roll.",
    ),
    "same reference": (
        "amount: 1500.00",
        "amount: 1500.00, ref: psp-1",
        "line 10, facts[3].ref: has the reference psp-1, as has loan.yaml line 9, facts[2].",
    ),
    "waiver too large": (
        "kind: paid, on: 2024-03-10",
        "kind: waived, component: penalty, on: 2024-03-10",
        "is more than the penalty scheduled and not covered, 0.",
    ),
    "unknown terms": (
        "kind: paid, on: 2024-03-10, amount: 1500.00",
        "kind: terms_changed, on: 2024-03-10, terms: 7",
        "names terms 7, which were not given.",
    ),
    "zero instalments": (
        "instalments: 6",
        "instalments: 0",
        "loan.yaml line 4, terms.instalments: 0 is too small.",
    ),
    "unknown convention": (
        "equal_principal_monthly",
        "equal_monthly",
        "unknown convention 'equal_monthly'.",
    ),
    "twice": (
        "instalments: 6",
        "instalments: 6\n  rate: 1%",
        "loan.yaml line 5: 'rate' is there twice.",
    ),
    "no terms": (
        TERMS_YAML,
        "",
        "loan.yaml: there are no terms.",
    ),
    "terms are text": (
        TERMS_YAML,
        "terms: yes\n",
        "'yes' stands where keys and values belong.",
    ),
    "a list": (
        LOAN_YAML,
        "- 1\n",
        "loan.yaml: is no loan document.",
    ),
    "cut short": (
        "amount: 1500.00}\nas_of: 2024-03-15\n",
        "amo",
        "loan.yaml line 10: ",
    ),
    "not YAML": (
        "kind: disbursed",
        "kind: [disbursed",
        "loan.yaml line 8: ",
    ),
}


@pytest.mark.parametrize(("old", "new", "message"), BAD_LINES.values(), ids=BAD_LINES.keys())
def test_a_bad_line_is_refused_with_its_place(
    usance: Usance, old: str, new: str, message: str
) -> None:
    assert old in LOAN_YAML
    assert_refused(usance("loan replay loan.yaml", loan_yaml=LOAN_YAML.replace(old, new)), message)


BAD_CELLS = {
    "paid,2024-01-31,NaN,,,": "facts.csv line 3, amount: 'NaN' is not an amount.",
    "paid,2024-01-31,inf,,,": "facts.csv line 3, amount: 'inf' is not an amount.",
    "paid,2024-01-31,,,,": "facts.csv line 3, amount: amount is missing.",
    'paid,2024-01-31,"1,635",,,': "facts.csv line 3, amount: '1,635' is not an amount.",
    "paid,2024-01-31,100 USD,,,": "facts.csv line 3, amount: 100 USD where amounts are in CNY.",
    "paid,2024-02-31,100,,,": "facts.csv line 3, on: 2024-02-31 does not exist.",
    "paid,,100,,,": "facts.csv line 3, on: on is missing.",
    ",2024-01-31,100,,,": "facts.csv line 3, kind: kind is missing.",
    "paid,2024-01-31,100,,penalty,": "facts.csv line 3, arg: an arg beside a paid fact,",
    "waived,2024-01-31,100,,penlty,": "facts.csv line 3, arg: unknown component 'penlty'.",
    "waived,2024-01-31,100,,,": "facts.csv line 3, arg: arg is missing.",
    "reversed,2024-01-31,,,x,": "facts.csv line 3, arg: no fact has the reference 'x'.",
    "reversed,2024-01-31,5,,x,": "facts.csv line 3, amount: an amount beside a reversal.",
    "paid,2024-01-31,-5,,,": "facts.csv line 3, amount: -5 is too small. Give 0.01 to",
    "paid,2024-01-31,100": "facts.csv line 3: 3 cells under 6 columns.",
    'paid,2024-01-31,"100,,,': "facts.csv line 3: ",
    "paid,2023-01-31,100,,,": "facts.csv line 3: paid of 2023-01-31 (ref 2) comes before",
}


@pytest.mark.parametrize(("row", "message"), BAD_CELLS.items(), ids=BAD_CELLS.keys())
def test_a_bad_cell_is_refused_with_its_row(usance: Usance, row: str, message: str) -> None:
    table = f"kind,on,amount,ref,arg,booked_at\ndisbursed,2023-12-31,9000,,,\n{row}\n"
    call = "loan replay loan.yaml --facts facts.csv --as-of 2024-02-29"
    assert_refused(usance(call, loan_yaml=TERMS_YAML, facts_csv=table), message)


def test_a_table_has_the_columns_it_should(usance: Usance) -> None:
    call = "loan replay loan.yaml --facts facts.csv --as-of 2024-02-29"
    answer = usance(call, loan_yaml=TERMS_YAML, facts_csv="kind,amuont\npaid,1\n")
    assert_refused(answer, "facts.csv line 1: unknown column 'amuont'. Did you mean 'amount'?")
    assert "facts.csv line 1: has no column on." in answer.err
    answer = usance(call, loan_yaml=LOAN_YAML, facts_csv="kind,on\nreversed,2024-01-01\n")
    assert_refused(answer, "loan.yaml line 7, facts: facts are here and in a CSV file.")


@pytest.mark.parametrize("name", ["facts.csv", "loan.yaml"])
def test_a_table_without_rows_is_looked_at_too(usance: Usance, name: str) -> None:
    call = f"loan replay loan.yaml --facts {name} --as-of 2024-02-29"
    answer = usance(call, loan_yaml=TERMS_YAML, facts_csv="foo,bar\n")
    assert_refused(answer, f"{name} line 1: is no table of facts: none of its columns is known.")


def test_no_facts_are_said_on_standard_error(usance: Usance) -> None:
    call = "loan replay loan.yaml --facts facts.csv --as-of 2024-02-29"
    answer = usance(call, loan_yaml=TERMS_YAML, facts_csv="kind,on\n")
    assert (answer.code, answer.err) == (
        0, "warning: facts.csv: no facts. The loan is shown as not disbursed.\n",
    )  # fmt: skip
    assert "\nstatus                     not disbursed\n" in answer.out


@pytest.mark.parametrize(("facts", "count"), [("6", 1), ("[1, a, null, 2.5]", 4)])
def test_what_is_no_fact_is_one_problem(usance: Usance, facts: str, count: int) -> None:
    answer = usance("loan replay loan.yaml", loan_yaml=f"{TERMS_YAML}facts: {facts}\n")
    assert_refused(answer, "stands where keys and values belong.")
    assert answer.err.count("loan.yaml line") == count


@pytest.mark.parametrize("call", ["loan replay loan.yaml", "loan schedule loan.yaml"])
def test_an_answer_has_one_form(usance: Usance, call: str) -> None:
    answer = usance(f"{call} --csv --json", loan_yaml=LOAN_YAML)
    assert answer.code == 2
    assert answer.json["error"]["what"] == "--csv and --json exclude each other"


def test_everything_wrong_is_said_at_once(usance: Usance) -> None:
    text = LOAN_YAML.replace("principal: 9000", "principal: 0").replace("rate: 18%", "rate: 1800")
    text = text.replace("1635.00", "x").replace("2024-03-15", "soon")
    answer = usance("loan replay loan.yaml", loan_yaml=text)
    assert answer.code == 2
    assert [line.split(":")[0] for line in answer.err.splitlines()] == [
        "error", "- loan.yaml line 2, terms.principal", "- loan.yaml line 3, terms.rate",
        "- loan.yaml line 11, as_of", "- loan.yaml line 9, facts[2].amount",
    ]  # fmt: skip


def test_files_that_cannot_be_read(usance: Usance) -> None:
    Path("folder.yaml").mkdir()
    Path("binary.yaml").write_bytes(b"\x00\xff\xfe\x80")
    Path("plain").write_text(TERMS_YAML)
    files = {"empty_yaml": " \n", "loan_txt": "x", "empty_csv": "", "loan_yaml": TERMS_YAML}
    for name, message in {
        "no.yaml": "no.yaml: no such file.",
        "folder.yaml": "folder.yaml: is a folder.",
        "binary.yaml": "binary.yaml: line 1 is not UTF-8.",
        "empty.yaml": "empty.yaml: the file is empty.",
        ".": ".: is a folder. Name a file inside it.",
        "-": "-: standard input is not read.",
        "no": "no: no such file.",
        "plain": "plain: has no ending that says what is in it.",
        "loan.txt": "loan.txt: cannot read a file that ends in '.txt'.",
        "loan.yaml --facts no.csv": "no.csv: no such file.",
        "loan.yaml --facts empty.csv": "empty.csv: the file is empty.",
    }.items():
        for command in ("replay", "quote", "schedule"):
            if command == "replay" or "--facts" not in name:
                assert_refused(usance(f"loan {command} {name}", **files), message)
    assert_refused(usance("conform apr no.json"), "no.json: no such file.")
    assert_refused(
        usance("conform apr empty.json", empty_json=""), "empty.json: the file is empty."
    )


def test_bad_arguments_of_a_replay(usance: Usance) -> None:
    for options, message in {
        "--as-of 2024-13-01": "--as-of: 2024-13-01 does not exist.",
        "--known-at 2024-01-01": "--known-at: 2024-01-01 has no offset from UTC.",
        "--form quick": "--form: unknown form 'quick'. Choices: exact, kernel, auto.",
    }.items():
        assert_refused(usance(f"loan replay loan.yaml {options}", loan_yaml=LOAN_YAML), message)


def test_the_kernel_refuses_by_name_what_it_does_not_know(usance: Usance) -> None:
    text = LOAN_YAML.replace("18%", "18%\n  grace_principal: 1")
    answer = usance("loan replay loan.yaml --form kernel", loan_yaml=text)
    assert_refused(answer, "the kernel does not know grace_principal.")
    assert usance("loan replay loan.yaml --form auto --json").data["form"] == "exact"


@pytest.mark.parametrize("kept", range(0, len(LOAN_YAML), 11))
def test_a_document_cut_anywhere_is_read_or_refused(usance: Usance, kept: int) -> None:
    answer = usance("loan replay loan.yaml", loan_yaml=LOAN_YAML[:kept] or " ")
    assert answer.code in (0, 2)
    assert "Traceback" not in answer.err
