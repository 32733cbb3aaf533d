"""The project's own files, as the house tests read them."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tests.house.tidy import Source

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "usance"


@cache
def pyproject() -> dict[str, Any]:
    """The project file as a table."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@cache
def sources(folder: Path, base: Path) -> list[Source]:
    """Every Python module below a folder, with names relative to a base."""
    return [_source(path, base) for path in sorted(folder.rglob("*.py"))]


def stubs() -> list[Source]:
    """The stubs of rooms: they list the public names."""
    return [_source(path, ROOT / "src") for path in sorted(PACKAGE.rglob("*.pyi"))]


def _source(path: Path, base: Path) -> Source:
    parts = list(path.relative_to(base).with_suffix("").parts)
    if parts[-1] == "__init__":
        parts.pop()
    return Source(".".join(parts), str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))


def rooms() -> list[str]:
    """The folders of the package that hold Python."""
    return sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def project_files() -> dict[str, str]:
    """Text of every file that is, or would be, under version control; binary files left out."""
    texts: dict[str, str] = {}
    for name in _listed_by_git() or _listed_by_folder():
        path = ROOT / name
        data = path.read_bytes() if path.is_file() else b"\0"
        if b"\0" not in data:
            texts[name] = data.decode("utf-8")
    return texts


def _listed_by_git() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return []
    return sorted(filter(None, done.stdout.split("\0")))


def _listed_by_folder() -> list[str]:
    """For a copy without git: all files but those that `make` made."""
    made = {".git", ".venv", ".cache", "site", "dist", "__pycache__"}
    paths = (path.relative_to(ROOT) for path in ROOT.rglob("*"))
    return sorted(str(path) for path in paths if not made & set(path.parts))
