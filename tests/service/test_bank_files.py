"""Bank files: three banks' habits, the official schemas, and everything that must be refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from usance.base.errors import InputError
from usance.service.bank_files.camt import read_camt
from usance.service.bank_files.csv_file import read_csv_file
from usance.service.bank_files.files import FileRegister, Outcome, read_file
from usance.service.bank_files.pain import (
    Mandate,
    OwnAccount,
    Transfer,
    credit_transfers,
    direct_debits,
)
from usance.service.bank_files.profile import BankProfile, load_profile, parse_profile
from usance.service.bank_files.statement import FileLine, Statement
from usance.service.bank_files.status_report import read_status_report
from usance.service.errors import BankFileError

FOLDER = Path(__file__).with_name("bank_files")
BANK_B = """
format: camt
reversal_sign: original
reference: [end_to_end_id, text]
reference_pattern: "OR[0-9]+"
day: value
balances: free
"""


def content(name: str) -> bytes:
    """The bytes of a bank's file, in the encoding that it declares."""
    text = (FOLDER / f"{name}.xml").read_text(encoding="utf-8")
    return text.encode("iso-8859-1" if "ISO-8859-1" in text[:60] else "utf-8")


def shown(statement: Statement) -> list[tuple[str, int, str]]:
    return [(each.reference, each.amount_minor, str(each.booked_on)) for each in statement.lines]


def test_a_bank_that_lists_the_details_of_its_batches() -> None:
    [statement] = read_file(FOLDER / "bank_a.xml", load_profile("iso20022"))
    assert statement.account == "DE89370400440532013000"
    assert shown(statement) == [
        ("OR1", 900_00, "2024-07-01"),
        ("OR2", 600_00, "2024-07-01"),
        ("OR0", -150_00, "2024-07-01"),
    ]
    first, second, returned = statement.lines
    assert (first.batch, first.text, first.party) == ("D20240701", "Instalment 1 of 12", "Li Hua")
    assert second.party == "Wang & Söhne"
    assert (returned.is_reversal, returned.return_reason) == (True, "AM04")
    assert (statement.opening_minor, statement.closing_minor) == (1_000_00, 2_350_00)


def test_the_same_bank_read_by_whole_entries() -> None:
    profile = parse_profile("format: camt\nbatches: entry", "bank_a.yaml")
    [statement] = read_file(FOLDER / "bank_a.xml", profile)
    assert [(each.amount_minor, each.batch) for each in statement.lines] == [
        (1_500_00, "D20240701"), (-150_00, ""),
    ]  # fmt: skip


def test_a_bank_with_the_original_side_references_in_texts_and_balances_that_do_not_roll() -> None:
    profile = parse_profile(BANK_B, "bank_b.yaml")
    [statement] = read_file(FOLDER / "bank_b.xml", profile)
    assert shown(statement) == [("OR77", 1_200_50, "2024-07-03"), ("OR78", 300_00, "2024-07-03")]
    assert statement.lines[0].party == "李华"
    assert statement.opening_minor == -10_00
    with pytest.raises(BankFileError, match="closes"):
        read_file(FOLDER / "bank_b.xml", load_profile("iso20022"))


def test_a_bank_that_notifies_in_latin_letters() -> None:
    [statement] = read_camt(content("bank_c"), "bank_c.xml", load_profile("iso20022"))
    assert shown(statement) == [("OR5", 2_000_00, "2024-07-01"), ("OR6", 100_00, "2024-07-01")]
    assert statement.lines[1].text == "Müller"
    assert statement.currency == "CHF"


OFFICIAL = {"bank_a": "camt_053_001_02", "bank_b": "camt_053_001_08", "bank_c": "camt_054_001_04"}


