"""The page in Chromium: search, preview, calls, keys, zoom, dark, accessibility, no errors.

`BROWSE_IMAGES=1 pytest -m long tests/browse/test_in_browser.py` makes the images of the docs anew.
"""

import json
import os
import shutil
import struct
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest
from browse_pages import MUSEUM, browsing, hostile
from documents import document, operation

from openapi_tools import load_tools
from openapi_tools.browse.one_file import render_page

pytestmark = pytest.mark.long
selenium = pytest.importorskip("selenium", reason="selenium is not installed")

from selenium import webdriver  # noqa: E402 -- after its check
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

IMAGES = Path(__file__).parents[2] / "docs" / "images"
PROGRAMS = [shutil.which(name) for name in ("chromium", "chromedriver")]
AXE = "axe.run(document, {resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
SOON = 20
"""Seconds after which a page that should have changed counts as wrong."""


@pytest.fixture(scope="module")
def chromium():
    """Chromium without a window."""
    if not all(PROGRAMS):
        pytest.skip("chromium or chromedriver is not installed; .ci/apt installs them on Debian")
    options = webdriver.ChromeOptions()
    options.binary_location = PROGRAMS[0]
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(PROGRAMS[1])
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()


class Browser:
    def __init__(self, driver):
        self.driver = driver
        self.size(1200, 800)
        self.media("light")
        driver.get_log("browser")

    def size(self, width, height, scale=1):
        facts = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", facts)

    def media(self, scheme):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, address, wanted="#list a"):
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait(wanted)
        return self

    def unfold(self):
        self.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")

    def show(self, name):
        self.driver.execute_script("location.hash = arguments[0]", name)
        self.until(lambda: self.text("main h2") == name)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector):
        return self.run(
            "const found = document.querySelector(arguments[0]);"
            "return found ? found.textContent : ''",
            selector,
        )

    def until(self, fact):
        return WebDriverWait(self.driver, SOON, 0.02).until(lambda _: fact())

    def wait(self, selector):
        self.until(lambda: self.all(selector))

    def keys(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def active(self):
        return self.driver.switch_to.active_element

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def faults(self):
        """Return the serious and critical findings of axe-core."""
        self.run(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(AXE)["violations"]
        return [
            (fault["id"], fault["help"], [node["html"][:200] for node in fault["nodes"][:3]])
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]

    def errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture
def browser(chromium):
    """A page in Chromium, which ends without an error in the console."""
    made = Browser(chromium)
    yield made
    assert made.errors() == []


@pytest.fixture(scope="module")
def github(shared):
    with browsing(shared / "corpus" / "github" / "api.github.com.json", "--mock") as served:
        yield served


def test_a_keystroke_among_1223_tools_shows_results_within_100_ms(browser, github):
    browser.open(github.address)
    assert browser.text("#count") == "1,223 tools"
    measured = """
        const input = document.getElementById("search"), done = arguments[arguments.length - 1];
        const taken = [];
        async function type(text) {
          for (const letter of text) {
            const start = performance.now();
            input.value += letter;
            input.dispatchEvent(new Event("input", { bubbles: true }));
            document.getElementById("list").getBoundingClientRect(); // lays the page out
            await new Promise((r) => requestAnimationFrame(() => setTimeout(r)));
            taken.push(performance.now() - start);
          }
          done(taken);
        }
        type("create an issue comment");
    """
    taken = browser.driver.execute_async_script(measured)
    browser.until(lambda: browser.text("#list .name") == "issues_create_comment")

    median = sorted(taken)[len(taken) // 2]
    print(f"keystroke to paint: {median:.0f} ms in the median, {max(taken):.0f} ms at most")
    assert median < 100


def test_typed_keys_find_filter_and_count(browser, github):
    browser.open(github.address)

    browser.one("#search").send_keys("star repo")
    browser.until(lambda: "of 1,223 tools" in browser.text("#count"))
    names = [found.text for found in browser.all("#list .name")]
    Select(browser.one("#safety")).select_by_visible_text("read-only")
    browser.until(lambda: len(browser.all("#list a")) < len(names))

    assert "activity_star_repo_for_authenticated_user" in names
    assert {found.text for found in browser.all("#list .method")} == {"GET"}


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("create_issue", "issues_create"),
        ("issues_cr", "issues_create"),
        ("/repos/{owner}/{repo}/issues create", "issues_create"),
        ("DELETE gists/{gist_id}/star", "gists_unstar"),
    ],
)
def test_the_best_hit_comes_first(browser, github, words, first):
    browser.open(github.address)
    browser.one("#search").send_keys(words)

    browser.until(lambda: browser.text("#list .name") == first)


def test_rows_come_as_the_list_is_scrolled(browser, github):
    browser.open(github.address)
    before = len(browser.all("#list a"))

    browser.run("const list = document.getElementById('list'); list.scrollTop = list.scrollHeight")

    browser.until(lambda: len(browser.all("#list a")) > before)
    assert before < 100


def test_the_preview_follows_the_form_and_a_write_is_called_after_approval(browser, museum_page):
    browser.open(museum_page.address).show("buy_museum_tickets")
    Select(browser.one("main select")).select_by_visible_text("general")
    browser.until(lambda: '"ticketType":"general"' in browser.text(".preview pre"))
    request = browser.text(".preview pre")

    browser.one("button.main").click()
    browser.until(lambda: browser.one("#approval").is_displayed())
    shown, focused = browser.text("#approval-request"), browser.active().text
    browser.one("#approval button[value=no]").click()
    browser.until(lambda: "Not called" in browser.text("#result"))
    browser.one("button.main").click()
    browser.until(lambda: browser.one("#approval").is_displayed())
    browser.one("#approval button[value=yes]").click()
    browser.until(lambda: "success" in browser.text("#result"))

    assert "curl" in request
    assert shown.startswith("POST http://mock.invalid/tickets")
    assert focused == "Cancel"
    assert '"message": "Museum general entry ticket purchased"' in browser.text("#result pre")


def test_a_field_with_a_fault_says_so_and_nothing_is_sent(browser, museum_page):
    browser.open(museum_page.address).show("get_museum_hours")
    page_field = browser.one("textarea, input[inputmode=numeric]")
    page_field.send_keys("ten")
    browser.one("button.main").click()

    browser.until(lambda: "is not a number" in browser.text(".field .fault:not([hidden])"))
    assert page_field.get_attribute("aria-invalid") == "true"
    assert browser.text("#result") == ""


def test_arguments_can_be_written_as_json_and_what_does_not_fit_is_told(browser, museum_page):
    browser.open(museum_page.address).show("buy_museum_tickets")
    browser.one("button.quiet").click()
    field = browser.one("#arguments")
    field.clear()
    field.send_keys('{"ticketType": "yearly"}')

    browser.until(lambda: "/ticketDate: missing" in browser.text(".preview .fault"))
    assert "stale" in browser.one(".tabs").get_attribute("class")

    field.clear()
    field.send_keys('{"ticketType": "event", "ticketDate": "2024-01-02", "email": "a@example.com"}')
    browser.one("button.quiet").click()

    browser.until(lambda: "2024-01-02" in browser.text(".preview pre"))
    values = [found.get_attribute("value") for found in browser.all("main .try input")]
    assert "a@example.com" in values


def test_everything_can_be_done_by_keyboard(browser, museum_page):
    browser.open(museum_page.address)
    browser.keys(Keys.TAB)
    skip = browser.active().text
    browser.keys("/")
    browser.keys("list")
    browser.until(lambda: browser.text("#count") == "1 of 8 tools")
    browser.keys(Keys.ARROW_DOWN)
    in_list = browser.active().get_attribute("href").rpartition("#")[2]
    browser.keys(Keys.ENTER)
    browser.until(lambda: browser.text("main h2") == "list_special_events")
    main = browser.active().tag_name
    passed = []
    while "Call the mock" not in passed and len(passed) < 30:
        browser.keys(Keys.TAB)
        passed.append(browser.active().text)
    outline = browser.run(
        "const style = getComputedStyle(document.activeElement);"
        "return style.outlineStyle + ' ' + style.outlineWidth"
    )
    browser.keys(Keys.ENTER)
    browser.until(lambda: "success" in browser.text("#result"))
    browser.keys("/", Keys.ARROW_DOWN, Keys.ARROW_UP)

    assert skip == "Skip to the tool"
    assert in_list == "list_special_events"
    assert main == "main"
    assert outline == "solid 2px"
    assert browser.active().get_attribute("id") == "search"


def test_tabs_follow_the_arrow_keys(browser, museum_page):
    browser.open(museum_page.address).show("get_museum_hours")
    browser.one("[role=tab]").send_keys(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)

    assert browser.active().text == "Tool call"
    shown = browser.one("[role=tabpanel]:not([hidden]) pre")
    assert json.loads(shown.text) == {"name": "get_museum_hours", "arguments": {}}


@pytest.mark.parametrize("name", ["", "buy_museum_tickets"])
def test_nothing_is_cut_at_400_percent(browser, museum_page, name):
    browser.size(320, 256, scale=4)
    browser.open(museum_page.address)
    if name:
        browser.show(name)
        browser.unfold()

    widths = browser.run(
        "const root = document.documentElement;"
        "return [root.scrollWidth, root.clientWidth, document.body.scrollWidth]"
    )
    assert widths == [320, 320, 320]


def test_the_form_stays_when_another_profile_is_shown(browser, museum_page):
    browser.open(museum_page.address).show("buy_museum_tickets")
    field = browser.one("main input")
    field.clear()
    field.send_keys("2024-02-03")
    before = browser.text("#model")

    Select(browser.one("#profile")).select_by_visible_text("gemini")

    browser.until(lambda: browser.text("#model") != before)
    assert "gemini" in browser.text("#model .chip")
    assert field.get_attribute("value") == "2024-02-03"


def test_a_link_leads_to_a_tool_and_an_unknown_one_is_told(browser, museum_page):
    browser.open(museum_page.address)
    plain = browser.run("return location.href")
    browser.open(f"{plain}#get_ticket_code", "main .try")
    title = browser.driver.title
    browser.open(f"{plain}#no%tool", "main [role=alert]")

    assert "key" not in plain
    assert title == "get_ticket_code - Redocly Museum API"
    assert browser.text("main [role=alert]") == "No tool is called no%tool."


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1200, 400])
def test_axe_finds_nothing_serious(browser, github, scheme, width):
    browser.size(width, 800)
    browser.media(scheme)
    browser.open(github.address)
    document_faults = browser.faults()
    browser.show("issues_create")
    browser.unfold()
    tool_faults = browser.faults()
    browser.one("button.main").click()
    browser.until(lambda: browser.one("#approval").is_displayed())

    assert document_faults == tool_faults == browser.faults() == []


