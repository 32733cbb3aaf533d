"""Small files of mandates for tests: each a whole one, with a few keys changed."""

from __future__ import annotations

from textwrap import indent

from usance.match.mandates.file import parse_mandates
from usance.match.mandates.mandate import Mandates

SOURCE = {
    "source": "1",
    "valid": "{from: 2024-01-01, to: 2024-12-31}",
    "approved_by": "[head of funding, head of risk]",
    "model": "capital_heavy",
    "coupon": "6%",
}


def source(**changes: str | None) -> str:
    """One entry of `sources`; a change to None leaves the key out."""
    keys = {**SOURCE, **changes}
    lines = [f"{key}: {value}" for key, value in keys.items() if value is not None]
    return "- " + indent("\n".join(lines), "  ").lstrip()


def document(*sources: str, top: str = "") -> str:
    """A file with these sources."""
    return f"{top}sources:\n" + "\n".join(sources or (source(),)) + "\n"


def mandates(*sources: str, top: str = "") -> Mandates:
    """The same, read."""
    return parse_mandates(document(*sources, top=top), where="m.yaml")
