"""The screen Money: what waits, lists with files, cash that finds its loan, breaks."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import subprocess
import time
from collections.abc import Iterator
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.platform.api.borrowers import drawn, paying, registered, today
from tests.platform.api.conftest import people_of
from tests.platform.api.served import USANCE, Served, new_ref
from tests.platform.api.test_console_work import enter, hidden
from usance.platform.console.frame import HOME, PORTAL
from usance.platform.console.money import BASE, PARTS
from usance.platform.console.money_desk import ACTIONS
from usance.platform.security.roles import Roles
from usance.platform.store.server import Embedded
from usance.platform.terminal.homes import on_platform


@pytest.fixture(scope="module")
def own(server: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A sandbox whose clock may move."""
    assert server.data.exists()
    running = Served(tmp_path_factory.mktemp("money"))
    running.start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def people(own: Served) -> dict[str, dict[str, str]]:
    """Somebody for each role."""
    return people_of(own, "money.example")


@pytest.fixture
def browser(own: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=own.url, timeout=60, follow_redirects=True) as opened:
        yield opened


People = dict[str, dict[str, str]]


def left_over(own: Served, amount_minor: int) -> str:
    """Cash of a user without a loan, which waits."""
    body = {"user": registered(own), "amount_minor": amount_minor, "currency": "CNY",
            "provider": "psp_a", "effective_on": today(own), "ref": new_ref()}  # fmt: skip
    answer = own.post("/v1/payments", body, "provider")
    assert answer.status_code == 201, answer.text
    rows = own.get("/v1/unallocated?limit=200", "operations").json()["data"]
    return next(str(each["unallocated"]) for each in rows if each["ref"] == body["ref"])


def taken(own: Served, *lines: str) -> str:
    """A file of the provider that was taken, by its id."""
    head = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer"
    content = "\n".join([head, *lines, ""]).encode()
    body = {"name": "day.csv", "sha256": sha256(content).hexdigest(), "profile": "psp",
            "content": base64.b64encode(content).decode()}  # fmt: skip
    job = own.post("/v1/provider/files", body, "provider").json()["job"]
    for _ in range(100):
        found = own.get(f"/v1/jobs/{job}", "provider").json()
        if found["state"] not in ("waiting", "running"):
            break
        time.sleep(0.1)
    assert found["state"] == "done", found
    return str(found["result"]["statements"][0]["file"])


def test_cash_of_nobody_is_assigned_on_the_screen(
    browser: httpx.Client, own: Served, people: People
) -> None:
    cash, loan = left_over(own, 90_050), drawn(own)["loan"]
    owed = own.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"]
    enter(browser, people["operations"])
    page = browser.get(f"{BASE}/unallocated")
    assert f'href="{BASE}/unallocated/{cash}"' in page.text
    page = browser.get(f"{BASE}/unallocated/{cash}")
    assert "900.50" in page.text
    address = f"{BASE}/unallocated/{cash}/assign"
    assert f'href="{address}"' in page.text
    page = browser.get(f"{address}?loan={loan}")
    assert f'name="loan" value="{loan}"' in page.text
    assert 'name="amount_minor" value="900.50"' in page.text
    given = {"loan": loan, "amount_minor": "900.50", "key": hidden(page)["key"]}
    page = browser.post(address, data={**given, "step": "preview"})
    assert page.status_code == 200
    assert "900.50" in page.text.partition("What would happen")[2]
    assert own.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"] == owed
    for _ in range(2):  # a double click
        page = browser.post(address, data={**given, "step": "confirm"})
        assert page.url.path == f"{BASE}/unallocated/{cash}", page.text
    assert own.get(f"/v1/loans/{loan}").json()["outstanding"]["total_minor"] == owed - 90_050
    assert re.search(r"pm_\w+", page.text)
    assert f'href="{address}"' not in page.text  # nothing of it is left
    page = browser.post(address, data={**given, "key": "other", "step": "confirm"})
    assert page.status_code == 409


@pytest.mark.parametrize(("field", "value"), [("amount_minor", "a lot"), ("amount_minor", "1e400"),
                                              ("loan", "<script>"), ("loan", "")])  # fmt: skip
def test_what_cannot_be_assigned_stays_typed(
    browser: httpx.Client, own: Served, people: People, field: str, value: str
) -> None:
    cash = left_over(own, 100)
    enter(browser, people["operations"])
    given = {"loan": "ln_00000000G01", "amount_minor": "1.00", field: value}
    page = browser.post(f"{BASE}/unallocated/{cash}/assign",
                        data={**given, "step": "confirm", "key": new_ref()})  # fmt: skip
    assert page.status_code in (400, 404, 422)
    assert re.search(rf'name="{field}"', page.text)
    assert "<script>" not in page.text
    assert own.get(f"/v1/unallocated/{cash}", "operations").json()["left_minor"] == 100


