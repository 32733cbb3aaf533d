"""One page of the site: its head, its way back, its content; links are named from the root.

Inside a page a link is written `/loans.html`. When the page is written it becomes relative, so
that the site works from any folder, with or without a server.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from usance.pages.markup import Html, joined, link, tag

STYLE = Path(__file__).parents[1] / "style.css"
NAV = (
    ("Overview", "/index.html"),
    ("Release", "/release.html"),
    ("Statements", "/statements.html"),
    ("IFRS", "/ifrs.html"),
    ("Accounts", "/accounts.html"),
    ("Metrics", "/metrics.html"),
    ("Matching", "/matching.html"),
    ("Loans", "/loans.html"),
    ("Book", "/book.html"),
)


@dataclass(frozen=True)
class Page:
    """A page under its path from the root, such as `loans/ln_00000000G01.html`."""

    path: str
    title: str
    body: Html
    crumbs: tuple[tuple[str, str], ...] = ()
    """The pages above it: text and path from the root."""
    lead: str = ""

    @property
    def section(self) -> str:
        """The entry of the navigation it belongs to."""
        return self.crumbs[0][1] if self.crumbs else f"/{self.path}"

    def text(self, site: str) -> str:
        """The whole file; `site` is the name of the lender."""
        nav = joined(
            (link(name, to, aria_current="page" if to == self.section else None)
             for name, to in NAV), "\n",
        )  # fmt: skip
        head = tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", f"{self.title} · {site}"),
            tag("link", rel="stylesheet", href="/style.css"),
        )
        body = tag(
            "body",
            tag("header", link(site, "/index.html", class_="name"), tag("nav", nav), class_="site"),
            self._crumbs(),
            tag("main", tag("h1", self.title), self._lead(), self.body),
            tag("footer", f"{site}. Every figure on these pages comes from one book."),
        )
        page = f'<!DOCTYPE html>\n<html lang="en">{head}{body}</html>\n'
        up = "../" * self.path.count("/")
        # Text never holds this: quotation marks in it are escaped.
        return page.replace('href="/', f'href="{up}')

    def _crumbs(self) -> Html | None:
        if not self.crumbs:
            return None
        links = joined(link(text, to) for text, to in self.crumbs)
        return tag("p", links, class_="crumbs")

    def _lead(self) -> Html | None:
        return tag("p", self.lead, class_="lead") if self.lead else None


def missing(text: str) -> Html:
    """A part that a book does not have, said plainly."""
    return tag("p", text, class_="missing")
