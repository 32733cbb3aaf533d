"""What a platform tells whoever watches it: commands, queue, seals, lake, caches; and its logs."""

from __future__ import annotations

import json
import logging
from datetime import date
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from tests.platform.applicants import borrower, drawn
from tests.platform.sandbox import Sandbox
from usance.platform.api.health import Figures
from usance.platform.api.request_log import RequestLog
from usance.platform.closing.day_end import end_day_apart
from usance.platform.commands.unit_of_work import now
from usance.platform.jobs.queue import NewJob, enqueue
from usance.platform.live import Platform
from usance.platform.logs import JsonLines, Lines
from usance.platform.reads.control.gauges import condition
from usance.platform.refusals import NoLine


def told(sandbox: Sandbox, home: Path) -> dict[tuple[str, ...], float]:
    """Every figure as Prometheus reads it, by name and labels."""

    async def read(platform: Platform) -> str:
        platform.home = home
        channel = await platform.principal("channel")
        await platform.do(channel, "user.register", {"client_ref": "zoe", "region": 1}, key="z")
        await platform.do(channel, "user.register", {"client_ref": "zoe", "region": 1}, key="z")
        body = {"user": "us_00000000002", "product": "instalment", "amount_minor": 60_000,
                "months": 6}  # fmt: skip
        with pytest.raises(NoLine):
            await platform.do(channel, "drawdown.request", body)
        async with platform.database.transaction(0) as transaction:
            lender = (await now(transaction, platform.services)).lender
            gauges = await condition(transaction, home, lender)
        registry = CollectorRegistry()
        registry.register(Figures(RequestLog(platform.database), platform.figures, gauges))
        return generate_latest(registry).decode()

    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(sandbox.within(read))
        for sample in family.samples
    }


def test_the_condition_is_told(sandbox: Sandbox, tmp_path: Path) -> None:
    drawn(sandbox, borrower(sandbox))
    found = told(sandbox, tmp_path)
    assert found["usance_commands_total", "user.register", "done"] == 1
    assert found["usance_commands_total", "user.register", "known"] == 1
    assert found["usance_commands_total", "drawdown.request", "platform.no_line"] == 1
    assert found["usance_command_seconds_count", "user.register"] == 2
    assert found["usance_command_seconds_bucket", "user.register", "+Inf"] == 2
    assert found["usance_command_seconds_sum", "user.register"] > 0
    assert ("usance_export_lag_transactions",) not in found
    assert found["usance_seal_lag_transactions",] > 5

    async def end(platform: Platform) -> None:
        platform.home = tmp_path
        async with platform.database.transaction(0) as transaction:
            await enqueue(transaction, [NewJob("day.end", "day.end/x")])
        result = json.dumps(await end_day_apart(platform, date(2024, 7, 1)))
        async with platform.database.loader() as owner:
            await owner.execute("reset role")
            await owner.execute("update usance.jobs set state = 'done', result = $1", result)

    sandbox.within(end)
    after = told(sandbox, tmp_path)
    assert after["usance_cache_differences",] == 0
    assert after["usance_caches_compared",] > 3
    assert after["usance_export_lag_transactions",] < 10
    assert after["usance_seal_lag_transactions",] < 10
    assert after["usance_jobs", "done"] == 1


@pytest.mark.parametrize("form", [JsonLines(), Lines("%(levelname)s %(message)s")])
def test_an_error_is_logged_without_its_message(form: logging.Formatter) -> None:
    """What somebody gave stands in messages: of our errors, the driver's, and those behind them."""
    given = "".join(
        ["An", "na ", "L", "i"]
    )  # not as such in the lines of the source, which are told
    try:
        try:
            int(given)
        except ValueError as first:
            raise RuntimeError(f"Key (holder)=({given}) exists") from first
    except RuntimeError as error:
        info = (type(error), error, error.__traceback__)
    assert given in logging.Formatter().formatException(info)
    line = form.format(logging.LogRecord("usance.api", logging.ERROR, "", 1, "failed", (), info))
    assert line.index("builtins.ValueError") < line.index("builtins.RuntimeError")
    assert "test_gauges.py" in line
    assert given not in line


def test_a_log_line_is_one_object() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError as error:
        info = (type(error), error, error.__traceback__)
    record = logging.LogRecord("usance.api", logging.ERROR, "", 1, "it failed\nhere", (), info)
    line = JsonLines().format(record)
    assert "\n" not in line
    found = json.loads(line)
    assert (found["level"], found["error"], found["message"]) == ("error", "ValueError",
                                                                 "it failed\nhere")  # fmt: skip
    assert "Traceback" in found["trace"]
