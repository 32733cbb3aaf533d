"""The decision log: a folder of decisions, only ever appended, and of what they were made with.

    LOG/versions/<sha256>/…               every flow that decided, whole, by its content
    LOG/numbers.json                      which content a flow's number stands for
    LOG/open.jsonl                        decisions since the last seal, one line each
    LOG/sealed/<first 16 hex>/…parquet    decisions, decision_inputs and decision_paths

A line is acknowledged once `commit` returns: it is then on the disk. A line cut short by a crash
was never acknowledged and is dropped. Sealing turns lines into tables of the data contract.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from usance.assess.decision.decide import Decision
from usance.assess.errors import LogError
from usance.assess.flow.files import Flow, content_of, content_sha256, read_flow
from usance.base.atomic_files import lock, publish, replace
from usance.base.columns import arrays
from usance.base.parquet import read_parquet
from usance.base.schemas import declare
from usance.base.tables import table

PATHS = declare(
    "decision_paths",
    1,
    "The way each decision took through its flow.",
    """
    decision_id  i64  key  the decision
    flow         text      SHA-256 of the flow's content
    path         text      stage, table and rule of each step, as JSON
    values       text      everything the stages gave, as JSON
    """,
)


@dataclass(frozen=True)
class StoredDecision:
    """A decision as the log has it."""

    row: dict[str, Any]
    inputs: tuple[float, ...]
    flow_sha256: str
    path: tuple[tuple[str, str, str], ...]
    values: dict[str, Any]

    @property
    def request_digest(self) -> bytes:
        """A hash of what was decided on, equal for the same request alone."""
        row = self.row
        return _request_digest(row["booked_at"], row["kind"], self.flow_sha256, self.inputs)


def _request_digest(booked_at: datetime, kind: int, flow: str, inputs: Sequence[float]) -> bytes:
    numbers = np.asarray(inputs, np.float64).tobytes()
    moment = booked_at.astimezone(UTC).isoformat()
    return sha256(f"{moment} {int(kind)} {flow} ".encode() + numbers).digest()[:16]


class Log:
    """An open log; one writer at a time."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._stored_flows: set[str] = set()
        file = self._repaired()
        self._open = {int(each.row["decision_id"]): each.request_digest for each in _lines(file)}
        self._sealed = _sealed_ids(self.folder)
        self._lines = file.open("ab")

    def close(self) -> None:
        """Commit and let go of the file."""
        self.commit()
        self._lines.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def append(self, decision: Decision, flow: Flow) -> None:
        """Write a decision behind the others; `commit` makes it durable.

        The same request again, under its id, changes nothing; another one under that id is refused.
        """
        self._store_flow(flow)
        key = decision.decision_id
        digest = _request_digest(
            decision.booked_at, decision.kind, decision.flow_sha256, decision.inputs
        )
        before = self._before(key)
        if before == digest:
            return
        if before is not None:
            fix = "Number a user's decisions 1, 2, 3 …"
            what = f"decision {key} is there with another request"
            raise LogError(what, where=str(self.folder), fix=fix)
        self._lines.write(_line(decision))
        self._open[key] = digest

    def _before(self, key: int) -> bytes | None:
        """The logged request under an id, or None if it is new."""
        at = int(np.searchsorted(self._sealed, key))
        if key in self._open or at == len(self._sealed) or self._sealed[at] != key:
            return self._open.get(key)
        return next(
            each.request_digest
            for each in read_log(self.folder)
            if int(each.row["decision_id"]) == key
        )

    def commit(self) -> None:
        """Return once everything appended is on the disk; many decisions may share one commit."""
        self._lines.flush()
        os.fsync(self._lines.fileno())

    def _store_flow(self, flow: Flow) -> None:
        """The flow's files, as they are now, under their hash."""
        if flow.sha256 in self._stored_flows:
            return
        content = content_of(flow.folder)
        if content_sha256(content) != flow.sha256:
            fix = "Read the flow again; its files changed after it was read"
            raise LogError(f"{flow.name} is not what decided", where=str(flow.folder), fix=fix)
        self._number(flow)
        place = self.folder / "versions" / flow.sha256
        if not place.is_dir():
            aside = self.folder / "versions" / f"{flow.sha256}.new"
            shutil.rmtree(aside, ignore_errors=True)
            for path, data in content.items():
                (aside / path).parent.mkdir(parents=True, exist_ok=True)
                (aside / path).write_bytes(data)
            publish(aside, place)
        self._stored_flows.add(flow.sha256)

    def _number(self, flow: Flow) -> None:
        """A flow's number stands for one content for ever."""
        file = self.folder / "numbers.json"
        with lock(self.folder / "lock"):
            numbers = json.loads(file.read_text()) if file.exists() else {}
            key = f"{flow.name}/{flow.number}"
            if numbers.get(key, flow.sha256) != flow.sha256:
                fix = "Give the changed flow the next number"
                what = f"number {flow.number} of {flow.name} stands for other content here"
                raise LogError(what, where=str(self.folder), fix=fix)
            if key not in numbers:
                replace(file, json.dumps({**numbers, key: flow.sha256}, indent=1).encode())

    def _repaired(self) -> Path:
        """The file of open lines without a last line that was cut short."""
        file = self.folder / "open.jsonl"
        data = file.read_bytes() if file.exists() else b""
        if data and not data.endswith(b"\n"):
            replace(file, data[: data.rfind(b"\n") + 1])
        if data and (self.folder / "sealed" / _mark(data)).is_dir():
            replace(file, b"")  # sealed, but stopped before the lines were let go
        return file

    def seal(self) -> Path | None:
        """Turn the open lines into tables; gives their folder, or None if there are none."""
        self.commit()
        file = self.folder / "open.jsonl"
        data = file.read_bytes()
        if not data:
            return None
        from usance.assess.decision.log_tables import write_tables

        place = self.folder / "sealed" / _mark(data)
        aside = self.folder / "sealed" / f"{_mark(data)}.new"
        shutil.rmtree(aside, ignore_errors=True)
        aside.mkdir(parents=True)
        write_tables([*_lines(file)], aside)
        publish(aside, place)
        self._lines.close()
        replace(file, b"")
        self._lines = file.open("ab")
        self._sealed = np.sort(np.concatenate([self._sealed, [*self._open]]).astype(np.int64))
        self._open = {}
        return place


