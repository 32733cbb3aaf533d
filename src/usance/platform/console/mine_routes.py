"""Addresses of the borrower pages, each with the function that answers it."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from usance.platform.console import mine, mine_draw, sign_in
from usance.platform.console.frame import MINE
from usance.platform.console.mine import Answer, guarded

PAGES: dict[tuple[str, str], Answer] = {
    ("GET", ""): mine.show,
    ("POST", "/leave"): mine.leave,
    ("GET", "/draw"): mine_draw.show,
    ("POST", "/draw"): mine_draw.choose,
    ("GET", "/offers/{quote}"): mine_draw.offer,
    ("POST", "/offers/{quote}"): mine_draw.accept,
    ("GET", "/offers/{quote}/contract.pdf"): mine_draw.contract,
    ("GET", "/drawdowns/{loan}"): mine_draw.drawdown,
    ("GET", "/loans/{loan}"): mine.loan,
    ("POST", "/loans/{loan}/pay"): mine.pay,
    ("GET", "/loans/{loan}/statement.pdf"): mine_draw.statement,
    ("GET", "/loans/{loan}/help"): mine.help_page,
    ("POST", "/loans/{loan}/help"): mine.ask_help,
    ("POST", "/loans/{loan}/plans/{plan}"): mine.answer_plan,
    ("GET", "/complaint"): mine.complaint,
    ("POST", "/complaint"): mine.complain,
    ("GET", "/data"): mine.data,
    ("POST", "/consents"): mine.consent,
    ("POST", "/export"): mine.export,
    ("POST", "/erase"): mine.erase,
}
"""Method and address of every borrower page, and its function."""


def routes() -> list[BaseRoute]:
    """Every route of the borrower pages."""
    return [
        Route(f"{MINE}/enter", mine.entrance, methods=["GET"]),
        Route(f"{MINE}/enter", mine.enter, methods=["POST"]),
        Route(f"{MINE}/language", sign_in.speak, methods=["POST"]),
        *(Route(MINE + path, guarded(answer), methods=[method])
          for (method, path), answer in PAGES.items()),
    ]  # fmt: skip
