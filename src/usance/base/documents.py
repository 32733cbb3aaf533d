r"""People's files, read strictly: exact decimals, no duplicate keys, errors with file and line.

YAML is read as its plain core: `true`/`false`, whole numbers, decimals, dates, text. So `no` and
`22:00` stay text, and nothing becomes a float.

>>> parse_yaml("rate: 0.18\nfirst_due_on: 2024-01-31\nquiet_from: 22:00")
{'rate': Decimal('0.18'), 'first_due_on': datetime.date(2024, 1, 31), 'quiet_from': '22:00'}
>>> parse_json('{"rate": 0.1}')
{'rate': Decimal('0.1')}
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, cast

import yaml
from yaml._yaml import CParser
from yaml.composer import Composer
from yaml.resolver import Resolver

from usance.base.dates import parse_date
from usance.base.encodings import utf8_fix
from usance.base.errors import DateError, DocumentError, InputError

_FOLDED = "Nest less, and write values out instead of using anchors and aliases"


class _Loader(yaml.SafeLoader):
    """YAML's syntax without its guesses: what a plain word means is decided by `_PLAIN`."""


class _FastLoader(Composer, CParser, Resolver):
    """The same, ten times as fast: the tokens of libyaml, put together in Python.

    Its own composer has no bound on nesting, and ends the process on what nests deeply.
    """

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        Composer.__init__(self)
        Resolver.__init__(self)


_Loader.yaml_implicit_resolvers = _FastLoader.yaml_implicit_resolvers = {}
_FAST: Any = _FastLoader


def compose_yaml(text: str) -> yaml.Node | None:
    """The nodes of a YAML text, with their lines; plain words have no type yet."""
    if "\t" not in text:  # libyaml takes tabs for blanks where the other refuses them
        try:
            return cast("yaml.Node | None", yaml.compose(text, Loader=_FAST))
        except yaml.YAMLError:
            pass  # read again by the one whose messages say more
    node: yaml.Node | None = yaml.compose(text, Loader=_Loader)
    return node


def read_document(path: Path | str) -> Any:
    """The content of a `.yaml`, `.yml` or `.json` file."""
    file = Path(path)
    readers = {".yaml": parse_yaml, ".yml": parse_yaml, ".json": parse_json}
    if file.suffix not in readers:
        raise DocumentError(
            f"cannot read a file that ends in {file.suffix!r}",
            where=str(path),
            fix="Give a .yaml or .json file",
        )
    return readers[file.suffix](read_text(file), where=str(path))


def read_text(path: Path | str) -> str:
    """The text of a file, with a clear error for each way that can fail."""
    fail = partial(DocumentError, where=str(path))
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise fail("no such file", fix="Check the name and the folder") from None
    except IsADirectoryError:
        raise fail("is a folder", fix="Name a file inside it") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise fail(f"line {line} is not UTF-8", fix=utf8_fix(error.object)) from None
    except OSError as error:
        raise fail(f"cannot be read: {error.strerror}", fix="Check its permissions") from None
    if not text.strip():
        raise fail("the file is empty", fix="Fill it, or leave it out")
    return text


def parse_yaml(text: str, *, where: str = "") -> Any:
    """The value of a YAML text."""
    try:
        node = compose_yaml(text)
        return None if node is None else _value(node, where, set())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        problem = error.problem or error.context or "not YAML"
        raise DocumentError(
            problem, where=_at(where, line), fix="Check indentation, quotes and colons there"
        ) from None
    except yaml.YAMLError as error:
        what = str(error).splitlines()[0]
        raise DocumentError(what, where=where, fix="Remove that character") from None
    except RecursionError:
        raise DocumentError("is nested too deeply", where=where, fix=_FOLDED) from None


def parse_json(text: str, *, where: str = "") -> Any:
    """The value of a JSON text."""
    try:
        return json.loads(
            text,
            parse_float=Decimal,
            parse_constant=_refuse_number,
            object_pairs_hook=partial(_unique, where=where),
        )
    except json.JSONDecodeError as error:
        raise DocumentError(
            error.msg, where=_at(where, error.lineno), fix=f"Look at column {error.colno}"
        ) from None
    except (InvalidOperation, ValueError) as error:
        raise DocumentError(str(error), where=where, fix="Write a plain decimal number") from None
    except RecursionError:
        raise DocumentError("is nested too deeply", where=where, fix=_FOLDED) from None
    except DocumentError as error:
        # The parser says what it refused, not where.
        raise next(_json_refusals(text, where), error) from None


