"""Screening: a person compared with lists, by a port; files in the home are the lists that ship.

    HOME/lists/sanctions.csv

A file has a line for each name of an entry, under the heads `entry,name,national_id,kind`; one
entry may have several names. An equal national id is a hit, and so is a name whose words, in any
order, are equal or nearly so. Names of one word have to be equal.

>>> listed = ListEntry("sanctions", "7", "Müller, Jörg", "", "sanctions")
>>> index = NameIndex([listed])
>>> [(hit.entry, hit.score_ppm) for hit in index.hits("jorg  MULLER", "")]
[('7', 1000000)]
>>> index.hits("Georg Miller", "")
[]
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import NamedTuple, Protocol

from usance.platform.errors import ListsRefused

HEADS = ("entry", "name", "national_id", "kind")
FOLDER, PATTERN = "lists", "*.csv"
NEAR = 0.9
"""The similarity of two names, as sorted words, from which a person looks at them."""
WHOLE = 1_000_000
LOOK_SECONDS = 1.0
"""Time for which the files are taken as they were seen."""
_WORDS = re.compile(r"[^\W_]+")


class ListEntry(NamedTuple):
    """One name of an entry of a list."""

    list: str
    entry: str
    name: str
    national_id: str
    kind: str


class ListHit(NamedTuple):
    """An entry that a person may be."""

    list: str
    entry: str
    kind: str
    score_ppm: int
    digest: bytes
    """A hash of the entry as it was, so that a changed one is looked at again."""


class ScreeningPort(Protocol):
    """Lists that people are compared with."""

    @property
    def version(self) -> str:
        """The lists as they are now; nothing where there are none."""

    @property
    def entries(self) -> int:
        """The number of names on them."""

    def hits(self, name: str, national_id: str) -> Sequence[ListHit]:
        """Entries that a person may be."""


class NoLists:
    """No lists: nobody is on one."""

    version, entries = "", 0

    def hits(self, _name: str, _national_id: str) -> Sequence[ListHit]:
        """None."""
        return ()


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, without case and accents, in order of the alphabet."""
    plain = "".join(
        each for each in unicodedata.normalize("NFKD", name) if not unicodedata.combining(each)
    )
    return tuple(sorted(_WORDS.findall(plain.casefold())))


class NameIndex:
    """Entries of lists, found by a word they share or by their national id."""

    def __init__(self, entries: Iterable[ListEntry]) -> None:
        self.entries = list(entries)
        self._by_id: dict[str, list[ListEntry]] = defaultdict(list)
        self._by_word: dict[str, list[tuple[str, int, ListEntry]]] = defaultdict(list)
        content: dict[tuple[str, str], list[ListEntry]] = defaultdict(list)
        for each in self.entries:
            content[each.list, each.entry].append(each)
            if each.national_id:
                self._by_id[each.national_id.upper()].append(each)
            words = words_of(each.name)
            for word in set(words):
                self._by_word[word].append((" ".join(words), len(words), each))
        self._digests = {
            place: sha256(repr(sorted(own)).encode()).digest() for place, own in content.items()
        }

    def hits(self, name: str, national_id: str) -> list[ListHit]:
        """Entries that a person may be, each once, the nearest first."""
        best: dict[tuple[str, str], tuple[int, ListEntry]] = {}

        def keep(score: int, entry: ListEntry) -> None:
            place = entry.list, entry.entry
            if place not in best or best[place][0] < score:
                best[place] = score, entry

        for each in self._by_id.get(national_id.strip().upper(), ()):
            keep(WHOLE, each)
        words = words_of(name)
        told = " ".join(words)
        near = {id(each[2]): each for word in words for each in self._by_word.get(word, ())}
        for listed, count, entry in near.values():
            score = 1.0 if listed == told else 0.0
            if not score and count > 1 and len(words) > 1:
                score = SequenceMatcher(None, listed, told, autojunk=False).ratio()
            if score >= NEAR:
                keep(round(score * WHOLE), entry)
        found = [ListHit(*place, entry.kind, score, self._digests[place])
                 for place, (score, entry) in best.items()]  # fmt: skip
        return sorted(found, key=lambda hit: (-hit.score_ppm, hit.list, hit.entry))


@dataclass
class FileLists:
    """Lists in a folder; a file that changes is read again, a bad one leaves all as they were."""

    folder: Path
    problem: str = ""
    """The fault of the files as they are now, while the former ones stay in force."""
    _index: NameIndex = field(default_factory=lambda: NameIndex(()))
    _version: str = ""
    _stamps: tuple[tuple[str, int, int], ...] = ()
    _looked: float = float("-inf")

    @property
    def version(self) -> str:
        """A hash of all files."""
        self._look()
        return self._version

    @property
    def entries(self) -> int:
        """The number of names."""
        self._look()
        return len(self._index.entries)

    def hits(self, name: str, national_id: str) -> Sequence[ListHit]:
        """Entries that a person may be."""
        self._look()
        return self._index.hits(name, national_id)

    def read(self) -> None:
        """Read the files now; what is wrong with one is raised, and the former stay in force."""
        files = sorted(self.folder.glob(PATTERN))
        self._stamps = self._seen()
        content = [(file, file.read_bytes()) for file in files]
        index = NameIndex(entry for file, raw in content for entry in read_list(file, raw))
        told = sha256(b"".join(sha256(file.name.encode() + b"\0" + raw).digest()
                               for file, raw in content))  # fmt: skip
        self._index, self._version = index, told.hexdigest()[:16] if content else ""
        self.problem = ""

    def _look(self) -> None:
        now = monotonic()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if self._seen() == self._stamps:
            return
        try:
            self.read()
        except (ListsRefused, OSError) as error:
            self.problem = str(error)

    def _seen(self) -> tuple[tuple[str, int, int], ...]:
        found = []
        for file in sorted(self.folder.glob(PATTERN)):
            state = file.stat()
            found.append((file.name, state.st_mtime_ns, state.st_size))
        return tuple(found)


def lists_of(home: Path) -> FileLists:
    """The lists of a home, read once; a bad file is refused."""
    found = FileLists(home / FOLDER)
    found.read()
    return found


def read_list(file: Path, raw: bytes) -> list[ListEntry]:
    """The entries of one file."""
    try:
        rows = csv.DictReader(io.StringIO(raw.decode("utf-8-sig"), newline=""), strict=True)
        if rows.fieldnames is None or tuple(rows.fieldnames) != HEADS:
            raise ListsRefused("has other heads", where=str(file),
                               fix=f"Begin it with {','.join(HEADS)}")  # fmt: skip
        found = []
        for row in rows:
            values = [row[head] for head in HEADS]
            if None in values or None in row or not values[0].strip() or not words_of(values[1]):
                raise ListsRefused("has a line without entry or name",
                                   where=f"{file}:{rows.line_num}",
                                   fix="Give four fields, the first two filled")  # fmt: skip
            entry, name, national_id, kind = (value.strip() for value in values)
            found.append(ListEntry(file.stem, entry, name, national_id, kind or "sanctions"))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ListsRefused(f"cannot be read: {error}", where=str(file),
                           fix="Save it as CSV in UTF-8") from error  # fmt: skip
    return found
