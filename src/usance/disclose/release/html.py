"""The page as one HTML file: no network, good on paper, an address on every figure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from usance.disclose.facts import Fact
from usance.disclose.release.page import Page, Row, Section, Sheet
from usance.disclose.release.sentences import MARKED, Sentence

STYLE = Path(__file__).resolve().parents[1] / "data" / "release.css"
_NAMESPACES = re.compile(r' xmlns(:\w+)?="[^"]*"')


def html_of(page: Page) -> str:
    """The whole file."""
    return "\n".join(_Writer(page).lines()) + "\n"


class _Writer:
    """Lines of one page; an address is an anchor where it stands first."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._anchored: set[Fact] = set()

    def lines(self) -> Iterator[str]:
        page = self.page
        yield "<!doctype html>"
        yield f'<html lang="{escape(page.language)}"><head><meta charset="utf-8">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield f"<title>{escape(page.headline)}</title>"
        yield f"<style>\n{STYLE.read_text(encoding='utf-8')}</style></head><body>"
        yield f"<header><h1>{escape(page.headline)}</h1>"
        for text in page.opening:
            yield f'<p class="opening">{escape(text)}</p>'
        yield "</header>"
        yield from self._contents()
        yield "<main>"
        for section in page.sections:
            yield from self._section(section)
        for sheet in page.sheets:
            yield from self._table(sheet)
        yield from self._footnotes()
        yield "</main></body></html>"

    def _contents(self) -> Iterator[str]:
        parts = [(each.name, each.title) for each in self.page.sections]
        parts += [(each.name, each.title) for each in self.page.sheets]
        if len(parts) < 2:
            return
        links = (f'<a href="#{escape(name)}">{escape(title)}</a>' for name, title in parts)
        yield f'<nav aria-label="{escape(self.page.texts["contents"])}">{" ".join(links)}</nav>'

    def _section(self, section: Section) -> Iterator[str]:
        yield f'<section class="{escape(section.name)}">'
        yield f'<h2 id="{escape(section.name)}">{escape(section.title)}</h2>'
        yield "<ul>"
        for sentence in section.sentences:
            marks = "".join(f'<sup><a href="#note-{n}">{n}</a></sup>' for n in sentence.notes)
            yield f'<li class="d{sentence.depth}">{self._marked(sentence)}{marks}</li>'
        yield "</ul></section>"

    def _marked(self, sentence: Sentence) -> str:
        def anchor(found: re.Match[str]) -> str:
            return f"<b{self._anchor(self.page.quoted[int(found[1])])}>{found[2]}</b>"

        return MARKED.sub(anchor, escape(sentence.text))

    def _anchor(self, fact: Fact) -> str:
        address = escape(self.page.address[fact], quote=True)
        if fact in self._anchored:
            return f' title="{address}"'
        self._anchored.add(fact)
        return f' id="{address}" title="{address}"'

    def _table(self, sheet: Sheet) -> Iterator[str]:
        wide = " many" if len(sheet.columns) > 6 else ""
        yield f'<section class="table{wide}">'
        if sheet.title:
            yield f'<h2 id="{escape(sheet.name)}">{escape(sheet.title)}</h2>'
        if sheet.chart:
            # Inside a page a drawing needs no namespace, which would read as an address.
            yield f"<figure>{_NAMESPACES.sub('', sheet.chart)}</figure>"
        yield '<div class="wide"><table><thead>'
        for level in range(max(map(len, sheet.headings), default=0)):
            parts = (heading[level] if level < len(heading) else "" for heading in sheet.headings)
            yield "<tr><th></th>" + "".join(f"<th>{escape(part)}</th>" for part in parts) + "</tr>"
        yield "</thead><tbody>"
        above, lines = "", sheet.labels
        for row in sheet.rows:
            if row.parent and row.parent not in lines and row.parent != above:
                width, name = len(sheet.columns) + 1, escape(row.parent)
                yield f'<tr class="heading"><td colspan="{width}">{name}</td></tr>'
            above = row.parent
            yield self._row(sheet, row)
        yield "</tbody></table></div></section>"

    def _row(self, sheet: Sheet, row: Row) -> str:
        cells = [f'<td class="d{row.depth}">{escape(row.line)}</td>']
        for column in sheet.columns:
            fact = row.cells.get(column)
            if fact is None:
                cells.append("<td></td>")
            else:
                kind = ' class="words"' if sheet.is_form or not fact.is_number else ""
                shown = escape(self.page.shown(fact))
                cells.append(f"<td{self._anchor(fact)}{kind}>{shown}</td>")
        total = ' class="total"' if row.is_total else ""
        return f"<tr{total}>{''.join(cells)}</tr>"

    def _footnotes(self) -> Iterator[str]:
        if not self.page.footnotes:
            return
        yield f"<section><h2>{escape(self.page.texts['footnotes_title'])}</h2>"
        yield '<ol class="notes">'
        for place, note in enumerate(self.page.footnotes, start=1):
            yield f'<li id="note-{place}">{escape(note)}</li>'
        yield "</ol></section>"
