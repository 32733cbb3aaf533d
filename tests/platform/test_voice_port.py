"""A voice provider at a real address: signed contacts, and the next channel when it fails."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from time import time
from typing import Any, ClassVar

import pytest

from tests.platform.sandbox import Sandbox
from tests.platform.test_contacts import owner
from tests.platform.test_desks import AUTOMATIC, debtors
from usance.platform.desk.contact_desk import send_due
from usance.platform.errors import ServerError
from usance.platform.live import Platform
from usance.platform.partners.http_channels import configured_channels
from usance.platform.partners.signatures import is_signed
from usance.service.collections.contact_rules import Channel


class Provider(BaseHTTPRequestHandler):
    """A voice provider at a real address: takes what is signed, until it is told to fail."""

    taken: ClassVar[list[dict[str, Any]]] = []
    status: ClassVar[int] = 200

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        assert is_signed(self.headers["Usance-Signature"], content, ["s3"], now=int(time()))
        self.taken.append(json.loads(content))
        body = json.dumps({"reference": f"call-{len(self.taken)}"}).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_given: object) -> None:
        return


def test_voice_goes_to_a_real_address_and_elsewhere_when_it_fails(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    debtors(sandbox, 2)
    owner(sandbox, AUTOMATIC, "update usance.contact_profiles set channels = "
                              "'{ai_voice,message}'")  # fmt: skip
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/calls"
    ports = configured_channels({"USANCE_CHANNEL_AI_VOICE_URL": url, "USANCE_CHANNEL_KEY": "s3"})
    assert list(ports) == [Channel.AI_VOICE]

    async def work(platform: Platform) -> dict[str, int]:
        platform.channels.update(ports)
        return await send_due(platform)

    told = sandbox.within(work)
    # A debtor in the challenger's arm is called by people, and did not agree to that.
    assert told["sent"] + told["rerouted"] == 2
    assert {each["channel"] for each in Provider.taken} == {"ai_voice"}
    assert "500.00" in Provider.taken[0]["text"]
    assert sandbox.sql("system", "select count(*) from usance.outgoing "
                                 "where reference like 'call-%'") == 2  # fmt: skip
    monkeypatch.setattr(Provider, "status", 503)
    owner(sandbox, "update usance.cases set next_at = null, locked_until = null")
    assert sandbox.within(work) == {"sent": 0, "rerouted": 2, "refused": 0, "waiting": 0}
    down = sandbox.sql("system", "select reason from usance.channel_outages where ended_at is null")
    assert down == "ai_voice answered 503"
    server.shutdown()
    server.server_close()
    with pytest.raises(ServerError, match="is missing"):
        configured_channels({"USANCE_CHANNEL_AI_VOICE_URL": url})
