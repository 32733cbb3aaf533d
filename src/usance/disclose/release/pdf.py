"""The page as PDF, set by typst from the same layout; the file carries no clock."""

from __future__ import annotations

from collections.abc import Iterator

from usance.disclose.release.pages import Page, Row, Sheet, shown

_HEAD = """\
#set document(title: {title}, date: none)
#set page(paper: "a4", flipped: {flipped}, margin: 16mm, numbering: "1")
#set text(size: 9pt, lang: {language})
#set par(justify: false)
#show heading: it => block(above: 1.4em, below: .7em, text(fill: rgb("#0b5c6b"), it.body))
#show table.cell.where(y: 0): strong
"""


def pdf_of(page: Page) -> bytes:
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
    wide = max((len(sheet.columns) for sheet in page.sheets), default=0) > 6
    yield _HEAD.format(
        title=quoted(page.headline), flipped=str(wide).lower(), language=quoted(page.language)
    )
    yield f"#heading(level: 1, {quoted(page.headline)})"
    for text in page.opening:
        yield f"#text(fill: gray, {quoted(text)})\n"
    for section in page.sections:
        yield f"#heading(level: 2, {quoted(section.title)})"
        items = (
            f"[#{quoted(sentence)}#super({quoted(','.join(map(str, notes)))})]"
            for sentence, notes in section.sentences
        )
        yield f"#list({', '.join(items)})"
    for sheet in page.sheets:
        yield from _table(sheet)
    if page.footnotes:
        yield f"#heading(level: 2, {quoted(page.footnotes_title)})"
        yield f"#enum({', '.join(f'[#{quoted(note)}]' for note in page.footnotes)})"


def _table(sheet: Sheet) -> Iterator[str]:
    size = 6 if len(sheet.columns) > 6 else 8
    yield f"#heading(level: 2, {quoted(sheet.title)})"
    columns = ", ".join(["4fr", *["1fr"] * len(sheet.columns)])
    yield f"#text(size: {size}pt, table(columns: ({columns}), stroke: none,"
    yield "inset: (x: 3pt, y: 2pt),"
    yield "align: (x, y) => if x == 0 { left } else { right },"
    headings = [" ".join(heading) for heading in sheet.headings]
    yield f"table.header({', '.join(quoted(each) for each in ['', *headings])}), table.hline(),"
    above, lines = "", {row.line for row in sheet.rows}
    for row in sheet.rows:
        if row.parent and row.parent not in lines and row.parent != above:
            yield f"table.cell(colspan: {len(sheet.columns) + 1}, emph({quoted(row.parent)})),"
        above = row.parent
        yield _row(sheet, row)
    yield "))"


def _row(sheet: Sheet, row: Row) -> str:
    facts = (row.cells.get(column) for column in sheet.columns)
    texts = [shown(fact) if fact else "" for fact in facts]
    # Set in by a no-break space a level: typst drops ordinary ones.
    cells = [quoted("\u2003" * row.depth + row.line), *map(quoted, texts)]
    if row.is_total:
        cells = [f"strong({cell})" for cell in cells]
    return f"{', '.join(cells)},"
