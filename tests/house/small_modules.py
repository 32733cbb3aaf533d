"""Modules under 40 lines, each with the reason it is not part of another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tests.house.tidy import Finding, Source

MIN_LINES = 40

REASONS = {
    "acquire.errors": "the room's error tree",
    "base.ageing": "one home of the buckets, for rooms that need no compiler",
    "base.ageing_kernel": "compiled: `ageing` is read by commands that start without a compiler",
    "base.arrays": "types that two hundred modules name",
    "base.digest_kernel": "compiled: `digest` loads it for long columns only",
    "base.draws_kernel": "compiled: `draws` gives the same bits one at a time without it",
    "base.refusals": "the packing that kernels and their callers share",
    "base.stated_fact": "rooms before the books state them, and none of these knows another",
    "base.tables": "all tables by name; their declarations fill two modules",
    "conform.errors": "the room's error tree",
    "fund.sample": "deals that examples of all the room's modules begin with",
    "loan.bounds": "numbers that exact form, kernel and documents share; it imports nothing",
    "loan.kernel.refusals": "codes alone: naming one does not load the kernel",
    "measure.errors": "the room's error tree",
    "measure.publication": "writing of results; measuring itself writes nothing",
    "pages.errors": "the room's error tree",
    "pages.reports.investor_report": "one report, one module, as each report has",
    "pages.server": "the one place of the room that listens on the network",
    "platform.api.jobs": "one group of routes, one module, as each group has",
    "platform.commands.control.jobs": "commands about jobs; the queue itself knows no commands",
    "platform.console.changes": "the last change of a record, shown by four screens",
    "platform.console.amounts": "amounts as people read and type them, for every screen",
    "platform.store.locks": "one list, so that no two have one number",
    "platform.pause": "asked by clock, orders and scheduler; the restore imports these",
    "platform.reads.control.configuration": "one read, one module: no query in a route or screen",
    "platform.reads.loans.documents": "one read, one module: no query in a route or screen",
    "platform.reads.shapes": "forms that all answers share",
    "platform.reads.control.today": "one read, one module: no query in a route or screen",
    "platform.security.phones": "one index of phones for registration and for signing in",
    "platform.security.totp": "one-time passwords without a database, for any moment",
    "platform.store.home": "the database of a home for the terminal, without the platform",
    "service.collections.scripts": "words of contacts, for the desk that sends them and for pages",
    "twin.run.trust_month": "figures of deals for facts of the group, which know no deal",
    "world.streams": "numbers that are only ever appended to",
}
"""By name below `usance`."""


def small_modules(sources: Iterable[Source], reasons: Mapping[str, str]) -> Iterator[Finding]:
    """Small modules without a reason, and reasons whose module has grown or is gone."""
    small = {
        source.module.partition(".")[2]: source.path
        for source in sources
        if not source.path.endswith("__init__.py") and len(source.text.splitlines()) < MIN_LINES
    }
    for name, path in small.items():
        if not reasons.get(name):
            yield Finding(f"{path}:1", "join it with the module that imports it, or say why not")
    for name in reasons.keys() - small.keys():
        yield Finding(name, "is no small module any more: take its reason out")
