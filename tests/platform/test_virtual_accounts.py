"""Virtual accounts: money finds its user or loan by the number it was sent to, or it waits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.platform.applicants import borrower, drawn
from tests.platform.sandbox import Sandbox
from tests.platform.test_orders import advance
from usance.platform.commands.money.money_files import TakeFile
from usance.platform.errors import InvalidField, NotFound
from usance.platform.live import Platform
from usance.platform.partners.file_evidence import take_file
from usance.platform.refusals import WrongState

HEAD = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer,sent_to\n"
PROFILE = """format: csv
source: provider
columns: {reference: order_no, bank_ref: provider_ref, day: settled_on, amount: amount, fee: fee, batch: batch, loan: loan, party: payer, account: sent_to}
currency: CNY
"""  # noqa: E501 -- a profile has its columns on one line


def opened(sandbox: Sandbox, user: str, **more: Any) -> Any:
    body = {"user": user, "provider": "psp_a", **more}
    return sandbox.do("channel", "virtual_account.open", body)


def sent(account: str, amount: int, ref: str, on: str = "2024-08-01") -> dict[str, Any]:
    return {"amount_minor": amount, "currency": "CNY", "effective_on": on, "ref": ref,
            "account": account}  # fmt: skip


def test_money_to_a_users_account_pays_what_is_due(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    loan = drawn(sandbox, user).answer["loan"]
    account = opened(sandbox, user, number="622800001").answer
    assert (account["state"], account["loan"]) == ("open", None)
    again = opened(sandbox, user)
    assert (again.is_new, again.answer["number"]) == (False, "622800001")
    advance(sandbox, "2024-08-02T01:00:00Z")
    told = sent("6228 00001", 103_974, "T1")
    paid = sandbox.do("provider", "cash.receive", told).answer
    assert paid["allocation"][0]["loan"] == loan
    assert not sandbox.do("provider", "cash.receive", told).is_new
    assert sandbox.read("channel", "loan", loan)["past_due"]["total_minor"] == 0
    assert sandbox.read("operations", "unallocated") == []
    events = "select string_agg(name, ' ' order by event_id) from usance.outbox"
    assert "payment.booked" in sandbox.sql("operations", events)


def test_money_to_a_loans_account_is_for_that_loan_and_the_rest_waits(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    first, second = (drawn(sandbox, user, 100_000).answer["loan"] for _ in range(2))
    opened(sandbox, user, loan=second, number="SECOND22")
    advance(sandbox, "2024-07-20T01:00:00Z")
    paid = sandbox.do("provider", "cash.receive", sent("SECOND22", 900_000, "T1", "2024-07-19"))
    assert {each["loan"] for each in paid.answer["allocation"]} == {second}
    assert sandbox.read("channel", "loan", first)["paid"]["total_minor"] == 0
    [rest] = sandbox.read("operations", "unallocated")
    assert rest["user"] == user
    assert sandbox.read("channel", "loan", second)["paid"]["total_minor"] + rest["left_minor"] == (
        900_000
    )


def test_an_unknown_or_closed_number_or_one_of_another_provider_waits(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    drawn(sandbox, user)
    number = opened(sandbox, user, number="622800001").answer["number"]
    advance(sandbox, "2024-08-02T01:00:00Z")
    for who, account, ref in (("provider", "999999", "T1"), ("provider_2", number, "T2")):
        told = sandbox.do(who, "cash.receive", sent(account, 500, ref)).answer
        assert (told["state"], told["user"]) == ("open", None)
    closing = {"number": number}
    assert sandbox.do("operations", "virtual_account.close", closing).answer["state"] == "closed"
    assert not sandbox.do("operations", "virtual_account.close", closing).is_new
    late = sandbox.do("provider", "cash.receive", sent(number, 700, "T3")).answer
    assert (late["left_minor"], late["user"]) == (700, user)
    other = opened(sandbox, user, number="622800002").answer["number"]
    sandbox.do("provider", "cash.receive", sent(other, 800, "T4"))
    again = sandbox.do("provider", "cash.receive", sent(number, 700, "T3"))
    assert (again.is_new, again.answer["state"]) == (False, "open")


def test_numbers_are_made_with_a_check_digit_or_refused(sandbox: Sandbox) -> None:
    user, other = borrower(sandbox), borrower(sandbox, "bea")
    with pytest.raises(InvalidField, match="no numbers of its own"):
        opened(sandbox, user)
    for wrong in ("", "12", "12-34-56", "x" * 35, "\uff16\uff12\uff12\uff18\uff10\uff11"):
        with pytest.raises(InvalidField):
            opened(sandbox, user, number=wrong)
    opened(sandbox, user, number="622800001")
    with pytest.raises(WrongState, match="given before"):
        opened(sandbox, other, number="622800001")
    with pytest.raises(WrongState, match="one already"):
        opened(sandbox, user, number="622800009")
    with pytest.raises(NotFound):
        sandbox.do("channel_2", "virtual_account.close", {"number": "622800001"})
    with pytest.raises(NotFound):
        sandbox.do("channel_2", "virtual_account.open", {"user": user, "provider": "psp_a"})


def test_a_number_is_opened_once_by_many_at_once(sandbox: Sandbox) -> None:
    users = [borrower(sandbox, f"u{number}") for number in range(4)]

    async def work(platform: Platform) -> list[Any]:
        channel = await platform.principal("channel")
        asked = [platform.do(channel, "virtual_account.open",
                             {"user": user, "provider": "psp_a", "number": "622800007"})
                 for user in users]  # fmt: skip
        return list(await asyncio.gather(*asked, return_exceptions=True))

    ended = sandbox.within(work)
    assert sum(isinstance(each, WrongState) for each in ended) == 3
    assert sandbox.sql("operations", "select count(*) from usance.virtual_accounts") == 1


def test_a_line_of_a_file_is_booked_by_its_account_once(sandbox: Sandbox, tmp_path: Any) -> None:
    user = borrower(sandbox)
    loan = drawn(sandbox, user).answer["loan"]
    opened(sandbox, user, number="622800001")
    advance(sandbox, "2024-08-02T01:00:00Z")
    profile = tmp_path / "accounts.yaml"
    profile.write_text(PROFILE, encoding="utf-8")
    text = HEAD + ",T7,2024-08-01,1039.74,0,,0,Anna,622800001\n,T8,2024-08-01,5.00,0,,0,Bo,1\n"
    command = TakeFile("p1.csv", text, str(profile), "psp_a")

    async def work(platform: Platform) -> Any:
        taken = await take_file(platform, command)
        assert (await take_file(platform, command))["statements"][0]["outcome"] == "repeated"
        return taken

    assert sandbox.within(work)["received"] == 2
    assert sandbox.read("channel", "loan", loan)["paid"]["total_minor"] == 103_974
    [waits] = sandbox.read("operations", "unallocated")
    assert waits["left_minor"] == 500