@pytest.mark.parametrize(("name", "message"), OFFICIAL.items())
def test_our_files_keep_the_official_schema_and_read_as_its_own_classes_do(
    name: str, message: str
) -> None:
    """The classes are generated from the schemas of ISO 20022; unknown elements are refused."""
    from xsdata.formats.dataclass.parsers import XmlParser
    from xsdata.formats.dataclass.parsers.config import ParserConfig

    module = import_module(f"pyiso20022.camt.{message}")
    parser = XmlParser(config=ParserConfig(fail_on_unknown_properties=True,
                                           fail_on_converter_warnings=True))  # fmt: skip
    document: Any = parser.from_bytes(content(name), module.Document)
    inner = getattr(document, "bk_to_cstmr_stmt", None) or document.bk_to_cstmr_dbt_cdt_ntfctn
    [account] = getattr(inner, "stmt", None) or inner.ntfctn
    expected = []
    for entry in account.ntry:
        status = getattr(entry.sts, "cd", entry.sts)
        if getattr(status, "value", status) == "BOOK":
            sign = 1 if entry.cdt_dbt_ind.value == "CRDT" else -1
            flips = name == "bank_b" and entry.rvsl_ind
            expected.append(sign * (-1 if flips else 1) * Decimal(entry.amt.value))
    profile = parse_profile(BANK_B, "bank_b.yaml") if name == "bank_b" else BankProfile("a")
    [read] = read_camt(content(name), name, profile)
    assert Decimal(read.total_minor) / 100 == sum(expected)


TRANSFERS = [
    Transfer("OR1", 1_500_00, "EUR", "Li & Söhne <GmbH>", "DE89370400440532013000", "COBADEFFXXX",
             "Loan 16385", Mandate("M-1", date(2023, 12, 31))),
    Transfer("OR2", 7, "EUR", "王伟", "6222020200112233", "BKCHCNBJ", "",
             Mandate("M-2", date(2024, 1, 2))),
]  # fmt: skip
US = OwnAccount("Usance Lending", "DE02120300000000202051", "BYLADEM1001", "DE98ZZZ09999999999")
MADE = datetime(2024, 7, 1, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("write", "schema"),
    [(credit_transfers, "pain.001.001.09.xsd"), (direct_debits, "pain.008.001.08.xsd")],
)
def test_what_we_write_keeps_the_official_schema(write: Any, schema: str) -> None:
    import sepaxml
    import xmlschema

    folder = Path(sepaxml.__file__).with_name("schemas")
    text = write("M1", MADE, US, date(2024, 7, 2), TRANSFERS)
    checker = xmlschema.XMLSchema(folder / schema)
    checker.validate(text.decode())
    assert text == write("M1", MADE, US, date(2024, 7, 2), TRANSFERS)
    with pytest.raises(xmlschema.XMLSchemaValidationError):  # the check itself can fail
        checker.validate(text.decode().replace("<NbOfTxs>2", "<NbOfTxs>two"))


@pytest.mark.parametrize(
    ("transfers", "what"),
    [
        ([], "no orders"),
        ([TRANSFERS[0], TRANSFERS[1]._replace(currency="CNY")], "several currencies"),
        ([TRANSFERS[0], TRANSFERS[0]], "twice"),
        ([TRANSFERS[0]._replace(amount_minor=0)], "amount of 0"),
        ([TRANSFERS[0]._replace(reference="x" * 36)], "35"),
        ([TRANSFERS[0]._replace(name="")], "140"),
        ([TRANSFERS[0]._replace(mandate=None)], "mandate"),
    ],
)
def test_orders_no_bank_could_execute_are_refused(transfers: list[Transfer], what: str) -> None:
    with pytest.raises(BankFileError, match=what):
        direct_debits("M1", MADE, US, date(2024, 7, 2), transfers)


