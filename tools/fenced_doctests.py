"""Shows the examples inside docstrings as code on the documentation site.

Docstrings here carry plain doctests between their paragraphs. Markdown would read those as text,
so this Griffe extension puts a fence around each of them before the page is made.
"""

from __future__ import annotations

from typing import Any

import griffe


def with_fences(text: str) -> str:
    r"""Put a `pycon` fence around every paragraph that starts with a prompt.

    >>> with_fences("Adds.\n\n>>> 1 + 1\n2\n\nDone.")
    'Adds.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nDone.'
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        f"```pycon\n{each}\n```" if each.startswith(">>> ") else each for each in paragraphs
    )


class FencedDoctests(griffe.Extension):
    """Applies `with_fences` to every docstring that Griffe reads."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called by Griffe for each module, class, function and attribute."""
        if obj.docstring is not None:
            obj.docstring.value = with_fences(obj.docstring.value)