def test_cash_is_sent_back_by_an_order_that_tells_its_events(
    browser: httpx.Client, own: Served, people: People
) -> None:
    cash = left_over(own, 40_000)
    enter(browser, people["operations"])
    page = browser.post(f"{BASE}/unallocated/{cash}/return",
                        data={"amount_minor": "400.00", "step": "confirm", "key": new_ref()}
                        )  # fmt: skip
    assert ": done" not in page.text
    waits = re.search(r'/control/approvals/(ap_\w+)">ap_\w+</a> cash.return', page.text)
    assert waits is not None, page.text  # what is asked for is said on the record itself
    agreed = own.post(f"/v1/approvals/{waits[1]}/approve", {}, own.session())
    assert agreed.json()["state"] == "approved", agreed.text
    page = browser.get(f"{BASE}/unallocated/{cash}")
    order = re.search(r"or_\w+", page.text)
    assert order is not None, page.text
    told = own.get(f"/v1/orders/{order[0]}", "operations").json()
    page = browser.get(f"{BASE}/orders/{order[0]}")
    assert told["reference"] in page.text
    for each in told["events"]:
        assert each["source"] in page.text
    listed = browser.get(f"{BASE}/orders", params={"format": "csv", "kind": "refund"})
    rows = list(csv.DictReader(io.StringIO(listed.text)))
    assert [row["amount_minor"] for row in rows if row["order"] == order[0]] == ["40000"]
    assert browser.get(f"{BASE}/orders?state=nonsense").status_code == 400
    workbook = browser.get(f"{BASE}/orders?format=xlsx")
    assert workbook.content[:2] == b"PK"


def test_lists_go_on_by_cursor_without_gap_or_repeat(
    browser: httpx.Client, own: Served, people: People
) -> None:
    for _ in range(3):
        left_over(own, 700)
    enter(browser, people["auditor"])
    every = own.get("/v1/unallocated?limit=200", "operations").json()["data"]
    wanted = [each["unallocated"] for each in reversed(every)]
    seen, cursor = list[str](), ""
    for _ in wanted:
        page = browser.get(f"{BASE}/unallocated", params={"before": cursor, "format": "csv"})
        rows = list(csv.DictReader(io.StringIO(page.text)))
        if not rows:
            break
        seen.append(rows[0]["unallocated"])
        cursor = seen[-1]
    assert seen == wanted


def test_a_break_is_handed_over_and_cleared_with_its_reason(
    browser: httpx.Client, own: Served, people: People
) -> None:
    loan, day = drawn(own)["loan"], today(own)
    order = next(each for each in own.get("/v1/orders?limit=200", "operations").json()["data"]
                 if each["loan"] == loan)  # fmt: skip
    file = taken(own, f"{order['reference']},{order['reference']},{day},-6000.00,0.00,B,,",
                 f"ghost,ghost,{day},-50.00,0.00,B,,")  # fmt: skip

    async def reconcile(platform: object) -> None:
        finance = await platform.principal("finance")  # type: ignore[attr-defined]
        body = {"provider": "psp_a", "day": day}
        await platform.do(finance, "day.reconcile", body)  # type: ignore[attr-defined]

    on_platform(own.home, reconcile)
    enter(browser, people["operations"])
    assert f"{BASE}/files/{file}" in browser.get(f"{BASE}/orders/{order['order']}").text
    assert file in browser.get(f"{BASE}/files?source=provider").text
    page = browser.get(f"{BASE}/files/{file}")
    assert ("ghost" in page.text, "\N{MINUS SIGN}50.00" in page.text) == (True, True)
    rows = [each for each in own.get("/v1/breaks?limit=200", "operations").json()["data"]
            if each["reference"] == "ghost"]  # fmt: skip
    assert len(rows) == 1
    name = rows[0]["break"]
    assert name in browser.get(f"{BASE}/breaks").text
    page = browser.get(f"{BASE}/breaks/{name}")
    assert rows[0]["command"] in page.text
    address = f"{BASE}/breaks/{name}"
    page = browser.post(f"{address}/assign", data={"owner": "treasury", "step": "preview"})
    assert "Treasury" in page.text.partition("What would happen")[2]
    page = browser.post(f"{address}/assign",
                        data={"owner": "treasury", "step": "confirm", "key": new_ref()}
                        )  # fmt: skip
    assert page.url.path == address
    page = browser.post(f"{address}/clear", data={"reason": " ", "step": "confirm", "key": "e"})
    assert page.status_code == 400
    page = browser.post(f"{address}/clear", data={"reason": "told by phone", "step": "confirm",
                                                  "key": new_ref()})  # fmt: skip
    told = next(each for each in own.get("/v1/breaks?limit=200", "operations").json()["data"]
                if each["break"] == name)  # fmt: skip
    assert (told["owner"], told["reason"]) == ("treasury", "told by phone")
    assert told["state"] in ("cleared", "explained")
    assert "told by phone" in page.text


