"""Pages of the console on a demo: each alone, and twenty people at once.

`USANCE_BENCH_DEMO` names the home of a demo that is served; without it, one of
`USANCE_BENCH_DEMO_SCALE` of the whole, or of about `USANCE_BENCH_DEMO_LOANS` loans, is made and
served. Each page is asked for as often as a page of the same server that reads nothing, the sign-in
page, so that the machine's own pace is told.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

import httpx

from bench.report import Report

LOANS_OF_DEMO = 10_600
"""Loans of a demo of the whole scale."""
LOANS = os.environ.get("USANCE_BENCH_DEMO_LOANS", "")
SCALE = f"{LOANS}/{LOANS_OF_DEMO}" if LOANS else os.environ.get("USANCE_BENCH_DEMO_SCALE", "1/4")
TIMES, PEOPLE, EACH = 30, 20, 30
PAGES = (
    "overview", "applications", "borrowers", "loans", "matching", "matching/limits", "money",
    "collections", "collections/cases", "collections/strategy", "borrowers/help", "risk",
    "risk/drift", "close", "statements", "control", "control/audit",
    "developers", "developers/requests",
)  # fmt: skip


def run(report: Report) -> None:
    """Every figure of the console."""
    with tempfile.TemporaryDirectory() as folder, _served(Path(folder)) as (home, url):
        with httpx.Client(base_url=url, timeout=60, follow_redirects=True) as browser:
            person = json.loads((home / "sandbox.json").read_text())["operators"][0]
            floor = _p95(browser, "/console/sign-in")
            _ = browser.post("/console/sign-in", data=person).raise_for_status()
            pages = [f"/console/{each}" for each in PAGES] + _records(browser)
            loans = json.loads((home / "demo.json").read_text())["loans"]
            report.section(f"console: pages at the 95th percentile, one at a time, {loans:,} loans")
            report.line("a page that reads nothing", f"{floor:,.0f} ms")
            for page in pages:
                report.at_most(re.sub(r"_\w+", "_…", page), _p95(browser, page), 300, "ms")
            cookies = dict(browser.cookies)
        report.section(f"console: {PEOPLE} people at once")
        report.at_most("p95", asyncio.run(_together(url, pages, cookies)), 500, "ms")


def _records(browser: httpx.Client) -> list[str]:
    """Pages of a loan, its borrower and its decision."""
    found = re.search(r'href="(/console/loans/ln_\w+)"', browser.get("/console/loans").text)
    assert found is not None, "the demo has loans"
    loan = browser.get(found[1]).text
    more = {match for each in ("borrowers/us", "applications/de")
            for match in re.findall(rf'href="(/console/{each}_\w+)"', loan)[:1]}  # fmt: skip
    return [found[1], *sorted(more)]


def _p95(browser: httpx.Client, page: str) -> float:
    """The 95th percentile of a page in milliseconds, after one that warms it."""
    browser.get(page).raise_for_status()
    taken = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        browser.get(page).raise_for_status()
        taken.append(1_000 * (time.perf_counter() - begun))
    return statistics.quantiles(taken, n=20)[-1]


async def _together(url: str, pages: list[str], cookies: dict[str, str]) -> float:
    """The 95th percentile in milliseconds while people look at one page after the other."""
    taken: list[float] = []

    async def person(browser: httpx.AsyncClient, number: int) -> None:
        for step in range(EACH):
            begun = time.perf_counter()
            (await browser.get(pages[(number + step) % len(pages)])).raise_for_status()
            taken.append(1_000 * (time.perf_counter() - begun))

    async with AsyncExitStack() as stack:
        # All are there before the first asks: a browser is made slower than a page.
        browsers = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=url, timeout=60, cookies=cookies, verify=False)
            )
            for _ in range(PEOPLE)
        ]
        await asyncio.gather(*(person(each, number) for number, each in enumerate(browsers)))
    return statistics.quantiles(taken, n=20)[-1]


@contextmanager
def _served(folder: Path) -> Iterator[tuple[Path, str]]:
    """A demo that is served: the one that is named, or one that is made for this."""
    named = os.environ.get("USANCE_BENCH_DEMO", "")
    home = Path(named) if named else folder / "demo"
    if named and (home / "address").exists():
        yield home, (home / "address").read_text()
        return
    usance = Path(sys.executable).parent / "usance"
    command = [str(usance), "demo", "--home", str(home), "--scale", SCALE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "the output is piped"
        for line in process.stdout:
            if "let days go by" in line:
                break
        try:
            yield home, (home / "address").read_text()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)