REPORT = """<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt>
<GrpHdr><MsgId>R1</MsgId><CreDtTm>2024-07-01T10:00:00</CreDtTm></GrpHdr>
<OrgnlGrpInfAndSts><OrgnlMsgId>M1</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>
<GrpSts>PART</GrpSts></OrgnlGrpInfAndSts>
<OrgnlPmtInfAndSts><OrgnlPmtInfId>M1</OrgnlPmtInfId><PmtInfSts>ACSP</PmtInfSts>
<TxInfAndSts><OrgnlEndToEndId>OR1</OrgnlEndToEndId></TxInfAndSts>
<TxInfAndSts><OrgnlEndToEndId>OR2</OrgnlEndToEndId><TxSts>RJCT</TxSts>
<StsRsnInf><Rsn><Cd>AC04</Cd></Rsn></StsRsnInf></TxInfAndSts>
</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>"""


def test_answers_of_a_status_report() -> None:
    from pyiso20022.pain.pain_002_001_10 import Document
    from xsdata.formats.dataclass.parsers import XmlParser

    XmlParser().from_string(REPORT, Document)  # it keeps the official schema
    read = read_status_report(REPORT.encode(), "r.xml")
    assert [(each.reference, each.kind.value, each.reason) for each in read] == [
        ("OR1", "accepted", ""), ("OR2", "rejected", "AC04"),
    ]  # fmt: skip
    whole = REPORT[: REPORT.index("<OrgnlPmtInfAndSts>")].replace("PART", "RJCT")
    read = read_status_report(f"{whole}</CstmrPmtStsRpt></Document>".encode(), "r.xml")
    assert [(each.reference, each.message_id, each.kind.value) for each in read] == [
        ("", "M1", "rejected")
    ]
    with pytest.raises(BankFileError, match=r"r.xml line 7.*unknown status 'WHAT'"):
        read_status_report(REPORT.replace("RJCT", "WHAT").encode(), "r.xml")