def test_changes_and_skipped_operations_are_listed(browser, tmp_path):
    paths = {
        "/pets": {"get": operation(operationId="list_pets", tags=["pets"])},
        "/bad": {"get": operation(operationId="bad", parameters=[{"in": "nowhere", "name": "x"}])},
    }
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(document(paths | {"/cats": {"get": operation(operationId="cats")}})))
    new.write_text(json.dumps(document(paths)))
    with browsing(new, "--against", old) as served:
        browser.open(served.address)
        browser.until(lambda: "tokens" in browser.text("#list .cost"))
        shown, faults = browser.text("main"), browser.faults()

    assert "breaking" in shown
    assert "removed" in shown
    assert "GET /bad" in shown
    assert "/paths/~1bad/get/parameters/0" in shown
    assert faults == []


def recursive():
    node = {"type": "object", "properties": {"child": {"$ref": "#/components/schemas/Node"}}}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
    paths = {"/nodes": {"post": operation(operationId="add_node", requestBody=body)}}
    return document(paths, components={"schemas": {"Node": node}})


def test_a_recursive_schema_opens_step_by_step(browser, tmp_path):
    spec = tmp_path / "recursive.json"
    spec.write_text(json.dumps(recursive()))
    with browsing(spec, "--mock") as served:
        browser.open(served.address)
        browser.show("add_node")
        for depth in range(1, 6):
            browser.until(lambda d=depth: len(browser.all(".tree details")) >= d)
            browser.run("[...document.querySelectorAll('.tree summary')].at(-1).click()")

        assert "recursive" in browser.text(".tree .tree")


