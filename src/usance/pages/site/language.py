"""Pages of a book in another language: each text by its phrase, numbers and names as they are.

A catalogue of `texts` holds phrases and sentences with holes; the lines of statements are named as
in the wording of a release. What is in no catalogue, such as the name of an institution, stays.

>>> translated("<td>Net income</td><td>12,300</td><code>Net income</code>", "zh")
'<td>净利润</td><td>12,300</td><code>Net income</code>'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from html import escape, unescape
from pathlib import Path

from usance.base.documents import read_document
from usance.disclose.release.wording import load_wording

FOLDER = Path(__file__).parents[1] / "texts"
_NODE = re.compile(
    r"<code\b.*?</code>|<style\b.*?</style>|"
    r'(?P<before>\b(?:aria-label|title|alt)=")(?P<value>[^"]*)(?P<quote>")|'
    r"(?<=>)(?P<text>[^<>]+)(?=<)", re.DOTALL,
)  # fmt: skip
_DATA = re.compile(
    r"(?:\d{4}[QHN]\d|\b[a-z]{2}_[0-9A-Z]+|\b[A-Z]{3}\b|\bKiB\b|[^A-Za-z]|\b[A-Za-z]\b)*"
)
_HOLE = re.compile(r"\\\{(\w+)\\\}")
_HAS_HOLE = re.compile(r"\{\w+\}")


@dataclass(frozen=True)
class Catalogue:
    """The phrases of a language, its sentences with holes, and what it writes between phrases."""

    phrases: Mapping[str, str]
    sentences: tuple[tuple[re.Pattern[str], str], ...]
    joints: Mapping[str, str]

    def of(self, text: str) -> str | None:
        """A text in the language; none if it is in no catalogue."""
        if _DATA.fullmatch(text):
            return text
        found = self.phrases.get(_plain(text))
        return found or self._sentence(text) or self._numbered(text) or self._joined(text)

    def _numbered(self, text: str) -> str | None:
        """A number before a phrase, such as that of an account before its name."""
        number, _, rest = text.partition(" ")
        told = self.of(rest) if rest and number.isdigit() else None
        return f"{number} {told}" if told else None

    def _sentence(self, text: str) -> str | None:
        for pattern, template in self.sentences:
            if found := pattern.fullmatch(text):
                holes = {name: self.of(value) or value for name, value in found.groupdict().items()}
                return template.format(**holes)
        return None

    def _joined(self, text: str) -> str | None:
        """Two texts with a joint between them, both of which are known."""
        for joint, own in self.joints.items():
            at = text.rfind(joint)
            while at > 0:
                left, right = self.of(text[:at]), self.of(text[at + len(joint) :])
                if left is not None and right is not None:
                    return left + own + right
                at = text.rfind(joint, 0, at)
        return None


def languages() -> list[str]:
    """Languages that pages can be read in beside English."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@lru_cache(1 << 16)
def _translated_text(text: str, language: str) -> str | None:
    return catalogue(language).of(text)


@cache
def catalogue(language: str) -> Catalogue:
    """The catalogue of a language: its own file and the lines of statements."""
    own = read_document(FOLDER / f"{language}.yaml")
    given = {**load_wording(language, {})["lines"], **own["phrases"]}
    whole = {_plain(name): text for name, text in given.items() if not _HAS_HOLE.search(name)}
    holed = {name: text for name, text in {**given, **own["sentences"]}.items()
             if _HAS_HOLE.search(name)}  # fmt: skip
    longest = sorted(holed, key=lambda name: -len(_HAS_HOLE.sub("", name)))
    sentences = tuple((_pattern(name), holed[name]) for name in longest)
    return Catalogue(whole, sentences, own["joints"])


def translated(page: str, language: str) -> str:
    """A page of a book, or a part of one, in a language; in English it is what it was."""
    if language not in languages():
        return page

    def one(node: re.Match[str]) -> str:
        text = node["text"] if node["text"] is not None else node["value"]
        if not text or not text.strip():
            return node[0]
        inner = " ".join(unescape(text).split())
        told = _translated_text(inner, language)
        if told is None or told == inner:
            return node[0]
        if node["value"] is not None:
            return f"{node['before']}{escape(told)}{node['quote']}"
        first, last = len(text) - len(text.lstrip()), len(text.rstrip())
        return text[:first] + escape(told, quote=False) + text[last:]

    return _NODE.sub(one, page)


def _plain(text: str) -> str:
    """A phrase without its case and underscores, so that one entry serves a name and a heading."""
    return text.replace("_", " ").casefold()


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_HOLE.sub(r"(?P<\1>.+?)", re.escape(template)), re.IGNORECASE)