GOOD = (FOLDER / "bank_a.xml").read_text()
BAD = {
    "cut": (GOOD[: len(GOOD) // 2], "no element found|unclosed token"),
    "doctype": (GOOD.replace("<Document", '<!DOCTYPE x [<!ENTITY a "b">]>\n<Document', 1),
                "document type declaration"),
    "tag": (GOOD.replace("</Ntry>", "</Entry>", 1), "mismatched tag"),
    "amount": (GOOD.replace("1500.00", "15OO.00", 1), "'15OO.00' is no amount in EUR"),
    "decimals": (GOOD.replace("1500.00", "1500.001", 1), "is no amount"),
    "side": (GOOD.replace("CRDT</CdtDbtInd><Sts>", "LEFT</CdtDbtInd><Sts>", 1), "neither CRDT"),
    "day": (GOOD.replace("<Dt>2024-07-01</Dt></BookgDt>", "<Dt>2024-06-31</Dt></BookgDt>", 1),
            "is no day"),
    "batch": (GOOD.replace(">600.00<", ">599.00<", 1), "leave 100 minor units"),
    "currency": (GOOD.replace('Ccy="EUR">150.00', 'Ccy="XXX">150.00', 1), "unknown currency 'XXX'"),
    "other message": (GOOD.replace("camt.053.001.02", "pain.002.001.10"), "no camt.053"),
    "another root": (GOOD.replace("Document", "Dokument"), "begins with Dokument"),
    "deep": (GOOD.replace("<Acct>", "<a>" * 70 + "</a>" * 70 + "<Acct>", 1), "nested deeper"),
    "long text": (GOOD.replace("Li Hua", "x" * 20_000), "more than 10000 characters"),
    "below zero": (GOOD.replace(">1500.00", ">-1500.00", 1), "an amount below zero, -1500.00"),
    "no status": (GOOD.replace("<Sts>BOOK</Sts>", "", 1), "status is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_malformed_file_is_refused_whole_with_line_and_column(name: str) -> None:
    text, what = BAD[name]
    with pytest.raises(BankFileError, match=what) as found:
        read_camt(text.encode(), "s.xml")
    assert "line " in found.value.where
    assert "column " in found.value.where


def test_a_balance_that_does_not_roll_is_refused() -> None:
    with pytest.raises(BankFileError, match="closes 100 minor units above"):
        read_camt(GOOD.replace("2350.00", "2351.00").encode(), "s.xml")


CSV = """order_no,provider_ref,settled_on,amount,fee,batch,loan,payer
OR1,T1,2024-07-01,9.00,0.05,B1,16385,x
"""
CSV_BAD = {
    "cells": ("OR1,T1\n", "2 cells under 8 columns"),
    "amount": ("OR1,T1,2024-07-01,9.0.0,0,B1,1,x\n", "line 3, column amount"),
    "day": ("OR1,T1,01/07/2024,9.00,0,B1,1,x\n", "line 3, column settled_on"),
    "loan": ("OR1,T1,2024-07-01,9.00,0,B1,ln_1,x\n", "line 3, column loan"),
    "quote": ('OR1,"T1,2024-07-01,9.00,0,B1,1,x\n', "line 3"),
}


@pytest.mark.parametrize("name", CSV_BAD)
def test_a_malformed_csv_file_is_refused_whole(name: str) -> None:
    row, what = CSV_BAD[name]
    with pytest.raises(BankFileError, match=what):
        read_csv_file(CSV + row, "p.csv", load_profile("psp"))
    assert len(read_csv_file(CSV, "p.csv", load_profile("psp")).lines) == 1


def test_a_point_for_cents_is_no_separator_of_thousands() -> None:
    profile = parse_profile(f'{MANY_CURRENCIES}amounts: "1.234,56"\nseparator: ";"\n', "many")
    header = "order_no;settled_on;amount;currency\n"
    [line] = read_csv_file(f"{header}A;2024-07-01;3.000,00;CNY\n", "p.csv", profile).lines
    assert line.amount_minor == 300_000
    with pytest.raises(BankFileError, match=r"line 2, column amount.*'3000\.00' is no amount"):
        read_csv_file(f"{header}A;2024-07-01;3000.00;CNY\n", "p.csv", profile)


MILLION = 1_000_000
MANY_CURRENCIES = """
format: csv
columns: {reference: order_no, day: settled_on, amount: amount, currency: currency}
currency: CNY
"""


@pytest.mark.nightly
def test_a_million_lines_are_read_or_the_one_wrong_line_is_named() -> None:
    """A line of an unknown currency is one that no amount can be read of: the whole is refused."""
    profile = parse_profile(MANY_CURRENCIES, "many")
    rows = [f"OR{n},2024-07-01,{n % 900}.25,{'EUR' if n % 10 == 3 else 'CNY'}\n"
            for n in range(MILLION)]  # fmt: skip
    header = "order_no,settled_on,amount,currency\n"
    read = read_csv_file(header + "".join(rows), "p.csv", profile)
    assert len(read.lines) == MILLION
    whole = sum(each.amount_minor for each in read.lines)
    assert whole == sum(n % 900 * 100 + 25 for n in range(MILLION))
    assert sum(each.currency == "EUR" for each in read.lines) == MILLION // 10  # breaks, not lost
    rows[777_777] = rows[777_777].replace("CNY", "XXQ")
    with pytest.raises(InputError, match=r"p\.csv line 777779, column amount.*XXQ"):
        read_csv_file(header + "".join(rows), "p.csv", profile)


def test_columns_that_are_not_there_are_named() -> None:
    with pytest.raises(BankFileError, match="has the column 'order_no' 0 times"):
        read_csv_file(CSV.replace("order_no", "order"), "p.csv", load_profile("psp"))


def test_a_file_that_is_not_in_its_encoding_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_bytes(CSV.encode() + b"\xff")
    with pytest.raises(BankFileError, match="line 3, column 1"):
        read_file(path, load_profile("psp"))
    with pytest.raises(BankFileError, match="no such file"):
        read_file(tmp_path / "q.csv", load_profile("psp"))


@pytest.mark.parametrize(
    "text",
    ["format: xls", "format: csv", "format: camt\nreference: [name]", "format: camt\nhabit: odd",
     "format: csv\ncolumns: {reference: a, day: b, amount: c, credit: d}\ncurrency: CNY",
     "format: csv\ncolumns: {reference: a, day: b, amount: c, side: d}\ncurrency: CNY",
     "format: csv\ncolumns: {reference: a, day: b, amount: c}",
     'format: camt\nreference_pattern: "("'],
)  # fmt: skip
def test_a_profile_that_says_too_little_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_profile(text, "p.yaml")


def test_a_file_under_another_name_is_the_same_file() -> None:
    """Unless its lines have no numbers: two payments may look alike."""
    register = FileRegister()
    for name, row, outcomes in (
        ("a", "OR1,T1,2024-07-01,9.00,0.05,B1,16385,x\n", ("new", "repeated")),
        ("b", ",,2024-07-01,9.00,0.00,,0,x\n", ("new", "new")),
    ):
        text = CSV.splitlines(keepends=True)[0] + row
        for other, outcome in zip(("", "-again"), outcomes, strict=True):
            statement = read_csv_file(text, f"{name}{other}.csv", load_profile("psp"))
            assert register.take(statement).outcome.value == outcome


def test_entries_in_another_currency_are_no_part_of_the_balances() -> None:
    """They are kept, as breaks of theirs; the balances are of the account's currency."""
    other = GOOD.replace('<Amt Ccy="EUR">150.00', '<Amt Ccy="USD">150.00', 1)
    with pytest.raises(BankFileError, match="closes -15000 minor units"):
        read_camt(other.encode(), "s.xml")
    [read] = read_camt(other.replace("2350.00", "2500.00").encode(), "s.xml")
    assert [each.currency for each in read.lines] == ["EUR", "EUR", "USD"]


@pytest.mark.parametrize(
    "content",
    [
        GOOD.encode("latin-1"),
        GOOD.encode("utf-16"),
        GOOD.replace("UTF-8", "X-SECRET", 1).encode(),
        GOOD.replace("UTF-8", "gb2312", 1).encode("gb2312", "ignore"),
    ],
)
def test_a_statement_in_another_encoding_than_it_says_is_refused(content: bytes) -> None:
    with pytest.raises(BankFileError, match=r"s.xml line \d+, column"):
        read_camt(content, "s.xml")


statements = st.builds(
    lambda identity, amounts: Statement(
        "CN01", identity, "CNY",
        tuple(FileLine(n, f"OR{n}", a, "CNY", date(2024, 7, 1)) for n, a in enumerate(amounts)),
    ),
    st.sampled_from(["S-1", "S-2"]), st.lists(st.integers(-9, 9), max_size=3),
)  # fmt: skip


@given(st.lists(statements, max_size=8))
def test_the_register_holds_the_last_version_of_every_file(files: list[Statement]) -> None:
    register, last, running = FileRegister(), dict[str, Statement](), 0
    for each in files:
        taken = register.take(each)
        known = last.get(each.identity)
        others = [known] if known is not None else [one for one in last.values() if each.lines]
        same = any(one.lines == each.lines for one in others)
        assert (taken.outcome is Outcome.REPEATED) == same
        if same:
            continue
        running += sum(line.amount_minor for line in taken.added)
        running -= sum(line.amount_minor for line in taken.reversed)
        last[each.identity] = each
        assert register.take(each).outcome is Outcome.REPEATED
    assert running == sum(line.amount_minor for line in register.lines())
    assert running == sum(each.total_minor for each in last.values())


@settings(max_examples=60)
@given(st.binary(max_size=60), st.integers(0, len(GOOD) - 1))
def test_no_damage_escapes_as_another_error(noise: bytes, at: int) -> None:
    content = GOOD.encode()
    damaged = content[:at] + noise + content[at + len(noise) :]
    with suppress(BankFileError):  # any other error fails the test
        read_camt(damaged, "s.xml", BankProfile("a"))