@contextmanager
def written(tmp_path, html):
    file = tmp_path / "page.html"
    file.write_text(html)
    yield file.as_uri()


def test_the_file_works_without_a_server_and_says_what_it_cannot(browser, tmp_path):
    with written(tmp_path, render_page(load_tools(MUSEUM))) as address:
        browser.open(f"{address}#buy_museum_tickets", "main .try")
    before, note = browser.text(".preview pre"), browser.text(".preview > .hint")
    Select(browser.one("main select")).select_by_visible_text("general")
    browser.until(lambda: "example arguments" in browser.text(".preview > .hint"))

    assert before.startswith("curl --globoff")
    assert note == ""
    assert browser.all("button.main") == []
    assert '"ticketType": "general"' in browser.text("[aria-label='The tool call']")
    assert browser.run("return performance.getEntriesByType('resource').length") == 0


def test_an_object_with_names_of_methods_is_shown(browser, tmp_path):
    odd = {"toString": "x", "valueOf": 1}
    schema = {"type": ["string", "object"], "example": odd, "default": odd}
    parameters = [{"name": "q", "in": "query", "required": True, "schema": schema}]
    found = document(
        {"/x": {"get": operation(operationId="find", parameters=parameters)}},
        servers=[{"url": "https://api.example.com"}],
    )
    with written(tmp_path, render_page(load_tools(found))) as address:
        browser.open(address)
        browser.show("find")

        assert json.loads(browser.run("return document.querySelector('textarea').value")) == odd


def test_nothing_of_a_hostile_document_runs_or_becomes_markup(browser, tmp_path):
    with written(tmp_path, render_page(hostile())) as address:
        browser.open(address)
        names = browser.run("return [...document.querySelectorAll('#list a')].map((a) => a.hash)")
        for name in names:
            browser.show(name[1:])
            browser.unfold()
            assert browser.all("main img, main script, main iframe") == []

        assert len(names) == 9
        assert "window.ran = 1" in browser.text("main .words")
        assert browser.run("return window.ran") is None


def image_size(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_images_of_the_docs_are_made(browser, museum_page, tmp_path, scheme):
    browser.size(1200, 800)
    browser.media(scheme)
    browser.open(museum_page.address).show("buy_museum_tickets")
    browser.until(lambda: browser.text(".preview pre"))
    browser.until(lambda: "tokens" in browser.text("#list .cost"))
    made = tmp_path / f"page-{scheme}.png"
    browser.driver.save_screenshot(str(made))
    kept = IMAGES / made.name
    if os.environ.get("BROWSE_IMAGES"):
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(made, kept)

    assert kept.exists(), "BROWSE_IMAGES=1 makes it"
    assert image_size(kept) == image_size(made) == (1200, 800)
    assert kept.stat().st_size < 200_000
