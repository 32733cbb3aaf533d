"""A server for one's own machine: files of one folder, nothing else, on the loopback address."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from usance.pages.errors import SiteError


class _Quiet(SimpleHTTPRequestHandler):
    """Files without a line on the terminal for each."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


def site_server(folder: Path, port: int = 0) -> ThreadingHTTPServer:
    """A server of a folder on 127.0.0.1; port 0 takes a free one."""
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), partial(_Quiet, directory=str(folder)))
    except OSError as error:
        fix = "Choose another with --port, or 0 for a free one"
        raise SiteError(f"cannot serve: {error.strerror}", where=f"port {port}", fix=fix) from None
