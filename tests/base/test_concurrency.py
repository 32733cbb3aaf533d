"""Work in other threads: results as they were asked for, errors where they are taken."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from usance.base.concurrency import in_background, in_idle_time, parallel_map


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are nice on Linux alone")
def test_what_nobody_waits_for_gives_way_and_nothing_else_does() -> None:
    before = niceness()
    assert in_idle_time(niceness)() == min(before + 10, 19)
    assert in_background(niceness)() == before
    assert niceness() == before


@pytest.mark.parametrize("begin", [in_background, in_idle_time])
def test_an_error_waits_for_whoever_asks(begin) -> None:  # type: ignore[no-untyped-def]
    later = begin(lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        later()


def test_no_more_jobs_are_begun_than_are_taken_soon() -> None:
    begun: list[int] = []

    def work(job: int) -> int:
        begun.append(job)
        return job

    results = parallel_map(work, range(100), 2)
    assert next(results) == 0
    assert len(begun) <= 3
    assert list(results) == list(range(1, 100))
