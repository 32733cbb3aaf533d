"""The collections desk in a real browser: thirty cases with the keyboard alone, by two surfaces."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from tests.platform.api.borrowers import registered
from tests.platform.api.served import USANCE, Served
from tests.platform.api.test_collections import approved
from tests.platform.browser.conftest import Watched
from tests.platform.browser.test_every_page import CORPUS, problems_of
from tests.platform.browser.test_screens import found_by_axe
from usance.platform.store.database import server_of
from usance.platform.store.server import Embedded

pytestmark = pytest.mark.slow
PERSON = {"email": "desk@work.example", "password": "correct horse battery staple"}
LEAD = {"email": "lead@work.example", "password": "correct horse battery staple"}
CASES = 30


@pytest.fixture(scope="module")
def desk(server: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A sandbox with thirty cases and one more, and two people at its desks."""
    assert server.data.exists()
    running = Served(tmp_path_factory.mktemp("desk"))
    running.start()
    for person, role in ((PERSON, "collector"), (LEAD, "collections_lead")):
        command = [USANCE, "people", "create", "--home", str(running.home), "--role", role,
                   "--email", person["email"], "--password-stdin"]  # fmt: skip
        subprocess.run(command, input=person["password"], text=True, check=True,
                       capture_output=True)  # fmt: skip
    for _ in range(CASES + 1):
        user = registered(running)
        body = {"time_zone": "Asia/Shanghai", "channels": ["voice"], "language": "en"}
        running.ask("PUT", f"/v1/users/{user}/contact-profile", json=body)
    moved = running.post("/v1/clock/advance", {"to": "2024-07-02T04:00:00Z"}, "control")
    assert moved.status_code == 200
    opened(running.home)
    yield running
    assert running.stop() == 0


def opened(home: Path) -> None:
    """A case of ten days past due for everybody."""

    async def put() -> None:
        server = server_of(home)
        connection = await asyncpg.connect(**server.connection())
        await connection.execute(
            "insert into usance.cases select user_id, 10, 50000, 2, 6000 + user_id, '2024-06-22', "
            "null, 0, null, null from usance.users"
        )
        await connection.close()

    # The browser has the loop of this thread.
    with ThreadPoolExecutor() as threads:
        threads.submit(asyncio.run, put()).result()


def test_thirty_cases_are_worked_without_the_mouse(browser: Any, desk: Served) -> None:
    watched = Watched(browser, desk.url)
    watched.sign_in(PERSON)
    page = watched.page
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url("**/console/collections")
    seen: set[str] = set()
    page.keyboard.press("x")
    for number in range(CASES):
        page.wait_for_url("**/collections/cases/ca_*")
        page.get_by_role("button", name="Begin the contact").wait_for()
        seen.add(page.url.split("/")[-1].split("?")[0])
        page.keyboard.press("b")
        page.wait_for_url(re.compile("done=begin"))
        page.keyboard.press("r" if number % 3 else "m")
        page.wait_for_url(re.compile(r"done=(reached|missed)"))
        if number == 1:
            page.keyboard.press("p")
            page.keyboard.type("120.00")
            page.keyboard.press("Enter")
            page.wait_for_url(re.compile("done=promise"))
        before = page.url
        page.keyboard.press("x")
        page.wait_for_url(lambda url, before=before: url != before)
    assert len(seen) == CASES
    told = desk.get("/v1/promises", "operations").json()["data"]
    assert [each["amount_minor"] for each in told] == [12_000]
    watched.context.close()
    assert watched.problems == []


def test_an_agency_works_its_case_at_its_own_desk(browser: Any, desk: Served) -> None:
    contract = {"name": "north", "commission_ppm": 200_000, "max_cases": 2,
                "valid_from": "2024-07-01"}  # fmt: skip
    approved(desk, "/v1/agencies", contract)
    made = approved(desk, "/v1/keys", {"kind": "agency", "party": "north", "scopes": ["agency"]})
    user = desk.get("/v1/cases?limit=1", "operations").json()["data"][0]["user"]
    placed = desk.post("/v1/agencies/north/placements", {"users": [user]}, "operations")
    assert placed.status_code == 201, placed.text
    watched = Watched(browser, desk.url)
    page, found = watched.page, {}
    page.goto("/desk/enter")
    found["entrance"] = problems_of(page)
    page.reload()
    watched.type_into("key", made.get("key") or made["answer"]["key"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/desk")
    found["desk"] = problems_of(page)
    page.locator("textarea").fill(f"case,reference,paid_on,amount\n{CORPUS},1,2024-07-02,1.00")
    page.get_by_role("button", name="Report").click()
    page.locator("#content [role=alert]").wait_for()
    found["refused report"] = problems_of(page)
    page.goto("/desk")
    page.keyboard.press("x")
    page.wait_for_url("**/desk/cases/ca_*")
    page.get_by_role("button", name="Begin the contact").wait_for()
    page.keyboard.press("b")
    page.wait_for_url(re.compile("done=begin"))
    page.keyboard.press("r")
    page.wait_for_url(re.compile("done=reached"))
    found["case"] = problems_of(page)
    assert user not in page.content()
    watched.context.close()
    assert (found, watched.problems) == ({each: [] for each in found}, [])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_of_the_desk_is_clean(browser: Any, desk: Served, scheme: str) -> None:
    watched = Watched(browser, desk.url, scheme)
    watched.sign_in(LEAD)
    case = desk.get("/v1/cases?limit=1", "operations").json()["data"][0]["case"]
    found = {}
    for part in ("", "/cases", f"/cases/{case}", "/promises", "/team", "/strategy", "/agencies"):
        watched.page.goto(f"/console/collections{part}")
        assert watched.page.locator("h1").inner_text()
        if serious := found_by_axe(watched.page):
            found[part] = serious
    watched.context.close()
    assert (found, watched.problems) == ({}, [])
