"""`usance conform accounting`: every example, bad files, and adapters that only rename."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from tests.house.syntax import last_name
from usance import cli
from usance.conform.accounting import capital, guarantees, losses
from usance.conform.accounting import effective_interest as effective
from usance.conform.accounting.run import check_accounting

ADAPTER_MODULES = (capital, effective, guarantees, losses)
HIGHER_OF = {
    "id": "higher",
    "title": "Higher of",
    "inputs": {"unamortised_premium": 500, "ecl": 700},
    "expected": {"liability": 700, "top_up": 200},
}


def document(*examples: dict[str, Any]) -> str:
    return json.dumps({"about": "…", "examples": examples}, indent=1)


@pytest.fixture
def conform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def call(text: str, *options: str) -> tuple[int, str, str]:
        file = tmp_path / "cases.json"
        file.write_text(text, encoding="utf-8")
        code = cli.main(["conform", "accounting", str(file), *options])
        out, err = capsys.readouterr()
        return code, out, err.replace(str(file), "cases.json")

    return call


def changed(**parts: Any) -> dict[str, Any]:
    return {**HIGHER_OF, **parts}


class TestSharedExamples:
    def test_every_answer_is_met(self, shared: Path) -> None:
        report = check_accounting(shared / "cases" / "accounting.json")
        found = report.as_dict()
        assert found["failures"] == []
        assert (found["total"], found["passed"], found["without_answer"]) == (28, 9, 19)
        assert set(found["results"]) == {result.example.id for result in report.results}  # type: ignore[call-overload]

    def test_every_null_is_computed(self, shared: Path) -> None:
        for result in check_accounting(shared / "cases" / "accounting.json").results:
            assert all(number.computed is not None for number in result.numbers)


ANSWERS: dict[str, dict[str, Any]] = {
    "eir_ifrs9_igb26": {
        "eir_pct": 9.995, "interest": [99.95, 104.05, 108.55, 113.50, 118.95],
        "amortised_cost_end": [1041, 1086, 1136, 1190, 0],
    },
    "eir_prepayment_catchup": {"revised_carrying": 1138.72, "gain": 52.72},
    "eir_pwc_li_6_1": {"eir_pct": 7.0, "year1_interest": 325336, "discount": 350000},
    "eir_sfas91_contractual": {
        "net_carrying": 98000, "eir_pct": 10.4736,
        "amortization": [264, 262, 257, 248, 234, 215, 190, 157, 116, 57],
        "total_amortization": 2000,
    },
    "eir_contractual_vs_expected_life": {
        "us_gaap_eir_pct": 10.47, "ifrs_eir_pct": 10.61, "us_gaap_income_year1": 10264,
        "ifrs_income_year1": 10400,
    },
    "fgc_higher_of": {"liability": 700, "top_up": 200},
    "fgc_us_gaap_gross_vs_ifrs": {
        "us_gaap": {
            "financial_assets_receivable": 90, "stand_ready_liability": 90,
            "contingent_liability": 90, "revenue_to_date": 30, "provision_to_date": 90,
        },
        "ifrs_company_policy": {
            "receivable": 0, "stand_ready_liability": 0, "loss_allowance": 90,
            "revenue_to_date": 30,
        },
    },
}  # fmt: skip
"""Worked by hand from the standards that the examples name."""


def test_answers_worked_by_hand(shared: Path, conform: Any) -> None:
    cases = json.loads((shared / "cases" / "accounting.json").read_text(encoding="utf-8"))
    known = [case for case in cases["examples"] if case["id"] in ANSWERS]
    for case in known:
        case["expected"] = ANSWERS[case["id"]]
    code, out, _ = conform(document(*known), "--json")
    found = json.loads(out)
    assert (code, found["passed"], found["failures"]) == (0, len(ANSWERS), [])


class TestJudging:
    def test_a_wrong_number_fails_by_name(self, conform: Any) -> None:
        wrong = changed(id="other", expected={"liability": 700, "top_up": 199.9})
        code, out, _ = conform(document(HIGHER_OF, wrong), "--json")
        found = json.loads(out)
        assert (code, found["total"], found["passed"], found["without_answer"]) == (1, 2, 1, 0)
        assert found["failures"] == [
            {
                "id": "other",
                "differences": [{"value": "top_up", "expected": 199.9, "computed": 200}],
                "problems": [],
            }
        ]
        assert found["results"]["other"] == {"liability": 700, "top_up": 200}

    @pytest.mark.parametrize(
        ("expected", "passes"),
        [
            ("7.8", True), ("7.80", True), ("8", True), ("7.795", True), ("7.79519", True),
            ("7.79", False), ("7", False), ("7.800", False), ("null", False), ("[7.8]", False),
        ],
    )  # fmt: skip
    def test_as_many_decimals_as_are_shown(self, expected: str, passes: bool, conform: Any) -> None:
        bond = {"price": 900, "fee": 10, "face": 1000, "coupon": 50}
        dates = {"acquired": "20X1-05-01", "coupons": "31 Dec 20X1-20X5"}
        held = changed(inputs={**bond, **dates}, expected={"eir_pct": "?"})  # 7.7951914 %
        _, out, _ = conform(document(held).replace('"?"', expected), "--json")
        assert json.loads(out)["passed"] == int(passes)

    def test_one_null_leaves_the_rest_to_judge(self, conform: Any) -> None:
        half = changed(expected={"liability": None, "top_up": 200})
        code, out, _ = conform(document(half), "--json")
        found = json.loads(out)
        assert (code, found["passed"], found["without_answer"]) == (0, 1, 0)
        assert found["results"]["higher"]["liability"] == 700

    def test_without_an_answer_it_neither_passes_nor_fails(self, conform: Any) -> None:
        code, out, _ = conform(document(changed(expected={"liability": None})))
        assert code == 0
        assert out.splitlines() == [
            "open  higher  Higher of",
            "      liability  700",
            "0 of 0 examples with an answer passed",
            "1 without an answer: computed, not judged",
        ]

    def test_a_value_nobody_computes_fails(self, conform: Any) -> None:
        code, out, _ = conform(document(changed(expected={"liabilty": None})))
        assert code == 1
        assert "liabilty  nothing  WRONG" in out

    def test_a_list_of_another_length_fails(self, conform: Any) -> None:
        bond = {"initial_fair_value": 995, "transaction_costs": 5, "nominal": 1250, "coupon": 59}
        short = changed(inputs={**bond, "years": 5}, expected={"interest": [100, 104]})
        code, out, _ = conform(document(short))
        assert code == 1
        assert "interest (how many)  5  expected 2  WRONG" in out


class TestBadFiles:
    def test_an_unknown_shape_names_the_known_ones(self, conform: Any) -> None:
        code, out, _ = conform(document(HIGHER_OF, changed(id="odd", inputs={"tea": 1})), "--json")
        found = json.loads(out)
        assert (code, found["total"], found["passed"]) == (1, 2, 1)
        (problem,) = found["failures"][0]["problems"]
        assert "line 17, examples[2].id: no example has these inputs: tea. Known are: " in problem
        assert "ecl, unamortised_premium" in problem
        assert list(found["results"]) == ["higher"]

    def test_all_problems_with_their_lines(self, conform: Any) -> None:
        text = document(
            {"title": "no id", "inputs": {}, "expected": {"a": "seven"}},
            {"id": "b", "inputs": [1], "expected": {"rows": [1, [True]]}},
            HIGHER_OF,
            HIGHER_OF,
        )
        code, out, err = conform(text)
        assert (code, out) == (2, "")
        no_names = 'no values by name. Give {"name": value, ...}.'
        no_number = "is no answer. Give a number, or null where there is none yet."
        assert [line.removeprefix("- cases.json ") for line in err.splitlines()[1:]] == [
            "line 4, examples[1].id: id is missing. Give id.",
            f"line 6, examples[1].inputs: {no_names}",
            f"line 13, examples[2].inputs: {no_names}",
            f"line 8, examples[1].expected.a: 'seven' {no_number}",
            f"line 20, examples[2].expected.rows[2][1]: True {no_number}",
            "line 38, examples[4].id: 'higher' is there twice. Give each example an id of its own.",
        ]

    @pytest.mark.parametrize(
        "text",
        ["", "{", "[]", "7", '{"examples": []}', '{"examples": 7}', '{"examples": [7]}', "{}",
         '{"examples": [{"id": "a", "id": "b"}]}', '{"examples": [NaN]}'],
    )  # fmt: skip
    def test_what_is_no_file_of_examples(self, text: str, conform: Any) -> None:
        code, out, err = conform(text)
        assert (code, out) == (2, "")
        assert err.startswith("error: cases.json")
        assert "Traceback" not in err

    @pytest.mark.parametrize(
        "value",
        ["x", None, [1], {"a": 1}, {"9" * 26: 1}, True, 10**9, 10**15, 10**400, -5, 0, 0.5],
    )
    def test_unfit_inputs_fail_by_name(self, value: Any, conform: Any) -> None:
        """Of every shape, each input in turn: no trace, and no fault of the program."""
        examples = [
            changed(id=f"{number}-{name}", inputs={**dict.fromkeys(shape, 7), name: value})
            for number, shape in enumerate((*effective.ADAPTERS, *guarantees.ADAPTERS))
            for name in shape
        ]
        code, out, _ = conform(document(*examples), "--json")
        assert code == 1
        assert json.loads(out)["total"] == len(examples)


def arithmetic(tree: ast.AST) -> list[str]:
    """Everything in a tree that computes instead of renaming."""
    computing = {"sum", "round", "abs", "divmod", "pow", "min", "max", "reduce", "prod", "fsum"}
    found = []
    for node in ast.walk(tree):
        is_signed = isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant)
        is_computing = isinstance(node, ast.Call) and last_name(node.func) in computing
        if isinstance(node, ast.BinOp | ast.AugAssign) or is_signed or is_computing:
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("module", ADAPTER_MODULES, ids=lambda module: module.__name__)
def test_adapters_only_rename(module: Any) -> None:
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    assert arithmetic(tree) == []


@pytest.mark.parametrize(
    "code", ["a + b", "-a", "not a", "a += 1", "sum(a)", "round(a)", "math.prod(a)", "a % b"]
)
def test_arithmetic_is_seen(code: str) -> None:
    assert arithmetic(ast.parse(code))


def test_no_two_adapters_claim_one_shape() -> None:
    shapes = [shape for module in ADAPTER_MODULES for shape in module.ADAPTERS]
    assert len(shapes) == len(set(shapes))
