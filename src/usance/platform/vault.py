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
from typing import TYPE_CHECKING

from usance.platform.errors import MasterKeyRefused

if TYPE_CHECKING:
    from usance.platform.store.database import Database

NONCE_BYTES, KEY_BYTES = 12, 32
MIN_DIFFERENT = 16
"""Different bytes of a key; 32 random ones have hardly ever fewer than 25."""
VARIABLE = "USANCE_MASTER_KEY_FILE"


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

    @property
    def fingerprint(self) -> bytes:
        """A number that tells this master key from others, and nothing else about it."""
        return hmac.digest(self.master, b"fingerprint", sha256)

    def _key(self, subject: int) -> bytes:
        return hmac.digest(self.master, f"subject {subject}".encode(), sha256)


def master_key_path(home: Path) -> Path:
    """The file of the master key: named by the environment, else in the home."""
    return Path(os.environ.get(VARIABLE) or home / "master.key")


def vault_of(home: Path, *, make: bool = True) -> Vault:
    """The vault of a home; the master key of a new one is made, a lost one never."""
    path = master_key_path(home)
    if not path.exists():
        if not make:
            raise MasterKeyRefused("is not there", where=str(path),
                                   fix=f"Put it back, or name its file in {VARIABLE}")  # fmt: skip
        home.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
    key = path.read_bytes()
    if len(key) != KEY_BYTES or len(set(key)) < MIN_DIFFERENT:
        raise MasterKeyRefused(f"has no {KEY_BYTES} random bytes", where=str(path),
                               fix="Put the right key there")  # fmt: skip
    return Vault(key)


async def check_master_key(database: Database, vault: Vault) -> None:
    """Refuse a master key that the personal data of a database does not lie under."""
    async with database.transaction(0) as transaction:
        is_it = await transaction.fetchval("select usance.is_master_key($1)", vault.fingerprint)
    if not is_it:
        raise MasterKeyRefused("is not the one that this lender's data lies under",
                               where="the master key",
                               fix="Put the right key there; nothing was changed")  # fmt: skip


def _place(subject: int, column: str) -> bytes:
    return f"{subject}/{column}".encode()