def read_log(folder: Path | str) -> Iterator[StoredDecision]:
    """Every decision of a log: sealed ones by folder and id, then open ones as they came."""
    from usance.assess.decision.log_tables import read_tables

    place = Path(folder)
    if not (place / "numbers.json").is_file():
        raise LogError("is no decision log", where=str(folder), fix="Name the folder of a log")
    sealed = sorted(path for path in (place / "sealed").glob("*") if path.suffix != ".new")
    for each in sealed:
        yield from read_tables(each)
    file = place / "open.jsonl"
    data = file.read_bytes() if file.exists() else b""
    if not (place / "sealed" / _mark(data)).is_dir():
        yield from _lines(file)


def _lines(file: Path) -> Iterator[StoredDecision]:
    """The open lines; one cut short by a crash is left out, a damaged one is named."""
    data = file.read_bytes() if file.exists() else b""
    for number, line in enumerate(data.splitlines(keepends=True), start=1):
        if not line.endswith(b"\n"):
            continue
        try:
            yield _decision_of_line(json.loads(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            fix = "Restore the file from a copy"
            where = f"{file}, line {number}"
            raise LogError("the line is damaged", where=where, fix=fix) from error


def _sealed_ids(folder: Path) -> NDArray[np.int64]:
    """The ids of all sealed decisions, in order."""
    files = [
        each for each in (folder / "sealed").glob("*/decisions.parquet")
        if each.parent.suffix != ".new"
    ]  # fmt: skip
    spec = table("decisions")
    found = [
        arrays(read_parquet(each, spec, ("decision_id",)))["decision_id"] for each in files
    ]  # fmt: skip
    return np.sort(np.concatenate([np.empty(0, np.int64), *found]))


def stored_flow(folder: Path | str, mark: str) -> Flow:
    """The flow of that content, as the log keeps it."""
    place = Path(folder) / "versions" / mark
    if not place.is_dir():
        raise LogError("a flow is missing", where=str(place), fix="Restore the log's versions")
    flow = read_flow(place)
    if flow.sha256 != mark:
        raise LogError("a kept flow was edited", where=str(place), fix="Restore it from a copy")
    return flow


def _mark(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def _line(decision: Decision) -> bytes:
    row = decision.row()
    line = {
        **row,
        "booked_at": decision.booked_at.isoformat(),
        "flow": decision.flow_sha256,
        "path": decision.answer.path,
        "values": decision.answer.values,
        "inputs": [None if np.isnan(code) else code for code in decision.inputs],
    }
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


def _decision_of_line(line: dict[str, Any]) -> StoredDecision:
    row = dict(line)
    inputs = tuple(float("nan") if code is None else float(code) for code in row.pop("inputs"))
    path = tuple((a, b, c) for a, b, c in row.pop("path"))
    flow, values = row.pop("flow"), row.pop("values")
    row["booked_at"] = datetime.fromisoformat(row["booked_at"])
    return StoredDecision(row, inputs, flow, path, values)


def check_unique(stored: Sequence[StoredDecision], where: str) -> None:
    """Refuse two decisions of one id."""
    seen: set[int] = set()
    for each in stored:
        key = each.row["decision_id"]
        if key in seen:
            fix = "Number a user's decisions 1, 2, 3 …"
            raise LogError(f"decision {key} is there twice", where=where, fix=fix)
        seen.add(key)
