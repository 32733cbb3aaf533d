"""Values under the key of a user: the name a channel gives them, and inputs of decisions.

>>> key = SubjectKey(7, bytes(32))
>>> unpack_inputs(key.open("inputs/5", key.seal("inputs/5", pack_inputs([1.0, float("nan")]))))
(1.0, nan)
"""

from __future__ import annotations

import math
import secrets
import struct
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from usance.platform.security.subject_keys import SubjectKey, key_of
from usance.platform.store.write_set import WriteSet
from usance.platform.vault import KEY_BYTES, Vault

if TYPE_CHECKING:
    import asyncpg

CLIENT_REF, INPUTS = "client_ref", "inputs"
COMPLAINT, COMPLAINT_ANSWER = "complaint", "complaint_answer"
HARDSHIP, HARDSHIP_ANSWER = "hardship", "hardship_answer"
STOP, HIT, REVIEW, REVEAL = "stop", "hit", "review", "reveal"
RIGHT, RIGHT_ANSWER, REVERSAL = "right", "right_answer", "reversal"
"""Kinds of words that somebody wrote about a user; each is numbered as its record."""


def new_key(vault: Vault, user_id: int, changes: WriteSet) -> SubjectKey:
    """A key for a user who has none, written with the changes of the command."""
    key = SubjectKey(user_id, secrets.token_bytes(KEY_BYTES))
    changes.put("subject_keys", subject=user_id, wrapped=vault.seal(user_id, "key", key.key))
    return key


def put_client_ref(
    vault: Vault, key: SubjectKey, channel: int, client_ref: str, changes: WriteSet
) -> None:
    """Keep a channel's name of a user: sealed, and found by its blind index."""
    changes.put("client_refs", channel=channel, client_ref=ref_index(vault, channel, client_ref),
                user_id=key.subject)  # fmt: skip
    content = key.seal(f"{CLIENT_REF}/0", client_ref.encode())
    changes.put("sealed", user_id=key.subject, kind=CLIENT_REF, number=0, content=content)


def ref_index(vault: Vault, channel: int, client_ref: str) -> str:
    """The blind index of a channel's name of a user."""
    return vault.exact_index(f"{CLIENT_REF}/{channel}/{client_ref}").hex()


def client_ref_of(vault: Vault, row: Mapping[str, Any]) -> str | None:
    """A channel's name of a user, from a row with `sealed_ref` and `wrapped`; none once erased."""
    if row["sealed_ref"] is None or row["wrapped"] is None:
        shown: str | None = row["client_ref"]
        return shown
    key = key_of(vault, row["user_id"], row["wrapped"])
    return key.open(f"{CLIENT_REF}/0", row["sealed_ref"]).decode()


def put_inputs(
    key: SubjectKey, decision_id: int, inputs: Sequence[float], changes: WriteSet
) -> None:
    """Keep the inputs that a decision was made on."""
    content = key.seal(f"{INPUTS}/{decision_id}", pack_inputs(inputs))
    changes.put("sealed", user_id=key.subject, kind=INPUTS, number=decision_id, content=content)


def inputs_of(vault: Vault, user_id: int, row: Mapping[str, Any]) -> Sequence[float] | None:
    """Inputs of a decision, from a row with `sealed_inputs`, its `number` and `wrapped`."""
    if row["sealed_inputs"] is None or row["wrapped"] is None:
        plain: Sequence[float] | None = row["inputs"]
        return plain
    key = key_of(vault, user_id, row["wrapped"])
    return unpack_inputs(key.open(f"{INPUTS}/{row['number']}", row["sealed_inputs"]))


def put_text(key: SubjectKey, kind: str, number: int, words: str, changes: WriteSet) -> None:
    """Keep words about a user, where there are any."""
    if words:
        content = key.seal(f"{kind}/{number}", words.encode())
        changes.put("sealed", user_id=key.subject, kind=kind, number=number, content=content)


async def keep_words(
    transaction: asyncpg.Connection, vault: Vault, user_id: int, place: tuple[str, int],
    words: str, changes: WriteSet,
) -> None:  # fmt: skip
    """Keep words about a user by their kind and number; of an erased one none are kept."""
    if words:
        fresh = vault.seal(user_id, "key", secrets.token_bytes(KEY_BYTES))
        wrapped = await transaction.fetchval("select usance.subject_key($1, $2)", user_id, fresh)
        if wrapped is not None:
            put_text(key_of(vault, user_id, wrapped), *place, words, changes)


def text_of(
    vault: Vault, user_id: int, kind: str, number: int, row: Mapping[str, Any]
) -> str | None:
    """Words about a user, from a row with `content` and `wrapped`; none once they are erased."""
    if row["content"] is None or row["wrapped"] is None:
        return None
    key = key_of(vault, user_id, row["wrapped"])
    return key.open(f"{kind}/{number}", row["content"]).decode()


async def texts_of(
    transaction: asyncpg.Connection, vault: Vault, user_id: int, *kinds: str
) -> dict[tuple[str, int], str]:
    """Words of some kinds about a user, by kind and number; none once they are erased."""
    wrapped = await transaction.fetchval("select usance.subject_key($1, null)", user_id)
    if wrapped is None:
        return {}
    key = key_of(vault, user_id, wrapped)
    rows = await transaction.fetch(
        "select kind, number, content from usance.sealed where user_id = $1 and kind = any($2)",
        user_id, list(kinds),
    )  # fmt: skip
    return {
        (row["kind"], row["number"]):
            key.open(f"{row['kind']}/{row['number']}", row["content"]).decode()
        for row in rows
    }  # fmt: skip


def pack_inputs(inputs: Sequence[float]) -> bytes:
    """Inputs as they are sealed: how many, which were given, and those.

    >>> len(pack_inputs([1.0, float("nan"), 2.5])), len(pack_inputs([float("nan")] * 30))
    (18, 5)
    """
    if len(inputs) > _MAX_MARKED:
        return struct.pack(f"<{len(inputs)}d", *inputs)
    given = [value == value for value in inputs]  # a NaN was not given
    flags = sum(1 << n for n, is_given in enumerate(given) if is_given)
    marks = flags.to_bytes(-(-len(inputs) // 8), "little")
    values = [value for value, is_given in zip(inputs, given, strict=True) if is_given]
    packed = bytes([len(inputs)]) + marks + struct.pack(f"<{len(values)}d", *values)
    return packed if len(packed) % _WHOLE else packed + b"\0"


def unpack_inputs(plain: bytes) -> tuple[float, ...]:
    """Inputs as they were sealed; before version 45 of the schema each had its place."""
    if len(plain) % _WHOLE == 0:
        return struct.unpack(f"<{len(plain) // _WHOLE}d", plain)
    count = plain[0]
    start = 1 + -(-count // 8)
    flags = int.from_bytes(plain[1:start], "little")
    values = iter(struct.unpack_from(f"<{flags.bit_count()}d", plain, start))
    return tuple(next(values) if flags >> n & 1 else math.nan for n in range(count))


_WHOLE, _MAX_MARKED = 8, 255
"""Bytes of a value: marked inputs never have a multiple of it; and how many may be marked."""
