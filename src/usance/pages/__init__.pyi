"""Public names of the room, each with its module."""

from usance.pages.errors import (
    SiteError as SiteError,
)
from usance.pages.server import (
    site_server as site_server,
)
from usance.pages.site.write import (
    write_site as write_site,
)

__all__: list[str]
