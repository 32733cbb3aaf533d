"""Values under the key of a user: the name a channel gives them, and inputs of decisions.

>>> key = SubjectKey(7, bytes(32))
>>> unpack_inputs(key.open("inputs/5", key.seal("inputs/5", pack_inputs([1.0, float("nan")]))))
(1.0, nan)
"""

from __future__ import annotations

import secrets
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from usance.platform.security.subject_keys import SubjectKey, key_of
from usance.platform.store.write_set import WriteSet
from usance.platform.vault import KEY_BYTES, Vault

CLIENT_REF, INPUTS = "client_ref", "inputs"


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


def pack_inputs(inputs: Sequence[float]) -> bytes:
    """Inputs as they are sealed; what was not given is no number."""
    return struct.pack(f"<{len(inputs)}d", *inputs)


def unpack_inputs(plain: bytes) -> tuple[float, ...]:
    """Inputs as they were sealed."""
    return struct.unpack(f"<{len(plain) // 8}d", plain)
