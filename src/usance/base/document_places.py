"""Places in people's documents: the file, the line and the path of each value, for messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

import yaml

from usance.base.documents import compose_yaml
from usance.base.errors import InputError

DocumentPath = tuple[str | int, ...]
"""Keys and positions (from 1) that lead to a part of a document."""
Places = Callable[[DocumentPath], str]
"""Says where a part of a document is, for a message."""


def document_places(name: str, read: Callable[[], str]) -> Places:
    """Places in a YAML or JSON text (read again only when one is asked for): file, line, path."""

    @cache
    def lines() -> dict[DocumentPath, int]:
        try:
            node = compose_yaml(read())
            return dict(_lines(node, ())) if node else {}
        except (yaml.YAMLError, RecursionError, InputError):
            return {}  # JSON that is no YAML, such as one indented by tabs, has its paths alone

    def place(path: DocumentPath) -> str:
        if not path:
            return name
        known = next((lines()[p] for p in _upwards(path) if p in lines()), None)
        return f"{name}{f' line {known}' if known else ''}, {_joined(path)}"

    return place


def _upwards(path: DocumentPath) -> Iterator[DocumentPath]:
    return (path[:length] for length in range(len(path), 0, -1))


def _lines(node: yaml.Node, path: DocumentPath) -> Iterator[tuple[DocumentPath, int]]:
    yield path, node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inside = (*path, str(key.value))
            yield from _lines(value, inside)
            yield inside, key.start_mark.line + 1
    elif isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value, start=1):
            yield from _lines(item, (*path, number))


def _joined(path: DocumentPath) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")
