"""Memory that is kept: a process of its own is asked, because it is kept to its end."""

from __future__ import annotations

import subprocess
import sys

import pytest

CODE = """
import resource
import numpy as np
from usance.base.memory import keep_memory
assert keep_memory() is {asked}
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.empty(1 << 22, np.int64)[::512] = 1
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
first, again = faults(), faults()
print(first, again)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only the GNU C library is asked")
def test_pages_that_were_had_are_not_new_again() -> None:
    asked = subprocess.run(
        [sys.executable, "-c", CODE.format(asked=True)], check=True, capture_output=True, text=True
    )
    first, again = map(int, asked.stdout.split())
    assert again < first / 4


def test_another_system_keeps_what_it_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    from usance.base.memory import keep_memory

    assert not keep_memory()
