"""`usance doctor`: a check of a lender's home and database."""

from __future__ import annotations

import shutil
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer

from usance.base.command_line import AsJson, print_answer, print_table
from usance.platform.business_calendars import calendar_ends
from usance.platform.commands.unit_of_work import now
from usance.platform.live import Platform
from usance.platform.store.backup import last_backup
from usance.platform.store.server import Embedded
from usance.platform.terminal.homes import on_platform
from usance.platform.terminal.up import Home

app = typer.Typer(rich_markup_mode=None, add_completion=False)
MIN_FREE_BYTES = 1 << 30
MAX_BACKUP_AGE = timedelta(days=7)
"""The log since a base backup is replayed by a restore: a week of it takes minutes."""
Finding = tuple[str, bool, str]


@app.command()
def doctor(home: Home, as_json: AsJson = False) -> None:
    """Check permissions, roles, row-level security, clock and disk of a lender."""
    of_database = on_platform(home, _findings)  # first: it refuses a home without a lender
    found = [*_home_findings(home), *of_database]
    if as_json:
        print_answer([{"check": name, "ok": ok, "detail": detail} for name, ok, detail in found])
    else:
        rows = [(name, "ok" if ok else "WRONG", detail) for name, ok, detail in found]
        print_table(["check", "state", "detail"], rows)
    if not all(ok for _, ok, _ in found):
        raise typer.Exit(1)


def _home_findings(home: Path) -> list[Finding]:
    free = shutil.disk_usage(home).free
    found: list[Finding] = [("disk", free >= MIN_FREE_BYTES, f"{free >> 20} MiB free")]
    for name in ("master.key", "sandbox.json"):
        path = home / name
        if path.exists():
            mode = stat.S_IMODE(path.stat().st_mode)
            found.append((name, mode & 0o077 == 0, f"mode {mode:04o}"))
    return found


async def _findings(platform: Platform) -> list[Finding]:
    async with platform.database.transaction(0) as transaction:
        open_tables = await transaction.fetch(
            "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace "
            "join pg_attribute a on a.attrelid = c.oid and a.attname in ('user_id', 'loan_id') "
            "where n.nspname = 'usance' and c.relkind = 'r' and not c.relforcerowsecurity "
            "group by 1 order by 1"
        )
        powers = await transaction.fetch(
            "select rolname from pg_roles where rolname in ('usance_application', "
            "'usance_batch_writer', 'usance_reader') and (rolsuper or rolbypassrls)"
        )
        row = await transaction.fetchrow(
            "select business_date, clock, time_zone, mode = 0 or business_date <= "
            "(clock_timestamp() at time zone time_zone)::date as runs from usance.installation"
        )
        moment = await now(transaction, platform.services)
    ending = [str(each) for each in calendar_ends(moment.lender, moment.business_date)]
    if isinstance(platform.database.server, Embedded):
        backup = _backup(platform.need_home(), is_sandbox=moment.lender.is_sandbox)
    else:
        backup = "backup", True, "is that of the server that the address names"
    tables = ", ".join(each["relname"] for each in open_tables) or "forced on every table of users"
    roles = ", ".join(each["rolname"] for each in powers) or "none bypasses anything"
    return [
        ("row-level security", not open_tables or _are_known(tables), tables),
        ("roles", not powers, roles),
        (
            "clock",
            row is not None and row["runs"],
            f"{row['clock']} ({row['time_zone']})" if row else "none",
        ),
        ("calendars", not ending, "; ".join(ending) or "none ends within a month"),
        backup,
    ]


def _backup(home: Path, *, is_sandbox: bool) -> Finding:
    """The age of the last base backup; a sandbox needs none."""
    last = last_backup(home)
    if last is None:
        return "backup", is_sandbox, "none was taken: usance db backup DIR --follow"
    age = datetime.now(UTC) - last.taken_at
    told = f"{last.taken_at:%Y-%m-%dT%H:%M:%SZ} in {last.folder}"
    return "backup", is_sandbox or age <= MAX_BACKUP_AGE, told


def _are_known(tables: str) -> bool:
    """True if only the principals name users without being a user's rows."""
    return set(tables.split(", ")) <= {"principals"}
