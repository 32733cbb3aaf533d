"""Each function the adapters of worked examples call is one that a close really runs."""

from __future__ import annotations

import ast
import inspect
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.books.small_book import make_book, worked_loans
from tests.books.worked import OWN_BOOK, Worked, drawn, paid_on_time
from usance.base.codes import DEFAULT_PACK, FundingModel
from usance.base.parameters import COMMON, PACKS, Parameters
from usance.books.close.checklist import close
from usance.books.group.documents import parse_facts
from usance.books.group.facts import table_of_facts
from usance.books.loans.guarantees import higher_of
from usance.books.periods import parse_close_period
from usance.conform.accounting import capital, guarantees, losses
from usance.conform.accounting import effective_interest as effective
from usance.loan import CONVENTIONS

ADAPTER_MODULES = (capital, effective, guarantees, losses)
SOURCE = Path(import_module("usance").__file__ or "").parent
POLICIES = {
    "entities.yaml": """
currency: CNY
entities:
  - {number: 1, name: Example Platform, role: platform, owner: 2, tax: 15%}
  - {number: 2, name: "Example Holding, Inc.", role: parent}
""",
    "losses.yaml": """
scenarios:
  - {name: base, weight: 60%, cpi: [2%], collection: [86%]}
  - {name: harsh, weight: 40%, cpi: [4%], collection: [80%]}
""",
    "expected_life.yaml": "curves: [{segment: 9, shares: [1, 1, 1, 1, 0, 0]}]\n",
}
FACTS = """
facts:
  - {id: 1, kind: opening_balance, entity: 2, on: 2023-12-30,
     lines: [{account: cash, amount: 90000}, {account: paid_in_capital, amount: -90000}]}
  - {id: 2, kind: notes_issued, entity: 1, on: 2024-01-15, amount: 9800, name: ABS 1,
     lender: trust_investors, face: 10000, rate: 5%, a_year: 2, costs: 40,
     days: [2024-07-15, 2025-01-15]}
  - {id: 3, kind: bond_bought, entity: 1, on: 2024-01-20, amount: 970, name: Bond 1, face: 1000,
     rate: 4%, costs: 2, days: [2025-01-20]}
  - {id: 4, kind: fees_history, entity: 1, on: 2024-01-31, entering: [100000, 50000, 8000],
     never_paid: 2000}
  - {id: 5, kind: usage_delivered, entity: 1, on: 2024-02-01, amount: 530, party: 8}
  - {id: 6, kind: shares_issued, entity: 2, on: 2023-12-30, quantity: 1000}
  - {id: 7, kind: grant, entity: 2, on: 2024-01-01, name: G, award: option, fair_value: 3,
     exercise_price: 5, tranches: [{on: 2024-07-01, holders: 4, units_each: 10},
                                   {on: 2025-01-01, units: 40}]}
  - {id: 8, kind: vesting_estimate, entity: 2, on: 2024-01-01, grant: G, leavers: 10%}
  - {id: 9, kind: units_changed, entity: 2, on: 2024-03-01, grant: G, change: forfeited,
     quantity: 8}
  - {id: 10, kind: share_price, entity: 2, on: 2024-03-31, price: 9, first: 2024-01-01,
     last: 2024-03-31}
  - {id: 11, kind: capital_contributed, entity: 2, on: 2023-12-30, amount: 50000, to: 1}
"""


def called_functions() -> dict[CodeType, str]:
    """Every function of the books that an adapter names, by its code."""
    found = {}
    for module in ADAPTER_MODULES:
        tree = ast.parse(inspect.getsource(module))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        for name in used & vars(module).keys():
            value = vars(module)[name]
            home = getattr(value, "__module__", "")
            own = home.startswith("usance.") and not home.startswith("usance.conform.accounting")
            if inspect.isfunction(value) and own:
                found[value.__code__] = f"{home}.{name}"
    return found


