r"""Records of an XML file by the standard library's expat, in one pass.

A grammar says which elements are records and fields; everything else is skipped without being kept.
A record is handed to its maker as soon as it ends, so that memory holds what was made and never the
file. A document type declaration is refused, so nothing can be expanded; every error has the line
and the column.

>>> note = Element(record="note", fields={"text": ("Body", "Text"), "unit": ("Body", "Text", "@u")})
>>> made = read_xml(
...     b"<D><N><Body><Text u='x'>hi</Text></Body></N></D>",
...     "n.xml",
...     lambda _: Element(children={"D": Element(children={"N": note})}),
...     {"note": lambda fields, at: (fields["text"], fields["unit"], at.line)},
... )
>>> made
[('hi', 'x', 1)]
>>> read_xml(b"<D>\n<N></D>", "n.xml", lambda _: Element(), {})
Traceback (most recent call last):
usance.service.errors.BankFileError: n.xml line 2, column 6: mismatched tag.
Ask for the whole file again; nothing of it was taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.parsers import expat

from usance.service.errors import BankFileError

MAX_DEPTH = 64
"""ISO 20022 messages nest about twenty deep."""
MAX_TEXT = 10_000
"""Characters of one field; the longest of ISO 20022 has 2,000."""
_SEPARATOR = "\n"  # cannot be in a name or a namespace
_LONG = f"a text of more than {MAX_TEXT} characters"
_AGAIN = "Ask for the whole file again; nothing of it was taken"

Path = tuple[str, ...]


@dataclass(slots=True)
class Element:
    """An element of interest: a record with fields below it, or a step towards one."""

    record: str = ""
    fields: Mapping[str, Path] = field(default_factory=dict)
    """Name of each field and the elements that lead to it; a last `@name` is an attribute."""
    children: dict[str, Element] = field(default_factory=dict)


class Place(NamedTuple):
    """The position of a record's first character."""

    where: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.where} line {self.line}, column {self.column}"


Fields = dict[str, Any]
"""Texts by field, and lists of what the makers of inner records gave, by record."""
Maker = Callable[[Fields, Place], Any]
Grammar = Callable[[str], Element]
"""The grammar of a namespace; raises for one it does not know."""


class _Node:
    """A step of the compiled grammar; a plain one neither begins a record nor holds a value."""

    __slots__ = ("attributes", "children", "field", "is_plain", "record")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.attributes: dict[str, str] = {}
        self.field = self.record = ""
        self.is_plain = True


def read_xml(
    content: bytes | Iterable[bytes], where: str, grammar: Grammar, makers: Mapping[str, Maker]
) -> list[Any]:
    """Outer records as their makers gave them, in the order of the file."""
    reader = _Reader(where, grammar, makers)
    try:
        for piece in [content] if isinstance(content, bytes) else content:
            reader.parser.Parse(piece, False)
            reader.drop_text()
        reader.parser.Parse(b"", True)
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        raise BankFileError(
            what, where=str(Place(where, error.lineno, error.offset + 1)), fix=_AGAIN
        ) from None
    except (LookupError, ValueError) as error:
        if reader.is_begun:
            raise
        # The parser knows no such encoding, or none of several bytes but those of Unicode.
        raise reader.refusal(f"an encoding that cannot be read: {error}") from None
    return reader.made


