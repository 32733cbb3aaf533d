"""Texts around the figures of a release: dateline, quotes, call, about, what every release says.

Words come from the filer's file, the announcement and the wording of the language. A quote may
name a figure in braces, `{Net income}`: it is then the printed one, so a quote cannot contradict
the page it stands on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from usance.disclose.errors import FilerError
from usance.disclose.facts import Fact
from usance.disclose.release.announcement import Announcement
from usance.disclose.release.filer import Filer
from usance.disclose.release.layout import Page, Section
from usance.disclose.release.sentences import Sentence, SentenceWriter
from usance.disclose.release.wording import day_in_words, fill_template

_NAMED = re.compile(r"\{([^{}]+)\}")
AFTER_QUOTES = ("release_results", "dividend", "share_repurchase", "outlook")
"""Statements below the quotes."""
COVER, EXCHANGE = "6-k", "announcement"
"""Documents beside a release, by the ending of their name."""


@dataclass(frozen=True)
class ReleaseEditorial:
    """The words of one filer on one day."""

    filer: Filer
    announcement: Announcement = field(default_factory=Announcement)
    on: date | None = None

    def opening(self, texts: Mapping[str, Any], company: str, period: str) -> tuple[str, ...]:
        """The dateline: place, day, company, where it is listed, and what it publishes."""
        if not self.filer.place or self.on is None:
            return ()
        listed = "; ".join(f"{each.exchange}: {each.code}" for each in self.filer.listings)
        words = {
            "place": self.filer.place, "company": company, "day": day_in_words(self.on, texts),
            "period": period, "listed": _optional(texts, "listed", list=listed),
            "business": _optional(texts, "business", text=self.filer.business),
        }  # fmt: skip
        return (fill_template(texts["dateline"], "texts.dateline", **words),)

    def arranged(
        self, sections: Sequence[Section], texts: Mapping[str, Any], company: str,
        words: SentenceWriter, facts: Sequence[Fact],
    ) -> list[Section]:  # fmt: skip
        """Sections of figures with quotes before the results and standing texts after all."""
        first = next(
            (place for place, each in enumerate(sections) if each.name in AFTER_QUOTES),
            len(sections),
        )
        quotes = list(self._quotes(texts, words, facts))
        quoted = [_prose("quotes", texts["sections"]["quotes"], quotes)] if quotes else []
        *rest, rate = sections if sections and sections[-1].name == "convenience_translation" else (
            *sections, None)  # fmt: skip
        standing = list(self._standing(texts, company))
        return [*rest[:first], *quoted, *rest[first:], *standing[:-2],
                *([rate] if rate else []), *standing[-2:]]  # fmt: skip

    def _quotes(
        self, texts: Mapping[str, Any], words: SentenceWriter, facts: Sequence[Fact]
    ) -> Iterator[str]:
        for quote in self.announcement.quotes:
            said = _NAMED.sub(lambda found: _figure(found[1], words, facts), quote.text)
            named = {"text": said, "who": quote.who, "role": quote.role}
            yield fill_template(texts["quote"], "texts.quote", **named)

    def _standing(self, texts: Mapping[str, Any], company: str) -> Iterator[Section]:
        titles = texts["sections"]
        if self.announcement.call:
            yield _prose("call", titles["call"], self.announcement.call)
        if self.filer.about:
            title = fill_template(titles["about"], "texts.sections.about", company=company)
            yield _prose("about", title, self.filer.about)
        yield _prose("non_gaap_use", titles["non_gaap_use"], texts["non_gaap_use"])
        harbour = [fill_template(each, "texts.safe_harbor", company=company)
                   for each in texts["safe_harbor"]]  # fmt: skip
        yield _prose("safe_harbor", titles["safe_harbor"], harbour)
        yield _prose("contact", titles["contact"], self.filer.contact or (company,))

    def documents(
        self, page: Page, texts: Mapping[str, Any], company: str
    ) -> Iterator[tuple[str, Page]]:
        """The cover of Form 6-K and the exchange's announcement, where the filer gives them."""
        if self.on is None:
            return
        words = {
            "company": company, "day": day_in_words(self.on, texts),
            "month": texts["months"][self.on.month - 1], "year": str(self.on.year),
            "title": page.headline,
        }  # fmt: skip
        if self.filer.registrant:
            yield COVER, _document(page, texts["cover"], words | self.filer.registrant)
        codes = [each.code for each in self.filer.listings if each.exchange == self.filer.exchange]
        if codes:
            own = words | {"exchange": self.filer.exchange, "code": codes[0]}
            made = _document(page, texts["exchange_announcement"], own)
            yield EXCHANGE, _joined(made, page)


def _optional(texts: Mapping[str, Any], name: str, **words: str) -> str:
    """A part of a sentence, or nothing where the filer gives no words for it."""
    return fill_template(texts[name], f"texts.{name}", **words) if any(words.values()) else ""


def _prose(name: str, title: str, paragraphs: Sequence[str]) -> Section:
    return Section(name, title, tuple(map(Sentence, paragraphs)), is_prose=True)


def _figure(name: str, words: SentenceWriter, facts: Sequence[Fact]) -> str:
    """The highlight of a line, of the latest and shortest period, in the reporting currency."""
    found = [
        fact
        for fact in facts
        if fact.statement in ("release_highlights", "business_highlights")
        and fact.line == name and fact.currency != words.profile.translated
    ]  # fmt: skip
    if not found:
        known = ", ".join(dict.fromkeys(
            fact.line for fact in facts if fact.statement == "release_highlights"))  # fmt: skip
        raise FilerError(f"a quote names '{name}', which is no highlight", where="quotes",
                         fix=f"Name one of {known}")  # fmt: skip
    end = max(fact.period.end for fact in found)
    latest = [fact for fact in found if fact.period.end == end]
    return words.value(min(latest, key=lambda fact: fact.period.days))


def _document(page: Page, parts: Sequence[Mapping[str, Any]], words: Mapping[str, str]) -> Page:
    """A document of prose: a headline, then sections."""
    filled = [
        _prose(f"part-{place}", _filled(part["title"], words),
               [_filled(each, words) for each in part["text"]])
        for place, part in enumerate(parts)
    ]  # fmt: skip
    head, *rest = filled
    return Page(
        page.document, head.title, tuple(each.plain for each in head.sentences), tuple(rest), (),
        (), page.language, page.texts, (), {},
    )  # fmt: skip


def _filled(text: str, words: Mapping[str, str]) -> str:
    return fill_template(text, "texts", **words)


def _joined(head: Page, page: Page) -> Page:
    """A release under the heading of an exchange's announcement."""
    return Page(
        page.document, head.headline, head.opening,
        (*head.sections, _prose("release", page.headline, page.opening), *page.sections),
        page.sheets, page.footnotes, page.language, page.texts, page.quoted, page.address,
        page.after,
    )  # fmt: skip
