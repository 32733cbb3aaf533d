"""The pages for partners, run line by line against a fresh sandbox."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import tree
from tests.platform.api.served import Served

SHOP = tree.ROOT / "docs" / "how-to" / "embed-credit.md"
PAGES = ("connect-to-the-platform", "connect-a-channel", "connect-a-provider",
         "connect-an-institution", "connect-an-agency", "read-the-ledger",
         "handle-personal-data")  # fmt: skip
"""Pages in the order in which they are run; the first has the variables of all."""


@pytest.fixture
def fresh(served: Served, tmp_path: Path) -> Iterator[Served]:
    assert served.process is not None  # the platform can be served here
    (tmp_path / "lender").mkdir()
    running = Served(tmp_path / "lender")
    running.start()
    yield running
    assert running.stop() == 0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="the page uses curl, which is not here")
def test_a_partner_can_paste_the_page(fresh: Served, tmp_path: Path) -> None:
    folder = tree.ROOT / "docs" / "how-to"
    text = "\n".join((folder / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)
    blocks = re.findall(r"^```sh[^\n]*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 8
    script = "set -euo pipefail\n" + "\n".join(blocks).replace("http://127.0.0.1:8000", fresh.url)
    ran = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False,
        timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.split() == [
        "103974", "user.registered", "reversed", "0", "approved", "months", "1", "[]",
        "financial_receivable", "2024-07-20", "[]", "granted", "open", "approved",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_shop_sells_on_credit(fresh: Served, tmp_path: Path) -> None:
    page = SHOP.read_text(encoding="utf-8")
    program = re.search(
        r"^```python title=\"shop.py\"[^\n]*\n(.*?)^```", page, re.DOTALL | re.MULTILINE
    )
    shown = re.search(r"^\$ python shop.py [^\n]*\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert program
    assert shown
    (tmp_path / "shop.py").write_text(program[1], encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "shop.py", fresh.url], cwd=tmp_path, capture_output=True, text=True,
        check=False, timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (0, shown[1]), ran.stderr
