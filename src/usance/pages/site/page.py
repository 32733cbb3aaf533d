"""One page of the site: its template, its place in the navigation; links are named from the root.

Inside a page a link is written `/loans.html`. When the page is written it becomes relative, so
that the site works from any folder, with or without a server.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from markupsafe import Markup

from usance.pages.charts import Figure
from usance.pages.rendering import render

NAVIGATION = (
    ("Overview", "/index.html"),
    ("Release", "/release.html"),
    ("Statements", "/statements.html"),
    ("IFRS", "/ifrs.html"),
    ("Accounts", "/accounts.html"),
    ("Metrics", "/metrics.html"),
    ("Risk", "/risk.html"),
    ("Matching", "/matching.html"),
    ("Loans", "/loans.html"),
    ("Close", "/close.html"),
    ("Book", "/book.html"),
)


class Part(NamedTuple):
    """A part of a page of sections: a table, a chart or text under its title."""

    title: str
    content: Markup | Figure | str
    anchor: str = ""
    note: str = ""


@dataclass(frozen=True)
class Page:
    """A page under its path from the root, such as `loans/ln_00000000G01.html`."""

    path: str
    title: str
    template: str
    """Its file in `templates/site`, without the ending."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values its template takes."""
    crumbs: tuple[tuple[str, str], ...] = ()
    """The pages above it: text and path from the root."""
    lead: str = ""

    @classmethod
    def without(cls, path: str, title: str, text: str) -> Page:
        """A page of something the book does not have."""
        return cls(path, title, "page", {"text": text})

    @property
    def section(self) -> str:
        """The entry of the navigation it belongs to."""
        return self.crumbs[0][1] if self.crumbs else f"/{self.path}"

    def text(self, site: str) -> str:
        """The whole file; `site` is the name of the lender."""
        page = render(
            f"site/{self.template}.html.j2", site=site, navigation=NAVIGATION, title=self.title,
            section=self.section, crumbs=self.crumbs, lead=self.lead, **self.values,
        )  # fmt: skip
        up = "../" * self.path.count("/")
        # Text never holds this: quotation marks in it are escaped.
        return page.replace('href="/', f'href="{up}')