def test_batches_are_shown_to_us_and_to_their_institution_alone(
    browser: httpx.Client, own: Served, people: People
) -> None:
    loan = drawn(own, region=9)["loan"]
    for each in own.get("/v1/offers?state=open", "institution").json()["data"]:
        own.post(f"/v1/offers/{each['offer']}/answer", {"approved": True}, "institution")
    assert own.post("/v1/payments", paying(own, loan, 70_000), "provider").status_code == 201
    for _ in range(4):  # over a weekend
        own.post("/v1/clock/advance", {"to": f"{today(own)}T23:59:59Z"}, "control")
    batches = own.get("/v1/settlements", "institution").json()["data"]
    last = batches[-1]["settlement"]
    file = own.get(f"/v1/settlements/{last}/file", "institution")

    enter(browser, people["finance_controller"])
    page = browser.get(BASE)
    control = own.get("/v1/settlement-control", "finance").json()["data"]
    shown = [int(each) for each in re.findall(r'data-minor="(-?\d+)"', page.text)][-3:]
    assert shown == [control[-1][f"{name}_minor"] for name in ("ledger", "batches", "difference")]
    assert last in browser.get(f"{BASE}/settlements").text
    page = browser.get(f"{BASE}/settlements/{last}")
    assert loan in page.text
    assert browser.get(f"{BASE}/settlements/{last}/file").content == file.content

    browser.post(f"{PORTAL}/enter", data={"key": own.keys["institution"]})
    page = browser.get(f"{PORTAL}/settlements")
    told = [int(each) for each in re.findall(r'data-batch="(-?\d+)"', page.text)]
    assert told == [each["total_minor"] for each in reversed(batches)]
    page = browser.get(f"{PORTAL}/settlements/{last}")
    lines = own.get(f"/v1/settlements/{last}", "institution").json()["rows"]
    assert [int(each) for each in re.findall(r'data-minor="(-?\d+)"', page.text)] == [
        each["amount_minor"] for each in lines]  # fmt: skip
    assert loan not in page.text  # ids are the institution's own
    assert lines[0]["loan"] in page.text
    assert browser.get(f"{PORTAL}/settlements/{last}/file").content == file.content
    wrong = {"lines": [{"loan": lines[0]["loan"], "day": lines[0]["day"],
                        "kind": lines[0]["kind"], "amount_minor": 1}]}  # fmt: skip
    answer = own.post(f"/v1/settlements/{last}/acknowledge", wrong, "institution").json()
    assert answer["state"] == "disputed"
    page = browser.get(f"{PORTAL}/settlements/{last}")
    assert str(answer["differences"][0]["difference_minor"]) in page.text
    assert "disputed" in page.text
    browser.post(f"{PORTAL}/enter", data={"key": own.keys["institution_2"]})
    for path in (last, f"{last}/file"):
        assert browser.get(f"{PORTAL}/settlements/{path}").status_code == 404


def test_every_role_meets_every_part_and_action_as_the_file_says(
    browser: httpx.Client, own: Served, people: People
) -> None:
    cash = left_over(own, 100)
    for role, person in people.items():
        enter(browser, person)
        has = Roles.load().shows(role, "money")
        for part in PARTS:
            address = BASE if part == "money" else f"{BASE}/{part}"
            assert browser.get(address).status_code == (200 if has else 403), (role, part)
        for kind, actions in ACTIONS.items():
            for name, action in actions.items():
                may = has and action.command in Roles.load().commands(role)
                address = f"{BASE}/{kind}/{cash}/{name}"
                if not may:
                    for page in (
                        browser.get(address),
                        browser.post(address, data={"step": "confirm"}),
                    ):
                        assert page.status_code == 403, (role, kind, name)
                elif kind == "unallocated":
                    assert browser.get(address).status_code == 200, (role, kind, name)
        browser.post(f"{HOME}/sign-out")
    assert json.loads(own.get(f"/v1/unallocated/{cash}", "operations").text)["left_minor"] == 100


def test_what_is_not_there_is_said(browser: httpx.Client, own: Served, people: People) -> None:
    assert own.url
    enter(browser, people["operations"])
    for path in ("orders/or_1", "files/fi_0000000000001", "breaks/x", "unallocated/un_9",
                 "settlements/se_1", "settlements/se_1/file", "nonsense/x/assign",
                 "breaks/br_1/burn"):  # fmt: skip
        assert browser.get(f"{BASE}/{path}").status_code in (400, 404), path


