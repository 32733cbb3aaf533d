"""The project as a whole: imports, lock files, commands, and links that lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.house import tree

LOCKS = ["requirements.lock", "requirements-bench.lock"]
PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9._-]*)==\S+", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?://|mailto:|#)(?P<target>[^)#\s]+)")

# The order of the house; a loan walks through it from the first to the last.
ROOMS = [
    "base", "loan", "acquire", "assess", "match", "service", "fund", "capital", "measure",
    "books", "disclose", "world", "twin", "platform",
]  # fmt: skip


def layers() -> list[str]:
    contract = tree.pyproject()["tool"]["importlinter"]["contracts"][0]
    return [layer.strip("()") for layer in contract["layers"]]


def test_import_contract_has_the_order_of_the_house() -> None:
    assert [layer for layer in reversed(layers()) if layer in ROOMS] == ROOMS


def test_import_contract_covers_every_room() -> None:
    parts = {path.stem for path in tree.PACKAGE.glob("*.py")} | set(tree.rooms())
    assert parts - {"__init__"} <= set(layers())


def test_every_folder_of_the_package_is_a_room() -> None:
    folders = {path.parent.relative_to(tree.PACKAGE) for path in tree.PACKAGE.rglob("*.py")}
    without_door = [
        folder for folder in folders if not (tree.PACKAGE / folder / "__init__.py").is_file()
    ]
    assert not without_door, f"no __init__.py in {without_door}"


def test_every_room_has_its_reference_page() -> None:
    for room in tree.rooms():
        page = tree.ROOT / "docs" / "reference" / f"{room}.md"
        assert page.is_file(), f"write {page.relative_to(tree.ROOT)}"
        assert f"::: usance.{room}" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_pins_by_hash_without_an_address(lock: str) -> None:
    text = (tree.ROOT / lock).read_text(encoding="utf-8")
    assert "://" not in text
    packages = [part for part in re.split(r"\n(?=[a-z0-9])", text) if PIN.match(part)]
    assert packages
    for package in packages:
        assert "--hash=sha256:" in package, f"{lock} has no hash for {package.split()[0]}"


def test_lock_has_every_dependency() -> None:
    project = tree.pyproject()
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    pinned = PIN.findall((tree.ROOT / "requirements.lock").read_text(encoding="utf-8"))
    for requirement in wanted:
        name = re.split(r"[\[<>=~!; ]", requirement)[0].lower().replace("_", "-")
        assert name in pinned, f"{requirement} is not in the lock: run make lock"


def test_benchmark_rivals_stay_out_of_the_ordinary_lock() -> None:
    assert "quantlib" not in (tree.ROOT / "requirements.lock").read_text(encoding="utf-8").lower()


def test_ci_runs_make_test() -> None:
    script = tree.ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").splitlines()[-1] == "exec make test"


def test_make_test_runs_every_kind_of_check() -> None:
    dry = subprocess.run(
        ["make", "--dry-run", "--always-make", "test"],
        cwd=tree.ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for step in ("ruff format --check", "ruff check", "mypy", "lint-imports", "pytest", "mkdocs"):
        assert step in dry, f"make test does not run {step}"


def test_make_help_names_every_target() -> None:
    makefile = (tree.ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony
    documented = re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)
    assert sorted(phony[1].split()) == sorted(documented)


def markdown() -> list[Path]:
    return [tree.ROOT / name for name in tree.project_files() if name.endswith(".md")]


@pytest.mark.parametrize("page", markdown(), ids=lambda page: str(page.relative_to(tree.ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_every_security_claim_names_its_test() -> None:
    text = (tree.ROOT / "SECURITY.md").read_text(encoding="utf-8")
    claims = text.partition("## What is claimed")[2].partition("## What is not claimed")[0]
    rows = [line for line in claims.splitlines() if line.startswith("|")][2:]
    assert rows
    for row in rows:
        assert re.search(r"\]\(tests/[\w/]+\.py\) *\|$", row), f"no test for: {row}"
