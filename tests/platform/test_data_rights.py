"""Rights about data and decisions: corrections, people who look at decisions, and words sealed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.platform.applicants import GOOD, LISTED, WATCHED, borrower, drawn
from tests.platform.sandbox import Sandbox
from usance.platform.errors import AuthorityExceeded, InvalidField, NotFound
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.lending.overrides import overrides
from usance.platform.reads.loans import plans as help_reads
from usance.platform.reads.people.data_rights import requests_of
from usance.platform.records.user_record import read_id
from usance.platform.refusals import WrongState

PERSON = {"name": "Ada Lim", "national_id": "11010519491231002X", "phone": "+8613800000001",
          "email": ""}  # fmt: skip


def officer(sandbox: Sandbox, limit: int = 10**9) -> Principal:
    """Somebody who reviews applications within a limit."""
    number = int(sandbox.sql("control", "select principal_id from usance.principals "
                                        "where name = 'operations'"))  # fmt: skip
    scopes = frozenset({"application.review", "review", "operations"})
    return Principal(number, "officer", PrincipalKind.OPERATOR, scopes=scopes, human="officer",
                     authority={"application.review": limit})  # fmt: skip


def review(sandbox: Sandbox, decision: str, *, limit: int = 10**9, **body: Any) -> Any:
    given = {"decision": decision, "reasons": [], **body}
    who = officer(sandbox, limit)
    return sandbox.within(lambda platform: platform.do(who, "application.review", given)).answer


def requests(sandbox: Sandbox, user: str, who: str = "channel") -> list[dict[str, Any]]:
    async def work(platform: Platform) -> list[dict[str, Any]]:
        async with platform.reading(await platform.principal(who)) as read:
            number = read_id(user, "us", "user")
            return await requests_of(read.transaction, read.moment.vault, number)

    return sandbox.within(work)


def declined(sandbox: Sandbox) -> tuple[str, str]:
    user = str(sandbox.do("channel", "user.register", {"client_ref": "anna", "region": 3})
               .answer["user"])  # fmt: skip
    body = {"user": user, "product": "instalment", "inputs": LISTED}
    made = sandbox.do("channel", "application.decide", body).answer
    assert made["outcome"] == "declined"
    return user, made["decision"]


def test_a_correction_is_asked_for_answered_and_in_force(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    sandbox.do("channel", "person.set", {"user": user, **PERSON})
    asked = {"user": user, "field": "name", "value": "Ada Lin", "text": "a slip of the pen"}
    made = sandbox.do("channel", "correction.request", asked)
    assert made.answer["answer_by"] == "2024-07-31"
    (row,) = requests(sandbox, user)
    assert (row["state"], row["text"], row["value"]) == ("open", "a slip of the pen", "Ada Lin")
    answer = {"correction": made.answer["case"], "granted": True, "answer": "the passport says so"}
    done = sandbox.do("operations", "correction.answer", answer)
    assert done.answer["state"] == "granted"
    told = sandbox.do("channel", "user.export", {"user": user}).answer["data"]
    assert told["person"]["name"] == "Ada Lin"
    assert requests(sandbox, user)[0]["answer"] == "the passport says so"
    with pytest.raises(WrongState):
        sandbox.do("operations", "correction.answer", answer)
    with pytest.raises(NotFound):
        sandbox.do("channel_2", "correction.request", asked)


def test_a_correction_that_is_refused_changes_nothing(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    sandbox.do("channel", "person.set", {"user": user, **PERSON})
    asked = {"user": user, "field": "national_id", "value": "X", "text": "it is another"}
    made = sandbox.do("channel", "correction.request", asked).answer
    sandbox.do(
        "operations",
        "correction.answer",
        {"correction": made["case"], "granted": False, "answer": "no paper says so"},
    )
    told = sandbox.do("channel", "user.export", {"user": user}).answer["data"]
    assert told["person"]["national_id"] == PERSON["national_id"]
    assert requests(sandbox, user)[0]["state"] == "refused"


@pytest.mark.parametrize("body", [
    {"field": "shoe size"}, {"text": " "}, {"field": "name", "value": ""},
])  # fmt: skip
def test_a_correction_says_what_and_why(sandbox: Sandbox, body: dict[str, Any]) -> None:
    user = borrower(sandbox)
    given = {"user": user, "field": "other", "text": "the street is wrong", **body}
    with pytest.raises(InvalidField):
        sandbox.do("channel", "correction.request", given)
    assert requests(sandbox, user) == []


def test_a_person_looks_at_a_decision_and_tells_why(sandbox: Sandbox) -> None:
    user, decision = declined(sandbox)
    with pytest.raises(WrongState):  # nobody has asked
        review(sandbox, decision, approve=True, line_minor=1_000_00)
    asked = {"decision": decision, "text": "the list means my cousin"}
    made = sandbox.do("channel", "review.request", asked).answer
    assert (made["kind"], made["decision"], made["state"]) == ("review", decision, "open")
    with pytest.raises(WrongState):
        sandbox.do("channel", "review.request", asked)
    with pytest.raises(InvalidField, match="explanation"):
        review(sandbox, decision, approve=False)
    with pytest.raises(InvalidField, match="line_minor"):
        review(sandbox, decision, approve=True, explanation="it was another person")
    with pytest.raises(AuthorityExceeded):
        review(sandbox, decision, approve=True, explanation="it was another person",
               line_minor=5_000_00, limit=1_000_00)  # fmt: skip
    with pytest.raises(InvalidField, match="at most"):
        review(sandbox, decision, approve=True, explanation="it was another person",
               line_minor=10**12, limit=10**15)  # fmt: skip
    done = review(sandbox, decision, approve=True, explanation="it was another person",
                  line_minor=5_000_00, reasons=["seen with passport"])  # fmt: skip
    assert done["line"]["limit_minor"] == 5_000_00
    assert sandbox.read("channel", "decision", decision)["review"] == done["decision"]
    (row,) = requests(sandbox, user)
    assert (row["state"], row["answer"]) == ("granted", "it was another person")
    assert sandbox.read("channel", "lines", user)[0]["limit_minor"] == 5_000_00


def test_a_decision_that_stands_is_explained(sandbox: Sandbox) -> None:
    user, decision = declined(sandbox)
    sandbox.do("channel", "review.request", {"decision": decision, "text": "please look"})
    done = review(sandbox, decision, approve=False, explanation="the list has your passport")
    assert done["outcome"] == "declined"
    assert requests(sandbox, user)[0]["answer"] == "the list has your passport"
    with pytest.raises(WrongState):  # a person has made it
        sandbox.do("channel", "review.request", {"decision": done["decision"], "text": "again"})


def test_an_approval_that_was_asked_about_stays_one(sandbox: Sandbox) -> None:
    user = borrower(sandbox)
    body = {"user": user, "product": "instalment", "inputs": GOOD}
    made = sandbox.do("channel", "application.decide", body).answer
    sandbox.do("channel", "review.request", {"decision": made["decision"], "text": "too little"})
    done = review(sandbox, made["decision"], approve=False, explanation="the income is as told")
    assert done["outcome"] == "approved"
    assert drawn(sandbox, user).answer["state"] == "active"


def test_overrides_feed_the_monitoring_of_the_model(sandbox: Sandbox) -> None:
    _, against = declined(sandbox)
    sandbox.do("channel", "review.request", {"decision": against, "text": "please look"})
    review(sandbox, against, approve=True, line_minor=1_000_00, explanation="not the same person",
           reasons=["not the same person"])  # fmt: skip
    for n, approve in enumerate((True, False)):
        ref = {"client_ref": f"ref{n}", "region": 3}
        user = str(sandbox.do("channel", "user.register", ref).answer["user"])
        body = {"user": user, "product": "instalment", "inputs": WATCHED}
        made = sandbox.do("channel", "application.decide", body).answer
        assert made["outcome"] == "referred"
        review(sandbox, made["decision"], approve=approve, reasons=[] if approve else [101])

    async def work(platform: Platform) -> list[dict[str, Any]]:
        async with platform.reading(await platform.principal("control")) as read:
            day = read.moment.business_date
            return await overrides(read.transaction, read.moment.lender, day, day)

    rows = sandbox.within(work)
    whole = {name: sum(row[name] for row in rows)
             for name in ("decided", "reviewed", "approved_against_model",
                          "declined_against_model", "with_words", "bad_after_review")}  # fmt: skip
    assert whole == {
        "decided": 3,
        "reviewed": 3,
        "approved_against_model": 1,
        "declined_against_model": 1,
        "with_words": 1,
        "bad_after_review": 0,
    }
    assert [each for row in rows for each in row["reasons"]] == [{"code": 101, "count": 1}]


def test_words_about_somebody_lie_under_their_key_alone(sandbox: Sandbox) -> None:
    user, marker = borrower(sandbox), "kestrel on the wire"
    complaint = sandbox.do(
        "channel", "complaint.open", {"user": user, "subject": "data", "text": f"{marker} 1"}
    ).answer
    told = sandbox.do(
        "operations",
        "complaint.answer",
        {"complaint": complaint["complaint"], "answer": f"{marker} 2"},
        key="1",
    )
    assert told.answer["answer"] == f"{marker} 2"
    again = sandbox.do(
        "operations",
        "complaint.answer",
        {"complaint": complaint["complaint"], "answer": f"{marker} 2"},
        key="1",
    )
    assert (again.is_replay, again.answer["answer"]) == (True, f"{marker} 2")
    help_ = sandbox.do(
        "channel", "hardship.request", {"user": user, "reason": "illness", "text": f"{marker} 3"}
    ).answer
    sandbox.do(
        "operations", "hardship.decline", {"request": help_["case"], "answer": f"{marker} 4"}
    )
    sandbox.do("channel", "stop.set", {"user": user, "reason": "dispute", "text": f"{marker} 5"})
    sandbox.do("channel", "correction.request",
               {"user": user, "field": "other", "text": f"{marker} 6"})  # fmt: skip
    loan = drawn(sandbox, user).answer["loan"]
    paid = sandbox.do("provider", "payment.book", {
        "loan": loan, "amount_minor": 1_00, "currency": "CNY", "effective_on": "2024-07-01",
        "provider": "psp_a", "ref": "1"}).answer  # fmt: skip
    sandbox.do("provider", "payment.reverse", {"payment": paid["payment"], "reason": f"{marker} 7"})

    async def work(platform: Platform) -> tuple[str, list[Any], list[Any]]:
        lines = []
        async with platform.database.loader() as loader:
            for row in await loader.fetch(
                "select table_name from information_schema.tables "
                "where table_schema = 'usance' and table_type = 'BASE TABLE'"
            ):
                table = f'select t::text as line from usance."{row["table_name"]}" t'
                lines += [each["line"] for each in await loader.fetch(table)]
        async with platform.reading(await platform.principal("channel")) as read:
            number, vault = read_id(user, "us", "user"), read.moment.vault
            complaints = await help_reads.complaints(
                read.transaction, read.moment.lender, vault, number
            )
            helped = await help_reads.hardship_requests(read.transaction, vault, number)
        return "\n".join(lines), complaints, helped

    dump, complaints, helped = sandbox.within(work)
    assert marker not in dump
    assert marker.encode().hex() not in dump
    assert [(each["text"], each["answer"]) for each in complaints] == [
        (f"{marker} 1", f"{marker} 2")
    ]
    assert helped[0]["answer"] == f"{marker} 4"
    assert json.dumps(requests(sandbox, user)).count(marker) == 1
