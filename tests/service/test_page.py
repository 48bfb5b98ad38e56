"""The page in a real browser: views open, what-if changes figures, names of a log are text."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

import rheostat as rh
from rheostat.service.served import ServedFiles
from tests.service.conftest import ready, start

playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra dev")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
VIEWS = ("power", "queue", "savings", "job", "whatif", "policies", "model")
HOSTILE = "<img src=x onerror='document.title=1'>"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed (Debian: chromium)"),
]


@pytest.fixture(scope="module")
def hostile(site, tmp_path_factory):
    """The site with users and applications whose names are markup."""
    log = rh.read(site.log)
    path = tmp_path_factory.mktemp("hostile") / "log.parquet"
    named = [pl.concat_str(pl.col(c), pl.lit(HOSTILE)).alias(c) for c in ("user", "app")]
    log.frame.with_columns(named).write_parquet(path)
    service = start(ServedFiles(path, None, str(site.machine), ("nodes=1..64",)))
    ready(service)
    yield service
    service.stop()


@pytest.fixture
def browser():
    with playwright.sync_playwright() as driver:
        made = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


def opened(browser, service, view: str, width: int, errors: list[str]):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.set_default_timeout(240_000)
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda sent: None if sent.url.startswith(service.address)
            else errors.append(f"asks {sent.url}"))  # fmt: skip
    page.goto(f"{service.address}/#{view}")
    page.wait_for_selector(f"#view[data-ready={view.partition('/')[0]}]")
    return page


@pytest.mark.parametrize("width", [400, 1600])
def test_every_view_opens_without_an_error(running, browser, width: int) -> None:
    errors: list[str] = []
    for view in VIEWS:
        page = opened(browser, running, view, width, errors)
        assert page.locator("#view h1").count() == 1
        refused = page.locator("#view .bad").all_inner_texts()
        assert [words for words in refused if not words.startswith("No plan holds")] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.close()
    assert errors == []


def test_less_power_gives_another_plan(running, browser) -> None:
    page = opened(browser, running, "whatif", 1600, [])
    before = page.inner_text("#view table")
    slider = page.locator("input[type=range]").first
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")  # by keyboard, 5 % each
    page.wait_for_function("t => document.querySelector('#view table').innerText !== t", arg=before)
    assert "50 %" in page.inner_text("#view .controls")


def test_a_deadline_gives_another_choice_of_a_job(running, browser, site) -> None:
    job = str(rh.read(site.log).frame["job_id"][700])
    page = opened(browser, running, f"job/{job}", 1600, [])
    before = page.inner_text("#view")
    slider = page.locator("input[type=range]")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_function("t => document.querySelector('#view').innerText !== t", arg=before)


def test_names_of_a_log_are_text(hostile, browser) -> None:
    errors: list[str] = []
    page = opened(browser, hostile, "queue", 1600, errors)
    assert HOSTILE in page.inner_text("#view table")
    assert page.locator("#view img").count() == 0
    assert page.title() != "1"
    assert errors == []


def test_the_page_has_the_weeks_of_the_model(running, browser, site) -> None:
    page = opened(browser, running, "model", 1600, [])
    weeks = rh.site.drift(rh.read(site.log), site.model).weeks
    drift = page.locator("section", has_text="Drift")
    assert drift.locator("tbody tr").count() == len(weeks)
    assert "No alarm." in drift.inner_text()


def test_a_job_that_keeps_its_setting_is_told_so(running, browser, site) -> None:
    """No setting is taken instead of itself."""
    log = rh.read(site.log).frame
    for job in log["job_id"].tail(2):
        page = opened(browser, running, f"job/{job}", 400, [])
        said = page.locator("section", has_text="The choice").inner_text()
        chosen = page.locator("#choice").inner_text()
        assert f"instead of {chosen}." not in said
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
