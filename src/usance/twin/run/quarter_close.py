"""Quarters of a run: what the group states, the close, the metrics, and at last the release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from usance.base.book import Book
from usance.base.dates import format_month, last_of_month
from usance.base.errors import Problems, UsanceError
from usance.base.parameters import Parameters
from usance.base.periods import MetricPeriod, quarter_label
from usance.books.close.checklist import close
from usance.books.close.closes import OPEN
from usance.books.errors import ControlFailed
from usance.books.periods import ClosePeriod, parse_close_period
from usance.books.statements.below_zero import GIVE_MONEY
from usance.disclose.errors import WrongSign
from usance.disclose.profile import DEFAULT, load_profile
from usance.disclose.release.announcement import Announcement, parse_announcement
from usance.disclose.release.filer import parse_filer, read_filer
from usance.disclose.release.publication import publish, release_of
from usance.measure.inputs import Inputs
from usance.measure.metrics import measure, metrics_table
from usance.pages.reports.release import RELEASE_WRITERS
from usance.twin.errors import RunError
from usance.twin.month.timestamps import end_of_month
from usance.world.scenario.file import write_policies
from usance.world.scenario.scenario import Scenario

RELEASE_FORMATS = ("csv", "html")
ACTOR = "twin"
"""Actor of the closes of a run; a close by any other is not the run's."""
LOSSES, HISTORY = "losses.yaml", "history_from"
LARGER = "Take a larger --scale: where loans are few, cash may run out"
FILER, ANNOUNCEMENT = "filer.yaml", "announcement.yaml"
"""Beside the policies of a scenario: how its company files, and when it announced one quarter."""
ANNOUNCED_WITHIN = timedelta(days=120)
"""After the end of its quarter."""


def period_of(month: int, opening: int) -> ClosePeriod | None:
    """Period closed at the end of a month: the opening by itself, then quarters."""
    if month == opening:
        return parse_close_period(format_month(month))
    if month % 3 != 2:
        return None
    return parse_close_period(quarter_label(month))


def is_open(book: Book, period: ClosePeriod) -> bool:
    """True if a period is still to be closed."""
    found = book.manifest.periods.get(format_month(period.last_month))
    return found is None or found.state == OPEN


def close_period(
    book: Book, scenario: Scenario, period: ClosePeriod, clock: Callable[[], float]
) -> dict[str, float]:
    """Close a period with the scenario's policies; seconds of each step."""
    known_at = end_of_month(period.last_month, scenario.time_zone)
    with TemporaryDirectory() as folder:
        policies = write_policies(scenario, Path(folder))
        _state_history(policies, scenario)
        try:
            made = close(
                book, period, policies=policies, known_at=known_at, actor=ACTOR, clock=clock,
                parameters=_shipped(),
            )  # fmt: skip
        except (ControlFailed, Problems) as error:
            if any(each.fix != GIVE_MONEY for each in _errors_of(error)):
                raise
            what = f"its books cannot be closed for {period.label}: {_errors_of(error)[0].what}"
            raise RunError(what, where=str(book.path), fix=LARGER) from error
    return made.seconds


def _errors_of(error: UsanceError) -> list[UsanceError]:
    """Errors that were raised together, or the only one."""
    return list(error.errors) if isinstance(error, Problems) else [error]


def _state_history(policies: Path, scenario: Scenario) -> None:
    """Say from when on loans are in the book whole, if the policies do not: its first month.

    The opening draws loans that are still there; those that are gone by then are in no vintage.
    """
    path = policies / LOSSES
    written = path.read_text() if path.exists() else ""
    if HISTORY not in written:
        path.write_text(f"{HISTORY}: {format_month(scenario.first_month)}\n{written}")


@cache
def _shipped() -> Parameters:
    """The parameters of all closes of a run."""
    return Parameters.load()


def quarter_metrics(book: Book, period: ClosePeriod, engine: str = "duckdb") -> pa.Table:
    """The whole pack of metrics of a closed quarter."""
    as_of, span = last_of_month(period.last_month), MetricPeriod.of(period.label)
    results = measure(Inputs.of_book(book), as_of=as_of, period=span, engine=engine)
    return metrics_table(results)


def publish_release(
    book: Book, scenario: Scenario, period: ClosePeriod, folder: Path
) -> dict[str, str]:
    """The release of the last quarter, as a table and a page, by the scenario's filer if any."""
    policies = scenario.group.policies
    written, announced = policies.get(FILER), policies.get(ANNOUNCEMENT)
    filer = parse_filer(written) if written else replace(read_filer(None), translated=False)
    announcement = parse_announcement(announced) if announced else Announcement()
    told = announcement.on or period.last_day
    if not period.last_day < told <= period.last_day + ANNOUNCED_WITHIN:
        announcement = Announcement()
    try:
        files = publish(
            release_of(book, period, load_profile(DEFAULT), filer, announcement),
            folder,
            RELEASE_FORMATS,
            writers=RELEASE_WRITERS,
        )
    except (WrongSign, Problems) as error:
        if not all(isinstance(each, WrongSign) for each in _errors_of(error)):
            raise
        what = f"its books have no release of {period.label}: {error.as_dict()['what']}"
        raise RunError(what, where=str(book.path), fix=f"{LARGER}. All tables are there") from error
    return {name: path.relative_to(book.path).as_posix() for name, path in files.items()}
