"""`usance collect`: cases of an evening, their actions, the morning's allocation, results."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from usance.base.codes import DEFAULT_PACK
from usance.base.command_line import (
    AsJson,
    PackName,
    number,
    print_answer,
    print_line,
    print_pairs,
    print_table,
    show_help,
)
from usance.base.errors import unknown
from usance.base.rates import percent_of

if TYPE_CHECKING:
    from usance.service.collections.allocation import Allocation

app = typer.Typer(rich_markup_mode=None, add_completion=False, invoke_without_command=True)

Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the rows go, CSV.")]
CasesFile = Annotated[Path, typer.Argument(metavar="CASES", help="Cases, as `cases` writes them.")]
StrategyFile = Annotated[
    Path | None, typer.Option("--strategy", metavar="FILE", help="YAML; the shipped one if none.")
]


@app.callback()
def collect(ctx: typer.Context) -> None:
    """Cases, strategies, allocation and results of collections."""
    show_help(ctx)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A strategy, YAML.")],
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Check a strategy: every contradiction with its line."""
    from usance.base.packs import CountryPack
    from usance.service.collections.strategy_file import read_strategy

    strategy = read_strategy(file, CountryPack.load(pack).parameters)
    if as_json:
        arms_ppm = {each.name: each.share_ppm for each in strategy.arms}
        print_answer({
            "strategy": strategy.name, "valid_from": strategy.valid_from,
            "segments": [each.name for each in strategy.segments], "arms_ppm": arms_ppm,
            "approved_by": list(strategy.approved_by),
        })  # fmt: skip
        return
    arms = ", ".join(f"{each.name} {each.share_ppm / 10_000:g}%" for each in strategy.arms)
    print_pairs([
        ("strategy", strategy.name), ("valid from", str(strategy.valid_from)),
        ("segments", ", ".join(each.name for each in strategy.segments)), ("arms", arms),
        ("approved by", ", ".join(strategy.approved_by) or "nobody yet"),
    ])  # fmt: skip


@app.command()
def contacts(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="person, at, channel, CSV.")],
    out: Out,
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Say of each contact of a file which rules of its country forbid it."""
    from collections import Counter

    from usance.base.packs import CountryPack
    from usance.service.collections.case_files import write_rows
    from usance.service.collections.contact_files import checked_contacts, read_contacts

    country = CountryPack.load(pack)
    zone = str(country.parameters.at("platform.time_zone", date.max).value)
    found = checked_contacts(read_contacts(file, zone), country.parameters)
    rows = [(each.planned.person, each.planned.contact.at.isoformat(),
             each.planned.contact.channel.value, "no" if each.rules else "yes",
             " ".join(rule.value for rule in each.rules)) for each in found]  # fmt: skip
    write_rows(out, ("person", "at", "channel", "allowed", "rules"), rows)
    broken = Counter(rule.value for each in found for rule in each.rules)
    counts = {"contacts": len(found), "allowed": sum(not each.rules for each in found), **broken}
    if as_json:
        print_answer(counts)
    else:
        print_pairs([(name, f"{value:,}") for name, value in counts.items()])


@app.command()
def cases(
    loans: Annotated[Path, typer.Argument(metavar="LOANS", help="What each loan owes, CSV.")],
    day: Annotated[str, typer.Option("--day", metavar="DAY", help="The evening, YYYY-MM-DD.")],
    out: Out,
    before: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Cases of the evening before.")
    ] = None,
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Open, move and close cases from what every loan owes at the end of a day."""
    from usance.base.dates import parse_date, to_day
    from usance.base.packs import CountryPack
    from usance.service.collections.case_files import read_cases, read_loans, write_cases
    from usance.service.collections.cases import Cases, end_of_day
    from usance.service.collections.stages import Stages

    evening, country = parse_date(day, where="--day"), CountryPack.load(pack)
    known = read_cases(before) if before else Cases.none()
    stages = Stages.at(evening, country.parameters)
    run = end_of_day(read_loans(loans), known, to_day(evening), stages)
    write_cases(run.cases, out)
    counts = {
        "cases": run.cases.size, "opened": len(run.opened), "moved": len(run.moved),
        "closed": len(run.closed), "reminders": run.reminders.size,
    }  # fmt: skip
    past_due = int(run.cases.past_due_minor.sum())
    if as_json:
        print_answer({**counts, "past_due_minor": past_due, "currency": country.currency})
        return
    pairs = [(name, f"{value:,}") for name, value in counts.items()]
    print_pairs([*pairs, ("past due", f"{number(past_due, country.currency)} {country.currency}")])