def _json_refusals(text: str, where: str) -> Iterator[DocumentError]:
    """JSON that is refused here, by line: duplicate keys, and NaN or infinities."""
    seen: list[set[str]] = []

    def place(token: re.Match[str]) -> str:
        return _at(where, text.count("\n", 0, token.start()) + 1)

    for token in _JSON_TOKENS.finditer(text):
        if token["key"]:
            key = json.loads(token["key"])
            if key in seen[-1]:
                yield _twice(key, place(token))
            seen[-1].add(key)
        elif token[0] == "{":
            seen.append(set())
        elif token[0] == "}":
            seen.pop()
        elif token["no"]:
            yield _no_number(token["no"], place(token))


def read_csv(path: Path | str) -> Iterator[tuple[int, dict[str, str]]]:
    """Line number and cells by column name of each row; every cell is text."""
    reader = csv.reader(read_text(path).splitlines(keepends=True), strict=True)
    try:
        header = next(reader)
        _unique(((name, None) for name in header), where=_at(str(path), 1))
        for row in reader:
            if row and len(row) != len(header):
                raise DocumentError(
                    f"{len(row)} cells under {len(header)} columns",
                    where=_at(str(path), reader.line_num),
                    fix="Give each row a cell for every column, quoted if it holds a comma",
                )
            if row:
                yield reader.line_num, dict(zip(header, row, strict=True))
    except csv.Error as error:
        where = _at(str(path), reader.line_num)
        raise DocumentError(str(error), where=where, fix="Check the quotes") from None


def _value(node: yaml.Node, where: str, seen: set[int]) -> Any:
    line = _at(where, node.start_mark.line + 1)
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, line)
    if id(node) in seen:
        raise DocumentError("repeats a part by an alias", where=line, fix=_FOLDED)
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        keys = [(_key(key, where), _value(value, where, seen)) for key, value in node.value]
        lines = [_at(where, key.start_mark.line + 1) for key, _ in node.value]
        return _unique(keys, where=line, places=lines)
    if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_value(item, where, seen) for item in node.value]
    raise _unknown_tag(node, line)


def _key(node: yaml.Node, where: str) -> Any:
    line = _at(where, node.start_mark.line + 1)
    if not isinstance(node, yaml.ScalarNode):
        raise DocumentError("a key is a list or mapping", where=line, fix="Use a name as key")
    return _scalar(node, line)


def _scalar(node: yaml.ScalarNode, where: str) -> Any:
    text: str = node.value
    if node.tag != "tag:yaml.org,2002:str":
        raise _unknown_tag(node, where)
    if node.style:
        return text
    for pattern, convert in _PLAIN:
        if pattern.fullmatch(text):
            try:
                return convert(text)
            except InputError as error:
                raise DocumentError(error.what, where=where, fix=error.fix) from None
            except (InvalidOperation, ValueError) as error:
                fix = "Write a plain decimal number"
                raise DocumentError(str(error), where=where, fix=fix) from None
    return text


def _unknown_tag(node: yaml.Node, where: str) -> DocumentError:
    return DocumentError(f"uses the tag {node.tag}", where=where, fix="Write plain values")


def _unique(
    pairs: Iterable[tuple[Any, Any]], *, where: str, places: list[str] | None = None
) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for index, (key, value) in enumerate(pairs):
        if key in found:
            place = places[index] if places else where
            raise _twice(key, place)
        found[key] = value
    return found


def _refuse_number(text: str) -> NoReturn:
    raise _no_number(text)


def _no_number(text: str, where: str = "") -> DocumentError:
    fix = "Write a plain decimal number"
    return DocumentError(f"{text} is not a number here", where=where, fix=fix)


def _twice(key: object, where: str) -> DocumentError:
    return DocumentError(f"{key!r} is there twice", where=where, fix="Keep one of them")


def _at(where: str, line: int) -> str:
    return f"{where} line {line}" if where else f"line {line}"


def _date_or_text(text: str) -> date | str:
    """A date that does not exist stays text: who reads the field names it, with its key."""
    try:
        return parse_date(text)
    except DateError:
        return text


_JSON_TOKENS = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*")\s*:|"(?:[^"\\]|\\.)*"|[{}]|(?P<no>NaN|-?Infinity)'
)
_PLAIN: list[tuple[re.Pattern[str], Callable[[str], Any]]] = [
    (re.compile(r"|~|null"), lambda _: None),
    (re.compile(r"true|false"), lambda text: text == "true"),
    (re.compile(r"[-+]?[0-9]+"), int),
    (re.compile(r"[-+]?([0-9]+\.[0-9]*|\.?[0-9]+)([eE][-+]?[0-9]+)?"), Decimal),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), _date_or_text),
    (re.compile(r"[-+]?\.(inf|Inf|INF|nan|NaN|NAN)"), _refuse_number),
]
