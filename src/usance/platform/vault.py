"""Personal data under keys: sealed for one subject and column, found by a blind index.

>>> vault = Vault(bytes(32))
>>> kept = vault.seal(7, "details", b"Ada")
>>> vault.open(7, "details", kept), kept != vault.seal(7, "details", b"Ada")
(b'Ada', True)
>>> vault.index("11010519491231002X") == vault.index("11010519491231002x ")
True
"""

from __future__ import annotations

import hmac
import os
import secrets
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

NONCE_BYTES, KEY_BYTES = 12, 32


@dataclass(frozen=True)
class Vault:
    """Keys of one installation, all derived from its master key."""

    master: bytes = field(repr=False)

    def seal(self, subject: int, column: str, plain: bytes) -> bytes:
        """Encrypt a value; it opens for the same subject and column alone."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(NONCE_BYTES)
        return nonce + AESGCM(self._key(subject)).encrypt(nonce, plain, _place(subject, column))

    def open(self, subject: int, column: str, kept: bytes) -> bytes:
        """The value that was sealed."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce, rest = kept[:NONCE_BYTES], kept[NONCE_BYTES:]
        return AESGCM(self._key(subject)).decrypt(nonce, rest, _place(subject, column))

    def index(self, value: str) -> bytes:
        """A number that tells equal values, and nothing else about them."""
        key = hmac.digest(self.master, b"blind index", sha256)
        return hmac.digest(key, value.strip().upper().encode(), sha256)

    def key_for(self, purpose: str) -> bytes:
        """A key of its own for one purpose."""
        return hmac.digest(self.master, f"purpose {purpose}".encode(), sha256)

    def _key(self, subject: int) -> bytes:
        return hmac.digest(self.master, f"subject {subject}".encode(), sha256)


def vault_of(home: Path) -> Vault:
    """The vault of a home; its master key is made with the first."""
    path = home / "master.key"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
    return Vault(path.read_bytes())


def _place(subject: int, column: str) -> bytes:
    return f"{subject}/{column}".encode()
