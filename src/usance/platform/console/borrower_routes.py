"""Addresses of the borrower pages, each with the function that answers it."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from usance.platform.console import borrower_draw, borrower_pages, sign_in
from usance.platform.console.borrower_pages import Answer, guarded
from usance.platform.console.frame import MINE

PAGES: dict[tuple[str, str], Answer] = {
    ("GET", ""): borrower_pages.show,
    ("POST", "/leave"): borrower_pages.leave,
    ("GET", "/draw"): borrower_draw.show,
    ("POST", "/draw"): borrower_draw.choose,
    ("GET", "/offers/{quote}"): borrower_draw.offer,
    ("POST", "/offers/{quote}"): borrower_draw.accept,
    ("GET", "/offers/{quote}/contract.pdf"): borrower_draw.contract,
    ("GET", "/drawdowns/{loan}"): borrower_draw.drawdown,
    ("GET", "/loans/{loan}"): borrower_pages.loan,
    ("POST", "/loans/{loan}/pay"): borrower_pages.pay,
    ("GET", "/loans/{loan}/statement.pdf"): borrower_draw.statement,
    ("GET", "/loans/{loan}/help"): borrower_pages.help_page,
    ("POST", "/loans/{loan}/help"): borrower_pages.ask_help,
    ("POST", "/loans/{loan}/plans/{plan}"): borrower_pages.answer_plan,
    ("GET", "/complaint"): borrower_pages.complaint,
    ("POST", "/complaint"): borrower_pages.complain,
    ("GET", "/data"): borrower_pages.data,
    ("POST", "/consents"): borrower_pages.consent,
    ("POST", "/export"): borrower_pages.export,
    ("POST", "/erase"): borrower_pages.erase,
}
"""Method and address of every borrower page, and its function."""


def routes() -> list[BaseRoute]:
    """Every route of the borrower pages."""
    return [
        Route(f"{MINE}/enter", borrower_pages.entrance, methods=["GET"]),
        Route(f"{MINE}/enter", borrower_pages.enter, methods=["POST"]),
        Route(f"{MINE}/language", sign_in.set_language, methods=["POST"]),
        *(Route(MINE + path, guarded(answer), methods=[method])
          for (method, path), answer in PAGES.items()),
    ]  # fmt: skip
