"""Formulas outside the language are refused; those inside mean what Python means by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usance.base.errors import FormulaError
from usance.base.formula_text import formula_text
from usance.base.formula_types import Span, Truth, TypeRules, type_of
from usance.base.formulas import Plain, evaluate, names_in, parse_cell, parse_formula


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "1.5", "a / 2", "floor(a)", "floor(a + b / 2)", "floor(a / b)", "floor(a / 0)",
     "sum([a])", "min(a, b)", "a ? b", "(a", "a b", "'x", "a && b", "1 < 2 < 3"],
)  # fmt: skip
def test_formulas_outside_the_language_are_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_formula(text, "here")


@pytest.mark.parametrize(
    "text", ["(" * 5_000 + "1", "min([" * 99, "- " * 400 + "1", "not " * 99 + "a",
             "a > 1 ? 2 : " * 99 + "3", " + ".join(["a"] * 20_000)],
)  # fmt: skip
def test_a_formula_that_nobody_could_read_is_refused(text: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula(text, "here")
    assert len(str(caught.value)) < 500


def test_long_formulas_are_read() -> None:
    names: dict[str, Plain] = {"a": 2}
    assert evaluate(parse_formula(" + ".join(["a"] * 200)), names) == 400
    assert evaluate(parse_formula("min([" * 25 + "a" + "])" * 25), names) == 2


@pytest.mark.parametrize("text", ["a", "> b", "[1..", "[1, 2]", "1,", "in [1]", "> 1 or < 0"])
def test_cells_outside_the_language_are_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_cell(text, "here")


NUMBERS = st.recursive(
    st.sampled_from(["a", "b", "c.due"]) | st.integers(0, 9).map(str),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(
            lambda t: f"{t[0]}([{t[1]}, {t[2]}])"
        ),
        inner.map(lambda text: f"floor(({text}) / 7)"),
        st.tuples(inner, st.sampled_from(["<", "<=", "==", "!="]), inner, inner, inner).map(
            lambda t: f"(({t[0]}) {t[1]} ({t[2]}) ? ({t[3]}) : ({t[4]}))"
        ),
    ),
    max_leaves=8,
)
VALUES = st.integers(-50, 50)


def python_of(text: str) -> str:
    """The same formula as Python writes it, if it has no choice."""
    return text.replace("c.due", "c_due").replace("floor(", "(").replace("/ 7", "// 7")


@given(NUMBERS.filter(lambda text: "?" not in text), VALUES, VALUES, VALUES)
def test_a_formula_means_what_python_means(text: str, a: int, b: int, due: int) -> None:
    formula = parse_formula(text)
    names: dict[str, Plain] = {"a": a, "b": b, "c.due": due}
    expected = eval(python_of(text), {"a": a, "b": b, "c_due": due, "min": min, "max": max})
    assert evaluate(formula, names) == expected


@given(NUMBERS, VALUES, VALUES, VALUES)
def test_a_value_lies_in_the_span_of_its_formula(text: str, a: int, b: int, due: int) -> None:
    formula = parse_formula(text)
    scope = dict.fromkeys(("a", "b", "c.due"), Span(-50, 50))
    kind = type_of(formula, scope, "", TypeRules(limit=10**40))
    assert isinstance(kind, Span)
    assert kind.low <= evaluate(formula, {"a": a, "b": b, "c.due": due}) <= kind.high  # type: ignore[operator]
    assert set(names_in(formula)) <= set(scope)


TRUTHS = st.recursive(
    st.tuples(NUMBERS, st.sampled_from(["<", ">=", "!="]), NUMBERS).map(
        lambda t: f"({t[0]}) {t[1]} ({t[2]})"
    ),
    lambda inner: st.one_of(
        inner.map(lambda text: f"not ({text})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda t: f"({t[0]}) {t[1]} ({t[2]})"
        ),
        st.tuples(inner, inner, inner).map(lambda t: f"({t[0]}) ? ({t[1]}) : ({t[2]})"),
    ),
    max_leaves=4,
)


@given(NUMBERS | TRUTHS)
def test_the_text_of_a_formula_is_read_as_the_formula(text: str) -> None:
    formula = parse_formula(text)
    assert parse_formula(formula_text(formula)) == formula


def test_a_formula_is_written_with_no_bracket_too_many() -> None:
    for text in ("a - (b - 1) * 2",
                 "a < b ? -1 : a > 2 ? 3 : b", "floor((a + b) / 7) == max([a, b])",
                 "not (a < b and open) or grade == \"it's\"", "a or b or c and not d"):  # fmt: skip
        assert formula_text(parse_formula(text)) == text


def test_choices_and_truths() -> None:
    names: dict[str, Plain] = {"a": 3, "grade": "B", "open": True}
    assert evaluate(parse_formula("a > 2 ? a * 2 : 0"), names) == 6
    assert evaluate(parse_formula("grade == 'B' and not (a < 2 or open == false)"), names) is True
    scope = {"a": Span(0, 5)}
    assert type_of(parse_formula("a > 2"), scope, "") == Truth()


def test_the_limit_and_the_error_are_the_callers() -> None:
    formula, scope = parse_formula("a * a"), {"a": Span(0, 2**40)}
    assert type_of(formula, scope, "", TypeRules(limit=2**80)) == Span(0, 2**80)
    with pytest.raises(FormulaError, match="2\\^53"):
        type_of(formula, scope, "here")
