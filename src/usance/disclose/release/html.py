"""The page as one HTML file: no network, good on paper, an address on every figure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from usance.disclose.release.pages import Page, Row, Section, Sheet, shown

STYLE = Path(__file__).resolve().parents[1] / "data" / "release.css"


def html_of(page: Page) -> str:
    """The whole file."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield "<!doctype html>"
    yield f'<html lang="{escape(page.language)}"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(page.headline)}</title>"
    yield f"<style>\n{STYLE.read_text(encoding='utf-8')}</style></head><body>"
    yield f"<h1>{escape(page.headline)}</h1>"
    for text in page.opening:
        yield f'<p class="opening">{escape(text)}</p>'
    links = (f'<a href="#{each.name}">{escape(each.title)}</a>' for each in page.sheets)
    yield f"<nav>{' '.join(links)}</nav>"
    for section in page.sections:
        yield from _section(section)
    for sheet in page.sheets:
        yield from _table(page, sheet)
    if page.footnotes:
        yield f"<h2>{escape(page.footnotes_title)}</h2>"
        yield '<ol class="notes">'
        for place, note in enumerate(page.footnotes, start=1):
            yield f'<li id="note-{place}">{escape(note)}</li>'
        yield "</ol>"
    yield "</body></html>"


def _section(section: Section) -> Iterator[str]:
    yield f"<h2>{escape(section.title)}</h2>"
    yield "<ul>"
    for sentence, notes in section.sentences:
        marks = "".join(f'<sup><a href="#note-{n}">{n}</a></sup>' for n in notes)
        yield f"<li>{escape(sentence)}{marks}</li>"
    yield "</ul>"


def _table(page: Page, sheet: Sheet) -> Iterator[str]:
    yield f'<h2 id="{escape(sheet.name)}">{escape(sheet.title)}</h2>'
    yield '<div class="wide"><table><thead>'
    for level in range(max(map(len, sheet.headings), default=0)):
        parts = (heading[level] if level < len(heading) else "" for heading in sheet.headings)
        yield "<tr><th></th>" + "".join(f"<th>{escape(part)}</th>" for part in parts) + "</tr>"
    yield "</thead><tbody>"
    above = ""
    lines = {row.line for row in sheet.rows}
    for row in sheet.rows:
        if row.parent and row.parent not in lines and row.parent != above:
            width, name = len(sheet.columns) + 1, escape(row.parent)
            yield f'<tr class="heading"><td colspan="{width}">{name}</td></tr>'
        above = row.parent
        yield _row(page, sheet, row)
    yield "</tbody></table></div>"


def _row(page: Page, sheet: Sheet, row: Row) -> str:
    cells = [f'<td class="d{row.depth}">{escape(row.line)}</td>']
    for column in sheet.columns:
        fact = row.cells.get(column)
        if fact is None:
            cells.append("<td></td>")
        else:
            address = escape(page.address[fact], quote=True)
            cells.append(f'<td id="{address}" title="{address}">{escape(shown(fact))}</td>')
    kind = ' class="total"' if row.is_total else ""
    return f"<tr{kind}>{''.join(cells)}</tr>"