@app.command()
def actions(
    file: CasesFile,
    out: Out,
    strategy: StrategyFile = None,
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Give every case its segment, arm and action by a strategy."""
    import numpy as np

    from usance.base.packs import CountryPack
    from usance.service.collections.case_files import (
        read_cases,
        read_columns,
        read_texts,
        write_rows,
    )
    from usance.service.collections.stages import Stage
    from usance.service.collections.strategy_file import read_strategy, shipped_strategy
    from usance.service.errors import StrategyError

    country = CountryPack.load(pack)
    rules = (
        read_strategy(strategy, country.parameters)
        if strategy
        else shipped_strategy(country.currency)
    )
    known = read_cases(file)
    has_score = read_texts(file, "pay_ppm") is not None
    pay = read_columns(file, ("pay_ppm",))["pay_ppm"] if has_score else np.zeros(known.size, int)
    segments = rules.segment_column(known.past_due_minor, pay)
    arms = rules.arm_column(known.user_id)
    if rules.currency != country.currency:
        what = f"its amounts are in {rules.currency}, those of the cases in {country.currency}"
        raise StrategyError(what, where=str(strategy), fix="Give --pack of its country")
    rows = []
    for row in range(known.size):
        segment, arm = rules.segments[segments[row]].name, rules.arms[arms[row]].name
        action = rules.action(arm, segment, Stage(int(known.stage[row])))
        rows.append((int(known.user_id[row]), segment, arm, action.channel.value, action.desk,
                     action.script, action.tone.value, action.every_days, action.per_day,
                     action.cost_minor))  # fmt: skip
    header = ("user_id", "segment", "arm", "channel", "desk", "script", "tone", "every_days",
              "per_day", "cost_minor")  # fmt: skip
    write_rows(out, header, rows)
    if as_json:
        print_answer({"file": str(out), "cases": len(rows), "strategy": rules.name})
        return
    print_line(f"{len(rows):,} cases have an action by {rules.name}.")


@app.command()
def allocate(
    file: Annotated[Path, typer.Argument(metavar="CASES", help="user_id, value_minor, stage.")],
    agents: Annotated[Path, typer.Argument(metavar="AGENTS", help="name, slots, CSV.")],
    out: Out,
    agencies: Annotated[
        Path | None, typer.Option(metavar="FILE", help="name, max_cases, fair_cases, CSV.")
    ] = None,
    continuity: Annotated[
        int,
        typer.Option(min=0, max=10**12, metavar="MINOR", help="Worth of the same agent again."),
    ] = 0,
    unfair: Annotated[
        int,
        typer.Option(min=0, max=10**12, metavar="MINOR", help="Cost of a case below a fair share."),
    ] = 0,
    pack: PackName = DEFAULT_PACK,
    as_json: AsJson = False,
) -> None:
    """Give each agent the cases that bring most together, within every limit."""
    from usance.base.packs import CountryPack
    from usance.service.collections.allocation import AgencyTerms
    from usance.service.collections.allocation import allocate as allocated
    from usance.service.collections.candidates import Agents, CaseValues
    from usance.service.collections.case_files import (
        check_once,
        need_texts,
        read_agents,
        read_columns,
        read_texts,
        write_rows,
    )

    staff = Agents.of(read_agents(agents))
    columns = read_columns(file, ("user_id", "value_minor", "stage"))
    check_once(file, "user_id", columns["user_id"].tolist())
    last = [staff.names.index(each) if each in staff.names else -1
            for each in read_texts(file, "last_agent") or ()]  # fmt: skip
    work = CaseValues.of(
        columns["user_id"], columns["value_minor"], columns["stage"].tolist(),
        read_texts(file, "language") or (), last, continuity,
    )  # fmt: skip
    terms = []
    if agencies:
        limits = read_columns(agencies, ("max_cases", "fair_cases"))
        named = zip(need_texts(agencies, "name"), *limits.values(), strict=True)
        terms = [AgencyTerms(name, int(most), int(fair)) for name, most, fair in named]
        check_once(agencies, "", [each.name for each in terms])
    done = allocated(work, staff, terms, unfair_minor=unfair)
    write_rows(out, ("user_id", "agent"), (
        (user, done.agent_of(row, staff)) for row, user in enumerate(work.user_id.tolist())
        if done.agent[row] >= 0))  # fmt: skip
    _print_allocation(done, len(work.user_id), CountryPack.load(pack).currency, as_json=as_json)


def _print_allocation(done: Allocation, cases: int, currency: str, *, as_json: bool) -> None:
    """Cases given away, what they bring, and the most that any allocation could."""
    taken = int((done.agent >= 0).sum())
    agencies = [(name or "in house", count) for name, count in done.by_agency.items()]
    if as_json:
        print_answer({
            "cases": cases, "allocated": taken, "value_minor": done.value_minor,
            "bound_minor": done.bound_minor, "gap_ppm": done.gap_ppm, "currency": currency,
            "by_agency": [{"agency": name, "cases": count} for name, count in agencies],
        })  # fmt: skip
        return
    print_pairs([
        ("cases", f"{cases:,}"), ("allocated", f"{taken:,}"),
        ("expected value", f"{number(done.value_minor, currency)} {currency}"),
        ("at most", f"{number(done.bound_minor, currency)} {currency}"),
        ("below that by", percent_of(done.gap_ppm)),
    ])  # fmt: skip
    print_table(["agency", "cases"], [[name, f"{count:,}"] for name, count in agencies])


@app.command()
def uplift(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="arm, outcome, CSV.")],
    as_json: AsJson = False,
) -> None:
    """Compare challengers with the champion: difference of outcomes, with its interval."""
    import numpy as np

    from usance.service.collections.case_files import need_texts, read_columns
    from usance.service.collections.experiment import uplift as compared

    outcome = read_columns(file, ("outcome",))["outcome"]
    arms = np.array(need_texts(file, "arm"))
    champion = outcome[arms == "champion"]
    found = {
        name: compared(champion, outcome[arms == name])
        for name in dict.fromkeys(arms.tolist()) if name != "champion"
    }  # fmt: skip
    if as_json:
        print_answer({name: each._asdict() for name, each in found.items()})
        return
    print_table(["arm", "cases", "champion", "challenger", "difference", "95% from", "to"], [
        [name, f"{each.challenger_cases:,}", f"{each.champion:.4f}", f"{each.challenger:.4f}",
         f"{each.difference:+.4f}", f"{each.low:+.4f}", f"{each.high:+.4f}"]
        for name, each in found.items()
    ])  # fmt: skip


@app.command()
def history(
    days: Annotated[Path, typer.Argument(metavar="DAYS", help="Cases by evening, CSV.")],
    payments: Annotated[Path, typer.Argument(metavar="PAYMENTS", help="user_id, day, amount.")],
    out: Out,
    target: Annotated[str, typer.Option(help="unpaid, rolled or missed.")] = "unpaid",
    attempts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="user_id, day, channel, connected.")
    ] = None,
    channel: Annotated[str, typer.Option(help="Channel of `missed`.")] = "voice",
    as_json: AsJson = False,
) -> None:
    """Write rows to train a C-score on with `usance assess train`, point in time."""
    from usance.service.collections.case_files import read_columns, write_rows
    from usance.service.collections.contact_rules import Channel
    from usance.service.collections.history import Attempts, CaseDays, Events, training_rows

    evenings = CaseDays.of(**read_columns(days, CaseDays._fields))
    paid = Events.of(**read_columns(payments, Events._fields))
    tried = Attempts.of(**read_columns(attempts, Attempts._fields)) if attempts else Attempts.none()
    until = max([int(each.day.max(initial=0)) for each in (evenings, paid, tried)])
    names = [each.value for each in Channel]
    if channel not in names:
        raise unknown("channel", channel, names, where="--channel")
    rows = training_rows(evenings, paid, tried, target, until, names.index(channel))
    write_rows(out, list(rows), zip(*(column.tolist() for column in rows.values()), strict=True))
    if as_json:
        found = {"rows": len(rows[target]), "of_target": int(rows[target].sum())}
        print_answer({"file": str(out), "target": target, **found})
        return
    print_line(f"{len(rows[target]):,} rows, {int(rows[target].sum()):,} of them {target}.")
