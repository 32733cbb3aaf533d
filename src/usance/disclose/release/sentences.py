"""Facts in sentences: templates filled with figures that keep their fact with them.

A figure is put between marks that no text holds, with the number of its fact; a writer that can
link turns them into an anchor, any other takes them out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from usance.disclose.facts import NO_CURRENCY, Fact
from usance.disclose.periods import parse_period
from usance.disclose.profile import Profile
from usance.disclose.release.business_highlights import INCOMPLETE, NO_DATA
from usance.disclose.release.change_analysis import change_in, load_drivers
from usance.disclose.release.wording import (
    LineLabels,
    day_in_words,
    fill_template,
    group_digits,
    period_in_words,
)
from usance.disclose.tie_out.highlights import CHANGE, GROWTH, SHARE

MARKED = re.compile("\ue000(\\d+)\ue001(.*?)\ue002", re.DOTALL)
_WHOLE = ("count", "persons")
"""Units that nothing is rounded to."""
_PLAN = re.compile(r"(?P<plan>.+?) plan (?P<what>.+)")
_RANGE = re.compile(r"(?P<line>.+?) - (?P<end>low|high)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence with its marks, the definitions it needs by number, and how far it is set in."""

    text: str
    notes: tuple[int, ...] = ()
    depth: int = 0

    @property
    def plain(self) -> str:
        """The words alone."""
        return MARKED.sub(r"\2", self.text)


