"""The entrance by key: whoever has a key of one kind of party enters with it, stays in, and leaves.

The cookie carries the key itself, out of reach of scripts and of other sites; a key that is ended
lets nobody in any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from usance.platform.console.frame import form, html, language_of, redirect, texts
from usance.platform.console.sign_in import set_language
from usance.platform.errors import UnknownPrincipal
from usance.platform.live import Platform
from usance.platform.principals import Principal, PrincipalKind
from usance.platform.security.keys import owner_of_key
from usance.platform.security.permuted_ids import PermutedIds, ids_of_party


@dataclass(frozen=True)
class KeyVisit:
    """One request of a party that entered with its key."""

    request: Request
    principal: Principal

    @property
    def platform(self) -> Platform:
        """The platform that the request came to."""
        platform: Platform = self.request.app.state.platform
        return platform

    @property
    def ids(self) -> PermutedIds:
        """Ids as the party sees them; an agency has no party beside its principal."""
        who, vault = self.principal, self.platform.services.keys
        ids = ids_of_party(vault, who.kind, who.party or who.principal_id)
        assert ids is not None, "parties that enter by key see ids of their own"
        return ids

    @property
    def texts(self) -> Mapping[str, str]:
        """The texts in the visitor's language."""
        return texts(language_of(self.request))


@dataclass(frozen=True)
class KeyEntrance:
    """The way in to the pages of one kind of party."""

    kind: PrincipalKind
    home: str
    """The first address of its pages."""
    cookie: str
    title: str
    """The name of its pages in texts."""

    def routes(self) -> list[BaseRoute]:
        """Enter, leave, and take another language."""
        return [
            Route(f"{self.home}/enter", self.entrance, methods=["GET"]),
            Route(f"{self.home}/enter", self.enter, methods=["POST"]),
            Route(f"{self.home}/leave", self.leave, methods=["POST"]),
            Route(f"{self.home}/language", set_language, methods=["POST"]),
        ]

    def guarded(
        self, page: Callable[[Request, Principal], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """A page for whoever is in; everybody else is led to the entrance."""

        async def shown(request: Request) -> Response:
            principal = await self._owner(request, request.cookies.get(self.cookie, ""))
            return await page(request, principal) if principal else redirect(f"{self.home}/enter")

        return shown

    async def _owner(self, request: Request, key: str) -> Principal | None:
        """The party of a key; nobody else has these pages."""
        pool = await request.app.state.platform.database.pool()
        try:
            async with pool.acquire() as connection:
                principal, _ = await owner_of_key(connection, key)
        except UnknownPrincipal:
            return None
        return principal if principal.kind is self.kind else None

    async def entrance(self, request: Request) -> Response:
        """The form to enter with a key."""
        return self._form(request, 200)

    async def enter(self, request: Request) -> Response:
        """Let a party in."""
        key = (await form(request)).get("key", "").strip()
        if await self._owner(request, key) is None:
            return self._form(request, 401)
        response = redirect(self.home)
        response.set_cookie(self.cookie, key, path=self.home, httponly=True, samesite="strict",
                            secure=request.url.scheme == "https")  # fmt: skip
        return response

    async def leave(self, request: Request) -> Response:
        """Forget the key."""
        await form(request)
        response = redirect(f"{self.home}/enter")
        response.delete_cookie(self.cookie, path=self.home)
        return response

    def _form(self, request: Request, status: int) -> Response:
        title = texts(language_of(request))[self.title]
        return html(request, "key_entrance", title, status, failed=status != 200,
                    enter_at=f"{self.home}/enter")  # fmt: skip
