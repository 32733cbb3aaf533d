"""Release to be read: one HTML file with an address on every figure, and a PDF.

Neither needs a network or carries a clock; typst sets the PDF from the same layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

from usance.disclose.facts import Fact
from usance.disclose.release.layout import Page, Row, Section, Sheet
from usance.disclose.release.publication import Writer
from usance.disclose.release.sentences import MARKED, Sentence
from usance.disclose.release.wording import fill_template
from usance.pages.charts import Figure, lines
from usance.pages.rendering import render

WIDE = 6
"""Columns from which on a table is set across the page."""
_HEAD = """\
#set document(title: {title}, date: none)
#set page(paper: "a4", margin: (x: 17mm, top: 18mm, bottom: 20mm), footer: context {{
  set text(size: 7.5pt, fill: rgb("#667085"))
  let (now, last) = (counter(page).get().first(), counter(page).final().first())
  grid(columns: (1fr, auto), {title}, {page})
}})
#set text(font: ("Libertinus Serif", "New Computer Modern"), size: 9.5pt, lang: {language},
  fill: rgb("#1b2330"))
#set par(justify: false, leading: 0.6em)
#set list(indent: 0pt, body-indent: 6pt, spacing: 0.75em, marker: text(fill: mark)[•])
#set enum(spacing: 0.6em)
#show heading.where(level: 1): it => block(below: 1em,
  text(size: 19pt, weight: "bold", fill: mark, it.body))
#show heading.where(level: 2): it => block(above: 1.7em, below: 0.8em, breakable: false,
  width: 100%, stroke: (bottom: 1pt + mark), inset: (bottom: 4pt),
  text(size: 12pt, weight: "bold", fill: mark, it.body))
#show table.cell.where(y: 0): set text(weight: "bold", fill: rgb("#475467"))
"""


def release_html(page: Page) -> bytes:
    """The whole file."""
    parts = [(each.name, each.title) for each in page.sections]
    parts += [(each.name, each.title) for each in page.sheets]
    parts += [(each.name, each.title) for each in page.after]
    anchors = _Anchors(page)
    return render(
        "reports/release.html.j2", title=page.headline, page=page, parts=parts,
        anchor=anchors.attributes, marked=anchors.marked, chart=vintage_chart,
    ).encode()  # fmt: skip


def vintage_chart(sheet: Sheet, texts: Mapping[str, Any]) -> Figure | None:
    """The curves of a table by month on book, in the words and digits of its language."""
    words, point = texts["chart"], texts["numbers"]["point"]
    return lines(
        sheet.curves, format_y=lambda y: f"{100 * y:.1f}%".replace(".", point),
        format_x=lambda x: f"{x:.0f}", dots=True, caption=words["of"],
        note=f"{words['along']}, {words['by']}",
    )  # fmt: skip


class _Anchors:
    """Addresses of figures; one is an anchor where it stands first."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._seen: set[Fact] = set()

    def attributes(self, fact: Fact) -> Markup:
        address = self.page.address[fact]
        if fact in self._seen:
            return Markup(' title="{}"').format(address)
        self._seen.add(fact)
        return Markup(' id="{}" title="{}"').format(address, address)

    def marked(self, sentence: Sentence) -> Markup:
        def figure(found: re.Match[str]) -> str:
            return f"<b{self.attributes(self.page.quoted[int(found[1])])}>{found[2]}</b>"

        text = str(escape(sentence.text))
        return Markup(MARKED.sub(figure, text))  # noqa: S704 -- escaped above


def release_pdf(page: Page) -> bytes:
    """The whole file."""
    import typst

    made: bytes = typst.compile(source_of(page).encode())
    return made


def source_of(page: Page) -> str:
    """The page in typst's language; every word of it is quoted, so none can be read as code."""
    return "\n".join(_lines(page)) + "\n"


