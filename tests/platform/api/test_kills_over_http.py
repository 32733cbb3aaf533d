"""Payments told twenty times each, by many, while the server is killed: each is one effect."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.platform.api.borrowers import drawn, paying
from tests.platform.api.served import Served

TIMES, CLIENTS, TRIES = 20, 16, 2_000


@pytest.fixture
def killed(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert served.url  # where PostgreSQL cannot start, this is skipped with the others
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    running = Served(tmp_path_factory.mktemp("killed"), "--port", str(port))
    running.start()
    yield running
    assert running.stop() == 0


@pytest.mark.parametrize(
    ("payments", "kills"), [(50, 2), pytest.param(500, 10, marks=pytest.mark.nightly)]
)
def test_duplicates_while_the_server_is_killed_are_one_effect_each(
    killed: Served, payments: int, kills: int
) -> None:
    loan = drawn(killed)["loan"]
    bodies = [paying(killed, loan, 100 + n, ref=f"storm-{n}") for n in range(payments)]
    headers = {"Authorization": f"Bearer {killed.keys['provider']}"}
    url, lost = f"{killed.url}/v1/payments", [0]
    told: dict[int, set[str]] = defaultdict(set)
    client = httpx.Client(timeout=20, limits=httpx.Limits(max_connections=CLIENTS))
    is_up = threading.Event()
    is_up.set()

    def tell(n: int) -> None:
        key = {"Idempotency-Key": f"storm-{n}"}
        for _ in range(TRIES):
            try:
                answer = client.post(url, json=bodies[n], headers={**headers, **key})
            except httpx.TransportError:
                lost[0] += 1
                time.sleep(0.05)
                is_up.wait(60)
                continue
            if answer.status_code in (409, 503):
                time.sleep(0.02)
                continue
            assert answer.status_code in (200, 201), answer.text
            told[n].add(answer.json()["payment"])
            return
        raise AssertionError(f"payment {n} never had an answer")

    def kill() -> None:
        for _ in range(kills):
            time.sleep(0.7)
            is_up.clear()
            assert killed.process is not None
            killed.process.send_signal(signal.SIGKILL)
            killed.process.wait(60)
            assert killed.process.stdout is not None
            killed.process.stdout.close()
            killed.client.close()
            killed.start()
            is_up.set()

    killer = threading.Thread(target=kill)
    with ThreadPoolExecutor(CLIENTS) as pool:
        asked = [pool.submit(tell, n) for _ in range(TIMES) for n in range(payments)]
        killer.start()
        for each in asked:
            each.result()
    killer.join()
    client.close()
    assert lost[0] > 0  # somebody was hit
    assert len(told) == payments
    assert all(len(ids) == 1 for ids in told.values())
    assert len(set.union(*told.values())) == payments
    facts = list[dict[str, Any]]()
    query = "limit=200"
    while query:
        page = killed.get(f"/v1/loans/{loan}/facts?{query}").json()
        facts += page["data"]
        query = f"limit=200&after={page['next']}" if page["next"] else ""
    paid = [each["amount_minor"] for each in facts if each["kind"] == "paid"]
    assert sorted(paid) == [body["amount_minor"] for body in bodies]
    balance = killed.get("/v1/ledger/trial-balance", "finance").json()
    assert balance["debits_minor"] == balance["credits_minor"]
