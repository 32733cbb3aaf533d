"""One call: who asks, under which key, and the answer that a command or a read gives to it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.responses import Response

from usance.platform.api.dry_run import effects_of
from usance.platform.api.errors import RequestError
from usance.platform.api.pages import changed_cursor
from usance.platform.live import Platform
from usance.platform.principals import Principal
from usance.platform.security.permuted_ids import PermutedIds

_KEY = re.compile(r"[\x21-\x7e]{1,255}")


@dataclass
class Call:
    """One request that was let in."""

    platform: Platform
    request_id: str
    principal: Principal
    address: str = ""
    session_id: int = 0
    key: str = ""
    dry_run: bool = False
    path: dict[str, str] = field(default_factory=dict)
    """Ids of the address."""
    query: dict[str, Any] = field(default_factory=dict)
    """Parameters that were given, each read as its kind says."""
    body: dict[str, Any] = field(default_factory=dict)

    ids: PermutedIds | None = None
    """How the caller sees ids, where that is not how the platform knows them."""

    async def do(self, command: str, body: Mapping[str, Any] | None = None) -> Response:
        """Do a command and answer with its outcome; a dry run adds what it would have written."""
        given = self.body if body is None else body
        outcome = await self.platform.do(
            self.principal, command, given, key=self.key, dry_run=self.dry_run
        )
        if outcome.would is not None:
            return self.respond({**outcome.answer, "would": effects_of(outcome)})
        headers = {"Idempotent-Replay": "true"} if outcome.is_replay else {}
        return self.respond(outcome.answer, outcome.status, headers)

    def respond(
        self, body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        """An answer, with ids as the caller sees them, in the cursor of a list too."""
        if self.ids is not None:
            body = self.ids.encode(body)
            if isinstance(body.get("next"), str):
                body = {**body, "next": changed_cursor(body["next"], self.ids.encode)}
        return json_response(body, status, headers)


def json_response(
    body: Mapping[str, Any], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A body as JSON, in UTF-8."""
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Response(text.encode(), status, dict(headers or {}), "application/json")


def idempotency_key(text: str | None) -> str:
    """The key of a request that changes something."""
    param = "header.Idempotency-Key"
    if text is None:
        raise RequestError("idempotency_key_missing", "a POST needs a key", param=param)
    if not _KEY.fullmatch(text):
        raise RequestError("idempotency_key_invalid", "this is no key", param=param)
    return text
