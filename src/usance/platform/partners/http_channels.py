"""Channels behind addresses: voice, messages and mail of providers that an operator configures.

A contact that was logged is posted as JSON, signed as webhooks are; an answer of 200 to 299 with a
`reference` means that it is on its way. Anything else, or no answer in time, is a channel that is
down: it is marked so, and its work goes by the next one. Without a variable a channel is local and
keeps what it would send.

| variable | what it is |
|---|---|
| `USANCE_CHANNEL_VOICE_URL` | where contacts by voice are posted; so for each channel by its name |
| `USANCE_CHANNEL_KEY` | the secret that signs them |
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from usance.base.ids import print_id
from usance.platform.errors import ServerError
from usance.platform.partners.signatures import sign
from usance.service.collections.channels import ChannelPort, Outgoing
from usance.service.collections.contact_rules import Channel

KEY, SIGNATURE = "USANCE_CHANNEL_KEY", "Usance-Signature"
TIMEOUT_SECONDS = 10.0
MAX_REFERENCE = 120


@dataclass(frozen=True)
class HttpChannel:
    """A provider that makes contacts by one channel."""

    channel: Channel
    url: str
    secret: str = field(repr=False)

    def send(self, outgoing: Outgoing) -> str:
        """Hand a contact over; `ConnectionError` if the provider does not take it."""
        import httpx

        content = json.dumps(
            {"contact": print_id("ct", outgoing.attempt_id), "channel": self.channel.value,
             "user": print_id("us", outgoing.user_id), "script": outgoing.script,
             "language": outgoing.language, "text": outgoing.text}, ensure_ascii=False,
        ).encode()  # fmt: skip
        headers = {"Content-Type": "application/json",
                   SIGNATURE: sign(content, int(time.time()), [self.secret])}  # fmt: skip
        name = self.channel.value
        try:
            with httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False) as client:
                answer = client.post(self.url, content=content, headers=headers)
            if not answer.is_success:
                raise ConnectionError(f"{name} answered {answer.status_code}")
            reference = str(answer.json()["reference"])
        except httpx.HTTPError as error:
            raise ConnectionError(f"{name} does not answer ({type(error).__name__})") from error
        except (ValueError, LookupError, TypeError) as error:
            raise ConnectionError(f"{name} answers without a reference") from error
        return reference[:MAX_REFERENCE]


def configured_channels(environment: Mapping[str, str]) -> dict[Channel, ChannelPort]:
    """Channels with an address; every other one is local.

    >>> configured_channels({})
    {}
    """
    found: dict[Channel, ChannelPort] = {}
    for channel in Channel:
        name = f"USANCE_CHANNEL_{channel.name}_URL"
        url = environment.get(name, "").strip()
        if not url:
            continue
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ServerError(
                "is no address", where=name, fix="Write it as https://voice.example/v1"
            )
        if not environment.get(KEY):
            raise ServerError("is missing", where=KEY, fix="Give the secret that signs contacts")
        found[channel] = HttpChannel(channel, url, environment[KEY])
    return found
