"""The report page in headless Chromium: it draws, answers to hand and eye, and asks the network for nothing."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.test_html_page import HOSTILE, Scenario, error, hang, large, page, two_modules

pytest.importorskip("selenium", reason="selenium is not installed: pip install 'simgather[test]'")

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.actions.action_builder import ActionBuilder
from selenium.webdriver.common.actions.wheel_input import ScrollOrigin
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = (380, 1600)
COLOURS_DRAWN = """
const canvas = document.getElementById("timeline-canvas"), seen = new Set();
const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, 108);
for (let at = 0; at < data.length; at += 4) seen.add(data.slice(at, at + 4).join());
return seen.size;
"""
SELECTED = """
const {left, right, top, bottom} = document.getElementById("timeline-selection").getBoundingClientRect();
return [left, right, top, bottom];
"""
SETTLED = "return document.getElementById('timeline-frame').dataset.from !== undefined"

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no chromium and chromedriver: apt-get install chromium chromium-driver"
)


class Browser:
    """One Chromium for all tests, and the page it shows."""

    def __init__(self, driver: webdriver.Chrome, folder: Path) -> None:
        self.driver = driver
        self.folder = folder

    def show(self, name: str, *, width: int = 1600, height: int = 1000, scheme: str = "light") -> str:
        """Open the page of a scenario of `PAGES`, and say where it is; what was logged before is forgotten."""
        path = self.folder / f"{name}.html"
        if not path.exists():
            path.write_text(page(PAGES[name]()), encoding="utf-8")
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.prefer(scheme)
        self.requests()
        self.driver.get(path.as_uri())
        self.until(lambda: self.run(SETTLED))
        return path.as_uri()

    def prefer(self, scheme: str) -> None:
        """Dark or light, as the system would say."""
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script: str, *arguments: object) -> Any:
        return self.driver.execute_script(script, *arguments)  # type: ignore[no-untyped-call]

    def element(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def elements(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def requests(self) -> list[str]:
        """Every address requested since the last call."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]  # type: ignore[no-untyped-call]
        return [one["params"]["request"]["url"] for one in messages if one["method"] == "Network.requestWillBeSent"]

    def complaints(self) -> list[str]:
        """What the console shows: errors of the script and of the content security policy."""
        return [entry["message"] for entry in self.driver.get_log("browser")]  # type: ignore[no-untyped-call]

    def view(self) -> tuple[int, int]:
        """From when to when the timeline shows, in nanoseconds, once nothing moves."""
        before = None
        while True:
            now = self.run("const {from, to} = document.getElementById('timeline-frame').dataset; return [+from, +to]")
            if now == before:
                return now[0], now[1]
            before = now
            time.sleep(0.05)

    def tooltip(self) -> str:
        """What the tooltip says, nothing if it is hidden."""
        return self.element("#timeline-tooltip").text

    def press(self, *keys: str) -> None:
        """Keys for the timeline."""
        self.run("document.getElementById('timeline-canvas').focus()")
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def choose(self, selector: str, value: str) -> None:
        """Set a selection, as a hand would."""
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))"
        self.run(script, self.element(selector), value)

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for it, at most five seconds."""
        end = time.monotonic() + 5
        while not condition():
            assert time.monotonic() < end, "it never came to be"
            time.sleep(0.03)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    options = webdriver.ChromeOptions()
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.binary_location = str(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield Browser(driver, tmp_path_factory.mktemp("pages"))
    driver.quit()


def hostile() -> Scenario:
    return two_modules(*HOSTILE, name=f"</title>{HOSTILE[0]}")


PAGES = {"stale": two_modules, "hang": hang, "error": error, "hostile": hostile, "large": large}


@pytest.mark.parametrize("name", PAGES)
def test_it_draws_without_a_complaint_or_a_request(browser: Browser, name: str) -> None:
    address = browser.show(name)
    inks = browser.run(COLOURS_DRAWN)
    assert inks > 10
    assert browser.complaints() == []
    assert browser.requests() in ([address], [address, "data:,"])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["stale", "large"])
def test_it_fits_and_follows_the_scheme(browser: Browser, name: str, width: int, scheme: str) -> None:
    browser.show(name, width=width, scheme=scheme)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    red = browser.run("return +getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0]")
    assert (red < 60) == (scheme == "dark")
    assert browser.complaints() == []


def test_hover_shows_module_bucket_times_handle_and_versions(browser: Browser) -> None:
    browser.show("stale")
    browser.element("button.finding").click()
    browser.view()
    left, right, top, bottom = browser.run(SELECTED)
    browser.press(Keys.ESCAPE)
    browser.until(lambda: browser.tooltip() == "")
    pointer = ActionBuilder(browser.driver)
    pointer.pointer_action.move_to_location(int((left + right) / 2), int((top + bottom) / 2))
    pointer.perform()
    browser.until(lambda: browser.tooltip() != "")
    told = browser.tooltip()
    assert told.startswith("B\nforward · iteration 1, microbatch 0, rank 0")
    for words in ("runs", "1: B", "None: nothing was dispatched", "stale, undispatched", "50.0 % fresh", "1 step old"):
        assert words in told


def test_a_finding_scrolls_and_zooms_to_its_place(browser: Browser) -> None:
    browser.show("stale", height=600)
    start = browser.view()
    for button in browser.elements("button.finding, button.jump"):
        browser.run("window.scrollTo(0, document.body.scrollHeight)")
        browser.run("arguments[0].click()", button)
        browser.until(lambda: browser.element("#timeline-selection").is_displayed())
        shown = browser.view()
        assert shown[1] - shown[0] <= start[1] - start[0]
        _, _, top, bottom = browser.run(SELECTED)
        assert 0 < top < bottom < 600
        assert browser.tooltip() != ""


def test_every_way_to_zoom_and_pan(browser: Browser) -> None:
    browser.show("stale")
    browser.element("#timeline-reset").click()
    whole = browser.view()
    browser.element("#timeline-zoom-in").click()
    near = browser.view()
    assert whole[0] < near[0] < near[1] < whole[1]
    browser.element("#timeline-pan-right").click()
    assert browser.view()[0] > near[0]
    browser.press("0")
    assert browser.view() == whole
    browser.press("+", "+", Keys.ARROW_LEFT)
    far = browser.view()
    assert whole[0] < far[0] < far[1] < whole[1]
    canvas = browser.element("#timeline-canvas")
    time.sleep(0.4)  # a wheel that began to scroll the page goes on scrolling it
    ActionChains(browser.driver).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, -200).perform()
    closer = browser.view()
    assert closer[1] - closer[0] < far[1] - far[0]
    ActionChains(browser.driver).drag_and_drop_by_offset(canvas, -120, 0).perform()
    moved = browser.view()
    assert moved[0] > closer[0]
    assert abs((moved[1] - moved[0]) - (closer[1] - closer[0])) <= 2


def test_pinching_zooms(browser: Browser) -> None:
    browser.show("stale", width=380)
    browser.run("document.getElementById('timeline-canvas').scrollIntoView({block: 'center'})")
    before = browser.view()
    box = browser.element("#timeline-canvas").rect
    top = browser.run("return document.getElementById('timeline-canvas').getBoundingClientRect().top") + 60
    middle = box["x"] + 200

    def touch(kind: str, *apart: int) -> None:
        points = [
            {"x": middle + side * one, "y": top, "id": number} for one in apart for number, side in enumerate((-1, 1))
        ]
        browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", 30)
    for apart in (45, 60, 75):
        touch("touchMove", apart)
    touch("touchEnd")
    after = browser.view()
    assert after[1] - after[0] < 0.7 * (before[1] - before[0])


def test_keys_walk_from_item_to_item_and_say_so(browser: Browser) -> None:
    browser.show("stale")
    said = browser.element("#timeline-said")
    browser.press("n")
    first = str(said.get_attribute("textContent"))
    browser.press("n")
    second = str(said.get_attribute("textContent"))
    assert "rank 0" in first
    assert "rank 0" in second
    assert first != second
    browser.press(Keys.ARROW_DOWN)
    browser.until(lambda: "all-gather of bucket" in str(said.get_attribute("textContent")))


def test_a_hang_shows_where_it_never_goes_on(browser: Browser) -> None:
    browser.show("hang")
    browser.element("button.finding").click()
    browser.until(lambda: "never begins: the ranks do not meet" in browser.tooltip())
    assert browser.element(".badge").text == "HANG"


def test_an_exception_is_marked_on_the_host(browser: Browser) -> None:
    browser.show("error")
    browser.element("button.finding").click()
    browser.until(lambda: "the framework raises" in browser.tooltip())
    assert browser.element(".badge").text == "ERROR"


def test_hostile_names_stay_text(browser: Browser) -> None:
    browser.show("hostile")
    browser.element("button.finding").click()
    browser.until(lambda: browser.tooltip().startswith(HOSTILE[1]))
    assert browser.run("return document.querySelectorAll('img, [onload], [onerror]').length") == 0
    assert browser.element("h1").text == f"</title>{HOSTILE[0]}"
    assert browser.complaints() == []


def test_the_theme_can_be_turned(browser: Browser) -> None:
    browser.show("stale", scheme="light")
    browser.element("#theme").click()
    assert browser.run("return getComputedStyle(document.documentElement).colorScheme") == "dark"
    assert browser.element("#theme").text == "Light"


def test_one_rank_or_one_iteration_alone(browser: Browser) -> None:
    browser.show("stale")
    height = browser.element("#timeline-canvas").rect["height"]
    browser.choose("#timeline-rank", "1")
    browser.until(lambda: browser.element("#timeline-canvas").rect["height"] == height / 2)
    before = browser.view()
    browser.choose("#timeline-iteration", "2")
    assert browser.view()[0] > before[0]


def test_it_prints_light_and_unfolded(browser: Browser) -> None:
    browser.show("stale", scheme="dark")
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(printed["data"]) > 20_000
    assert browser.run("return document.documentElement.dataset.printing === undefined")
    assert browser.complaints() == []
