"""Loss policies as documents: what is read, and every mistake with its line."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from tests.books.loss_books import AS_OF, parameters
from usance.base.errors import UsanceError
from usance.books.losses.assumptions import Claim, Framework
from usance.books.losses.policy_file import LossPolicy, parse_policy, read_policy

GOOD = """\
curves:
  - claim: payout
    segment: 1
    from: 2024-01-01
    months: [0%, 0.5%, 4%]
    source: vintages of 2022
  - claim: payout
    segment: 1
    from: 2024-06-30
    months: [0, 0.01, 0.05]
    source: vintages of 2023
  - framework: ifrs
    claim: charge_off
    segment: 9
    from: 2020-01-01
    months: [0%, 1]
    source: board
scenarios:
  - {name: base, weight: 60%, cpi: [2%, 3%], collection: [85%]}
  - {name: harsh, weight: 0.4, cpi: [4%], collection: [80%, 82%]}
overlays:
  - estimate: contingent
    segment: 1
    factor: 1.10
    reason: floods in the south
    approver: credit committee
    ends_on: 2024-09-30
  - {estimate: loan_allowance, segment: 9, amount: -250.50, reason: sale agreed, approver: board,
     ends_on: 2024-12-31}
"""


def read(text: str, as_of: date = AS_OF) -> LossPolicy:
    return parse_policy(text, name="losses.yaml", currency="CNY", as_of=as_of)


def problems_of(text: str, as_of: date = AS_OF) -> list[str]:
    with pytest.raises(UsanceError) as caught:
        read(text, as_of)
    found = getattr(caught.value, "errors", [caught.value])
    return [str(error) for error in found]


def test_a_policy_says_how_many_vintages_a_curve_follows() -> None:
    """A small book waits for more of them; without a word the parameter holds."""
    own = read("history_cohorts: 12\n").assumptions(parameters(), AS_OF)
    assert own.history_cohorts == 12
    given = read("history_from: 2023-01\n").assumptions(parameters(), AS_OF)
    assert given.history_cohorts == parameters().at("losses.history_cohorts", AS_OF).integer
    assert "history_cohorts" in problems_of("history_cohorts: 0\n")[0]


def test_a_policy_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "losses.yaml"
    file.write_text(GOOD)
    policy = read_policy(file, currency="CNY", as_of=AS_OF)
    assert [scenario.weight_ppm for scenario in policy.scenarios] == [600_000, 400_000]
    assert policy.scenarios[1].collection_ppm == (800_000, 820_000)
    assert [(o.factor, o.amount_minor) for o in policy.overlays] == [
        (Decimal("1.10"), None), (None, -25_050),
    ]  # fmt: skip
    given = policy.assumptions(parameters(), date(2024, 6, 29))
    assert given.prior(Framework.US_GAAP, Claim.PAYOUT, 1) == (0, 5_075_000, 40_600_000)
    given = policy.assumptions(parameters(), AS_OF)
    assert given.prior(Framework.US_GAAP, Claim.PAYOUT, 1)[-1] == 50_750_000
    assert given.policy_curve(Framework.IFRS, Claim.CHARGE_OFF, 9) == (0, 1_000_000_000)
    assert given.policy_curve(Framework.IFRS, Claim.PAYOUT, 1) is None


def test_json_is_read_too() -> None:
    text = '{"scenarios": [{"name": "a", "weight": 1, "cpi": [0.02], "collection": [0.85]}]}'
    found = parse_policy(text, name="losses.json", currency="CNY")
    assert found.scenarios[0].weight_ppm == 1_000_000


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("[0%, 0.5%, 4%]", "[0%, 120%, 4%]",
         "losses.yaml line 5, curves[1].months[2]: a cumulative rate of 120%. Give 0% to 100%."),
        ("[0%, 0.5%, 4%]", "[0%, -0.5%, 4%]",
         "losses.yaml line 5, curves[1].months[2]: a cumulative rate of -0.5%. Give 0% to 100%."),
        ("[0%, 0.5%, 4%]", "\n      - 0%\n      - 5%\n      - 4%",
         "losses.yaml line 8, curves[1].months[3]: the cumulative curve falls from 5% to 4%."),
        ("[0%, 0.5%, 4%]", "[0%, some, 4%]",
         "losses.yaml line 5, curves[1].months[2]: 'some' is not a rate."),
        ("[0%, 0.5%, 4%]", "[]",
         "losses.yaml line 5, curves[1].months: the curve has no months."),
        ("[0%, 0.5%, 4%]", "5%",
         "losses.yaml line 5, curves[1].months: is not a list. Write [0%, 0.5%, …]."),
        ("weight: 0.4", "weight: 30%",
         "losses.yaml line 20, scenarios[2]: the weights sum to 90%. Make them sum to 100%."),
        ("cpi: [4%]", "cpi: []",
         "losses.yaml line 20, scenarios[2].cpi: cpi is empty."),
        ("    approver: credit committee\n", "",
         "losses.yaml line 22, overlays[1]: the overlay has no approver. Name who answers for it."),
        ("    reason: floods in the south\n", "",
         "losses.yaml line 22, overlays[1]: the overlay has no reason."),
        ("    ends_on: 2024-09-30\n", "",
         "losses.yaml line 22, overlays[1]: the overlay has no end. Give the day it ends on."),
        ("    ends_on: 2024-09-30\n", "    ends_on: 2024-06-29\n",
         "losses.yaml line 22, overlays[1]: the overlay ended on 2024-06-29."),
        ("factor: 1.10", "factor: -1.10",
         "losses.yaml line 22, overlays[1]: a factor of -1.10. Give a factor of 0 or more."),
        ("    factor: 1.10\n", "",
         "losses.yaml line 22, overlays[1]: the overlay has not one of factor and amount."),
        ("factor: 1.10", "factor: much",
         "losses.yaml line 24, overlays[1].factor: 'much' is not a factor. Write such as 1.10."),
        ("estimate: loan_allowance", "estimate: contract",
         "losses.yaml line 28, overlays[2]: an amount on a rate of fees. Give a factor."),
        ("estimate: loan_allowance, segment: 9", "estimate: contingent, segment: 1",
         "losses.yaml line 28, overlays[2]: contingent of segment 1 has another overlay at "),
        ("estimate: contingent", "estimate: contingents",
         "losses.yaml line 22, overlays[1]: unknown estimate 'contingents'."),
        ("claim: charge_off", "claim: chargeoff",
         "losses.yaml line 13, curves[3].claim: unknown claim 'chargeoff'."),
        ("    source: board\n", "",
         "losses.yaml line 12, curves[3].source: source is missing. Give source."),
        ("    source: board\n", "    source: board\n    valid: yes\n",
         "losses.yaml line 18, curves[3].valid: unknown key 'valid'."),
    ],
)  # fmt: skip
def test_each_mistake_is_named_with_its_line(old: str, new: str, problem: str) -> None:
    assert GOOD.count(old) == 1
    (found,) = problems_of(GOOD.replace(old, new))
    assert found.startswith(problem)


def test_all_mistakes_are_told_at_once() -> None:
    text = GOOD.replace("[0%, 0.5%, 4%]", "[5%, 4%, 3%]").replace("weight: 60%", "weight: 6%")
    assert len(problems_of(text.replace("approver: board", "approver: ' '"))) == 4
