"""Personal data under keys: sealed for one subject and column, found by a blind index.

A lender's keys derive from one root key; the database holds it under the master key of the home.

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
VARIABLE, ROOT = "USANCE_MASTER_KEY_FILE", "root"


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

    def exact_index(self, value: str) -> bytes:
        """A number that tells equal values, letter by letter, and nothing else about them."""
        key = hmac.digest(self.master, b"blind index", sha256)
        return hmac.digest(key, b"exact " + value.encode(), sha256)

    def digest(self, content: bytes) -> bytes:
        """A hash of content that nobody without the key can guess at."""
        return hmac.digest(self.key_for("content"), content, sha256)

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
        _write_key(path)
    return _vault_in(path)


def _write_key(path: Path) -> None:
    """Make a key that only its owner reads."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(secrets.token_bytes(KEY_BYTES))
        file.flush()
        os.fsync(file.fileno())


def _vault_in(path: Path) -> Vault:
    key = path.read_bytes()
    if len(key) != KEY_BYTES or len(set(key)) < MIN_DIFFERENT:
        raise MasterKeyRefused(f"has no {KEY_BYTES} random bytes", where=str(path),
                               fix="Put the right key there")  # fmt: skip
    return Vault(key)


async def unlock(database: Database, home: Path, *, make: bool = False) -> Vault:
    """The keys of a home's lender: its root key, which the master key opens.

    A master key that the lender's data does not lie under is refused. A rotation that was cut short
    before the file was moved is ended here.
    """
    try:
        return await _root(database, vault_of(home, make=make))
    except MasterKeyRefused:
        following = following_path(home)
        if not following.exists():
            raise
        root = await _root(database, _vault_in(following))
        _put_aside(home)
        return root


async def _root(database: Database, master: Vault) -> Vault:
    fresh = master.seal(0, ROOT, secrets.token_bytes(KEY_BYTES))
    async with database.transaction(0) as transaction:
        row = await transaction.fetchrow(
            "select * from usance.unlock($1, $2)", master.fingerprint, fresh
        )
    if not row["is_it"]:
        raise MasterKeyRefused("is not the one that this lender's data lies under",
                               where="the master key",
                               fix="Put the right key there; nothing was changed")  # fmt: skip
    return master if row["root"] is None else Vault(master.open(0, ROOT, row["root"]))


async def rotate_master(database: Database, home: Path) -> Path:
    """Put the root key under a new master key; the former one is put aside, for older backups."""
    root, former = await unlock(database, home), vault_of(home, make=False)
    following = following_path(home)
    _write_key(following)
    master = _vault_in(following)
    async with database.transaction(0) as transaction:
        is_done = await transaction.fetchval(
            "select usance.rotate_master($1, $2, $3)", former.fingerprint, master.fingerprint,
            master.seal(0, ROOT, root.master),
        )  # fmt: skip
    if not is_done:
        following.unlink()
        raise MasterKeyRefused("has been rotated meanwhile", where="the master key",
                               fix="Look which key is in use; nothing was changed")  # fmt: skip
    return _put_aside(home)


def following_path(home: Path) -> Path:
    """The file of a master key that is to follow, while it is put in place."""
    path = master_key_path(home)
    return path.with_name(f"{path.name}.next")


def _put_aside(home: Path) -> Path:
    """Move the former master key aside and the new one in its place."""
    path = master_key_path(home)
    former = path.with_name(f"{path.name}.former-{_vault_in(path).fingerprint.hex()[:8]}")
    former.write_bytes(b"")
    former.chmod(0o600)
    former.write_bytes(path.read_bytes())
    following_path(home).replace(path)
    return former


def _place(subject: int, column: str) -> bytes:
    return f"{subject}/{column}".encode()
