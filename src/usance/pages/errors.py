"""Errors of the pages.

UsanceError
└── SiteError    the folder or the port of a site cannot be used
"""

from __future__ import annotations

from usance.base.errors import UsanceError


class SiteError(UsanceError):
    """The site cannot be written or served there."""

    code = "pages.site"
