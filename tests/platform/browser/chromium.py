"""A real Chromium for the tests: found by name, started without a network of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]  # fmt: skip
MISSING = "no Chromium here: 'make browser' asks Playwright to install one"


def chromium() -> str | None:
    """The browser of USANCE_BROWSER, else one on PATH, else Playwright's own."""
    named = os.environ.get("USANCE_BROWSER", "")
    if named:
        return named
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found:
        return found
    cached = Path.home().glob(".cache/ms-playwright/chromium-*/chrome-linux*/chrome")
    return next((str(each) for each in sorted(cached, reverse=True)), None)


def is_required() -> bool:
    """True where a missing browser is a failure, as in continuous integration."""
    return os.environ.get("USANCE_REQUIRE_BROWSER", "") == "1"
