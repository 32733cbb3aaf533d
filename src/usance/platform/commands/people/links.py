"""Attributes that users share: kept by blind index as they are seen, counted for a decision.

The counts are those of `usance assess links` on columns: applications and users of a device, users
linked by shared values, and the share of direct ones that turned out bad.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from usance.assess.fraud.links import Attribute
from usance.base.rates import PPM
from usance.platform.commands.command import Moment
from usance.platform.errors import InvalidField
from usance.platform.store.write_set import WriteSet
from usance.platform.vault import Vault

if TYPE_CHECKING:
    import asyncpg

MAX_DEVICE = 255
NO_LINKS = {
    "device_applications": 0, "device_users_30d": 1, "link_size": 1, "bad_neighbours_ppm": None,
}  # fmt: skip
"""Inputs of somebody who shares nothing."""


def device_index(vault: Vault, device: str) -> bytes | None:
    """The blind index of a device as a channel names it, or none where nothing is said."""
    if not device:
        return None
    if len(device) > MAX_DEVICE or not device.isprintable():
        what = f"has more than {MAX_DEVICE} signs, or such as nobody sees"
        raise InvalidField(what, where="body.device", fix="Give an id of the device, or none")
    return vault.exact_index(f"device {device}")


def card_index(vault: Vault, number: str) -> bytes:
    """The blind index of a bank account's number."""
    return vault.index(f"card {number}")


def note_attribute(
    changes: WriteSet, user_id: int, attribute: Attribute, value: bytes | None, moment: Moment
) -> None:
    """Add to a write set that a user was seen with a value.

    In a sandbox devices alone link: whoever tries it out gives everybody one phone and one card.
    """
    if value is None or (moment.lender.is_sandbox and attribute is not Attribute.DEVICE):
        return
    changes.put("user_links", user_id=user_id, attribute=int(attribute), value=value,
                seen_at=moment.at)  # fmt: skip


async def link_inputs(
    transaction: asyncpg.Connection, user_id: int, device: bytes | None, at: datetime
) -> dict[str, Any]:
    """Inputs of a decision that follow from what users share, this application among them."""
    row = await transaction.fetchrow("select * from usance.link_record($1, $2, $3)",
                                     user_id, device, at)  # fmt: skip
    degree = row["degree"] or 0
    share = (2 * row["bad"] * PPM + degree) // (2 * degree) if degree else None
    return {
        "device_applications": row["applications"] or 0,
        "device_users_30d": 1 + (row["device_users"] or 0),
        "link_size": row["size"] or 1, "bad_neighbours_ppm": share,
    }  # fmt: skip
