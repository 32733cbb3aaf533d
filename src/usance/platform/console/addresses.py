"""The screen that an address of the console belongs to, and links that lead to none of one's own.

>>> screen_of_address("/console/books/lines/operations-net-income.html#x")
'statements'
>>> only_own('<a href="/console/loans/ln_1">ln_1</a>', frozenset({"money"}))
'<span>ln_1</span>'
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet

HISTORY = "history/"
"""Beginning of the addresses of the loaded history, where live data was closed after it."""
BOOK_SCREENS = {
    "index.html": "overview", "statements.html": "statements", "ifrs.html": "statements",
    "accounts.html": "statements", "release.html": "statements", "lines": "statements",
    "accounts": "statements", "journals": "statements", "release": "statements",
    "metrics.html": "risk", "risk.html": "risk", "metrics": "risk",
    "matching.html": "matching", "book.html": "close", "close.html": "close",
    "loans.html": "loans", "loans": "loans",
}  # fmt: skip
"""The screen that each page, or folder of pages, of a closed book belongs to."""
OTHERS = {"journals": "loans"}
"""First parts of addresses that are not named after their screen."""
ID_PLACES = {
    "us_": ("borrowers", "/borrowers/{}"), "ln_": ("loans", "/loans/{}"),
    "de_": ("applications", "/applications/{}"), "jr_": ("loans", "/journals/{}"),
    "ap_": ("control", "/control/approvals/{}"), "jb_": ("developers", "/developers#{}"),
    "rq_": ("developers", "/developers/requests?request={}"),
    "ev_": ("developers", "/developers/events/{}"), "ca_": ("collections", "/collections/cases/{}"),
    "or_": ("money", "/money/orders/{}"), "un_": ("money", "/money/unallocated/{}"),
    "pm_": ("loans", "/search?q={}"),
}  # fmt: skip
"""The screen of each kind of id, and its address."""
_ID = re.compile(r"[a-z]{2}_[0-9A-Z]{11,16}")
_LINK = re.compile(r'<a\b([^>]*?)\s*href="(/console/[a-z]+[^"]*)"([^>]*)>(.*?)</a>', re.DOTALL)
_KEPT = re.compile(r'\bclass="[^"]*"')


def screen_of(path: str) -> str:
    """The screen of a page of a closed book.

    >>> screen_of("lines/operations-net-income.html"), screen_of("book.html")
    ('statements', 'close')
    """
    return BOOK_SCREENS.get(path, BOOK_SCREENS.get(path.partition("/")[0], ""))


def screen_of_address(address: str) -> str:
    """The screen that an address belongs to; nothing if it is not of one alone."""
    first, _, rest = re.split(r"[?#]", address)[0].removeprefix("/console/").partition("/")
    return screen_of(rest.removeprefix(HISTORY)) if first == "books" else OTHERS.get(first, first)


def address_of_id(value: object, screens: AbstractSet[str]) -> str:
    """The address of an id's record, where it has one that is among some screens.

    >>> address_of_id("ln_00000000G01", {"loans"}), address_of_id("ln_00000000G01", {"money"})
    ('/console/loans/ln_00000000G01', '')
    """
    if not isinstance(value, str) or not _ID.fullmatch(value):
        return ""
    screen, path = ID_PLACES.get(value[:3], ("", ""))
    return f"/console{path.format(value)}" if screen in screens else ""


def only_own(content: str, screens: AbstractSet[str]) -> str:
    """A page without the links that would be refused; their texts stay."""
    known = {*BOOK_SCREENS.values(), "applications", "borrowers", "money", "collections",
             "funding", "control", "developers"}  # fmt: skip

    def shown(link: re.Match[str]) -> str:
        if (screen := screen_of_address(link[2])) not in known or screen in screens:
            return link[0]
        kept = _KEPT.search(link[1] + link[3])
        return f"<span{' ' + kept[0] if kept else ''}>{link[4]}</span>"

    return _LINK.sub(shown, content)
