"""Chromium without a window, as the tests of the page drive it."""

import shutil
from importlib.resources import files

import pytest

PROGRAMS = [shutil.which(name) for name in ("chromium", "chromedriver")]
AXE = "axe.run(document, {resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
SOON = 20
"""Seconds after which a page that should have changed counts as wrong."""


def start_chromium():
    """Return a driver of Chromium, or skip the test."""
    selenium = pytest.importorskip("selenium", reason="selenium is not installed")
    assert selenium
    from selenium import webdriver

    if not all(PROGRAMS):
        pytest.skip("chromium or chromedriver is not installed; .ci/apt installs them on Debian")
    options = webdriver.ChromeOptions()
    options.binary_location = PROGRAMS[0]
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "hide-scrollbars"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(PROGRAMS[1]))


class Browser:
    """One page: what it displays, keys, and its faults."""

    def __init__(self, driver):
        self.driver = driver
        self.set_size(1280, 800)
        self.set_scheme("light")
        driver.get_log("browser")

    def set_size(self, width, height, scale=1):
        metrics = {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def set_scheme(self, scheme):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, address, selector="#list a, #list button"):
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait_for(selector)
        return self

    def unfold(self):
        self.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")

    def show(self, name):
        self.run("location.hash = arguments[0]", name)
        self.wait_until(lambda: self.text("main h2") == name)

    def show_view(self, address, title):
        self.run("location.hash = arguments[0]", address)
        self.wait_until(lambda: self.text("main h2") == title)
        self.wait_until(lambda: "…" not in self.text("main .cards"))

    def find_all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def click(self, selector):
        self.run("document.querySelector(arguments[0]).click()", selector)

    def text(self, selector):
        script = "const each = document.querySelector(arguments[0]);"
        return self.run(f"{script} return each ? each.textContent : ''", selector)

    def texts(self, selector):
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return self.run(script, selector)

    def wait_until(self, fact):
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, SOON, 0.02).until(lambda _: fact())

    def wait_for(self, selector):
        self.wait_until(lambda: self.find_all(selector))

    def press(self, *keys):
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def choose(self, selector, text):
        from selenium.webdriver.support.ui import Select

        Select(self.find(selector)).select_by_visible_text(text)

    @property
    def focus(self):
        return self.driver.switch_to.active_element

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def overflow(self):
        """Return by how many pixels the page and its content are wider than the screen."""
        return self.run(
            "return [document.documentElement, document.body, document.getElementById('main')]"
            ".map((each) => each.scrollWidth - each.clientWidth)"
        )

    def find_faults(self):
        """Return the findings of axe-core, of every impact."""
        self.run(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        findings = self.driver.execute_async_script(AXE)["violations"]
        return [
            (each["id"], each["help"], [node["html"][:200] for node in each["nodes"][:3]])
            for each in findings
        ]

    def read_errors(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]
