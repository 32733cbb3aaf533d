"""The style of the source tree as checks that return every finding, not only the first.

A rule is a function from one parsed `Source` to findings; `RULES` names them all. Rules about the
tree as a whole (`dead_modules`, `unfit_text`) take what they need as arguments, so that a test can
hand them a tree of two lines.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tests.house.syntax import (
    arguments,
    bound_names,
    catches_everything,
    decorators,
    defined_names,
    docstring_lines,
    does_nothing,
    dotted,
    functions,
    imported_names,
    imports,
    is_built_text,
    is_text,
    last_name,
    nodes,
    public,
    speaks_elsewhere,
    used_names,
)
from tests.house.words import AWAITED_NAMES, replacement

# Loved code bases of this kind keep nine modules of ten below 400 lines and nine functions of ten
# below 30; twice that is where a function is no longer read in one go. A kernel is one loop on
# arrays that a compiler wants in one piece; its arrays come as named tuples.
MODULE_LINES = 400
FUNCTION_LINES = 60
KERNEL_LINES = 120
KERNEL_PARAMETERS = 11

# Where the outside world enters: the command line and the live platform hand the core its clock
# and its entropy as arguments.
OUTER_ROOMS = ("usance.cli", "usance.platform", "usance.__main__")

CLOCKS = {
    "datetime.datetime.now", "datetime.datetime.today", "datetime.datetime.utcnow",
    "datetime.date.today", "time.time", "time.time_ns", "time.monotonic", "time.monotonic_ns",
    "time.perf_counter", "time.perf_counter_ns", "time.localtime", "time.gmtime", "time.ctime",
    "os.urandom", "os.getrandom", "uuid.uuid1", "uuid.uuid4",
}  # fmt: skip
RANDOM_PACKAGES = ("random", "numpy.random", "secrets")

RUNS_SQL = {
    "execute", "executemany", "executescript", "execute_many", "sql", "raw_sql", "query",
    "fetch", "fetchrow", "fetchval", "fetchall", "fetchone", "prepare", "cursor", "read_sql",
}  # fmt: skip

FLOATS = {"float", "float16", "float32", "float64", "double", "floating"}

# A docstring begins with the noun or the verb of what it describes.
RIDDLES = ("What", "Which", "Where", "Whether")

UNFINISHED = re.compile(r"\b(?:TO[D]O|FIX[M]E|XX[X]|HA[C]K)\b|NotImplemented[E]rror")

# Paths that exist on one machine only, and addresses of package indexes: a lock names packages
# and hashes, the reader's own client knows where to get them.
UNFIT = (
    (re.compile(r"(?<![\w./-])/(?:work|root|farm|home|Users|opt)/"), "a path of one machine"),
    (re.compile(r"pypi\.org|pythonhosted\.org|[:/]/[^ ]*/simple\b"), "a package index address"),
    (re.compile(r"--(?:extra-)?index-url|--find-lin[k]s"), "a package index option"),
)


class Finding(NamedTuple):
    """One departure from the style: where it is, and what to do about it."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True)
class Source:
    """One module: its dotted name, the path to print, its text and its tree."""

    module: str
    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        is_package = self.path.endswith("__init__.py")
        return self.module if is_package else self.module.rpartition(".")[0]

    def at(self, node: ast.AST, message: str) -> Finding:
        return Finding(f"{self.path}:{getattr(node, 'lineno', 1)}", message)


Rule = Callable[[Source], Iterator[Finding]]


def check(source: Source) -> list[Finding]:
    """Everything that is wrong with one module."""
    return [finding for rule in RULES.values() for finding in rule(source)]


def module_length(source: Source) -> Iterator[Finding]:
    """A module that does not fit in one reading is two modules."""
    lines = source.text.count("\n")
    if lines > MODULE_LINES:
        message = f"the module has {lines} lines, at most {MODULE_LINES}: split it"
        yield Finding(f"{source.path}:1", message)


def function_length(source: Source) -> Iterator[Finding]:
    """Lines from `def` to the last statement, without the docstring; kernels may be longer."""
    for function in functions(source.tree):
        limit = KERNEL_LINES if "kernel" in decorators(function) else FUNCTION_LINES
        first, last = function.lineno, function.end_lineno or function.lineno
        lines = last - first + 1 - docstring_lines(function)
        if lines > limit:
            yield source.at(function, f"{function.name} has {lines} lines, at most {limit}")


def kernel_parameters(source: Source) -> Iterator[Finding]:
    """Arrays of a kernel come as named tuples, so that a caller cannot mistake their order."""
    for function in functions(source.tree):
        count = len(function.args.args)
        if "kernel" in decorators(function) and count > KERNEL_PARAMETERS:
            message = f"{function.name} takes {count} arguments, at most {KERNEL_PARAMETERS}"
            yield source.at(function, f"{message}: put arrays into a named tuple")


