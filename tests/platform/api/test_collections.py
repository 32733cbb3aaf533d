"""Collections over HTTP: from a missed instalment to a call, a promise and a commission."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.platform.api.borrowers import drawn
from tests.platform.api.served import USANCE, Served, refused
from usance.platform.store.server import Embedded
from usance.service.collections.strategy_file import shipped_text

pytestmark = pytest.mark.slow
NOON = "T04:00:00Z"


@pytest.fixture(scope="module")
def late(server: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A sandbox of its own, in which three borrowers have missed an instalment for weeks."""
    assert server.data.exists()
    running = Served(tmp_path_factory.mktemp("late"))
    running.start()
    loans = [drawn(running)["user"] for _ in range(3)]
    for user in loans:
        profile = {"time_zone": "Asia/Shanghai", "channels": ["voice", "message"],
                   "language": "en"}  # fmt: skip
        told = running.ask("PUT", f"/v1/users/{user}/contact-profile", json=profile)
        assert told.status_code == 200, told.text
    moved = running.post("/v1/clock/advance", {"to": f"2024-08-20{NOON}"}, "control")
    assert moved.status_code == 200, moved.text
    yield running
    assert running.stop() == 0


def cases(served: Served, who: str = "operations") -> list[dict[str, Any]]:
    answer = served.get("/v1/cases", who)
    assert answer.status_code == 200, answer.text
    rows: list[dict[str, Any]] = answer.json()["data"]
    return rows


def test_a_case_is_taken_called_and_promised(late: Served) -> None:
    rows = cases(late)
    assert len(rows) == 3
    assert {each["stage"] for each in rows} == {"in_house"}
    page = late.get("/v1/cases?limit=1", "operations").json()
    assert len(page["data"]) == 1
    after = late.get(f"/v1/cases?limit=2&after={page['next']}", "operations").json()["data"]
    assert [each["case"] for each in after] == [each["case"] for each in rows[1:]]
    taken = late.post("/v1/cases/next", {}, "operations").json()["case"]
    assert taken["action"]["channel"] == "voice"
    told = late.get(f"/v1/cases/{taken['case']}", "operations").json()
    assert told["past_due_minor"] > 0
    assert "past due" in told["action"]["words"]
    assert told["forbidden"] == []
    begun = late.post(f"/v1/cases/{taken['case']}/contacts", {"channel": "voice"}, "operations")
    assert begun.status_code == 201, begun.text
    contact = begun.json()["contact"]
    ended = late.post(f"/v1/contacts/{contact}/end", {"connected": True}, "operations")
    assert ended.json()["reached"] == "connected"
    refused(late.post(f"/v1/contacts/{contact}/end", {"connected": True}, "operations"),
            409, "wrong_state")  # fmt: skip
    promise = {"amount_minor": 1_000, "due_on": "2024-08-24"}
    made = late.post(f"/v1/cases/{taken['case']}/promises", promise, "operations")
    assert (made.status_code, made.json()["state"]) == (201, "open")
    again = late.post(f"/v1/cases/{taken['case']}/contacts", {"channel": "message"}, "operations")
    refused(again, 409, "contact_cool_off")
    listed = late.get("/v1/promises?state=open", "operations").json()["data"]
    assert [each["promise"] for each in listed] == [made.json()["promise"]]
    told = late.get(f"/v1/cases/{taken['case']}", "operations").json()
    assert told["contacts"][0]["contact"] == contact
    # The machine's messages of the first days are there too, with their words.
    assert all(each["content"] for each in told["contacts"][1:])
    assert told["forbidden"] == ["cool_off"]
    assert told["promises"][0]["state"] == "open"


def test_what_an_address_says_is_not_said_again(late: Served) -> None:
    case = cases(late)[0]
    body = {"user": case["user"], "channel": "voice"}
    refused(late.post(f"/v1/cases/{case['case']}/contacts", body, "operations"),
            400, "unknown_field")  # fmt: skip
    refused(late.get("/v1/cases/us_00000000001", "operations"), 400, "wrong_id_kind")
    refused(late.get("/v1/cases?stage=soon", "operations"), 400, "invalid_field")
    refused(late.get("/v1/cases", "channel"), 403, "forbidden")


