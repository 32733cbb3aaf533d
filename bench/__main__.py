"""`make bench`: every benchmark, or the rooms named on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable

from bench import (
    assess,
    books,
    collections,
    console,
    decide,
    disclose,
    effective,
    fund,
    http,
    loan,
    match,
    measure,
    migration,
    platform,
    service,
    small_books,
    twin,
    twin_spark,
)
from bench.report import Report

ROOMS: dict[str, Callable[[Report], None]] = {
    "loan": loan.run,
    "migration": migration.run,
    "platform": platform.run,
    "http": http.run,
    "console": console.run,
    "match": match.run,
    "small_books": small_books.small_books,
    "service": service.run,
    "collections": collections.run,
    "fund": fund.run,
    "disclose": disclose.run,
    "assess": assess.run,
    "decide": decide.run,
    "measure": measure.run,
    "effective": effective.run,
    "books": books.run,
    "twin": twin.run,
    "twin_spark": twin_spark.run,
}


def main() -> int:
    """Run the rooms asked for; the exit code says whether every aim was met."""
    report = Report()
    for name in sys.argv[1:] or ROOMS:
        ROOMS[name](report)
    if report.missed:
        sys.stdout.write(f"\n{len(report.missed)} aims missed: {'; '.join(report.missed)}\n")
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
