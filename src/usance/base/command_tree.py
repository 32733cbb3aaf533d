"""The tree of commands: every path in it, the nearest to a wrong word, and what completes a line.

A tree is what Typer makes of an app: a group has `commands`, a command has `params`. Nothing is
called to walk it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from usance.base.errors import unknown

_BASH = """\
_usance() {
  local IFS=$'\\n'
  COMPREPLY=($(usance complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _usance usance
"""
SCRIPTS = {
    "bash": _BASH,
    "zsh": f"autoload -U +X bashcompinit && bashcompinit\n{_BASH}",
    "fish": (
        "complete -c usance -a "
        "'(usance complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'\n"
    ),
}
"""By shell, the lines that let it complete `usance`."""


def completion_script(shell: str) -> str:
    """The lines for a shell's start-up file.

    >>> print(completion_script("fish"))  # doctest: +ELLIPSIS
    complete -c usance -a '(usance complete -- ...
    """
    if shell not in SCRIPTS:
        raise unknown("shell", shell, SCRIPTS, where="SHELL")
    return SCRIPTS[shell]


def paths(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, inner in command.commands.items():
        if not inner.hidden:
            yield from paths(inner, (*words, name))


def nearest_calls(root: Any, words: Sequence[str], wrong: str) -> list[str]:
    """Calls of the whole tree that somebody may have meant, the nearest first; at most three."""
    known = [path for path, _ in paths(root)]
    same = [path for path in known if wrong in path]
    near = get_close_matches(wrong, {word for path in known for word in path}, n=2, cutoff=0.7)
    alike = [path for path in known if set(near) & set(path)]
    inside = [path for path in alike if list(path[: len(words)]) == list(words)]
    found = dict.fromkeys(same or [*inside, *alike])
    return [" ".join(path) for path in list(found)[:3]]


def completions(root: Any, words: Sequence[str]) -> list[str]:
    """The words that can stand in the place of the last one, which may be begun or empty."""
    *before, begun = words or ("",)
    command = root
    for word in before:
        command = getattr(command, "commands", {}).get(word, command)
    if begun.startswith("-"):
        named = [name for each in command.params for name in each.opts]
        return sorted(name for name in (*named, "--help") if name.startswith(begun))
    inner = getattr(command, "commands", {})
    return [
        name for name, each in inner.items() if name.startswith(begun) and not each.hidden
    ]  # files are the shell's own
