"""Roles of operators: what each may do and see, read from one file of data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from usance.base.errors import unknown


@dataclass(frozen=True)
class Roles:
    """Every role with its scopes, and every screen with its roles."""

    by_name: dict[str, dict[str, Any]]
    screens: dict[str, list[str]]

    @classmethod
    @cache
    def load(cls) -> Roles:
        """The roles that are shipped."""
        text = files("usance.platform.security").joinpath("roles.yaml").read_text("utf-8")
        document = yaml.safe_load(text)
        return cls(document["roles"], document["screens"])

    def check(self, role: str) -> None:
        """Refuse a role that is not in the file."""
        if role not in self.by_name:
            raise unknown("role", role, self.by_name)

    def scopes(self, role: str) -> frozenset[str]:
        """The scopes of a role."""
        return frozenset(self.by_name[role]["scopes"])

    def shows(self, role: str, screen: str) -> bool:
        """True for a screen that a role has."""
        return role in self.screens[screen]
