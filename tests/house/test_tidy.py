"""The source tree keeps its own style, and every rule of the style is seen to fire."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from tests.house import tree
from tests.house.small_modules import REASONS, small_modules
from tests.house.tidy import (
    FUNCTION_LINES,
    KERNEL_LINES,
    KERNEL_PARAMETERS,
    MODULE_LINES,
    RULES,
    Source,
    check,
    dead_modules,
    unfit_text,
    unused_names,
)
from usance.cli import ROOMS


def test_source_is_tidy() -> None:
    found = [
        str(each)
        for source in tree.sources(tree.PACKAGE, tree.ROOT / "src")
        for each in check(source)
    ]
    assert not found, "\n".join(["", *found])


def test_no_dead_module() -> None:
    own = tree.sources(tree.PACKAGE, tree.ROOT / "src")
    readers = [
        source
        for name in ("tests", "bench", "demo")
        for source in tree.sources(tree.ROOT / name, tree.ROOT)
    ]
    readers += tree.stubs()
    scripts = tree.pyproject()["project"]["scripts"].values()
    entry_points = [script.partition(":")[0] for script in scripts]
    entry_points += [module for modules, _ in ROOMS.values() for module in modules.split()]
    found = [str(each) for each in dead_modules(own, readers, entry_points)]
    assert not found, "\n".join(["", *found])


def test_small_modules_have_a_reason() -> None:
    own = tree.sources(tree.PACKAGE, tree.ROOT / "src")
    found = [str(each) for each in small_modules(own, REASONS)]
    assert not found, "\n".join(["", *found])


def test_a_small_module_and_a_reason_too_many_are_found() -> None:
    own = [module("x = 1", "usance.loan.small"), module("x = 1\n" * 40, "usance.loan.grown"),
           module("x = 1", "usance.loan.kept")]  # fmt: skip
    found = small_modules(own, {"loan.grown": "a", "loan.gone": "b", "loan.kept": "c"})
    assert sorted(each.where for each in found) == ["loan.gone", "loan.grown",
                                                    "usance/loan/small.py:1"]  # fmt: skip


def test_no_name_without_a_use() -> None:
    own = tree.sources(tree.PACKAGE, tree.ROOT / "src")
    readers = [
        source
        for name in ("bench", "demo", "tools")
        for source in tree.sources(tree.ROOT / name, tree.ROOT)
    ]
    readers += tree.stubs()
    docs = [text for name, text in tree.project_files().items() if name.startswith("docs/")]
    found = [str(each) for each in unused_names(own, readers, docs)]
    assert not found, "\n".join(["", *found])


def test_a_name_without_a_use_is_found() -> None:
    text = (
        "LIMIT = 1\ndef f(): ...\nclass A:\n    x: int\n    def g(self): ...\n"
        "class Side(Enum):\n    LEFT = 1\n@app.command()\ndef run(): ...\n"
    )
    reader = module("from usance.loan.terms import A\nprint(A(x=1), Side)\n", "bench.loan")
    found = unused_names([module(text)], [reader], ["Call `LIMIT`."], awaited=["g", "x", "gone"])
    assert [each.message for each in found] == [
        "nobody uses f: remove it",
        "gone waits for nobody: take it off the list",
        "x waits for nobody: take it off the list",
    ]


def test_no_unfit_text_in_any_file() -> None:
    found = [str(each) for each in unfit_text(tree.project_files())]
    assert not found, "\n".join(["", *found])


def statements(count: int) -> str:
    return "    x = 1\n" * count


def parameters(count: int) -> str:
    return ", ".join(f"a{n}" for n in range(count))


# For each rule: sources that must be found, one finding each, beside sources that must pass.
BAD: dict[str, list[str]] = {
    "module_length": ["x = 1\n" * (MODULE_LINES + 1)],
    "function_length": [
        "def f():\n" + statements(FUNCTION_LINES),
        "class A:\n  async def f(self):\n" + statements(FUNCTION_LINES),
        "@kernel\ndef f():\n" + statements(KERNEL_LINES),
    ],
    "kernel_parameters": [
        f"@kernel\ndef f({parameters(KERNEL_PARAMETERS + 1)}):\n  return 1",
        f"@kernel(inline=True)\ndef f({parameters(KERNEL_PARAMETERS + 1)}):\n  return 1",
    ],
    "float_money": [
        "def f(amount_minor: float): ...",
        "def f(*, amount_minor: 'float | None' = None): ...",
        "def due_minor() -> float: ...",
        "class A:\n    amount_minor: list[float]",
        "class A:\n    amount_minor: np.float64",
        "amount_minor = 12.5",
        "amount_minor = rate * -0.5",
        "self.amount_minor = 1.0 if late else 0",
        "amounts_minor[3] = 0.0",
        "amount_minor += 0.5",
        "amount_minor /= 12",
        "late = amount_minor > 0.0",
        "late = 0.0 <= loan.amount_minor",
        "x = float(amount_minor)",
        "x = np.float64(loan.amount_minor)",
        "x = amounts_minor.astype(np.float64)",
        "x = amount_minor / 12",
        "x = amount_minor * 0.06",
        "pay(amount_minor=12.5)",
    ],
    "built_sql": [
        "db.execute(f'select {name}')",
        "db.execute('select %s' % name)",
        "db.fetch('select {}'.format(name))",
        "db.executemany('select ' + name, rows)",
        "db.sql(query='select ' + name + ' from t')",
        "text = f'select {name}'\ndb.execute(text)",
    ],
    "clock_or_chance": [
        "from datetime import datetime\nx = datetime.now()",
        "import datetime as dt\nx = dt.datetime.utcnow()",
        "import datetime\nx = datetime.date.today()",
        "import time\nx = time.time()",
        "from time import perf_counter",
        "import random",
        "from random import choice",
        "import numpy as np\nx = np.random.default_rng",
        "from numpy.random import default_rng",
        "import secrets",
        "import os\nx = os.urandom(8)",
        "import uuid\nx = uuid.uuid4()",
    ],
    "documented": [
        "x = 1",
        "'''A module.'''\ndef f(): ...",
        "'''A module.'''\nclass A: ...",
        "'''A module.'''\nclass A:\n    '''A.'''\n    def f(self): ...",
    ],
    "annotated": [
        "def f(x) -> None: ...",
        "def f(*xs) -> None: ...",
        "def f(x: int): ...",
        "class A:\n    def f(self, *, x) -> None: ...",
    ],
    "plain_opening": [
        "'''What a loan owes.'''",
        "def f():\n    '''Whether it is late.'''",
        "class A:\n    x: int\n    '''Where it stands.'''",
        "X = 1\n'''Which one counts.'''",
    ],
    "retired_words": [
        "def gathered(): ...",
        "def f(knobs): ...",
        "_falling_due = 1",
        "self.side_by_side = 1",
        "MOST_LOANS = 1",
        "class A:\n    LEAST_STEP = 1",
    ],
    "swallowed_errors": [
        "try:\n    f()\nexcept:\n    raise",
        "try:\n    f()\nexcept Exception:\n    pass",
        "try:\n    f()\nexcept (ValueError, BaseException):\n    ...",
    ],
    "unfinished": [
        "x = 1  # TO" + "DO later",
        "raise NotImplemented" + "Error",
    ],
}

GOOD: dict[str, list[str]] = {
    "module_length": ["x = 1\n" * MODULE_LINES],
    "function_length": [
        "def f():\n" + statements(FUNCTION_LINES - 1),
        "def f():\n    '''A\n" + "\n" * FUNCTION_LINES + "    '''\n    return 1",
        "@kernel(inline=True)\ndef f():\n" + statements(KERNEL_LINES - 1),
    ],
    "kernel_parameters": [
        f"@kernel\ndef f({parameters(KERNEL_PARAMETERS)}):\n  return 1",
        f"def f({parameters(KERNEL_PARAMETERS + 1)}):\n  return 1",
    ],
    "float_money": [
        "def f(amount_minor: int, rate: float): ...",
        "amount_minor = round_half_up(rate, 0.5)",
        "amount_minor = amount_minor * days // 365",
        "share = Decimal(amount_minor) / 3",
        "late = amount_minor > 0",
    ],
    "built_sql": [
        "db.execute('select 1 where x = $1', x)",
        "db.execute('select 1 ' 'from t')",
        "text = 'select 1'\ndb.execute(text)",
        "print(f'select {name}')",
    ],
    "clock_or_chance": [
        "from datetime import date\nx = date(2024, 6, 30)",
        "import time\ntime.sleep",
        "today = loan.today",
        "random = 4",
    ],
    "documented": [
        "'''A module.'''\ndef _f(): ...",
        "'''A module.'''\nclass A:\n    '''A.'''\n    def __len__(self): ...",
        "'''A module.'''\n@overload\ndef f(): ...",
    ],
    "annotated": [
        "def _f(x): ...",
        "class A:\n    @classmethod\n    def f(cls, x: int, **more: int) -> None: ...",
    ],
    "plain_opening": [
        "'''The amount a loan owes.'''",
        "def f():\n    '''Wherever it stands, it counts.'''",
        "x = f('What is it?')",
    ],
    "retired_words": [
        "def look_ahead(): ...",
        "MAX_LOANS = 1",
        "thread.side_by_side",
        "asking = 1  # retired in the world alone",
    ],
    "swallowed_errors": [
        "try:\n    f()\nexcept ValueError:\n    pass",
        "try:\n    f()\nexcept Exception as error:\n    raise Mine from error",
    ],
    "unfinished": ["x = NotImplemented"],
}


def module(text: str, name: str = "usance.loan.terms") -> Source:
    return Source(name, name.replace(".", "/") + ".py", text)


def cases(table: dict[str, list[str]]) -> list[ParameterSet]:
    return [
        pytest.param(rule, text, id=f"{rule}-{number}")
        for rule, texts in table.items()
        for number, text in enumerate(texts, 1)
    ]


def test_every_rule_has_sources_that_break_and_keep_it() -> None:
    assert list(BAD) == list(GOOD) == list(RULES)


@pytest.mark.parametrize(("rule", "text"), cases(BAD))
def test_rule_fires(rule: str, text: str) -> None:
    assert len(list(RULES[rule](module(text)))) == 1


@pytest.mark.parametrize(("rule", "text"), cases(GOOD))
def test_rule_keeps_quiet(rule: str, text: str) -> None:
    assert list(RULES[rule](module(text))) == []


@pytest.mark.parametrize("outer", ["usance.cli", "usance.platform.clock"])
def test_the_outer_rooms_may_read_the_clock(outer: str) -> None:
    source = module("import time\nx = time.time()", outer)
    assert list(RULES["clock_or_chance"](source)) == []


def test_all_findings_come_back_with_their_place() -> None:
    found = check(module("def f(amount_minor: float):\n    return amount_minor / 2"))
    assert [each.where for each in found] == [
        "usance/loan/terms.py:1",
        "usance/loan/terms.py:2",
        "usance/loan/terms.py:1",
        "usance/loan/terms.py:1",
        "usance/loan/terms.py:1",
    ]


def test_dead_module_is_found() -> None:
    own = [
        module("from usance.loan import used", "usance.loan.reader"),
        module("import usance.loan.used, usance.loan.selfish", "usance.loan.selfish"),
        module("x = 1", "usance.loan.used"),
        module("x = 1", "usance.loan.tested"),
        module("x = 1", "usance.loan.lazy"),
        module("import_module('usance.loan.lazy')", "usance.cli"),
    ]
    tests = [module("from usance.loan.tested import x", "tests.test_tested")]
    found = [each.where for each in dead_modules(own, tests, ["usance.cli"])]
    assert found == ["usance/loan/reader.py:1", "usance/loan/selfish.py:1"]


@pytest.mark.parametrize(
    "line",
    [
        "path = '/wor" + "k/main'",
        "see /roo" + "t/data",
        "https://py" + "pi.org",
        "https://files.python" + "hosted.org/x",
        "https://mirror.example/sim" + "ple",
        "pip install --index" + "-url x",
    ],
)
def test_unfit_text_is_found(line: str) -> None:
    assert [each.where for each in unfit_text({"a.md": f"fine\n{line}\n"})] == ["a.md:2"]


def test_ordinary_text_is_fit() -> None:
    text = "../shared/work/x, src/root/y, https://example.org/simplest, a network/root/z"
    assert list(unfit_text({"a.md": text})) == []
