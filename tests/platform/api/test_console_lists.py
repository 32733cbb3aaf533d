"""Lists of the console: their order in the address, and files that jobs make of all their rows."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.platform.api.borrowers import registered
from tests.platform.api.served import Served
from tests.platform.api.test_console import sign_in
from usance.platform.console import exports, lists
from usance.platform.console.frame import HOME, texts
from usance.platform.jobs.kinds import EXPORT_JOB
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.live import Platform
from usance.platform.terminal.homes import on_platform

HERE = f"{HOME}/exports"


@pytest.fixture
def browser(served: Served) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=served.url, timeout=30, follow_redirects=True) as opened:
        sign_in(opened, served)
        yield opened


def column(page: httpx.Response, number: int) -> list[str]:
    """The texts of a column of the page's first table."""
    rows = re.findall(r"<tr>(<td.*?)</tr>", page.text, re.DOTALL)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    return [re.sub(r"<[^>]+>", "", row[number]) for row in cells]


def test_a_list_is_ordered_by_a_column_that_its_address_names(
    browser: httpx.Client, served: Served
) -> None:
    for region in (3, 1, 2):
        registered(served, region)
    page = browser.get(f"{HOME}/borrowers")
    names = re.findall(r'class="order" href="[^"]*sort=(\w+)"', page.text)
    at = names.index("region")
    for sort, is_up in (("region", True), ("-region", False)):
        page = browser.get(f"{HOME}/borrowers", params={"sort": sort})
        regions = [int(each) for each in column(page, at)]
        assert regions == sorted(regions, reverse=not is_up)
        assert len(set(regions)) > 1
        assert f'aria-sort="{"ascending" if is_up else "descending"}"' in page.text
        assert f"sort={sort}" in page.text.replace("&amp;", "&")  # files and filters keep it
    file = browser.get(f"{HOME}/borrowers", params={"sort": "-region", "format": "csv"}).text
    told = [int(line.split(",")[at]) for line in file.splitlines()[1:]]
    assert told == sorted(told, reverse=True)
    for wrong in ({"sort": "phone"}, {"sort": "region", "before": "us_1"}):
        assert browser.get(f"{HOME}/borrowers", params=wrong).status_code == 400


def waited(browser: httpx.Client, of: str) -> str:
    """The address of a file, once its job is done."""
    for _ in range(100):
        found = re.search(rf'href="({HERE}/jb_\w+)">{re.escape(of)}', browser.get(HERE).text)
        if found:
            return found[1]
        time.sleep(0.2)
    raise AssertionError(browser.get(HERE).text)


def test_a_file_is_made_by_a_job_for_whoever_asked_alone(
    browser: httpx.Client, served: Served
) -> None:
    registered(served)
    asked = {"path": "/borrowers", "query": "?channel=&format=csv", "key": "once"}
    for _ in range(2):  # a double click makes one file
        assert browser.post(HERE, data=asked).url.path == HERE
    place = waited(browser, "/borrowers ?format=csv")
    assert browser.get(HERE).text.count("/borrowers ?") == 1
    answer = browser.get(place)
    assert answer.headers["content-disposition"] == 'attachment; filename="borrowers.csv"'
    assert answer.text == browser.get(f"{HOME}/borrowers", params={"format": "csv"}).text
    kept = served.home / "exports" / place.rpartition("/")[2]
    assert b"client_ref" not in kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0
    with httpx.Client(base_url=served.url, timeout=30, follow_redirects=True) as other:
        other.post(f"{HOME}/sign-in", data=served.operators[1])
        assert other.get(place).status_code == 404
        assert "/borrowers ?" not in other.get(HERE).text
        refused = other.post(HERE, data={**asked, "path": "/developers/events"})
        assert refused.status_code == 403  # a finance controller has no such screen
    for wrong in ({"path": "/loans/{loan}"}, {"path": "/nowhere"}, {"query": "?format=pdf"},
                  {"key": ""}):  # fmt: skip
        assert browser.post(HERE, data={**asked, **wrong}).status_code in (400, 404), wrong


def test_a_file_that_waits_is_cancelled_and_asked_for_again(
    browser: httpx.Client, served: Served
) -> None:
    async def wait(platform: Platform) -> str:
        who = await platform.principal("administrator")
        payload = {"path": "/loans", "query": "?format=xlsx", "role": "administrator",
                   "name": who.name, "language": "en", "principal": who.principal_id}  # fmt: skip
        async with platform.database.transaction(who.principal_id) as write:
            await enqueue(write, [NewJob(EXPORT_JOB, "list.export/later", payload)])
            await write.execute("update usance.jobs set not_before = now() + interval '1 hour' "
                                "where key = 'list.export/later'")  # fmt: skip
        return ""

    on_platform(served.home, wait)
    page = browser.get(HERE)
    cancel = re.search(rf'action="({HERE}/jb_\w+/cancel)"', page.text)
    assert cancel is not None
    page = browser.post(cancel[1])
    assert texts("en")["cancelled"] in page.text
    page = browser.post(cancel[1].replace("cancel", "retry"))
    place = waited(browser, "/loans ?format=xlsx")
    assert browser.get(place).content.startswith(b"PK")


def test_pieces_of_a_list_are_the_whole_and_a_page_offers_the_job(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        registered(served)

    async def work(platform: Platform) -> None:
        who = await platform.principal("administrator")
        given = {"name": who.name, "principal": who.principal_id, "language": "zh",
                 "role": "administrator"}  # fmt: skip
        visit = await exports._visit(platform, given)
        whole = [row async for each in exports.pieces(visit, "/borrowers", "?format=csv")
                 for row in each.shown]  # fmt: skip
        monkeypatch.setattr(lists, "EXPORT", 2)
        told: list[Any] = [each async for each in
                           exports.pieces(visit, "/borrowers", "?format=csv")]  # fmt: skip
        assert [len(each.shown) for each in told[:-1]] == [2] * (len(told) - 1)
        assert [row for each in told for row in each.shown] == whole
        assert len(whole) >= 5
        page = bytes(told[0].response(visit).body).decode()
        assert texts("zh")["export_is_big"].format("2") in page
        assert "attachment" not in told[0].response(visit).headers.get("content-disposition", "")

    on_platform(served.home, work)
