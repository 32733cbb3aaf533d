"""Components: whatever a text holds, it stays text, and a page stays well-formed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError
from markupsafe import Markup

from tests.pages.checks import parsed, words
from usance.pages.components import (
    Event,
    cell,
    code,
    definitions,
    missing,
    number,
    paragraph,
    section,
    table,
    table_row,
    text_table,
    time_line,
)
from usance.pages.rendering import render
from usance.pages.site.page import NAVIGATION, Page, Part

ATTACKS = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "' onmouseover='alert(1)",
    "</td></tr></table><h1>", "{{ 7 * 7 }}", "{% raw %}", "&lt;b&gt;", "<!--", "]]>",
    "\x00\x0b\ufffe",
)  # fmt: skip
TEXTS = st.one_of(st.sampled_from(ATTACKS), st.text(max_size=20))


def page_of(content: Markup) -> str:
    return Page("x.html", "Title", "sections", {"parts": [Part("Part", content)]}).text("Site")


def plain(text: str) -> str:
    """A text as a page may hold it: without what XML forbids, white space as one blank."""
    page = Page.without("x.html", "Title", text).text("Site")
    (kept,) = [each for each in parsed(page).iter("p") if each.get("class") == "missing"]
    return " ".join((kept.text or "").split())


@pytest.mark.parametrize("attack", ATTACKS)
def test_text_stays_text_in_every_component(attack: str) -> None:
    row = table_row([cell(attack), number(attack, to="/x.html", title=attack)], anchor="a")
    made = [
        table([attack, "n"], [section(attack), row], numbers=1, caption=attack),
        text_table(["a", "b"], [[attack, attack]]), definitions([(attack, attack)]),
        missing(attack), paragraph(attack), code(attack),
        time_line([Event("2024-01-01", attack, attack)]),
    ]  # fmt: skip
    for each in made:
        tree = parsed(page_of(each))
        assert not list(tree.iter("script"))
        assert not list(tree.iter("img"))
        assert plain(attack) in " ".join("".join(tree.itertext()).split())


@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=4))
def test_any_table_is_well_formed(rows: list[tuple[str, str]]) -> None:
    tree = parsed(page_of(text_table(["name", "value"], rows)))
    found = [["".join(each.itertext()) for each in row] for row in tree.iter("tr")][1:]
    assert len(found) == len(rows)
    assert [" ".join(line[0].split()) for line in found] == [plain(name) for name, _ in rows]


def test_a_table_knows_its_numbers_links_and_totals() -> None:
    cells = [cell("cash", to="/a.html", depth=1), number("7", minor=700)]
    made = table(
        ["account", "2024Q1"], [section("Assets"), table_row(cells, total=True)], numbers=1
    )
    tree = parsed(page_of(made))
    heads = [each.get("class") for each in tree.iter("th") if each.get("scope")]
    assert heads == [None, "n"]
    heading, *_ = [each for each in tree.iter("th") if each.get("colspan")]
    assert (heading.text, heading.get("colspan")) == ("Assets", "2")
    name, amount = tree.iter("td")
    assert (name.get("class"), name.find("a").get("href")) == ("in1", "a.html")  # type: ignore[union-attr]
    assert amount.attrib == {"class": "n", "data-minor": "700"}


def test_links_are_relative_to_the_page() -> None:
    deep = Page.without("loans/x.html", "A loan", "nothing")
    page = deep.text("Lender & Sons")
    targets = [each.attrib["href"] for each in parsed(page).iter("a")]
    assert targets == ["../index.html", *(f"..{to}" for _, to in NAVIGATION)]
    assert "A loan · Lender & Sons" in words(page)


def test_a_template_that_is_not_there_is_no_full_disk() -> None:
    with pytest.raises(LookupError, match="no template site/none"):
        render("site/none.html.j2")


def test_a_template_that_lacks_a_value_says_so() -> None:
    with pytest.raises(UndefinedError):
        render("site/overview.html.j2", title="x")
