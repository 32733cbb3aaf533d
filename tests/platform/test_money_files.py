"""Files of providers and banks on the platform: taken once, corrected by reversal, reconciled."""

from __future__ import annotations

from typing import Any

import pytest

from tests.platform.sandbox import Sandbox
from tests.platform.test_orders import advance, debtor, orders
from usance.platform.commands.money.money_files import TakeFile
from usance.platform.partners.file_evidence import take_file
from usance.platform.refusals import FileRefused, WrongState

HEADER = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer\n"
PAID = "D2024080108-1-1,D2024080108-1-1,2024-08-01,1039.74,0.00,B1,,Anna\n"
OUT = "{order},{order},2024-07-01,-6000.00,0.00,B0,,\n"
CAMT = """<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02"><BkToCstmrStmt><Stmt>
<Id>{id}</Id><Acct><Id><Othr><Id>CN01</Id></Othr></Id></Acct>
<Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="CNY">{closing}</Amt>
<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2024-08-02</Dt></Dt></Bal>
<Ntry><Amt Ccy="CNY">1039.74</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts>
<BookgDt><Dt>2024-08-02</Dt></BookgDt><NtryDtls><TxDtls><Refs><EndToEndId>B1</EndToEndId></Refs>
</TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>"""


def take(
    sandbox: Sandbox, name: str, content: str, profile: str = "psp", provider: str = "psp_a"
) -> dict[str, Any]:
    command = TakeFile(name, content, profile, provider)
    return sandbox.within(lambda platform: take_file(platform, command))


def reconcile(sandbox: Sandbox, day: str) -> Any:
    body = {"provider": "psp_a", "day": day}
    return sandbox.do("finance", "day.reconcile", body).answer


def test_three_views_agree_and_a_late_file_resolves_a_break(sandbox: Sandbox) -> None:
    debtor(sandbox)
    [payout] = orders(sandbox, "payout")
    advance(sandbox, "2024-08-03T01:00:00Z")
    file = HEADER + OUT.format(order=payout["reference"])
    take(sandbox, "p-0801.csv", file)
    first = reconcile(sandbox, "2024-08-03")
    missing = [each for each in sandbox.read("finance", "breaks") if each["leg"] == "provider"]
    [paid] = orders(sandbox, "party_payout")  # to the institution, of the day's receipts
    assert {(each["class"], each["reference"]) for each in missing} == {
        ("missing_with_them", "D2024080108-1-1"), ("missing_with_them", paid["reference"])
    }  # fmt: skip
    ref, amount = paid["reference"], f"-{paid['amount_minor'] / 100:.2f}"
    moved = sandbox.read("operations", "order", paid["order"])["events"][-1]["moved_on"]
    out = f"{ref},{ref},{moved},{amount},0.00,B2,,\n"
    told = take(sandbox, "p-0801.csv", file + PAID + out)
    assert [each["outcome"] for each in told["statements"]] == ["corrected"]
    assert (told["noted"], told["received"]) == (0, 0)  # the orders knew it already
    take(sandbox, "b-0802.xml", CAMT.format(id="S1", closing="1039.74"), "iso20022")
    second = reconcile(sandbox, "2024-08-03")
    assert first["ties"]
    assert second["ties"]
    open_now = [each for each in sandbox.read("finance", "breaks") if each["state"] == "open"]
    assert {each["leg"] for each in open_now} <= {"bank"}
    assert second["resolved"] >= 1


def test_a_file_sent_again_changes_nothing_and_one_in_another_layout_is_refused(
    sandbox: Sandbox,
) -> None:
    stray = HEADER + "X9,T9,2024-07-01,75.00,0.00,B1,,Bo\n"
    assert take(sandbox, "p.csv", stray)["received"] == 1
    assert [each["ref"] for each in sandbox.read("operations", "unallocated")] == ["T9"]
    again = take(sandbox, "p.csv", stray)
    assert [each["outcome"] for each in again["statements"]] == ["repeated"]
    renamed = take(sandbox, "p-again.csv", stray)
    assert [each["outcome"] for each in renamed["statements"]] == ["repeated"]
    assert len(sandbox.read("operations", "unallocated")) == 1
    with pytest.raises(FileRefused, match="line 2"):
        take(sandbox, "q.csv", HEADER + "X9,T9,2024-07-41,75.00,0.00,B1,,Bo\n")
    assert sandbox.sql("finance", "select count(*) from usance.money_files") == 1


def test_closing_balances_are_group_facts_and_a_correction_replaces_them(sandbox: Sandbox) -> None:
    advance(sandbox, "2024-08-03T01:00:00Z")
    put = {"account": "CN01", "entity": 1, "provider": "psp_a"}
    waits = sandbox.do("administrator", "bank_account.put", put).answer["approval"]
    sandbox.do("controller", "approval.approve", {"approval": waits})
    take(sandbox, "b.xml", CAMT.format(id="S1", closing="1039.74"), "iso20022")
    total = "select sum(amount_minor)::bigint from usance.group_facts where kind = 30"
    assert sandbox.sql("finance", total) == 103_974
    take(sandbox, "b.xml", CAMT.format(id="S1", closing="2000.00"), "iso20022")
    assert sandbox.sql("finance", total) == 200_000


def test_a_withheld_fee_becomes_a_cost_and_no_eternal_break(sandbox: Sandbox) -> None:
    debtor(sandbox)
    advance(sandbox, "2024-08-03T01:00:00Z")
    take(sandbox, "p-0801.csv", HEADER + PAID.replace(",0.00,", ",3.12,"))
    reconcile(sandbox, "2024-08-03")
    [fee] = [each for each in sandbox.read("finance", "breaks") if each["class"] == "fee"]
    assert (fee["amount_minor"], fee["leg"]) == (312, "provider")
    proposed = sandbox.do("finance", "break.book_fee", {"break_id": fee["break"]})
    assert proposed.status == 202
    approval = {"approval": proposed.answer["approval"]}
    for who in ("administrator", "controller"):
        done = sandbox.do(who, "approval.approve", approval).answer
    assert done["answer"]["state"] == "cleared"
    booked = sandbox.sql("finance", "select string_agg(kind || ' ' || amount_minor || detail, ', ' "
                         "order by kind) from usance.group_facts where kind in (50, 51) "
                         "and amount_minor = 312")  # fmt: skip
    assert booked == '50 312{"function": "servicing_cost"}, 51 312{}'
    advance(sandbox, "2024-08-05T01:00:00Z")
    reconcile(sandbox, "2024-08-04")
    again = [each for each in sandbox.read("finance", "breaks") if each["class"] == "fee"]
    assert [each for each in again if each["state"] != "cleared"] == []
    with pytest.raises(WrongState):
        sandbox.do("finance", "break.book_fee", {"break_id": fee["break"]})
