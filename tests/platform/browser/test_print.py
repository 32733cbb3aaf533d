"""Pages on paper: navigation and forms stay off it, tables are whole, and a PDF comes of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.platform.api.borrowers import drawn
from tests.platform.api.served import USANCE, Served
from tests.platform.browser.conftest import Watched

pytestmark = pytest.mark.slow
UPRIGHT, ACROSS = 680, 1031
"""Pixels between the margins of A4, upright and across, at 96 an inch."""
OFF_PAPER = "nav, form, button, dialog, a.button, #lost, #told, .skip"
VISIBLE = """(wanted) => [...document.querySelectorAll(wanted)]
    .filter(each => each.checkVisibility() && each.getBoundingClientRect().right > 0
                    && !each.classList.contains('unseen'))
    .map(each => each.outerHTML.slice(0, 80))"""
TABLES = """() => [...document.querySelectorAll('main table')].map(each => ({
    across: each.closest('.across') !== null, wide: each.getBoundingClientRect().width,
    cut: getComputedStyle(each.parentElement).overflowX !== 'visible',
    lines: each.rows.length,
    text: each.caption ? each.caption.innerText : each.rows[0].innerText.slice(0, 60)}))"""


@pytest.fixture
def closed(served: Served, tmp_path: Path) -> Iterator[None]:
    """The pages of a closed book where the lender has those of its last close."""
    calls = (
        "books sample book", "close 2023Q4 --book book",
        f"pages book --out {served.home / 'pages'} --loans 1",
    )  # fmt: skip
    for call in calls:
        subprocess.run([USANCE, *call.split()], cwd=tmp_path, check=True, capture_output=True)
    yield
    shutil.rmtree(served.home / "pages")


def printed(page: Any, address: str) -> tuple[bytes, list[dict[str, Any]]]:
    """A page as PDF, and its tables as they stand on paper."""
    page.goto(address)
    page.emulate_media(media="print")
    page.set_viewport_size({"width": UPRIGHT, "height": 1000})
    assert page.evaluate(VISIBLE, OFF_PAPER) == []
    assert page.locator("main h1").is_visible()
    tables = page.evaluate(TABLES)
    return page.pdf(prefer_css_page_size=True), tables


@pytest.mark.usefixtures("closed")
def test_statements_and_a_loan_are_whole_on_paper(
    tab: Watched, served: Served, tmp_path: Path
) -> None:
    loan = drawn(served)["loan"]
    tab.sign_in(served.operators[0])
    for name, address in (
        ("statements", "/console/statements"),
        ("loan", f"/console/loans/{loan}"),
    ):
        content, tables = printed(tab.page, address)
        (tmp_path / f"{name}.pdf").write_bytes(content)
        assert content.startswith(b"%PDF-")
        assert tables
        for table in tables:
            assert not table["cut"], table
            assert table["wide"] <= (ACROSS if table["across"] else UPRIGHT), table
