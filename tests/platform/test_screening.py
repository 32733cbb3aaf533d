"""Screening: hits hold applications and payouts until a person decides, and nobody is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.platform.applicants import GOOD, drawn
from tests.platform.sandbox import Sandbox
from usance.platform.commands.unit_of_work import Outcome
from usance.platform.errors import ListsRefused
from usance.platform.live import Platform
from usance.platform.partners.dispatch import move_orders
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.reads.people.screening import hits as hits_of
from usance.platform.refusals import WrongState
from usance.platform.rescreening import enqueue_screening, screen_all
from usance.platform.security.screening import FileLists, lists_of

T = TypeVar("T")
HEAD = "entry,name,national_id,kind\n"
WANTED = "Wanda Wanted"


class Listed(Sandbox):
    """A sandbox that compares people with the files of a folder."""

    lists: FileLists

    def within(self, work: Callable[[Platform], Awaitable[T]]) -> T:
        async def with_lists(platform: Platform) -> T:
            platform.services.screening = self.lists
            return await work(platform)

        return super().within(with_lists)

    def put(self, text: str) -> None:
        """Write the list and read it."""
        self.lists.folder.mkdir(exist_ok=True)
        (self.lists.folder / "sanctions.csv").write_text(HEAD + text)
        self.lists.read()

    def officer(self, name: str = "credit lead") -> Principal:
        """Somebody who may decide hits and review applications."""
        scopes = frozenset({"screening", "screening.decide", "application.review", "review"})
        number = int(self.sql("control", "select principal_id from usance.principals "
                                         "where name = 'control'"))  # fmt: skip
        return Principal(number, name, PrincipalKind.OPERATOR, scopes=scopes, human=name)

    def decide(self, hit: str, *, cleared: bool) -> Any:
        body = {"hit": hit, "cleared": cleared, "reason": "another date of birth, by the passport"}
        return self.act("screening.decide", body).answer

    def act(self, command: str, body: dict[str, Any]) -> Outcome:
        """A command of the officer."""
        officer = self.officer()
        return self.within(lambda platform: platform.do(officer, command, body))

    def hits(self, state: str | None = None) -> list[dict[str, Any]]:
        async def work(platform: Platform) -> list[dict[str, Any]]:
            async with platform.reading(await platform.principal("control")) as read:
                return await hits_of(read.transaction, read.moment.vault, state, 0, 50)

        return self.within(work)


@pytest.fixture
def listed(sandbox: Sandbox, tmp_path: Path) -> Listed:
    made = Listed(sandbox.server, sandbox.name)
    made.lists = FileLists(tmp_path / "lists")
    return made


def person(listed: Listed, ref: str, name: str, national_id: str) -> str:
    user = str(listed.do("channel", "user.register", {"client_ref": ref, "region": 3})
               .answer["user"])  # fmt: skip
    listed.do("channel", "person.set", {"user": user, "name": name, "national_id": national_id,
                                        "phone": "+8613800000001"})  # fmt: skip
    return user


def apply(listed: Listed, user: str) -> Any:
    body = {"user": user, "product": "instalment", "inputs": GOOD}
    return listed.do("channel", "application.decide", body).answer


def move(listed: Listed) -> None:
    listed.within(move_orders)


def test_a_hit_refers_the_application_until_a_person_clears_it(listed: Listed) -> None:
    listed.put(f"7,{WANTED},,sanctions\n8,Somebody Else,,watch\n")
    user = person(listed, "anna", "wanted WANDA", "11010519900101001X")
    made = apply(listed, user)
    assert made["outcome"] == "referred"
    (hit,) = listed.hits("open")
    assert (hit["list"], hit["entry"], hit["user"]) == ("sanctions", "7", user)
    review = {"decision": made["decision"], "approve": True, "reasons": []}
    with pytest.raises(WrongState, match="list"):
        listed.act("application.review", review)
    assert listed.decide(hit["hit"], cleared=True)["state"] == "cleared"
    with pytest.raises(WrongState, match="cleared"):
        listed.decide(hit["hit"], cleared=False)
    done = listed.act("application.review", review)
    assert done.answer["outcome"] == "approved"
    assert listed.hits("cleared")[0]["reason"].startswith("another date of birth")
    assert drawn(listed, user).answer["state"] == "active"


def test_lists_that_change_hold_payouts_until_the_hit_is_cleared(listed: Listed) -> None:
    user = person(listed, "anna", WANTED, "11010519900101001X")
    other = person(listed, "bea", "Bea Other", "11010519900101002X")
    assert apply(listed, user)["outcome"] == apply(listed, other)["outcome"] == "approved"
    listed.put(f"7,{WANTED},,sanctions\n")
    told = drawn(listed, user)
    assert (told.status, told.answer["state"]) == (202, "approved")  # nobody is told why
    move(listed)
    (hit,) = listed.hits("open")
    assert hit["occasion"] == "payout"
    assert listed.read("channel", "drawdown", told.answer["loan"])["state"] == "approved"
    clear = drawn(listed, other)  # not looked at since the list has changed: it waits for the clock
    assert clear.answer["state"] == "approved"
    move(listed)
    assert listed.read("channel", "drawdown", clear.answer["loan"])["state"] == "active"
    listed.decide(hit["hit"], cleared=True)
    move(listed)
    assert listed.read("channel", "drawdown", told.answer["loan"])["state"] == "active"
    assert drawn(listed, user, 100_000).answer["state"] == "active"


def test_a_confirmed_hit_ends_what_waits_and_declines_what_follows(listed: Listed) -> None:
    user = person(listed, "anna", WANTED, "11010519900101001X")
    apply(listed, user)
    listed.put("7,Nobody,11010519900101001x,sanctions\n")
    told = drawn(listed, user).answer
    move(listed)
    (hit,) = listed.hits("open")
    listed.decide(hit["hit"], cleared=False)
    move(listed)
    assert listed.read("channel", "drawdown", told["loan"])["state"] == "payout_failed"
    assert drawn(listed, user).answer["state"] == "declined"
    line = listed.read("channel", "lines", user)[0]
    assert line["used_minor"] == 0


def test_everybody_is_compared_with_changed_lists_by_one_job(listed: Listed) -> None:
    listed.put("1,Nobody Known,,\n")
    names = ("Alma Stone", "Boris Field", "Clara Wood", "Denis Hill")
    users = [
        person(listed, f"ref{n}", name, f"1101051990010100{n}X") for n, name in enumerate(names)
    ]
    assert listed.within(enqueue_screening)
    assert not listed.within(enqueue_screening)  # it waits in the queue
    assert listed.within(screen_all)["persons"] == 0  # compared when they came
    listed.put("2,Wood Clara,,watch\n3,Denis Hill,,watch\n")
    assert listed.within(enqueue_screening)
    told = listed.within(screen_all)
    assert (told["persons"], told["hits"], told["entries"]) == (4, 2, 2)
    assert {each["user"] for each in listed.hits("open")} == {users[2], users[3]}
    assert listed.within(screen_all)["persons"] == 0
    for each in listed.hits("open"):
        listed.decide(each["hit"], cleared=True)
    listed.put("2,Wood Clara,,watch\n3,Denis Hill,,block\n")
    listed.within(screen_all)
    (again,) = listed.hits("open")  # the entry that has changed, and that one alone
    assert (again["user"], again["kind"]) == (users[3], "block")


def test_channels_and_borrowers_see_no_hit(listed: Listed) -> None:
    listed.put(f"7,{WANTED},,sanctions\n")
    user = person(listed, "anna", WANTED, "11010519900101001X")
    count = "select count(*) from usance.screening_hits"
    assert (listed.sql("channel", count), listed.sql("control", count)) == (0, 1)
    assert not [each for each in listed.read("channel", "events", 0, 1000)
                if each["name"].startswith("screening")]  # fmt: skip
    assert [each["name"] for each in listed.read("control", "events", 0, 1000)
            if each["name"].startswith("screening")] == ["screening.hit"]  # fmt: skip
    listed.do("channel", "user.erase", {"user": user})
    assert listed.sql("control", count) == 1  # what is open stays, of a number


@pytest.mark.parametrize(
    "text", ["entry,name\n1,Ada\n", f"{HEAD}1,,x,\n", f"{HEAD}1,Ada\n", f'{HEAD}1,"Ada\n', "\xff"]
)
def test_a_list_that_cannot_be_read_is_named_and_the_former_stays(
    tmp_path: Path, text: str
) -> None:
    folder = tmp_path / "lists"
    folder.mkdir()
    (folder / "a.csv").write_text(f"{HEAD}7,{WANTED},,sanctions\n")
    lists = lists_of(tmp_path)
    version = lists.version
    (folder / "b.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(ListsRefused, match=r"b\.csv"):
        lists_of(tmp_path)
    lists._looked = float("-inf")
    assert lists.version == version
    assert "b.csv" in lists.problem
    assert lists.hits(WANTED, "")


def test_names_are_compared_by_their_words(tmp_path: Path) -> None:
    folder = tmp_path / "lists"
    folder.mkdir()
    (folder / "a.csv").write_text(f"{HEAD}1,José Álvarez García,,\n1,Pepe Alvarez,,\n2,王伟,,\n")
    lists = lists_of(tmp_path)
    assert [hit.entry for hit in lists.hits("garcia ALVAREZ jose", "")] == ["1"]
    assert [hit.entry for hit in lists.hits("Jose Alvares Garcia", "")] == ["1"]
    assert [hit.entry for hit in lists.hits("王伟", "")] == ["2"]
    assert not lists.hits("王伟明", "")
    assert not lists.hits("Jose Martin", "")
