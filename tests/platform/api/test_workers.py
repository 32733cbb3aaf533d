"""Two workers on one socket: one effect for a key, and none left behind when the platform ends."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.platform.api.served import Served, new_ref


@pytest.fixture
def two(served: Served, tmp_path: Path) -> Iterator[Served]:
    assert served.process is not None  # the platform can be served here
    running = Served(tmp_path, "--workers", "2")
    running.start()
    yield running
    if running.process is not None and running.process.poll() is None:
        running.stop()


@pytest.mark.slow
def test_one_key_is_one_effect_over_two_workers(two: Served) -> None:
    refs = [new_ref() for _ in range(30)]

    def once(number: int) -> tuple[str, str]:
        ref = refs[number % len(refs)]
        body = {"client_ref": ref, "region": 3}
        apart = {"Connection": "close"}  # a new connection each time: either worker may get it
        for _ in range(200):
            answer = two.post("/v1/users", body, key=f"k-{ref}", headers=apart)
            if answer.status_code != 409:
                assert answer.status_code == 201, answer.text
                return ref, answer.json()["user"]
        raise AssertionError("a key stayed in flight")

    with ThreadPoolExecutor(8) as pool:
        told = set(pool.map(once, range(len(refs) * 5)))
    assert len(told) == len(refs)
    assert len({user for _, user in told}) == len(refs)
    assert two.stop() == 0
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{two.url}/healthz")
