"""Documents: every kind in every language, the same bytes always, and no code from values."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import InputError
from usance.base.money import Money
from usance.base.rates import Rate
from usance.service.documents.letter_values import LANGUAGES, Value
from usance.service.documents.letters import (
    FOLDER,
    DocumentKind,
    check_template,
    kinds,
    source_of,
    template_of,
    write_letter,
)
from usance.service.errors import TemplateError

EXAMPLES: dict[str, Value] = {
    "text": "李华 & Söhne #1 *", "count": 12, "year": 2024, "day": date(2024, 6, 30),
    "money": Money(1_234_567_89, "CNY"), "rate": Rate(182_500),
}  # fmt: skip


def example(kind: DocumentKind) -> tuple[dict[str, Value], dict[str, list[dict[str, Value]]]]:
    form = kinds()[kind.value]
    values = {name: EXAMPLES[what] for name, what in form["values"].items()}
    tables = {
        name: [{column: EXAMPLES[what] for column, what in columns.items()}] * 2
        for name, columns in form.get("tables", {}).items()
    }
    return values, tables


def test_every_document_has_its_template_in_every_language_and_no_other_is_there() -> None:
    for language in LANGUAGES:
        there = {path.stem for path in (FOLDER / "templates" / language).glob("*.typ")}
        assert there == {kind.value for kind in DocumentKind} == set(kinds())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("kind", DocumentKind)
def test_a_document_is_the_same_to_the_byte(kind: DocumentKind, language: str) -> None:
    values, tables = example(kind)
    one, other = (write_letter(kind, language, values, tables) for _ in range(2))
    assert one == other
    assert one.pdf.startswith(b"%PDF-")
    assert one.template_sha256 != one.sha256
    changed = dict(values)
    changed["lender"] = "Another lender"
    assert write_letter(kind, language, changed, tables).sha256 != one.sha256


@given(st.text(max_size=30))
def test_no_value_is_read_as_markup_or_code(text: str) -> None:
    values = example(DocumentKind.SETTLEMENT_LETTER)[0] | {"borrower": text}
    source = source_of("settlement_letter", "en", values)
    plain = source_of("settlement_letter", "en", values | {"borrower": "x"})
    # Only the string differs: its ends cannot be left from inside.
    head, _, tail = plain.partition('Dear #"x";')
    assert source.startswith(f'{head}Dear #"')
    assert source.endswith(f'";{tail}')
    inside = source[len(f'{head}Dear #"') : -len(f'";{tail}')]
    assert '"' not in inside.replace("\\\\", "").replace('\\"', "")


@pytest.mark.parametrize("text", ["Li \\", 'Li "', "*Li*", "= Li", "#panic()", "\\u{41}", "$x$"])
def test_values_that_look_like_code_are_set_as_they_are(text: str) -> None:
    values = example(DocumentKind.SETTLEMENT_LETTER)[0] | {"borrower": text}
    assert write_letter(DocumentKind.SETTLEMENT_LETTER, "en", values).pdf


FORM = {"values": {"name": "text"}}


@pytest.mark.parametrize(
    "template",
    ["{{name}} #panic()", "{{name}} $x$", "{{name}} @ref", "{{name}} \\u", "{{name}} {{other}}",
     "no value", "{{name}} {{Name}}", "{{name}} `raw`", "{{table name: A}} {{name}}"],
)  # fmt: skip
def test_a_template_with_code_or_other_values_is_refused(template: str) -> None:
    with pytest.raises(TemplateError):
        check_template(template, FORM, "x.typ")


@pytest.mark.parametrize(
    "change",
    [{"lender": None}, {"lender": 1}, {"paid": 5}, {"settled_on": "2024-06-30"}, {"more": "x"}],
)
def test_values_that_do_not_fit_are_refused(change: dict[str, Value]) -> None:
    values = example(DocumentKind.SETTLEMENT_LETTER)[0] | change
    with pytest.raises(TemplateError):
        source_of("settlement_letter", "en", values)


def test_unknown_documents_languages_and_tables_are_refused() -> None:
    values, tables = example(DocumentKind.RECEIPT)
    with pytest.raises(TemplateError):
        source_of("receipt", "en", values)
    with pytest.raises(TemplateError):
        source_of("receipt", "en", values, {**tables, "more": []})
    with pytest.raises(TemplateError):
        source_of("receipt", "en", values, {"allocation": [{"component": "x"}]})
    with pytest.raises(InputError):
        template_of("receipt", "fr")
    with pytest.raises(InputError):
        template_of("letter", "en")


def test_the_font_is_shipped() -> None:
    assert (Path(FOLDER) / "fonts" / "DroidSansFallbackFull.ttf").is_file()
