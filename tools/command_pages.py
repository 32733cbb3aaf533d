"""The page of all commands, made from the tree of commands whenever the site is built."""

from __future__ import annotations

from typing import Any

MARK = "<!-- every command -->"


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put every command in the place of the mark, where a page has one."""
    return markdown.replace(MARK, commands()) if MARK in markdown else markdown


def commands() -> str:
    """Every command of the tree with its help, a heading each."""
    from usance.base.command_tree import paths
    from usance.cli import help_text, whole_tree

    parts = []
    for words, _ in paths(whole_tree()):
        call = " ".join(("usance", *words))
        parts.append(f"## {call}\n\n```text\n{help_text(words)}\n```\n")
    return "\n".join(parts)
