"""The desk at which a case is worked, by our own people and by agencies: one page, four keys.

A step is a command; the page that follows has its next step in focus, so that a case is worked with
the keyboard alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from starlette.responses import Response

from usance.base.ids import parse_id, print_id
from usance.pages.numbers import words
from usance.platform.assistant.drafts import summaries
from usance.platform.assistant.facts import case_facts
from usance.platform.commands.collections.drafts import MakeDraft, prepare
from usance.platform.console.amounts import minor_of, printed
from usance.platform.console.frame import redirect
from usance.platform.errors import InvalidField, NotFound, PlatformError
from usance.platform.live import Platform
from usance.platform.principals import Principal
from usance.platform.reads.collections import cases as reads
from usance.platform.security.permuted_ids import PermutedIds
from usance.service.collections.contact_rules import Stop, zone_of
from usance.service.help.plan_rules import PlanKind

STEPS = ("next", "begin", "reached", "missed", "promise", "stop", "plan", "draft")


@dataclass(frozen=True)
class CaseDesk:
    """Somebody at a desk: as whom they act, which ids they see, where their pages are."""

    platform: Platform
    principal: Principal
    home: str
    ids: PermutedIds | None = None

    def encode(self, value: Any) -> Any:
        """An answer with ids as they see them."""
        return self.ids.encode(value) if self.ids else value

    def decode(self, text: str) -> str:
        """An id as the platform knows it."""
        return str(self.ids.decode(text)) if self.ids else text

    async def page_of(self, case: str, t: Mapping[str, str]) -> dict[str, Any]:
        """Everything that the page of a case shows."""
        user_id = case_number(self.decode(case))
        async with self.platform.reading(self.principal) as read:
            told = await reads.one_case(read.transaction, read.moment, user_id)
            loans = await read.user_loans(print_id("us", user_id))
            currency, day = read.moment.lender.currency, read.moment.business_date
            draft = await reads.last_draft(read.transaction, user_id)
        in_work = next(
            (
                each
                for each in told["contacts"]
                if each["reached"] == "open" and each["by"] == self.principal.name
            ),
            None,
        )
        return {
            "case": self.encode(told), "loans": self.encode(loans), "today": day.isoformat(),
            "in_work": self.encode(in_work) if in_work else None, "desk": self.home,
            "events": self.encode(events_of(told, t)),
            "money": lambda minor: printed(minor, currency),
            "key": secrets.token_urlsafe(18), "reasons": [each.value for each in Stop],
            "owed": printed(told["past_due_minor"], currency).replace(",", ""),
            "plans": [each.value for each in PlanKind], "draft": draft,
            "summaries": summaries("case", case_facts(told, currency.name)),
            "allowed_from": local_time(told["allowed_from"], told["time_zone"]),
        }  # fmt: skip

    async def step(self, case: str, given: Mapping[str, str]) -> Response:
        """Do a step, once for its form; the page that follows is the case's, or the next one's."""
        step, key = given.get("step", ""), given.get("key", "")
        if step not in STEPS:
            raise NotFound("there is no such step", where=step[:20], fix="Use the buttons")
        if step == "next":
            return await self.take_next(key)
        if step == "draft":
            return await self._draft(case, given.get("message", ""), key)
        user = print_id("us", case_number(self.decode(case)))
        command, body = await self._command(step, user, given)
        await self.platform.do(self.principal, command, body, key=key)
        return redirect(f"{self.home}/cases/{case}?done={step}")

    async def _draft(self, case: str, message: str, key: str) -> Response:
        """The case with the draft of a reply; nothing is sent."""
        command = MakeDraft("reply", self.decode(case), message=message)
        await prepare(self.platform, self.principal, command)
        await self.platform.do(self.principal, command, key=key)
        return redirect(f"{self.home}/cases/{case}?done=draft")

    async def take_next(self, key: str) -> Response:
        """The page of the best case now; the desk itself if there is none."""
        outcome = await self.platform.do(self.principal, "case.next", {}, key=key)
        found = outcome.answer["case"]
        if found is None:
            return redirect(f"{self.home}?none=1")
        return redirect(f"{self.home}/cases/{self.encode(found['case'])}")

    async def _command(
        self, step: str, user: str, given: Mapping[str, str]
    ) -> tuple[str, dict[str, Any]]:
        async with self.platform.reading(self.principal) as read:
            currency = read.moment.lender.currency
        if step == "begin":
            script = given.get("script", "")
            return "contact.begin", {"user": user, "channel": given.get("channel", ""),
                                     "script": script}  # fmt: skip
        if step in ("reached", "missed"):
            contact = self.decode(given.get("contact", ""))
            return "contact.end", {"contact": contact, "connected": step == "reached"}
        if step == "promise":
            amount = minor_of(given.get("amount_minor", ""), currency)
            return "promise.make", {"user": user, "amount_minor": amount,
                                    "due_on": given.get("due_on", "")}  # fmt: skip
        if step == "plan":
            months = given.get("months", "") or "0"
            if not (months.isascii() and months.isdigit() and len(months) < 4):
                raise InvalidField("is no number of months", where="body.months", fix="Give 6")
            loan = self.decode(given.get("loan", ""))
            return "plan.offer", {"user": user, "loan": loan, "kind": given.get("kind", ""),
                                  "months": int(months)}  # fmt: skip
        return "stop.set", {"user": user, "reason": given.get("reason", "")}


def case_number(case: str) -> int:
    """The borrower of a printed case."""
    try:
        return parse_id(case, "ca")
    except Exception as error:
        raise NotFound("there is no such case", where=case[:20], fix="Take the next") from error


def events_of(told: Mapping[str, Any], t: Mapping[str, str]) -> list[dict[str, str]]:
    """Contacts, promises and stops of a case on one time line, the newest first."""
    zone = told["time_zone"]
    events = [
        {"day": local_time(each["began_at"], zone), "title": t[f"channel_{each['channel']}"],
         "text": " " + " · ".join(filter(None, (
             t.get(f"contact_{each['reached']}", each["reached"]), each["by"],
             words(each["content"] or each["script"] or "")))), "kind": ""}
        for each in told["contacts"]
    ]  # fmt: skip
    events += [
        {"day": each["made_on"], "title": t["do_promise"], "kind": "",
         "text": f" {each['due_on']} · {t.get('promise_' + each['state'], each['state'])}"}
        for each in told["promises"]
    ]  # fmt: skip
    events += [
        {"day": local_time(each["begun_at"], zone), "title": t[f"stop_{each['reason']}"],
         "text": f" – {(each['ended_at'] or '')[:10]}",
         "kind": "undone" if each["ended_at"] else ""}
        for each in told["stops"]
    ]  # fmt: skip
    return sorted(events, key=lambda each: each["day"], reverse=True)


def local_time(at: str | None, zone: str) -> str:
    """A moment on a debtor's own clock."""
    if at is None:
        return ""
    return datetime.fromisoformat(at).astimezone(zone_of(zone)).strftime("%Y-%m-%d %H:%M")


def problem_of(error: PlatformError) -> str:
    """A refusal as it is shown beside the case."""
    return str(error)
