"""Roles of operators: what each may do and see, and how far, read from one file of data.

>>> roles = Roles.load()
>>> "application.review" in roles.commands("credit_officer")
True
>>> roles.authority("credit_officer")["application.review"]
5000000
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from usance.base.documents import parse_yaml
from usance.base.errors import unknown
from usance.platform.errors import RolesRefused
from usance.platform.principals import DECIDES


@dataclass(frozen=True)
class Roles:
    """Every role with its commands and limits, and every screen with its roles."""

    by_name: Mapping[str, Mapping[str, Any]]
    screens: Mapping[str, list[str]]
    without_role: frozenset[str]
    """Commands of partners and jobs, which no operator does."""
    second_factor: frozenset[str] = frozenset()
    """Commands that take a one-time password in live."""
    readers: Mapping[str, list[str]] = field(default_factory=dict)
    """Roles that read what keys of a scope read, by scope; under `people`, words about people."""
    deciders: frozenset[str] = frozenset()
    """Roles that decide on every proposal, not on those of their own commands alone."""

    @classmethod
    @cache
    def load(cls) -> Roles:
        """The roles that are shipped."""
        text = files("usance.platform.security").joinpath("roles.yaml").read_text("utf-8")
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> Roles:
        """Roles from the text of their file."""
        document = parse_yaml(text)
        without_role = frozenset(document["partners_and_jobs"])
        second = frozenset(document.get("second_factor", ()))
        readers = document.get("reads", {})
        deciders = frozenset(document.get("decides_all", ()))
        roles = cls(document["roles"], document["screens"], without_role, second, readers, deciders)
        for name, role in roles.by_name.items():
            _check(name, role)
        places = (*roles.screens.items(), *readers.items(), ("decides_all", sorted(deciders)))
        for place, names in places:
            for name in names:
                if name not in roles.by_name:
                    raise unknown("role", name, roles.by_name, where=place)
        return roles

    def check(self, role: str) -> None:
        """Refuse a role that is not in the file."""
        if role not in self.by_name:
            raise unknown("role", role, self.by_name)

    def commands(self, role: str) -> frozenset[str]:
        """The commands of a role."""
        return frozenset(self.by_name[role]["commands"])

    def scopes(self, role: str) -> frozenset[str]:
        """The commands of a role, with the right to decide on every proposal if it has that."""
        return self.commands(role) | ({DECIDES} if role in self.deciders else set())

    def authority(self, role: str) -> Mapping[str, int]:
        """The largest amount of a role for each command that has a limit."""
        limits: Mapping[str, int] = self.by_name[role].get("authority", {})
        return limits

    def hidden(self, role: str) -> frozenset[str]:
        """The scopes whose routes a role does not read."""
        return frozenset(scope for scope, names in self.readers.items() if role not in names)

    def shows(self, role: str, screen: str) -> bool:
        """True for a screen that a role has."""
        return role in self.screens[screen]

    def gaps(self, commands: Iterable[str]) -> list[str]:
        """Commands that have no entry, and entries that are no command."""
        known = set(commands)
        entered = self.without_role.union(*(self.commands(role) for role in self.by_name))
        return sorted(known ^ entered)

    def listed(self) -> list[dict[str, Any]]:
        """Roles as they are answered."""
        return [
            {"role": name, "commands": sorted(role["commands"]),
             "screens": [screen for screen in self.screens if self.shows(name, screen)],
             "authority": dict(role.get("authority", {}))}
            for name, role in sorted(self.by_name.items())
        ]  # fmt: skip


def _check(name: str, role: Mapping[str, Any]) -> None:
    """Refuse a role with a limit on what it may not do."""
    for command, limit in role.get("authority", {}).items():
        if command not in role["commands"] or type(limit) is not int or limit <= 0:
            raise RolesRefused(f"has no use for the limit of {command}", where=name,
                               fix="Give it the command and an amount above zero, or remove both"
                               )  # fmt: skip