def quoted(text: str) -> str:
    r"""A string of typst.

    >>> quoted('say "so"')
    '"say \\"so\\""'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def _lines(page: Page) -> Iterator[str]:
    yield '#let mark = rgb("#0b5c6b")'
    yield _HEAD.format(
        title=quoted(page.headline), language=quoted(page.language), page=_page_number(page)
    )
    yield f"#heading(level: 1, {quoted(page.headline)})"
    for text in page.opening:
        yield f'#text(fill: rgb("#667085"), {quoted(text)})\n'
    for section in page.sections:
        yield from _section(section)
    for sheet in page.sheets:
        yield from _table(page, sheet)
    for section in page.after:
        yield from _section(section)
    if page.footnotes:
        yield f"#heading(level: 2, {quoted(page.texts['footnotes_title'])})"
        notes = ", ".join(f"[#{quoted(note)}]" for note in page.footnotes)
        yield f'#text(size: 8pt, fill: rgb("#475467"), enum({notes}))'


def _section(section: Section) -> Iterator[str]:
    if section.title:
        yield f"#heading(level: 2, {quoted(section.title)})"
    for sentence in section.sentences:
        if section.is_prose:
            yield f"#par[#{quoted(sentence.plain)}]"
            continue
        marks = f"#super({quoted(','.join(map(str, sentence.notes)))})"
        item = f"#list([#{quoted(sentence.plain)}{marks if sentence.notes else ''}])"
        yield f"#pad(left: {sentence.depth * 12}pt)[{item}]"


def _page_number(page: Page) -> str:
    """The template of a page's number as an expression of typst."""
    marks = {"number": "\ue000", "count": "\ue001"}
    text = quoted(fill_template(page.texts["page"], "texts.page", **marks))
    return text.replace("\ue000", '" + str(now) + "').replace("\ue001", '" + str(last) + "')


def _table(page: Page, sheet: Sheet) -> Iterator[str]:
    is_wide = len(sheet.columns) > WIDE
    yield "#page(flipped: true)[" if is_wide else "#block(width: 100%)["
    if sheet.title:
        yield f"#heading(level: 2, {quoted(sheet.title)})"
    if sheet.note:
        yield f'#text(size: 7.5pt, fill: rgb("#667085"), {quoted(sheet.note)})'
    if chart := vintage_chart(sheet, page.texts):
        width = "62%" if is_wide else "100%"
        yield f'#image(bytes({quoted(chart.file())}), format: "svg", width: {width})'
    first = "2fr" if sheet.is_form else "auto" if is_wide else "4fr"
    columns = ", ".join([first, *["3fr" if sheet.is_form else "1fr"] * len(sheet.columns)])
    yield f"#text(size: {6.5 if is_wide else 8}pt, table(columns: ({columns}), stroke: none,"
    yield "inset: (x: 3pt, y: 2.4pt),"
    yield 'fill: (x, y) => if y > 0 and calc.even(y) { rgb("#f5f7f9") },'
    side = "left" if sheet.is_form else "right"
    yield f"align: (x, y) => if x == 0 {{ left }} else {{ {side} }},"
    if any(sheet.headings):
        headings = ", ".join(_stacked(heading) for heading in ((), *sheet.headings))
        yield f"table.header({headings}), table.hline(stroke: 0.7pt),"
    for heading, row in sheet.headed_rows():
        if heading:
            span = len(sheet.columns) + 1
            yield f"table.cell(colspan: {span}, inset: (top: 7pt), emph({quoted(heading)})),"
        yield _row(page, sheet, row)
    yield "))]"


def _row(page: Page, sheet: Sheet, row: Row) -> str:
    facts = (row.cells.get(column) for column in sheet.columns)
    cells = [quoted(row.line), *(quoted(page.formatted(fact) if fact else "") for fact in facts)]
    if row.is_total:
        cells = [f"strong({cell})" for cell in cells]
    cells[0] = f"pad(left: {row.depth * 8}pt, {cells[0]})"
    return f"{', '.join(cells)},"


def _stacked(heading: Sequence[str]) -> str:
    """The parts of a heading, one under the other."""
    new_line = " \\ "
    return f"[{new_line.join(f'#{quoted(part)}' for part in heading)}]"


RELEASE_WRITERS: Mapping[str, Writer] = {"html": release_html, "pdf": release_pdf}
"""Forms of a release that are made to be read, for `usance.disclose` to write."""