def discounting(folder: Path) -> Parameters:
    """The shipped parameters, where IFRS losses are discounted."""
    shutil.copytree(COMMON, folder)
    file = folder / "losses" / "ifrs_discount.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace("value: 0%", "value: 6%"))
    return Parameters.load(folder, PACKS / DEFAULT_PACK / "parameters")


class Watch:
    """The functions that run meanwhile, in every thread."""

    def __init__(self, wanted: dict[CodeType, str]) -> None:
        self.wanted, self.seen = wanted, set[str]()

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in self.wanted:
            self.seen.add(self.wanted[frame.f_code])

    def run(self, act: Callable[[], Any]) -> set[str]:
        sys.setprofile(self)
        threading.setprofile(self)
        try:
            act()
        finally:
            threading.setprofile(None)
            sys.setprofile(None)
        return self.seen


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def behind(root: str) -> dict[str, ast.AST]:
    """A module and every one it imports, wherever it does."""
    trees, todo = dict[str, ast.AST](), [root]
    while todo:
        name = todo.pop()
        path = SOURCE.parent.joinpath(*name.split("."))
        files = [path.with_suffix(".py"), path / "__init__.py"]
        file = next((each for each in files if each.is_file()), None)
        if name.startswith("usance") and name not in trees and file:
            trees[name] = ast.parse(file.read_text(encoding="utf-8"))
            todo += imports(trees[name])
    return trees


def test_adapters_call_functions_of_the_books() -> None:
    named = called_functions()
    homes = {name.rsplit(".", 1)[0] for name in named.values()}
    assert len(named) > 35
    assert homes == {
        "usance.books.effective_interest.contract",
        "usance.books.effective_interest.instruments",
        "usance.books.loans.guarantees",
        "usance.books.losses.expectation",
        "usance.books.losses.provision_matrices",
        "usance.capital.attribution",
        "usance.capital.per_share",
    }


def test_every_function_is_imported_or_used_behind_the_close() -> None:
    trees = behind("usance.books.close.checklist")
    reached = {name: tree for name, tree in trees.items() if "examples" not in name}
    used = {name for tree in reached.values() for name in imports(tree)}
    for home in {name.rpartition(".")[0] for name in called_functions().values()} & reached.keys():
        named = (node for node in ast.walk(reached[home]) if isinstance(node, ast.Name))
        used |= {f"{home}.{node.id}" for node in named}
    assert set(called_functions().values()) - used == set()


def test_a_small_close_runs_every_function(tmp_path: Path) -> None:
    """None is only named somewhere: with suitable facts each is run by the close itself."""
    level = replace(OWN_BOOK, convention=CONVENTIONS["level_monthly"])
    loans = [*worked_loans(), Worked(FundingModel.ON_BALANCE_SHEET, level,
                                     [drawn(level), *paid_on_time(level, 1)])]  # fmt: skip
    book = make_book(tmp_path / "book", loans)
    with book.writing() as step:
        step.add("group_facts", table_of_facts(parse_facts(FACTS)))
    for name, text in POLICIES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    parameters = discounting(tmp_path / "parameters")

    def closes() -> None:
        for period, end in (("2023Q4", (2023, 12, 31)), ("2024Q1", (2024, 3, 31))):
            close(book, parse_close_period(period), policies=tmp_path, clock=time.perf_counter,
                  known_at=datetime(*end, 23, tzinfo=UTC), parameters=parameters)  # fmt: skip

    wanted = called_functions()
    assert set(wanted.values()) - Watch(wanted).run(closes) == set()


def test_a_function_that_does_not_run_is_seen() -> None:
    wanted = called_functions()
    assert Watch(wanted).run(lambda: higher_of(5, 7)) == {"usance.books.loans.guarantees.higher_of"}


@pytest.mark.parametrize("module", ADAPTER_MODULES, ids=lambda module: module.__name__)
def test_adapters_are_not_behind_the_close(module: Any) -> None:
    """Else a function could be reached through its own example."""
    assert module.__name__ not in behind("usance.books.close.checklist")