def float_money(source: Source) -> Iterator[Finding]:
    """A name that ends in `_minor` is a whole number of minor units, always."""
    for node in nodes(source.tree):
        reason = _float_money(node)
        if reason:
            yield source.at(node, f"{reason}: money is whole minor units")


def built_sql(source: Source) -> Iterator[Finding]:
    """SQL text is constant; values travel as parameters."""
    tree = source.tree
    built = {
        target.id
        for node in nodes(tree)
        if isinstance(node, ast.Assign) and is_built_text(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes(tree):
        if not isinstance(node, ast.Call) or last_name(node.func) not in RUNS_SQL:
            continue
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            if is_built_text(value) or (isinstance(value, ast.Name) and value.id in built):
                message = f"text built at run time goes to {last_name(node.func)}(): use parameters"
                yield source.at(node, message)


def clock_or_chance(source: Source) -> Iterator[Finding]:
    """Time, randomness and identity are arguments of the core."""
    if source.module.startswith(OUTER_ROOMS):
        return
    tree = source.tree
    names = imported_names(tree)
    for node in nodes(tree):
        for used in _outside_names(node, names):
            yield source.at(node, f"{used} reads the outside world: take it as an argument")


def documented(source: Source) -> Iterator[Finding]:
    """Every module, and every public class, function and method, says what it is."""
    tree = source.tree
    if not ast.get_docstring(tree):
        yield source.at(tree, "the module has no docstring")
    for node, owner in public(tree):
        if not ast.get_docstring(node) and not speaks_elsewhere(node):
            yield source.at(node, f"{owner}{node.name} has no docstring")


def annotated(source: Source) -> Iterator[Finding]:
    """Every parameter and result of a public function or method has a type."""
    for node, owner in public(source.tree):
        if isinstance(node, ast.ClassDef):
            continue
        for argument in arguments(node):
            if argument.annotation is None and argument.arg not in ("self", "cls"):
                yield source.at(node, f"{owner}{node.name}: parameter {argument.arg} has no type")
        if node.returns is None:
            yield source.at(node, f"{owner}{node.name}: the result has no type")


def plain_opening(source: Source) -> Iterator[Finding]:
    """Docstrings, also those of constants and fields, begin with the noun or verb of the thing."""
    for node in nodes(source.tree):
        if isinstance(node, ast.Expr) and is_text(node.value):
            first = re.match(r"\w+", str(ast.literal_eval(node.value)).lstrip())
            if first and first[0] in RIDDLES:
                yield source.at(node, f"a docstring that begins with {first[0]}: name the thing")


def retired_words(source: Source) -> Iterator[Finding]:
    """Names of the private vocabulary that the words of the field have replaced."""
    room = [*source.module.split("."), ""][1]
    for part in source.module.split(".")[2:]:
        if better := replacement(part, room):
            yield Finding(f"{source.path}:1", f"module {part}: write {better}")
    for node in nodes(source.tree):
        for name in bound_names(node):
            if better := replacement(name.lstrip("_"), room):
                yield source.at(node, f"{name} is a retired word: write {better}")
            elif name.lstrip("_").startswith(("MOST_", "LEAST_")):
                yield source.at(node, f"{name}: bounds begin with MAX_ or MIN_")


def swallowed_errors(source: Source) -> Iterator[Finding]:
    """An error is handled by name or not at all."""
    for node in nodes(source.tree):
        if not isinstance(node, ast.ExceptHandler):
            continue
        if node.type is None:
            yield source.at(node, "bare except: name the error")
        elif catches_everything(node.type) and all(does_nothing(step) for step in node.body):
            yield source.at(node, "every error is caught and dropped: handle it or let it go")


def unfinished(source: Source) -> Iterator[Finding]:
    """What is not done is an issue in the tracker, not a note in the code."""
    for number, line in enumerate(source.text.splitlines(), 1):
        found = UNFINISHED.search(line)
        if found:
            yield Finding(f"{source.path}:{number}", f"{found[0]} in the source: finish or remove")


RULES: dict[str, Rule] = {
    rule.__name__: rule
    for rule in (
        module_length,
        function_length,
        kernel_parameters,
        float_money,
        built_sql,
        clock_or_chance,
        documented,
        annotated,
        plain_opening,
        retired_words,
        swallowed_errors,
        unfinished,
    )
}


def dead_modules(
    sources: Iterable[Source], readers: Iterable[Source], entry_points: Iterable[str]
) -> Iterator[Finding]:
    """A module that nobody imports, no test reads and no command starts."""
    sources = list(sources)
    alive = set(entry_points)
    for source in (*sources, *readers):
        alive |= {name for name in imports(source.tree, source.package) if name != source.module}
    for source in sources:
        is_door = source.path.endswith(("__init__.py", "__main__.py"))
        if not is_door and source.module not in alive:
            yield Finding(f"{source.path}:1", "nobody imports this module: use it or delete it")


def unused_names(
    sources: Iterable[Source], readers: Iterable[Source], texts: Iterable[str],
    awaited: Iterable[str] = AWAITED_NAMES,
) -> Iterator[Finding]:  # fmt: skip
    """Names that are defined and never mentioned again: by the source, its readers or the docs.

    Names that wait for a caller are let through, and told once they have one or are gone.
    """
    sources = list(sources)
    used: set[str] = set()
    for source in (*sources, *readers):
        used |= set(used_names(source.tree))
    for text in texts:
        used |= set(re.findall(r"\w+", text))
    waiting = set(awaited)
    for source in sources:
        for name, node in defined_names(source.tree):
            if name not in used and name not in waiting:
                yield source.at(node, f"nobody uses {name}: remove it")
    defined = {name for source in sources for name, _ in defined_names(source.tree)}
    for name in sorted(waiting - (defined - used)):
        yield Finding("tests/house/words.py", f"{name} waits for nobody: take it off the list")


def unfit_text(files: Mapping[str, str]) -> Iterator[Finding]:
    """Text that must not be in any file of the project, by path."""
    for path, text in files.items():
        for number, line in enumerate(text.splitlines(), 1):
            for pattern, name in UNFIT:
                if pattern.search(line):
                    yield Finding(f"{path}:{number}", f"{name}: remove it")


def _is_money(node: ast.AST) -> bool:
    if isinstance(node, ast.Subscript):
        return _is_money(node.value)
    return last_name(node).endswith("_minor")


def _has_float(node: ast.AST | None) -> bool:
    """A float literal in the arithmetic of an expression, not inside the calls it makes."""
    if isinstance(node, ast.BinOp):
        return _has_float(node.left) or _has_float(node.right)
    if isinstance(node, ast.UnaryOp):
        return _has_float(node.operand)
    if isinstance(node, ast.IfExp):
        return _has_float(node.body) or _has_float(node.orelse)
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _says_float(annotation: ast.AST | None) -> bool:
    if annotation is None:
        return False
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval")
    return any(last_name(node) in FLOATS for node in ast.walk(annotation))


def _float_money(node: ast.AST) -> str:  # noqa: C901 -- one case per way to write it
    match node:
        case ast.arg(arg=name, annotation=annotation):
            if name.endswith("_minor") and _says_float(annotation):
                return f"{name} is annotated as a float"
        case ast.FunctionDef(name=name, returns=returns):
            if name.endswith("_minor") and _says_float(returns):
                return f"{name}() gives a float"
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            if _is_money(target) and (_says_float(annotation) or _has_float(value)):
                return "a float in a money name"
        case ast.Assign(targets=targets, value=value):
            if any(_is_money(target) for target in targets) and _has_float(value):
                return "a float assigned to a money name"
        case ast.AugAssign(target=target, op=operator, value=value):
            if _is_money(target) and (_has_float(value) or isinstance(operator, ast.Div)):
                return "a float assigned to a money name"
        case ast.Compare(left=left, comparators=others):
            sides = [left, *others]
            if any(map(_is_money, sides)) and any(map(_has_float, sides)):
                return "money compared with a float"
        case ast.BinOp(left=left, op=operator, right=right):
            return _float_arithmetic(left, operator, right)
        case ast.Call(func=function, args=[first, *_]) if last_name(function) in FLOATS:
            if _is_money(first):
                return "money made a float"
        case ast.Call(func=ast.Attribute(value=value, attr="astype"), args=[first, *_]):
            if _is_money(value) and _says_float(first):
                return "money made a float"
        case ast.keyword(arg=str(name), value=value):
            if name.endswith("_minor") and _has_float(value):
                return f"a float given as {name}"
    return ""


def _float_arithmetic(left: ast.expr, operator: ast.operator, right: ast.expr) -> str:
    if isinstance(operator, ast.Div) and (_is_money(left) or _is_money(right)):
        return "true division of money"
    if (_is_money(left) and _has_float(right)) or (_has_float(left) and _is_money(right)):
        return "a float in arithmetic on money"
    return ""


def _is_chance(name: str) -> bool:
    return any(name == each or name.startswith(f"{each}.") for each in RANDOM_PACKAGES)


def _outside_names(node: ast.AST, names: Mapping[str, str]) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if _is_chance(alias.name))
    elif isinstance(node, ast.ImportFrom):
        wanted = [f"{node.module}.{alias.name}" for alias in node.names]
        yield from (name for name in wanted if name in CLOCKS or _is_chance(name))
    elif isinstance(node, ast.Attribute):
        name = dotted(node, names)
        if name in CLOCKS or name in RANDOM_PACKAGES:
            yield name
