"""Rules that every page keeps: well-formed, no script, nothing from elsewhere."""

from __future__ import annotations

import re
from xml.etree import ElementTree

START = "<!DOCTYPE html>"


def parsed(page: str) -> ElementTree.Element:
    """A page as XML, which fails on anything that is not well-formed."""
    assert page.startswith(START)
    assert not re.search(r"https?:|<script|@import|url\(", page)
    tree = ElementTree.fromstring(page.removeprefix(START))
    attributes = {name for each in tree.iter() for name in each.attrib}
    # A page of the console may hold neither under its content security policy.
    assert not [name for name in attributes if name in ("style", "src") or name.startswith("on")]
    names = [each.attrib["id"] for each in tree.iter() if "id" in each.attrib]
    assert len(names) == len(set(names))
    return tree


def words(page: str) -> str:
    """The text of a page."""
    return " ".join("".join(parsed(page).itertext()).split())
