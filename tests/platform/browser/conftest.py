"""A sandbox that is served, and a browser that looks at it and lets nothing out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.platform.api.served import Served
from tests.platform.browser.chromium import FLAGS, MISSING, chromium, is_required
from usance.platform.store.server import Embedded


@pytest.fixture(scope="session")
def served(server: Embedded, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    assert server.data.exists()
    running = Served(tmp_path_factory.mktemp("looked_at"))
    running.start()
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def browser(served: Served) -> Iterator[Any]:
    """A browser for one module: while it is open, nothing else can run a loop in this thread."""
    assert served.url
    path = chromium()
    if path is None:
        if is_required():
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield opened
        opened.close()


class Watched:
    """A tab of its own, with everything that went wrong in it."""

    def __init__(self, browser: Any, url: str, scheme: str = "light") -> None:
        self.problems: list[str] = []
        self.context = browser.new_context(base_url=url, color_scheme=scheme, locale="en",
                                           viewport={"width": 1280, "height": 900})  # fmt: skip
        self.page = self.context.new_page()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda asked: self._asked(asked.url, url))

    def _heard(self, told: Any) -> None:
        """Keep what the browser's console says is wrong; a page that refuses is no error."""
        if told.type == "error" and "status of 4" not in told.text:
            self.problems.append(told.text)

    def _asked(self, address: str, own: str) -> None:
        """Keep requests that leave the machine's own address."""
        if not address.startswith(own):
            self.problems.append(f"asks {address}")

    def sign_in(self, person: dict[str, str]) -> None:
        """Sign in with the keyboard alone; a refusal says what the page says."""
        self.page.goto("/console/sign-in")
        self.type_into("email", person["email"])
        self.page.keyboard.press("Tab")
        self.type_into("password", person["password"])
        self.page.keyboard.press("Enter")
        refused = self.page.locator("#content [role=alert]")
        self.page.locator("form[action$='/sign-out']").or_(refused).first.wait_for()
        assert not refused.count(), f"{person['email']}: {refused.inner_text()}"
        self.page.wait_for_url("**/console/overview")

    def type_into(self, name: str, text: str) -> None:
        """Type into the field that must have the focus already.

        A browser gives the focus of `autofocus` with the first frame that it paints, which may
        come after the page was loaded: what is typed before goes nowhere.
        """
        from playwright.sync_api import expect

        expect(self.page.locator(f"input[name={name}]")).to_be_focused()
        self.page.keyboard.type(text)


@pytest.fixture
def tab(browser: Any, served: Served) -> Iterator[Watched]:
    watched = Watched(browser, served.url)
    yield watched
    watched.context.close()
    assert watched.problems == []