class SentenceWriter:
    """Sentences made from templates; definitions are numbered as they are first needed."""

    def __init__(
        self, texts: Mapping[str, Any], profile: Profile, definitions: Mapping[str, str]
    ) -> None:
        self.texts, self.profile, self.definitions = texts, profile, definitions
        self.labels = LineLabels(texts["lines"])
        self.footnotes: list[str] = []
        self.facts: list[Fact] = []
        self.changes: Sequence[Fact] = ()
        """Changes and their effects, told with the results they explain."""
        self._numbers: dict[str, int] = {}

    def sentences(self, statement: str, facts: Sequence[Fact]) -> Iterator[Sentence]:
        """The sentences of a statement, in the order of its facts."""
        write: Callable[[Sequence[Fact]], Iterator[Sentence]] = {
            "dividend": self._plain_sentences, "share_repurchase": self._plans,
            "outlook": self._ranges, "convenience_translation": self._translation,
            "business_highlights": self._highlights, "management_quote": self._highlights,
        }.get(statement, self._results)  # fmt: skip
        yield from write(facts)

    def value(self, fact: Fact, text: str | None = None) -> str:
        """A figure as a sentence shows it, marked with its fact."""
        self.facts.append(fact)
        return f"\ue000{len(self.facts) - 1}\ue001{text or self._shown(fact)}\ue002"

    def _shown(self, fact: Fact) -> str:
        texts = self.texts
        if not fact.is_number:
            first, _, clock = fact.text.partition(" ")
            day = parse_period(first)
            if day and day.instant:
                return f"{day_in_words(day.end, texts)} {clock}".rstrip()
            return str(texts["no_data"]) if fact.text == NO_DATA else fact.text
        money = fact.currency != NO_CURRENCY and fact.unit not in ("shares", "ads", "rate")
        if money and not fact.value:
            return str(texts["nil"])
        number = group_digits(fact.text.lstrip("-"), texts["numbers"])
        counted = texts["counted"].get(fact.line.removesuffix(INCOMPLETE))
        shown = f"{number}{counted if counted is not None else texts['units'].get(fact.unit, '')}"
        if money:
            template = texts["currencies"].get(fact.currency, f"{fact.currency}{{value}}")
            shown = fill_template(template, "texts.currencies", value=shown)
        return f"({shown})" if fact.value < 0 else shown

    def _size(self, fact: Fact) -> str:
        """A figure without the brackets of one below zero: its name says what it is."""
        shown = self._shown(fact)
        return shown[1:-1] if fact.is_number and fact.value < 0 else shown

    def _translated(self, fact: Fact, now: Fact) -> str:
        """The same in another currency; what rounds to nothing there is not nothing."""
        if not fact.is_number or fact.value:
            return self._size(fact)
        step = re.sub(r"\d$", "1", fact.text.lstrip("-")) if now.value else "0"
        unit = self.texts["units"].get(fact.unit, "") if now.value else ""
        number = group_digits(step, self.texts["numbers"])
        template = self.texts["currencies"].get(fact.currency, f"{fact.currency}{{value}}")
        shown = fill_template(template, "texts.currencies", value=f"{number}{unit}")
        return self._fill("less_than", value=shown) if now.value else shown

    def _named_figure(self, line: str, parent: str, fact: Fact) -> tuple[str, str]:
        """The name of a line and its figure: a loss is called a loss, a benefit a benefit."""
        is_below = fact.value < 0 and line in self.texts["below_zero"]
        shown = self._size(fact) if is_below else None
        return self._name_of(line, parent, fact), self.value(fact, shown)

    def _name_of(self, line: str, parent: str, fact: Fact) -> str:
        below = self.texts["below_zero"].get(line)
        return str(below) if below is not None and fact.value < 0 else self._named(line, parent)

    def _fill(self, name: str, **words: str) -> str:
        return fill_template(self.texts[name], f"texts.{name}", **words)

    def _notes(self, line: str) -> tuple[int, ...]:
        name = line.removesuffix(INCOMPLETE)
        definition = self.definitions.get(name)
        if definition is None:
            return ()
        if name not in self._numbers:
            words = {"line": self.labels.of(name), "definition": definition}
            self.footnotes.append(self._fill("footnote", **words))
            self._numbers[name] = len(self.footnotes)
        return (self._numbers[name],)

    # Results: this period, a year earlier, the period before.

    def _results(self, facts: Iterable[Fact]) -> Iterator[Sentence]:
        for (line, parent), own, named in self._spans(_by_line(facts)):
            now, others = self._now(own)
            name, shown = self._named_figure(line, parent, now)
            words = {
                "line": f"{name[0].upper()}{name[1:]}{named}", "now": shown,
                "translated": "".join(
                    self._fill("brackets", value=self.value(each, self._translated(each, now)))
                    for each in others
                ),
            }  # fmt: skip
            before = [fact for fact in own if fact.period.end < now.period.end]
            names = {self._name_of(line, parent, fact) for fact in before}
            earlier = [
                self._compared(line, parent, fact, now, is_named=bool(names - {name}))
                for fact in before
            ]
            tail = self._fill("against", list=self.texts["and"].join(earlier))
            words["against"] = tail if earlier else ""
            name = "share" if now.unit == "percent" else "sentence"
            told = f"{self._fill(name, **words)}{self._reasons(line, parent, now)}"
            yield Sentence(told, self._notes(line))

    def _reasons(self, line: str, parent: str, now: Fact) -> str:
        """The effects that a line's change on the year before is the sum of."""
        if now.statement != "release_results":
            return ""
        changes = [
            fact
            for fact in self.changes
            if fact.line == change_in(line, parent) and fact.period == now.period
        ]
        for change in changes[:1]:
            parts = [
                self._effect(line, parent, fact)
                for fact in self.changes
                if fact.parent == change.line and fact.period == now.period
            ]
            way = "decrease" if change.value < 0 else "increase"
            value = self.value(change, self._size(change))
            template = self.texts["reasons"][way]
            listed = self.texts["listed_effects"].join(parts)
            return fill_template(template, "texts.reasons", value=value, list=listed)
        return ""

    def _effect(self, line: str, parent: str, fact: Fact) -> str:
        sign = "down" if fact.value < 0 else "up"
        value = self.value(fact, self._size(fact))
        drivers = {(each.line, each.parent): each.driver for each in load_drivers()}
        driver = self.labels.of(drivers.get((line, parent), ""))
        shown = fill_template(self.texts["effect_signs"][sign], "texts.effect_signs", value=value)
        effect = self.texts["effects"].get(fact.line, fact.line)
        return fill_template(effect, "texts.effects", driver=driver, value=shown)

    def _compared(
        self, line: str, parent: str, fact: Fact, now: Fact, *, is_named: bool
    ) -> str:  # fmt: skip
        """An earlier figure; with its name where one of those told has another than this one."""
        name, shown = self._named_figure(line, parent, fact)
        if is_named:
            shown = self._fill("of", line=self.texts["inside"].get(name, name), value=shown)
        when = "year_ago" if _is_year_ago(fact, now) else "prior"
        return fill_template(
            self.texts["compared"][when], "texts.compared", value=shown,
            period=period_in_words(fact.period, self.texts, "short"),
        )  # fmt: skip

    def _spans(
        self, lines: Mapping[tuple[str, str], Sequence[Fact]]
    ) -> Iterator[tuple[tuple[str, str], list[Fact], str]]:
        """Facts of each line, quarters and years apart; the period is named where there are two."""
        for key, facts in lines.items():
            lengths = list(dict.fromkeys(_quarters(fact) for fact in facts))
            for length in lengths:
                own = [fact for fact in facts if _quarters(fact) == length]
                period = period_in_words(self._now(own)[0].period, self.texts, "short")
                named = self._fill("brackets", value=period)
                yield key, own, named if len(lengths) > 1 else ""

    def _now(self, facts: Sequence[Fact]) -> tuple[Fact, list[Fact]]:
        """The latest figure, and the same in other currencies."""
        end = max(fact.period.end for fact in facts)
        latest = [fact for fact in facts if fact.period.end == end]
        now, *others = sorted(latest, key=lambda fact: fact.currency == self.profile.translated)
        return now, others

    def _named(self, line: str, parent: str) -> str:
        name = self.labels.of(line)
        above = self._fill("brackets", value=self.labels.of(parent)) if parent else ""
        return f"{name}{above}"

    # Highlights: a figure with its share and its change.

    def _highlights(self, facts: Sequence[Fact]) -> Iterator[Sentence]:
        lines = _by_line(facts)
        parents = dict(lines.keys())
        related: dict[str, list[Fact]] = {}
        for (line, _), own in lines.items():
            if found := CHANGE.fullmatch(line) or SHARE.fullmatch(line):
                related.setdefault(found["line"], []).extend(own)
        ordered = {key: lines[key] for key in _in_tree(lines)}
        for (line, parent), own, named in self._spans(ordered):
            found = CHANGE.fullmatch(line) or SHARE.fullmatch(line)
            if found and any(found["line"] == name for name, _ in lines):
                continue
            name = f"{self.labels.of(line)}{named}"
            text = self._highlight(name, own, related.get(line, []))
            yield Sentence(text, self._notes(line), _depth(parent, parents))

    def _highlight(self, name: str, own: Sequence[Fact], others: Sequence[Fact]) -> str:
        now, translated = self._now(own)
        related = [fact for fact in others if _quarters(fact) == _quarters(now)]
        shares = [fact for fact in related if SHARE.fullmatch(fact.line)]
        parts = [self._fill("share_of_total", value=self.value(fact)) for fact in shares]
        earlier = [fact for fact in own if fact.period.end < now.period.end]
        changes = {found["base"]: fact for fact in related
                   if (found := CHANGE.fullmatch(fact.line))}  # fmt: skip
        since = [self._since(now, fact, changes.pop(fact.period.name, None)) for fact in earlier]
        since += [self._changed(base, fact) for base, fact in changes.items()]
        return self._fill(
            "highlight", line=name, now=self.value(now),
            translated="".join(
                self._fill("brackets", value=self.value(each, self._translated(each, now)))
                for each in translated
            ),
            share_of_total="".join(parts), since="".join(since),
        )  # fmt: skip

    def _since(self, now: Fact, before: Fact, change: Fact | None) -> str:
        words = {"value": self.value(before), "when": self._when(before), "change": ""}
        is_same = now.unit in _WHOLE and now.value == before.value
        name = "same" if is_same else "value"
        if change is not None:
            name = "down" if change.value < 0 else "up" if change.value else "flat"
            words["change"] = self.value(change, self._size(change))
        return fill_template(self.texts["since"][name], "texts.since", **words)

    def _changed(self, base: str, change: Fact) -> str:
        period = parse_period(base)
        name = period_in_words(period, self.texts, "short") if period else base
        template = self.texts["since"]["decrease" if change.value < 0 else "increase"]
        shown = self.value(change, self._size(change))
        return fill_template(template, "texts.since", change=shown, period=name)

    def _when(self, fact: Fact) -> str:
        kind = "day" if fact.period.instant else "period"
        period = period_in_words(fact.period, self.texts, "short")
        return fill_template(self.texts["when"][kind], "texts.when", period=period)

    # Capital, outlook, exchange rates.

    def _plain_sentences(self, facts: Iterable[Fact]) -> Iterator[Sentence]:
        given = list(facts)
        several = len({fact.period.name for fact in given}) > 1
        for fact in given:
            period = period_in_words(fact.period, self.texts, "short")
            words = {"line": self.labels.of(fact.line), "value": self.value(fact)}
            name = "fact_of" if several or fact is given[0] else "fact"
            yield Sentence(self._fill(name, period=period, **words), self._notes(fact.line))

    def _plans(self, facts: Sequence[Fact]) -> Iterator[Sentence]:
        plans: dict[str, list[str]] = {}
        for fact in facts:
            found = _PLAN.fullmatch(fact.line)
            template = self.texts["plan_parts"].get(found["what"]) if found else None
            if found is None or template is None:
                yield from self._plain_sentences([fact])
                continue
            words = {
                "value": self.value(fact),
                "day": period_in_words(fact.period, self.texts, "short"),
            }
            part = fill_template(template, "texts.plan_parts", **words)
            plans.setdefault(found["plan"], []).append(part)
        for plan, parts in plans.items():
            yield Sentence(self._fill("plan", plan=plan, list=", ".join(parts)))

    def _ranges(self, facts: Sequence[Fact]) -> Iterator[Sentence]:
        ranges: dict[tuple[str, str], dict[str, Fact]] = {}
        growths: dict[tuple[str, str], dict[str, Fact]] = {}
        for fact in facts:
            found = GROWTH.fullmatch(fact.line) or _RANGE.fullmatch(fact.line)
            if found is None:
                yield from self._plain_sentences([fact])
                continue
            kept = growths if GROWTH.fullmatch(fact.line) else ranges
            kept.setdefault((found["line"], fact.period.name), {})[found["end"]] = fact
        for (line, period), ends in ranges.items():
            if len(ends) < 2:
                yield from self._plain_sentences(list(ends.values()))
                continue
            known = growths.get((line, period), {})
            growth = self._fill("growth", **self._ends(known)) if len(known) == 2 else ""
            yield Sentence(self._fill(
                "outlook", line=self.labels.of(line), growth=growth, **self._ends(ends),
                period=period_in_words(ends["low"].period, self.texts, "short"),
            ), self._notes(line))  # fmt: skip

    def _ends(self, ends: Mapping[str, Fact]) -> dict[str, str]:
        return {end: self.value(fact) for end, fact in ends.items()}

    def _translation(self, facts: Sequence[Fact]) -> Iterator[Sentence]:
        rates = [fact for fact in facts if fact.is_number]
        days = [fact for fact in facts if fact.unit == "date"]
        for rate in rates:
            own = [self.value(fact) for fact in days if fact.period == rate.period]
            stated = [fact.text for fact in facts if fact.unit == "text"]
            source = stated[0] if stated else self.texts["rate_source"]
            yield Sentence(self._fill(
                "translation", translated=self.profile.translated, currency=rate.currency,
                rate=self.value(rate, group_digits(rate.text, self.texts["numbers"])),
                day=own[0] if own else period_in_words(rate.period, self.texts),
                source=f", {source}" if source else "",
            ))  # fmt: skip


def _by_line(facts: Iterable[Fact]) -> dict[tuple[str, str], list[Fact]]:
    lines: dict[tuple[str, str], list[Fact]] = {}
    for fact in facts:
        lines.setdefault((fact.line, fact.parent), []).append(fact)
    return lines


def _quarters(fact: Fact) -> int:
    """The number of quarters a figure is for; 0 of a day."""
    return 0 if fact.period.instant else round(fact.period.days / 91)


def _in_tree(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Lines, each followed by those that stand under it."""
    listed = list(lines)
    names = {line for line, _ in listed}

    def under(parent: str) -> Iterator[tuple[str, str]]:
        for line, above in listed:
            if above == parent and line != parent:
                yield line, above
                yield from under(line)

    for line, parent in listed:
        if parent not in names or line == parent:
            yield line, parent
            yield from under(line)


def _is_year_ago(fact: Fact, now: Fact) -> bool:
    return fact.period.end == now.period.year_before()


def _depth(parent: str, parents: Mapping[str, str]) -> int:
    """The number of lines of the same list above a line; two are shown."""
    depth = 0
    while parent and parent in parents and depth < 2:
        parent, depth = parents[parent], depth + 1
    return depth
