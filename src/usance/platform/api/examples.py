"""Examples of bodies, by the command that takes them; a test sends each of them."""

from __future__ import annotations

from typing import Any

EXAMPLES: dict[str, dict[str, Any]] = {
    "RegisterUser": {"client_ref": "anna", "region": 3, "kind": "consumer"},
    "SetPerson": {"name": "Ada Lin", "national_id": "11010519491231002X",
                  "phone": "+8613800000000", "email": "ada@example.org"},
    "AddAccount": {"bank": "sandbox bank", "number": "6222020000000001", "holder": "Ada Lin",
                   "debit": False},
    "GiveConsent": {"purpose": "credit_check", "text_version": "2024-01", "granted": True},
}  # fmt: skip