class _Reader:
    """Callbacks of one pass: millions of calls, so steps without a value return at once."""

    def __init__(self, where: str, grammar: Grammar, makers: Mapping[str, Maker]) -> None:
        self.where, self.grammar, self.makers = where, grammar, makers
        self.made: list[Any] = []
        self.skipped = _Node()
        self.stack: list[_Node] = []
        self.open: list[tuple[str, Fields, Place]] = []
        self.text: list[str] = []
        self.is_begun = False
        self.is_in_field: Callable[[], bool] = bool
        parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self.doctype
        parser.StartElementHandler = self.first
        # Set once: to set it for each field takes longer than to drop the space between them.
        parser.CharacterDataHandler = self.text.append
        self.parser = parser

    @property
    def place(self) -> Place:
        return Place(self.where, self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1)

    def refusal(self, what: str) -> BankFileError:
        return BankFileError(what, where=str(self.place), fix=_AGAIN)

    def doctype(self, *_: object) -> None:
        raise self.refusal("a document type declaration, which could expand into anything")

    def first(self, name: str, attributes: dict[str, str]) -> None:
        """Choose the grammar by the namespace of the outermost element."""
        self.is_begun = True
        namespace, _, local = name.rpartition(_SEPARATOR)
        try:
            root = _compiled(self.grammar(namespace), namespace)
        except BankFileError as error:
            raise BankFileError(error.what, where=str(self.place), fix=error.fix) from None
        if root.children and name not in root.children:
            raise self.refusal(f"begins with {local}")
        self.follow(root, name, attributes)

    def follow(self, node: _Node, name: str, attributes: dict[str, str]) -> None:
        """Follow the grammar from the outermost element on.

        The callbacks are closures: a file has millions of elements, and names of an object are
        looked up anew in each call.
        """
        stack, skipped, texts = self.stack, self.skipped, self.text
        push, pop, open_records = stack.append, stack.pop, self.open

        def start(name: str, attributes: dict[str, str]) -> None:
            nonlocal node
            push(node)
            node = node.children.get(name, skipped)
            if node.is_plain:
                if node is skipped and len(stack) >= MAX_DEPTH:
                    raise self.refusal(f"is nested deeper than {MAX_DEPTH} elements")
                return
            if node.record:
                open_records.append((node.record, {}, self.place))
            if node.field:
                texts.clear()
            if attributes and node.attributes:
                self.keep_attributes(node, attributes)

        def end(_: str) -> None:
            nonlocal node
            ended, node = node, pop()
            if ended.is_plain:
                return
            if ended.field:
                text = "".join(texts).strip()
                if len(text) > MAX_TEXT:
                    raise self.refusal(_LONG)
                record, key = open_records[-1][1], ended.field
                # Of a field that may repeat, as the lines of a remittance text, all are kept.
                record[key] = f"{record[key]} {text}" if key in record else text
            if ended.record:
                self.close_record()

        self.is_in_field = lambda: bool(node.field)
        self.parser.StartElementHandler, self.parser.EndElementHandler = start, end
        start(name, attributes)

    def keep_attributes(self, node: _Node, attributes: Mapping[str, str]) -> None:
        """Keep the attributes of an element that are fields of the open record."""
        record = self.open[-1][1]
        for attribute, key in node.attributes.items():
            if attribute in attributes:
                record[key] = attributes[attribute]

    def close_record(self) -> None:
        """Hand the open record to its maker."""
        record_name, fields, place = self.open.pop()
        made = self.makers[record_name](fields, place)
        if self.open:
            self.open[-1][1].setdefault(record_name, []).append(made)
        else:
            self.made.append(made)

    def drop_text(self) -> None:
        """Between two pieces of a file: drop text of no field, and refuse one without an end."""
        if not self.is_in_field():
            self.text.clear()
        elif sum(map(len, self.text)) > MAX_TEXT:
            raise self.refusal(_LONG)


def _compiled(element: Element, namespace: str) -> _Node:
    """The grammar with the names as expat gives them."""
    prefix = f"{namespace}{_SEPARATOR}" if namespace else ""
    root = _Node()
    _compile(element, root, prefix)
    _mark(root)
    return root


def _mark(node: _Node) -> None:
    node.is_plain = not (node.record or node.field or node.attributes)
    for child in node.children.values():
        _mark(child)


def _compile(element: Element, node: _Node, prefix: str) -> None:
    node.record = element.record
    for name, child in element.children.items():
        at = node
        for step in name.split("/"):
            at = at.children.setdefault(prefix + step, _Node())
        _compile(child, at, prefix)
    for key, path in element.fields.items():
        at = node
        for step in path:
            if step.startswith("@"):
                at.attributes[step[1:]] = key
                break
            at = at.children.setdefault(prefix + step, _Node())
        else:
            at.field = key
