r"""Documents from templates: markup with the names of values, and no code.

A template is a text in typst's markup in which `{{name}}` stands for a value and `{{table name:
Heading, Heading}}` for a table. Values are set as strings, so none can be read as markup or code;
a template with a character that begins code is refused. Only fonts that are shipped are used, and
no clock: the same values give the same bytes, and their hash is kept with the fact.

>>> from datetime import date
>>> source = source_of(
...     "settlement_letter",
...     "en",
...     {
...         "lender": "Usance",
...         "borrower": 'Li "#panic()" Hua',
...         "loan": "ln_00000000G01",
...         "settled_on": date(2024, 6, 30),
...         "paid": Money(9_300_00, "CNY"),
...     },
... )
>>> [line for line in source.splitlines() if line.startswith("Dear")]
['Dear #"Li \\"#panic()\\" Hua";,']
>>> source_of("settlement_letter", "en", {"lender": "Usance"})
Traceback (most recent call last):
usance.service.errors.TemplateError: settlement_letter: lacks borrower, loan, paid, settled_on.
Give every value of the document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from usance.base.documents import read_document, read_text
from usance.base.errors import unknown
from usance.base.money import Money
from usance.service.documents.letter_values import LANGUAGES, TYPES, Value, grouped, show
from usance.service.errors import TemplateError

FOLDER = Path(__file__).parent
_PLACEHOLDER = re.compile(r"\{\{(table )?([a-z_]+)(?:: ([^}]*))?\}\}")
_CODE = re.compile(r"[#$@`<>\\]")
"""Characters that begin code, formulas, references and labels of typst."""
_HEAD = """#set document(title: {title}, date: none)
#set page(paper: "a4", margin: 25mm, numbering: "1 / 1")
#set text(font: ("Libertinus Serif", "Droid Sans Fallback"), size: 11pt, lang: {language})
#set par(justify: false, leading: 0.75em, spacing: 1.2em)
#show heading: set block(below: 1em)
"""
Table = Sequence[Mapping[str, Value]]


class DocumentKind(Enum):
    """The documents of the platform."""

    CONTRACT = "contract"
    SCHEDULE = "schedule"
    PRE_DUE_REMINDER = "pre_due_reminder"
    RECEIPT = "receipt"
    OVERDUE_NOTICE = "overdue_notice"
    SETTLEMENT_LETTER = "settlement_letter"
    ANNUAL_STATEMENT = "annual_statement"
    CLAIM_LETTER = "claim_letter"
    PLAN_LETTER = "plan_letter"
    PRE_LOAN_REPORT = "pre_loan_report"


class Letter(NamedTuple):
    """A finished document and the hashes that are kept with its fact."""

    pdf: bytes
    sha256: str
    template_sha256: str
    """Of the template: its version."""


def write_letter(
    kind: DocumentKind, language: str, values: Mapping[str, Value],
    tables: Mapping[str, Table] | None = None,
) -> Letter:  # fmt: skip
    """A document as PDF."""
    import typst

    source = source_of(kind.value, language, values, tables)
    fonts: Any = [FOLDER / "fonts"]
    pdf: bytes = typst.compile(source.encode(), font_paths=fonts, ignore_system_fonts=True)
    template = template_of(kind.value, language)
    return Letter(pdf, sha256(pdf).hexdigest(), sha256(template.encode()).hexdigest())


def source_of(
    kind: str, language: str, values: Mapping[str, Value],
    tables: Mapping[str, Table] | None = None,
) -> str:  # fmt: skip
    """The document in typst's language, every value a string."""
    form = kinds()[kind]
    given = tables or {}
    _check_names(kind, "values", form["values"], values)
    _check_names(kind, "tables", form.get("tables", {}), given)
    for name, value in values.items():
        _check_type(f"{kind}, {name}", form["values"][name], value)

    def filled(found: re.Match[str]) -> str:
        is_table, name, headings = found.groups()
        if is_table:
            columns = form["tables"][name]
            return _table(f"{kind}, {name}", columns, headings, given[name], language)
        return f"#{_quoted(show(values[name], language))};"

    template = template_of(kind, language)
    title = template.partition("\n")[0].removeprefix("= ")
    title = _PLACEHOLDER.sub(lambda found: show(values[found[2]], language), title)
    head = _HEAD.format(title=_quoted(title), language=_quoted(language))
    return head + _PLACEHOLDER.sub(filled, template)


@cache
def kinds() -> dict[str, Any]:
    """Values and tables of every document, by its name."""
    found: dict[str, Any] = read_document(FOLDER / "kinds.yaml")
    return found


def template_of(kind: str, language: str) -> str:
    """The text of a template; refused if it could hold code."""
    if kind not in kinds():
        raise unknown("document", kind, kinds())
    if language not in LANGUAGES:
        raise unknown("language", language, LANGUAGES)
    path = FOLDER / "templates" / language / f"{kind}.typ"
    template = read_text(path)
    check_template(template, kinds()[kind], f"{language}/{path.name}")
    return template


def check_template(template: str, form: Mapping[str, Any], where: str) -> None:
    """Refuse a template that holds code, or uses other values than its document has."""
    used = {(bool(table), name) for table, name, _ in _PLACEHOLDER.findall(template)}
    known = {(False, name) for name in form["values"]}
    known |= {(True, name) for name in form.get("tables", {})}
    if used != known:
        names = ", ".join(sorted(name for _, name in used ^ known))
        fix = "Use every value and table of the document once or more, and no other"
        raise TemplateError(f"differs from its document in {names}", where=where, fix=fix)
    rest = _PLACEHOLDER.sub("", template)
    code = _CODE.search(rest)
    if code or "{{" in rest or "}}" in rest:
        what = f"holds {code[0]!r}" if code else "has a placeholder that is none"
        fix = "Write words, headings and {{names}} alone"
        raise TemplateError(what, where=where, fix=fix)


def _table(
    where: str, columns: Mapping[str, str], headings: str, rows: Table, language: str
) -> str:
    titles = [each.strip() for each in (headings or "").split(",")]
    if len(titles) != len(columns):
        fix = f"Head the columns {', '.join(columns)}"
        raise TemplateError(f"has {len(titles)} headings", where=where, fix=fix)
    cells = [f"[*#{_quoted(title)};*]" for title in titles]
    for row in rows:
        _check_names(where, "columns", columns, row)
        for name, kind in columns.items():
            _check_type(f"{where}.{name}", kind, row[name])
            value = row[name]
            text = grouped(value) if isinstance(value, Money) else show(value, language)
            cells.append(f"[#{_quoted(text)};]")
    sides = ", ".join("left" if kind in ("text", "day") else "right" for kind in columns.values())
    return f"#table(columns: {len(columns)}, stroke: 0.4pt, align: ({sides},), {', '.join(cells)})"


def _check_names(where: str, what: str, known: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    if missing := sorted(known.keys() - given.keys()):
        fix = "Give every value of the document"
        raise TemplateError(f"lacks {', '.join(missing)}", where=where, fix=fix)
    if more := sorted(given.keys() - known.keys()):
        fix = f"Its {what}: {', '.join(known) or 'none'}"
        raise TemplateError(f"does not know {', '.join(more)}", where=where, fix=fix)


def _check_type(where: str, kind: str, value: object) -> None:
    if not isinstance(value, TYPES[kind]) or isinstance(value, bool):
        shown = type(value).__name__
        raise TemplateError(f"is a {shown}, not {kind}", where=where, fix=f"Give a {kind}")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'