def approved(late: Served, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Something that two people put in force: a key proposes, two people agree."""
    told = late.post(path, body, "control")
    assert told.status_code == 202, told.text
    number = told.json()["approval"]
    for each in range(2):
        session = late.session(each)
        answer = late.post(f"/v1/approvals/{number}/approve", {}, session)
        assert answer.status_code == 200, answer.text
    done: dict[str, Any] = answer.json()
    return done


def test_a_strategy_takes_two_people_and_names_the_line_of_a_mistake(late: Served) -> None:
    wrong = shipped_text().replace("per_day: 2", "per_day: 9", 1)
    error = refused(late.post("/v1/strategies", {"text": wrong}, "control"), 400, "invalid_field")
    assert "line 28, actions[2].per_day" in error["message"]
    text = shipped_text().replace("strategy: standard", "strategy: careful")
    text = text.replace("script: m1_call", "script: m2_call")
    assert approved(late, "/v1/strategies", {"text": text})["state"] == "approved"
    rows = late.get("/v1/strategies", "control").json()["data"]
    assert [each["name"] for each in rows] == ["strategy"]
    case = late.get(f"/v1/cases/{cases(late)[-1]['case']}", "operations").json()
    assert (case["action"]["strategy"], case["action"]["script"]) == ("careful", "m2_call")


def test_an_agency_sees_its_cases_under_ids_of_its_own(late: Served) -> None:
    contract = {"name": "north", "commission_ppm": 200_000, "max_cases": 2,
                "valid_from": "2024-08-01", "tail_days": 5}  # fmt: skip
    assert approved(late, "/v1/agencies", contract)["state"] == "approved"
    made = approved(late, "/v1/keys", {"kind": "agency", "party": "north", "scopes": ["agency"]})
    assert "answer" in made
    case = cases(late)[1]
    batch = {"users": [case["user"]], "target_ppm": 150_000}
    placed = late.post("/v1/agencies/north/placements", batch, "operations")
    assert (placed.status_code, placed.json()["cases"]) == (201, 1), placed.text
    refused(late.post("/v1/agencies/north/placements", batch, "operations"),
            409, "placement_refused")  # fmt: skip
    key = made.get("key") or made["answer"].get("key")
    if key is None:
        pytest.fail(f"no key in {sorted(made)}")
    [seen] = cases(late, key)
    assert seen["past_due_minor"] == case["past_due_minor"]
    assert seen["user"] != case["user"]
    begun = late.post(f"/v1/cases/{seen['case']}/contacts", {"channel": "voice"}, key)
    assert begun.status_code == 201, begun.text
    answer = late.get(f"/v1/cases/{seen['case']}", key)
    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["contacts"][0]["contact"] == begun.json()["contact"]
    refused(late.get(f"/v1/cases/{case['case']}", key), 404, "not_found")
    report = {"user": seen["user"], "reference": "n-1", "paid_on": "2024-08-20",
              "amount_minor": 5_000}  # fmt: skip
    assert late.post("/v1/agencies/reports", report, key).status_code == 201
    statement = late.get("/v1/agencies/north/statement?month=2024-08", key).json()
    assert (statement["reported_minor"], statement["commission_minor"]) == (5_000, 0)
    refused(late.get("/v1/agencies/south/statement", key), 404, "not_found")
    refused(late.get("/v1/collectors", key), 403, "forbidden")
    back = late.post("/v1/agencies/recall", {"users": [case["user"]]}, "operations")
    assert back.json()["cases"] == 1
    assert cases(late, key) == []


def test_desks_channels_and_results_are_read(late: Served) -> None:
    told = late.post("/v1/collectors", {"name": "operations", "slots": 4,
                     "languages": ["en"]}, "operations").json()  # fmt: skip
    assert (told["name"], told["slots"]) == ("operations", 4)
    done = late.post("/v1/cases/allocate", {}, "operations").json()
    assert done["gap_ppm"] == 0
    [row] = late.get("/v1/collectors", "operations").json()["data"]
    assert row["assigned"] == done["allocated"] > 0, done
    [desk] = late.get("/v1/collections/desks", "operations").json()["data"]
    assert (desk["stage"], desk["cases"]) == ("in_house", 3)
    down = late.post("/v1/channels/voice/down", {"reason": "carrier"}, "operations").json()
    assert down["is_down"] is True
    rows = late.get("/v1/channels", "operations").json()["data"]
    assert {each["channel"]: each["is_down"] for each in rows}["voice"] is True
    assert late.post("/v1/channels/voice/up", {}, "operations").json()["is_down"] is False
    told = late.get("/v1/collections/results?from=2024-07-01&to=2024-08-31", "operations").json()
    assert sum(each["cases"] for each in told["groups"]) == 3
    assert told["is_complete"] is False


def test_a_stop_ends_contacts_until_it_is_lifted(late: Served) -> None:
    case = cases(late)[2]["case"]
    stop = late.post(f"/v1/cases/{case}/stops", {"reason": "dispute"}, "operations").json()
    body = {"channel": "message"}
    refused(late.post(f"/v1/cases/{case}/contacts", body, "operations"), 409, "contact_stopped")
    ended = late.post(f"/v1/stops/{stop['stop']}/end", {}, "operations")
    assert ended.status_code == 200
    assert late.post(f"/v1/cases/{case}/contacts", body, "operations").status_code == 201


@pytest.fixture
def browser(late: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=late.url, timeout=60, follow_redirects=True) as opened:
        yield opened


def person(late: Served, role: str) -> dict[str, str]:
    """Somebody with a role, by their sign-in."""
    made = {"email": f"{role}@work.example", "password": "correct horse battery staple"}
    command = [USANCE, "people", "create", "--home", str(late.home), "--role", role,
               "--email", made["email"], "--password-stdin"]  # fmt: skip
    subprocess.run(command, input=made["password"], text=True, check=True, capture_output=True)
    return made


def field(page: httpx.Response, name: str) -> str:
    """The value of the first field of a name on a page."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page.text)
    assert found is not None, (name, page.text[-2000:])
    return found[1]


def test_a_lead_sees_every_page_and_proposes_a_strategy(
    late: Served, browser: httpx.Client
) -> None:
    browser.post("/console/sign-in", data=person(late, "collections_lead"))
    number = cases(late)[0]["case"]
    for part in ("", "/cases", f"/cases/{number}", "/promises", "/team", "/strategy", "/agencies"):
        page = browser.get(f"/console/collections{part}")
        assert page.status_code == 200, (part, page.text)
    rows = browser.get("/console/collections/cases?format=csv").text.splitlines()
    assert len(rows) == 4
    assert browser.get("/console/collections/cases/ca_nobody").status_code == 404
    page = browser.get("/console/collections/strategy")
    body = {"step": "strategy", "key": field(page, "key"), "text": "strategy: [broken"}
    wrong = browser.post("/console/collections", data=body)
    assert wrong.status_code == 400
    assert "strategy: [broken" in wrong.text
    body["text"], body["key"] = shipped_text(), field(wrong, "key")
    told = browser.post("/console/collections", data=body)
    assert "waits for" in told.text
    page = browser.get("/console/collections")
    body = {"step": "channel_down", "key": field(page, "key"), "channel": "push", "reason": "<b>"}
    told = browser.post("/console/collections", data=body)
    assert "&lt;b&gt;" in told.text
    body |= {"step": "channel_up", "key": "up-again"}
    assert "&lt;b&gt;" not in browser.post("/console/collections", data=body).text


def test_a_collector_works_a_case_on_its_page(late: Served, browser: httpx.Client) -> None:
    late.post("/v1/clock/advance", {"to": f"2024-08-27{NOON}"}, "control")
    late.post("/v1/collectors", {"name": "operations", "slots": 0}, "operations")
    assert late.post("/v1/cases/allocate", {}, "operations").json()["allocated"] == 0
    browser.post("/console/sign-in", data=person(late, "collector"))
    page = browser.get("/console/collections")
    body = {"step": "next", "key": field(page, "key")}
    page = browser.post("/console/collections", data=body)
    assert "/console/collections/cases/ca_" in page.url.path, page.text
    body = {"step": "begin", "key": field(page, "key"), "channel": field(page, "channel")}
    page = browser.post(page.url.path, data=body)
    twice = browser.post(page.url.path, data=body)
    assert field(twice, "contact") == field(page, "contact")
    body = {"step": "missed", "key": field(page, "key"), "contact": field(page, "contact")}
    page = browser.post(page.url.path, data=body)
    assert page.status_code == 200
    body = {"step": "promise", "key": field(page, "key"), "amount_minor": "nothing",
            "due_on": "2024-08-28"}  # fmt: skip
    wrong = browser.post(page.url.path, data=body)
    assert (wrong.status_code, "is no amount" in wrong.text) == (400, True)
    forbidden = browser.post("/console/collections", data={"step": "allocate", "key": "no"})
    assert forbidden.status_code == 403


def test_an_agency_works_at_its_own_desk(late: Served, browser: httpx.Client) -> None:
    contract = {"name": "west", "commission_ppm": 100_000, "max_cases": 1,
                "valid_from": "2024-08-01"}  # fmt: skip
    approved(late, "/v1/agencies", contract)
    made = approved(late, "/v1/keys", {"kind": "agency", "party": "west", "scopes": ["agency"]})
    key = made.get("key") or made["answer"]["key"]
    case = cases(late)[1]
    late.post("/v1/agencies/west/placements", {"users": [case["user"]]}, "operations")
    assert browser.get("/desk").url.path == "/desk/enter"
    assert browser.post("/desk/enter", data={"key": late.keys["channel"]}).status_code == 401
    page = browser.post("/desk/enter", data={"key": key})
    assert (page.status_code, page.url.path) == (200, "/desk")
    assert case["case"] not in page.text
    assert 'href="/console"' not in page.text
    spoken = {"language": "zh", "back": "/desk"}
    assert "下一案件" in browser.post("/desk/language", data=spoken).text
    browser.post("/desk/language", data=spoken | {"language": "en"})
    [number] = set(re.findall(r"/desk/cases/(ca_\w+)", page.text))
    page = browser.get(f"/desk/cases/{number}")
    assert page.status_code == 200, page.text
    assert case["user"] not in page.text
    assert browser.get(f"/desk/cases/{case['case']}").status_code == 404
    page = browser.post("/desk", data={"step": "next", "key": "n1"})
    assert page.url.path == f"/desk/cases/{number}"
    body = {"step": "begin", "key": "n2", "channel": field(page, "channel")}
    page = browser.post(f"/desk/cases/{number}", data=body)
    body = {"step": "reached", "key": "n3", "contact": field(page, "contact")}
    assert browser.post(f"/desk/cases/{number}", data=body).status_code == 200
    told = browser.get("/desk/cases.csv").text.splitlines()
    assert [row.split(",")[0] for row in told] == ["case", number]
    assert browser.get("/desk/cases.csv").headers["content-type"].startswith("text/csv")

    def reported(*lines: str) -> httpx.Response:
        text = "\n".join(["case,reference,paid_on,amount", *lines])
        return browser.post("/desk", data={"step": "report", "text": text})

    wrong = reported(f"{number},psp-1,2024-07-19,6.00", f"{number},psp-1,2024-07-19,6.00",
                     f"{case['case']},psp-2,2024-07-19,1.00", f"{number},psp-3,2099-01-01,1.00",
                     f"{number},psp-4,19.7.2024,1.00", f"{number},psp-5,2024-07-19,-1",
                     f"{number},psp-6")  # fmt: skip
    assert wrong.status_code == 400
    for part in (
        "line 3",
        "line 6",
        "line 7",
        "line 8",
        "nothing was taken",
        "reference of line 2",
    ):
        assert part in wrong.text, part
    for lines in (f"{number},psp-3,2099-01-01,1.00", f"{case['case']},psp-2,2024-07-19,1.00",
                  "nothing", "nothing,psp-2,2024-07-19,1.00"):  # fmt: skip
        assert reported(lines).status_code in (400, 404), lines
    assert browser.post("/desk", data={"step": "report", "text": 'a,"b'}).status_code == 400
    own = [f"{number},psp-1,2024-07-19,6.00", f"{number},psp-2,2024-07-20,1250.50"]
    for _ in range(2):  # once, and sent again
        assert "2 payments taken" in reported(*own).text
    assert reported(own[0].replace("6.00", "6.01")).status_code == 400
    statement = late.get("/v1/agencies/west/statement?month=2024-07", "operations").json()
    assert statement["reported_minor"] == 125_650
    assert browser.post("/desk/leave").url.path == "/desk/enter"
