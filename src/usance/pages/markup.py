"""HTML that is escaped by construction and well-formed as XML.

Text becomes HTML only through `tag`; what is HTML already is not escaped again.

>>> tag("p", "1 < 2 & ", tag("a", "more", href="/x.html?a=1&b=2"))
'<p>1 &lt; 2 &amp; <a href="/x.html?a=1&amp;b=2">more</a></p>'
>>> tag("td", "7", class_="n", data_minor=700)
'<td class="n" data-minor="700">7</td>'
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

# What no XML document may hold, whatever a book says.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_EMPTY = frozenset({"meta", "link", "br", "hr", "line", "path", "rect", "circle"})


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, /, *content: str | int | None, **attributes: str | int | None) -> Html:
    """An element; a name such as `class_` or `data_minor` is written `class`, `data-minor`."""
    head = "".join(
        f' {key.strip("_").replace("_", "-")}="{_safe(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY and not content:
        return Html(f"<{name}{head}/>")
    return Html(f"<{name}{head}>{joined(content)}</{name}>")


def joined(parts: Iterable[str | int | None], between: str = "") -> Html:
    """Several pieces after one another; None is nothing."""
    return Html(between.join(_html(part) for part in parts if part is not None))


def link(text: str, to: str, **attributes: str | int | None) -> Html:
    """A link to a page, named from the root of the site: `/loans.html`."""
    return tag("a", text, href=to, **attributes)


def _html(part: str | int) -> str:
    return part if isinstance(part, Html) else _safe(str(part))


def _safe(text: str) -> str:
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)
