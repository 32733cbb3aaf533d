"""A closed book, made once for all tests of releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.disclose.release_book import release_book


@pytest.fixture(scope="session")
def closed_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a book closed for five quarters; nothing writes to it."""
    folder = tmp_path_factory.mktemp("release") / "book"
    release_book(folder)
    return folder
