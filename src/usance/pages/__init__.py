"""Pages: charts, tables and templates; the static site of a book.

Components and templates are written once and rendered by Jinja2 with autoescape; they need no
script, print well, and follow the reader's light or dark mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usance.base.public_names import public_names

if TYPE_CHECKING:
    from usance.pages.errors import SiteError
    from usance.pages.server import site_server
    from usance.pages.site.write import write_site

__all__ = ["SiteError", "site_server", "write_site"]

_MODULES = {
    "errors": ("SiteError",),
    "server": ("site_server",),
    "site.write": ("write_site",),
}

__getattr__, __dir__ = public_names(__name__, _MODULES)
