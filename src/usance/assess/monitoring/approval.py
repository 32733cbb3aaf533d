"""Approval of a model: a record in its folder that holds for exactly its bytes.

A model that nobody approved, or that changed after it was approved, is refused for live use.
"""

from __future__ import annotations

import json
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any

from usance.assess.errors import ModelError, NotApproved
from usance.assess.scoring.model import Model, load_model
from usance.base.atomic_files import replace

FILE = "approvals.json"


def approve(folder: Path | str, by: str, on: date, note: str = "") -> dict[str, str]:
    """Record that someone approved the model as it is now."""
    load_model(folder)  # refuses a folder that is none
    if not by.strip():
        raise ModelError("an approval has no name", where=str(folder), fix="Give --by NAME")
    entry = {"by": by.strip(), "on": on.isoformat(), "note": note, "model": digest(folder)}
    entries = [*approvals(folder), entry]
    text = json.dumps(entries, indent=1, ensure_ascii=False) + "\n"
    replace(Path(folder) / FILE, text.encode())
    return entry


def approvals(folder: Path | str) -> list[dict[str, Any]]:
    """All approvals, also of bytes that are gone."""
    path = Path(folder) / FILE
    if not path.exists():
        return []
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ModelError(f"is no JSON: {error}", where=str(path), fix="Restore it") from error
    if not isinstance(read, list) or not all(isinstance(entry, dict) for entry in read):
        raise ModelError("is no list of approvals", where=str(path), fix="Restore it")
    return read


def live_model(folder: Path | str) -> Model:
    """The model of a folder for live decisions; refused without an approver of these bytes."""
    model = load_model(folder)
    given = approvals(folder)
    if not any(entry.get("model") == digest(folder) for entry in given):
        what = "was changed after its approval" if given else "has no approver"
        fix = f"Let someone approve it: usance assess approve {folder} --by NAME"
        raise NotApproved(what, where=str(folder), fix=fix)
    return model


def digest(folder: Path | str) -> str:
    """The hash of `model.json`, which holds the hash of the trees."""
    return sha256((Path(folder) / "model.json").read_bytes()).hexdigest()
