"""Launcher of the embedded server: ends with its parent, and not as root.

Run as `python -m usance.platform.store.launch ACCOUNT PROGRAM ARGUMENT…`. PostgreSQL refuses to run
as root, so root becomes the named account; the account keeps the right to pass through folders, so
that a home below a private folder works too. An account of `-` changes nothing.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL, _KEEP_CAPABILITIES, _AMBIENT, _RAISE = 1, 8, 47, 2
_PASS_FOLDERS = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, from linux/capability.h."""
_VERSION_3 = 0x20080522
_SECURE_BITS, _NO_SETUID_FIXUP = 28, 4
"""Without this bit `access` looks at folders as if the right to pass through them were not there,
and PostgreSQL asks it about its own programs."""


def become(account: str) -> None:
    """Take the identity of an account, with the right to pass through folders where root had it."""
    import pwd

    entry = pwd.getpwnam(account)
    libc = ctypes.CDLL(None, use_errno=True)
    is_linux = sys.platform.startswith("linux")
    if is_linux:
        libc.prctl(_KEEP_CAPABILITIES, 1, 0, 0, 0)
        libc.prctl(_SECURE_BITS, _NO_SETUID_FIXUP, 0, 0, 0)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
    if is_linux:
        _raise_ambient(libc)


def _raise_ambient(libc: ctypes.CDLL) -> None:
    """Capabilities that survive the program's start; without them folders must be passable."""
    bits = sum(1 << number for number in _PASS_FOLDERS)
    header = (ctypes.c_uint32 * 2)(_VERSION_3, 0)
    sets = (ctypes.c_uint32 * 6)(bits, bits, bits, 0, 0, 0)
    if libc.capset(header, sets) != 0:
        sys.exit("the rights of root cannot be given up")
    for number in _PASS_FOLDERS:
        libc.prctl(_AMBIENT, _RAISE, number, 0, 0)


def end_with_parent(parent: int) -> None:
    """Ask the kernel to shut the server down when the process that started it is gone."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, int(signal.SIGINT), 0, 0, 0)
        if os.getppid() != parent:  # it went before we asked
            sys.exit(1)


def main() -> None:
    """Become the account, tie the life to the parent, and turn into the program."""
    parent, account, *command = sys.argv[1:]
    if account != "-":
        become(account)
    if parent != "-":
        end_with_parent(int(parent))
    os.execv(command[0], command)  # noqa: S606 -- a list of our own, no shell


if __name__ == "__main__":
    main()
