"""The words of a release in three languages: the same keys, the same figures, nothing left over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.disclose.filings import table_rows
from usance.base.book import Book
from usance.books.periods import parse_close_period
from usance.disclose import load_profile
from usance.disclose.release.filer import Filer, parse_filer
from usance.disclose.release.publication import FORMATS, publish, publish_table, release_of
from usance.disclose.release.wording import LineLabels, languages, load_wording
from usance.pages.reports.release import RELEASE_WRITERS

TOLD_IN_SENTENCES = re.compile(r".* - (change vs|share of|low|high).*|.* plan .*|C-M2.*|Status")


def keys(texts: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, value in texts.items():
        if not above and name in ("lines", "inside", "metrics"):
            continue
        yield f"{above}{name}"
        if isinstance(value, dict):
            yield from keys(value, f"{above}{name}.")


def holes(text: str) -> set[str]:
    """The holes of a text; a number may be written as a word."""
    return {"number" if each == "ordinal" else each for each in re.findall(r"\{(\w+)\}", text)}


def leaves(texts: dict[str, Any], above: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in texts.items():
        if isinstance(value, dict):
            found |= leaves(value, f"{above}{name}.")
        elif isinstance(value, str):
            found[f"{above}{name}"] = value
    return found


@pytest.mark.parametrize("language", languages())
def test_every_language_has_the_same_keys_and_holes(language: str) -> None:
    other, english = load_wording(language, {}), load_wording("en", {})
    assert list(keys(other)) == list(keys(english))
    ours, theirs = leaves(other), leaves(english)
    for name, text in theirs.items():
        if not name.startswith(("lines.", "inside.")):
            assert holes(ours[name]) <= holes(text), name
            assert text == ours[name] or holes(ours[name]) == holes(text), name
    parts = [[part["lines"] for part in texts["form_parts"]] for texts in (other, english)]
    assert parts[0] == parts[1]


@pytest.mark.parametrize("language", ["de", "zh"])
def test_every_line_of_a_release_has_a_name_in_other_languages(
    closed_book: Path, language: str
) -> None:
    labels = LineLabels(load_wording(language, {})["lines"])
    for period in ("2023Q4", "2024Q4"):
        release = release_of(Book.open(closed_book), parse_close_period(period), load_profile(),
                             Filer(rate=Decimal("7.2672")))  # fmt: skip
        for each in release.figures:
            for name in (each.line, each.parent):
                same = labels.of(name) == name
                assert not same or not name or TOLD_IN_SENTENCES.fullmatch(name), name
        own = load_wording(language, {})["metrics"]
        assert set(release.business_highlights.definitions()) == set(own)


def numbers(page: str) -> list[str]:
    """Every figure of a page in order, without separators."""
    shown = re.findall(r'<(?:td|b) id="[^"]*" title="[^"]*"[^>]*>(.*?)</(?:td|b)>', page)
    return [re.sub(r"\D", "", unescape(text)) for text in shown]


def test_a_german_page_has_the_same_figures(closed_book: Path, tmp_path: Path) -> None:
    filer = parse_filer("name: Beispiel AG\nlanguage: de\ntranslation: {rate: 7.2672}")
    english = parse_filer("name: Example plc\ntranslation: {rate: 7.2672}")
    pages, tables = [], []
    for who, name in ((filer, "de"), (english, "en")):
        release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                             who)  # fmt: skip
        files = publish(release, tmp_path / name, FORMATS, writers=RELEASE_WRITERS)
        pages.append(files["html"].read_text(encoding="utf-8"))
        rows = table_rows(files["csv"])
        tables.append([(row["statement"], row["period_or_date"], row["value"]) for row in rows])
    assert tables[0] == tables[1]
    assert numbers(pages[0]) == numbers(pages[1])
    assert len(numbers(pages[0])) == len(tables[0])
    assert "Konzernbilanz" in pages[0]
    assert "ein Jahr zuvor (4. Quartal 2023)" in pages[0]
    assert 'lang="de"' in pages[0]


@pytest.mark.parametrize("document", ["000", "002", "003", "004"])
def test_real_filings_are_told_whole(shared: Path, tmp_path: Path, document: str) -> None:
    """Every figure of a filing stands on its page, once, under its address."""
    source = shared / "filings" / f"{document}.csv"
    files = publish_table(source, load_profile(), Filer(name="Example"), tmp_path,
                          ["html", "pdf"], writers=RELEASE_WRITERS)  # fmt: skip
    page = files["html"].read_text(encoding="utf-8")
    rows = table_rows(files["csv"])
    for row in rows:
        address = row["address"].replace("&", "&amp;").replace("'", "&#39;")
        assert page.count(f'id="{address}"') == 1, address
    if document == "002":
        plain = re.sub(r"<[^>]+>", "", page)
        assert "up 12.2% from 220.6 million on June 30, 2023" in plain
        assert ("Net income came to RMB1,376.5 million (US$189.4 million), against RMB1,093.4 "
                "million a year earlier (Q2 2023) and RMB1,160.1 million in the period before "
                "(Q1 2024).") in plain  # fmt: skip
        assert "between RMB1.55 billion and RMB1.65 billion, which is 31% to 40%" in plain


def test_a_chinese_page_has_the_same_figures_and_no_english_sentence(
    closed_book: Path, tmp_path: Path
) -> None:
    pages = []
    for language in ("zh", "en"):
        filer = parse_filer(
            f"name: X\nlanguage: {language}\nplace: Y\ntranslation: {{rate: 7.2672}}"
        )
        release = release_of(Book.open(closed_book), parse_close_period("2024Q4"), load_profile(),
                             filer)  # fmt: skip
        files = publish(release, tmp_path / language, ["html"], writers=RELEASE_WRITERS)
        pages.append(files["html"].read_text(encoding="utf-8"))
    chinese, english = pages
    cells = [re.findall(r'<td id="([^"]*)" title="[^"]*">([^<]*)</td>', page) for page in pages]
    assert len(cells[0]) > 500
    assert cells[0] == cells[1]
    assert 'lang="zh"' in chinese
    assert "未经审计简明合并资产负债表" in chinese
    prose = re.sub(r"<(style|svg|title).*?</\1>|<[^>]+>", " ", chinese, flags=re.DOTALL)
    words = set(re.findall(r"[a-z]{4,}", unescape(prose)))
    assert words <= {"pocket"}, words
    assert len(re.findall(r"<section", chinese)) == len(re.findall(r"<section", english))