def by_command(own: Served, *words: str) -> tuple[int, Any]:
    """Exit code and JSON of `usance money` on the lender."""
    command = [USANCE, "money", *words, "--home", str(own.home), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    told = json.loads(done.stdout or done.stderr)
    return done.returncode, told.get("data", told)


def test_files_days_and_batches_by_command(own: Served, tmp_path: Path) -> None:
    file = tmp_path / "evening.csv"
    head = "order_no,provider_ref,settled_on,amount,fee,batch,loan,payer"
    file.write_text(f"{head}\n,CMD1,{today(own)},12.00,0,,0,Bo\n", encoding="utf-8")
    taking = ("import", str(file), "--profile", "psp", "--provider", "psp_a")
    for outcome in ("new", "repeated"):
        code, told = by_command(own, *taking)
        assert (code, told[0]["outcome"], told[0]["lines"]) == (0, outcome, 1)
    cash = own.get("/v1/unallocated?limit=200", "operations").json()["data"]
    assert [each["left_minor"] for each in cash if each["ref"] == "CMD1"] == [1_200]
    code, told = by_command(own, "reconcile", today(own), "--provider", "psp_a")
    breaks = own.get("/v1/breaks?state=open&limit=200", "operations").json()["data"]
    assert {each["reference"] for each in told["breaks"]} == {
        each["reference"] for each in breaks if each["provider"] == "psp_a"
    }
    assert code == (1 if told["breaks"] else 0)
    day = today(own)
    code, told = by_command(own, "settle", day, "--folder", str(tmp_path / "out"))
    assert code != 0
    assert "the day has not ended" in json.dumps(told)
    tomorrow = date.fromisoformat(day) + timedelta(days=1)
    own.post("/v1/clock/advance", {"to": f"{tomorrow}T01:00:00Z"}, "control")
    code, told = by_command(own, "settle", day, "--folder", str(tmp_path / "out"))
    batches = own.get("/v1/settlements?limit=200", "finance").json()["data"]
    assert code == 0
    assert {(each["settlement"], each["total_minor"]) for each in told} == {
        (each["settlement"], each["total_minor"]) for each in batches if each["day"] == day
    }
    assert all(Path(each["file"]).read_text(encoding="utf-8") for each in told)
    file.write_text(f"{head}\n,CMD2,not a day,12.00,0,,0,Bo\n", encoding="utf-8")
    code, told = by_command(own, *taking)
    assert code == 2
    assert "line 2" in json.dumps(told)


def test_an_answer_to_a_batch_is_noted_on_the_screen(
    browser: httpx.Client, own: Served, people: People
) -> None:
    """Operations write down what an institution has said by letter: another total, then ours."""
    found = own.get("/v1/settlements?limit=200", "finance").json()["data"]
    batch = next(each for each in found if each["state"] != "acknowledged")
    enter(browser, people["operations"])
    address = f"{BASE}/settlements/{batch['settlement']}"
    assert f'href="{address}/acknowledge"' in browser.get(address).text
    page = browser.get(f"{address}/acknowledge")
    more = f"{(batch['total_minor'] + 7) / 100:.2f}"
    given = {"total_minor": more, "key": hidden(page)["key"]}
    page = browser.post(f"{address}/acknowledge", data={**given, "step": "preview"})
    assert "disputed" in page.text
    state = own.get(f"/v1/settlements/{batch['settlement']}", "finance").json()["state"]
    assert state == batch["state"]
    browser.post(f"{address}/acknowledge", data={**given, "step": "confirm"})
    told = own.get(f"/v1/settlements/{batch['settlement']}", "finance").json()
    assert (told["state"], told["differences"][0]["difference_minor"]) == ("disputed", 7)
    page = browser.get(f"{address}/acknowledge")
    browser.post(f"{address}/acknowledge", data={"key": hidden(page)["key"], "step": "confirm"})
    assert own.get(f"/v1/settlements/{batch['settlement']}", "finance").json()["state"] == (
        "acknowledged"
    )
    assert f'href="{address}/acknowledge"' not in browser.get(address).text


def test_guarantors_accounts_and_clearing_have_their_pages(
    browser: httpx.Client, own: Served, people: People
) -> None:
    user = registered(own)
    number = "62280" + new_ref()[-6:].upper().replace("-", "0").replace("_", "0")
    body = {"provider": "psp_a", "number": number}
    made = own.post(f"/v1/users/{user}/virtual-accounts", body)
    assert made.status_code == 201, made.text
    enter(browser, people["operations"])
    assert number in browser.get(f"{BASE}/accounts").text
    assert browser.get(f"{BASE}/guarantors").status_code == 200
    assert browser.get(f"{BASE}/guarantors/nobody").status_code == 404
    assert "Providers and banks" in browser.get(BASE).text
