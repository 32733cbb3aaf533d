"""The documentation site stands by itself."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house import tree

# What a browser fetches by itself; a link that a reader may click is another thing.
FETCHED = re.compile(
    r"<(?:script|img|iframe|source|link(?![^>]*rel=\"canonical\"))\b[^>]*?(?:src|href)=[\"']?"
    r"(?P<address>(?:https?:)?//[^\"'\s>]+)"
)


def fetched_addresses(page: str) -> list[str]:
    return FETCHED.findall(page)


@pytest.mark.slow
def test_no_page_fetches_from_another_host(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir"]
    done = subprocess.run(
        [*build, str(tmp_path)], cwd=tree.ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert pages
    for page in pages:
        assert fetched_addresses(page.read_text(encoding="utf-8")) == [], page.name


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        "<link rel=stylesheet href=//fonts.example/css>",
        '<img alt="x" src="http://count.example/1.gif">',
    ],
)
def test_fetching_is_noticed(text: str) -> None:
    assert len(fetched_addresses(text)) == 1


def test_links_to_click_are_not_fetched() -> None:
    assert fetched_addresses('<a href="https://example.org">x</a><img src="own.png">') == []
