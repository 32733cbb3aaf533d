"""Small questions about a syntax tree, asked by the tidy rules."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache

Function = ast.FunctionDef | ast.AsyncFunctionDef

CLOSED_SETS = {"Code", "Enum", "IntEnum", "StrEnum"}
SHORT_TEXT = 60
"""Texts up to this length may name something; longer ones are prose."""


@cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """Every node of a tree; rules ask for the same tree again and again."""
    return tuple(ast.walk(tree))


def functions(tree: ast.AST) -> Iterator[Function]:
    for node in nodes(tree):
        if isinstance(node, Function):
            yield node


def decorators(node: Function | ast.ClassDef) -> set[str]:
    bare = (each.func if isinstance(each, ast.Call) else each for each in node.decorator_list)
    return {last_name(each) for each in bare}


def docstring_lines(function: Function) -> int:
    if ast.get_docstring(function) is None:
        return 0
    first = function.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_built_text(node: ast.AST) -> bool:
    """Text put together from parts that are not all constant: f-string, %, +, format()."""
    match node:
        case ast.JoinedStr(values=values):
            return any(isinstance(value, ast.FormattedValue) for value in values)
        case ast.BinOp(left=left, op=ast.Mod()):
            return is_text(left)
        case ast.BinOp(op=ast.Add()):
            parts = list(summands(node))
            return any(map(is_text, parts)) and not all(map(is_text, parts))
        case ast.Call(func=ast.Attribute(value=value, attr="format")):
            return is_text(value)
    return False


def summands(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a chain of additions."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from summands(node.left)
        yield from summands(node.right)
    else:
        yield node


def is_text(node: ast.AST) -> bool:
    """A text literal."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def imported_names(tree: ast.AST) -> dict[str, str]:
    """Local name to dotted name, for everything that is imported."""
    names: dict[str, str] = {}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                plain = alias.name.split(".")[0]
                names[alias.asname or plain] = alias.name if alias.asname else plain
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def dotted(node: ast.AST, names: Mapping[str, str]) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value, names)}.{node.attr}"
    return names.get(node.id, "") if isinstance(node, ast.Name) else ""


def public(
    body: ast.Module | ast.ClassDef, owner: str = ""
) -> Iterator[tuple[Function | ast.ClassDef, str]]:
    for node in body.body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node, owner
            if isinstance(node, ast.ClassDef):
                yield from public(node, f"{owner}{node.name}.")


def speaks_elsewhere(node: Function | ast.ClassDef) -> bool:
    """Overloads, setters and overriding methods are documented by the name they belong to."""
    return bool(decorators(node) & {"overload", "setter", "deleter", "override"})


def arguments(node: Function) -> list[ast.arg]:
    own = node.args
    spread = [each for each in (own.vararg, own.kwarg) if each is not None]
    return [*own.posonlyargs, *own.args, *own.kwonlyargs, *spread]


def catches_everything(node: ast.AST) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(last_name(part) in ("Exception", "BaseException") for part in parts)


def does_nothing(step: ast.stmt) -> bool:
    return isinstance(step, ast.Pass | ast.Continue) or (
        isinstance(step, ast.Expr) and isinstance(step.value, ast.Constant)
    )


def imports(tree: ast.AST, package: str) -> Iterator[str]:
    """Dotted names of everything a module of this package may mean by its imports."""
    above = package.split(".")
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Call) and last_name(node.func) == "import_module":
            yield from (str(value.value) for value in node.args if isinstance(value, ast.Constant))
        elif isinstance(node, ast.ImportFrom):
            up = above[: len(above) - node.level + 1] if node.level else []
            base = ".".join([*up, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def bound_names(node: ast.AST) -> Iterator[str]:
    """Names that a node gives: to a function, a class, a parameter, a variable or a field."""
    if isinstance(node, Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield node.attr


def defined_names(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Functions, classes and constants of a module, and methods and fields of its classes.

    Left out are commands, which the command line calls by their decorator, methods that another
    package asks for (`override`), and the members of a closed set, which files name.
    """
    for node in tree.body:
        if isinstance(node, Function) and decorators(node) & {"command", "callback"}:
            continue
        yield from ((name, node) for name in _given(node))
        is_closed_set = isinstance(node, ast.ClassDef) and _last_names(node.bases) & CLOSED_SETS
        for inner in node.body if isinstance(node, ast.ClassDef) and not is_closed_set else ():
            if not (isinstance(inner, Function) and "override" in decorators(inner)):
                yield from ((name, inner) for name in _given(inner))


def _last_names(nodes: Iterable[ast.AST]) -> set[str]:
    return {last_name(node) for node in nodes}


def _given(node: ast.stmt) -> Iterator[str]:
    """Names that one statement gives, without those that the language itself asks for."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", node)]
    names = (name for target in targets for part in ast.walk(target) for name in bound_names(part))
    own = bound_names(node) if isinstance(node, Function | ast.ClassDef) else names
    yield from (name for name in own if not name.startswith("__"))


def used_names(tree: ast.AST) -> Iterator[str]:
    """Names that a module reads, hands over by keyword, or spells in a short text."""
    for node in nodes(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg
        elif isinstance(node, ast.alias) and node.asname:  # of a stub, or a short name
            yield node.name
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from node.value.split() if len(node.value) < SHORT_TEXT else ()
