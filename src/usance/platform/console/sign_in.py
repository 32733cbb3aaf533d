"""The sign-in page of the console: sign in, sign out, change the language."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from usance.platform.console.frame import (
    COOKIE,
    DESK,
    HOME,
    LANGUAGE_COOKIE,
    LANGUAGES,
    MINE,
    PORTAL,
    SCREENS,
    form,
    html,
    language_of,
    redirect,
    texts,
    visit_of,
)
from usance.platform.errors import Forbidden, SignInFailed
from usance.platform.live import Platform
from usance.platform.security.sessions import end_session, sign_in

YEAR_SECONDS = 365 * 86_400


async def show(request: Request) -> Response:
    """The form to sign in with."""
    return html(request, "sign_in", texts(language_of(request))["sign_in"], failed=False, email="")


async def enter(request: Request) -> Response:
    """Open a session; the cookie that carries it is out of reach of scripts and other sites."""
    given = await form(request)
    platform: Platform = request.app.state.platform
    pool = await platform.database.pool()
    email = given.get("email", "")
    try:
        async with pool.acquire() as connection:
            opened = await sign_in(
                connection, platform.services.keys, email, given.get("password", ""),
                totp=given.get("totp") or None,
                address=request.client.host if request.client else "",
            )  # fmt: skip
    except SignInFailed:
        title = texts(language_of(request))["sign_in"]
        return html(request, "sign_in", title, 401, failed=True, email=email)
    response = redirect(SCREENS[0].path)
    response.set_cookie(
        COOKIE, opened.token, path=HOME, httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip
    return response


async def leave(request: Request) -> Response:
    """End the session."""
    await form(request)
    visit = await visit_of(request)
    if not isinstance(visit, Response):
        pool = await visit.platform.database.pool()
        async with pool.acquire() as connection:
            await end_session(connection, visit.operator.session_id, visit.operator.principal)
    response = redirect(f"{HOME}/sign-in")
    response.delete_cookie(COOKIE, path=HOME)
    return response


async def set_language(request: Request) -> Response:
    """Take another language, and go back to where one was."""
    given = await form(request)
    language, back = given.get("language", ""), given.get("back", "")
    if language not in LANGUAGES or not back.startswith((HOME, PORTAL, MINE, DESK)):
        raise Forbidden("no language or page of ours", where="language", fix="Use the button")
    response = redirect(back)
    response.set_cookie(LANGUAGE_COOKIE, language, max_age=YEAR_SECONDS, path="/", samesite="lax")
    return response
