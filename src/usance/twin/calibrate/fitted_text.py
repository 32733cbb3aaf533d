r"""The scenario that calibration writes: its text as it was, with other fitted values in it.

>>> text = "fitted: {late: 5%, collected30: 82%, cure: [8%, 2%], prepay: 8%}  # all of them\n"
>>> values = {"late": "4.8%", "collected30": "82%", "cure": ["9%", "2%"], "prepay": "8.1%"}
>>> FittedText.of(text, where="mine.yaml").with_values(values)
'fitted: {late: 4.8%, collected30: 82%, cure: [9%, 2%], prepay: 8.1%}  # all of them\n'
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from usance.base.atomic_files import replace
from usance.base.documents import parse_yaml
from usance.base.errors import DocumentError, InputError, UsanceError

KEYS = ("late", "collected30", "cure", "prepay")
ANOTHER = "choose another file with --out"
ANY_WRITE = 0o222
Values = Mapping[str, str | Sequence[str]]


@dataclass(frozen=True, slots=True)
class FittedText:
    """A scenario's text, and where in it each fitted value stands."""

    content: str
    where: str
    spans: Mapping[str, tuple[slice, ...]]

    @classmethod
    def of(cls, content: str, *, where: str) -> FittedText:
        """The text of a scenario that has all four among its fitted values."""
        document = parse_yaml(content, where=where)
        fitted = _inside(yaml.compose(content, Loader=yaml.SafeLoader), "fitted")
        spans = {key: tuple(_spans(_inside(fitted, key), content)) for key in KEYS}
        missing = [key for key in KEYS if not spans[key]]
        if missing:
            raise _unfitted(document, missing, where)
        return cls(content, where, spans)

    def with_values(self, values: Values) -> str:
        """The text with these values; everything else in it, comments too, as it was."""
        places = [
            (span, value)
            for key in KEYS
            for span, value in zip(self.spans[key], _each(values[key]), strict=False)
        ]
        text = self.content
        for span, value in sorted(places, key=lambda place: place[0].start, reverse=True):
            text = f"{text[: span.start]}{value}{text[span.stop :]}"
        self._check(text, values)
        return text

    def _check(self, text: str, values: Values) -> None:
        """Read it again: an alias, for one, would carry a value to another place."""
        document = parse_yaml(self.content)
        wanted = {**document, "fitted": {**document["fitted"], **values}}
        try:
            found = parse_yaml(text)
        except DocumentError:
            found = None
        if found != wanted:
            fix = "Write each of them out under 'fitted:', without anchors and aliases"
            raise DocumentError("its fitted values cannot be replaced", where=self.where, fix=fix)


def _inside(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """Value of a mapping under a key."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for name, value in pairs if name.value == key), None)


def _spans(node: yaml.Node | None, content: str) -> Iterator[slice]:
    """Span of a value, or of each of a list."""
    if isinstance(node, yaml.SequenceNode):
        for each in node.value:
            yield from _spans(each, content)
    elif isinstance(node, yaml.ScalarNode):
        start, stop = node.start_mark.index, node.end_mark.index
        yield slice(start, start + len(content[start:stop].rstrip()))


def _each(value: str | Sequence[str]) -> Sequence[str]:
    return [value] if isinstance(value, str) else value


def _unfitted(document: Any, missing: Sequence[str], where: str) -> UsanceError:
    base = document.get("based_on") if isinstance(document, dict) else None
    if base is not None:
        what = f"is based on {base} and has no fitted values of its own"
        return DocumentError(what, where=where, fix=f"Calibrate {base} instead")
    fix = f"Move {', '.join(missing)} from behaviour into 'fitted:'"
    if len(missing) == len(KEYS):
        return DocumentError("has no fitted values", where=where, fix=fix)
    what = f"{', '.join(missing)} not among its fitted values"
    return DocumentError(what, where=where, fix=fix)


def check_out(out: Path, targets: Path) -> None:
    """Refuse a place that cannot be written, before a search that takes its time."""
    with _refused(out):
        place = _place(out)
        if place.is_dir():
            raise _no_place("is a folder", out, "Name a file with --out")
        if not place.parent.is_dir():
            fix = f"Make that folder, or {ANOTHER}"
            raise _no_place(f"{out.parent} is no folder", out, fix)
        if place.exists():
            _check_there(place, out, targets)
        if not os.access(place.parent, os.W_OK | os.X_OK):
            fix = f"Make that folder writable, or {ANOTHER}"
            raise _no_place(f"{out.parent} is read-only", out, fix)


def _check_there(place: Path, out: Path, targets: Path) -> None:
    """Refuse to replace what is no file, is kept from writing, or was read."""
    fix = ANOTHER.capitalize()
    if not place.is_file():
        raise _no_place("is no plain file", out, fix)
    if targets.exists() and place.samefile(targets):
        raise _no_place("holds the targets", out, fix)
    # Root may write everything, yet a file without write permission is meant to stay.
    if not place.stat().st_mode & ANY_WRITE or not os.access(place, os.W_OK):
        raise _no_place("is read-only", out, f"Make it writable, or {ANOTHER}")


def write_out(out: Path, content: str) -> None:
    """Write the scenario in one step; behind a link, the file it leads to."""
    with _refused(out):
        replace(_place(out), content.encode())


def _place(out: Path) -> Path:
    return Path(os.path.realpath(out))


@contextmanager
def _refused(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what = f"cannot be written: {error.strerror}"
        raise _no_place(what, out, ANOTHER.capitalize()) from None


def _no_place(what: str, out: Path, fix: str) -> InputError:
    return InputError(what, where=str(out), fix=fix)
