"""Port for a language model, and the adapter for any address that speaks OpenAI's protocol.

There is none unless its operator configures one, and nothing depends on it:

| variable | what it is |
|---|---|
| `USANCE_MODEL_URL` | the address before `/chat/completions`; https, or http on this machine |
| `USANCE_MODEL_NAME` | the model's name there |
| `USANCE_MODEL_KEY` | the key, if it takes one |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Protocol
from urllib.parse import urlsplit

from usance.platform.errors import PlatformError, ServerError

URL, NAME, KEY = "USANCE_MODEL_URL", "USANCE_MODEL_NAME", "USANCE_MODEL_KEY"
TIMEOUT_SECONDS = 20.0
MAX_ANSWER = 1 << 16
MAX_TOKENS = 600


class ModelFailed(PlatformError):
    """A model that did not answer, or not in its protocol."""

    code = "platform.model_failed"
    http_status = 502


class LanguageModel(Protocol):
    """A model that completes a text."""

    @property
    def name(self) -> str:
        """Its name, as it is logged."""
        ...

    def complete(self, prompt: str) -> str:
        """The answer to a prompt; `ModelFailed` if there is none."""
        ...


@dataclass(frozen=True)
class HttpModel:
    """A model behind an address; its key is never shown."""

    url: str
    name: str
    key: str = field(default="", repr=False)

    def complete(self, prompt: str) -> str:
        """The first choice of the model's answer."""
        import httpx

        body = {"model": self.name, "temperature": 0, "max_tokens": MAX_TOKENS,
                "messages": [{"role": "user", "content": prompt}]}  # fmt: skip
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        address = f"{self.url.rstrip('/')}/chat/completions"
        try:
            with httpx.Client(
                timeout=TIMEOUT_SECONDS, follow_redirects=False, trust_env=False
            ) as client:
                answer = client.post(address, json=body, headers=headers)
            if answer.status_code != 200:
                raise self._failed(f"answered {answer.status_code}")
            if len(answer.content) > MAX_ANSWER:
                raise self._failed("answered too much")
            return str(answer.json()["choices"][0]["message"]["content"])
        except httpx.HTTPError as error:
            raise self._failed(f"does not answer ({type(error).__name__})") from error
        except (ValueError, LookupError, TypeError) as error:
            raise self._failed("answers in another form") from error

    def _failed(self, what: str) -> ModelFailed:
        return ModelFailed(f"the model {what}", where=self.name,
                           fix="See its log; the text made by rule is given")  # fmt: skip


def configured_model(environment: Mapping[str, str]) -> LanguageModel | None:
    """The model that an operator configured; none by default.

    >>> configured_model({}) is None
    True
    >>> configured_model({URL: "http://models.example/v1", NAME: "small"})
    Traceback (most recent call last):
    usance.platform.errors.ServerError: USANCE_MODEL_URL: texts would travel in the open. Give an \
address with https, or one of this machine.
    """
    url = environment.get(URL, "").strip()
    if not url:
        return None
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise ServerError("is no address", where=URL, fix="Write it as https://models.example/v1")
    if parts.scheme == "http" and not _is_local(parts.hostname):
        raise ServerError("texts would travel in the open", where=URL,
                          fix="Give an address with https, or one of this machine")  # fmt: skip
    name = environment.get(NAME, "").strip()
    if not name:
        raise ServerError("is missing", where=NAME, fix="Give the model's name at the address")
    return HttpModel(url, name, environment.get(KEY, ""))


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
