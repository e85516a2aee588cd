"""How the page looks: both schemes, widths, zoom, accessibility, and the images of the docs.

`BROWSE_IMAGES=1 pytest -m long tests/browse/test_page_design.py` makes the images of the docs.
"""

import json
import os
import shutil
import struct
from pathlib import Path

import pytest
from browse_pages import browsing
from documents import document, operation

pytestmark = pytest.mark.long
pytest.importorskip("selenium", reason="selenium is not installed")

IMAGES = Path(__file__).parents[2] / "docs" / "images"
VIEWS = [("/", None), ("/sizes", "Sizes"), ("/needs", "What needs what")]
LUMINANCE = """
    const [red, green, blue] = getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g);
    return (Number(red) + Number(green) + Number(blue)) / 3;
"""


def open_everything(browser):
    browser.unfold()
    browser.wait_until(lambda: "Loading" not in browser.text("main"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 400])
def test_axe_finds_nothing_and_nothing_is_cut(browser, github_page, scheme, width):
    browser.set_size(width, 800)
    browser.set_scheme(scheme)
    browser.open(github_page.address)
    faults = {"list": browser.find_faults()}
    for address, title in VIEWS:
        browser.show_view(address, title or browser.text("#title"))
        open_everything(browser)
        faults[address] = browser.find_faults(), browser.overflow()
    browser.show("issues_create")
    open_everything(browser)
    faults["tool"] = browser.find_faults(), browser.overflow()
    browser.click("button.main")
    browser.wait_until(lambda: browser.find("#approval").is_displayed())
    faults["dialog"] = browser.find_faults()

    nothing = [], [0, 0, 0]
    expected = dict.fromkeys(["/", "/sizes", "/needs", "tool"], nothing)
    assert faults == expected | {"list": [], "dialog": []}


@pytest.mark.parametrize("name", ["", "/", "/sizes", "/needs", "buy_museum_tickets"])
def test_nothing_is_cut_at_400_percent(browser, museum_page, name):
    browser.set_size(320, 256, scale=4)
    browser.open(museum_page.address)
    browser.run("location.hash = arguments[0]", name)
    browser.wait_until(lambda: "Loading" not in browser.text("main"))
    browser.unfold()

    assert browser.overflow()[:2] == [0, 0]


@pytest.mark.parametrize("width", [1280, 400])
def test_long_names_and_other_scripts_are_not_cut(browser, tmp_path, width):
    long = "never_ending_" * 12
    schema = {"type": "object", "required": ["名前", long], "properties": {}}
    for name in ("名前", "العنوان", long):
        schema["properties"][name] = {"type": "string", "description": f"{name} " * 30}
    body = {"requestBody": {"content": {"application/json": {"schema": schema}}}}
    paths = {
        f"/{'long-segment-' * 12}/عملاء": {
            "post": operation(
                operationId="create", summary="x" * 300, description="إنشاء " * 80, **body
            )
        }
    }
    for path in paths.values():
        path["post"]["tags"] = ["T" * 120, "订单管理"]
    spec = tmp_path / "long.json"
    spec.write_text(json.dumps(document(paths) | {"info": {"title": "标题" * 90, "version": "1"}}))
    browser.set_size(width, 800)
    with browsing(spec, "--mock") as page:
        browser.open(page.address).show("create")
        open_everything(browser)
        direction = browser.run(
            "const texts = document.querySelectorAll('.tool-head .prose');"
            "return getComputedStyle(texts[texts.length - 1]).direction"
        )

        assert browser.overflow() == [0, 0, 0]
        assert browser.find_faults() == []
        assert direction == "rtl"


@pytest.mark.parametrize("address", ["", "/", "/sizes", "/needs"])
def test_a_document_without_tools_says_so(browser, tmp_path, address):
    spec = tmp_path / "empty.json"
    spec.write_text(json.dumps(document({})))
    with browsing(spec, "--mock") as page:
        browser.open(page.address, "#list li")
        browser.run("location.hash = arguments[0]", address)
        browser.wait_until(lambda: "There are no tools." in browser.text("main"))

        assert browser.text("#list") == "There are no tools."
        assert browser.find_faults() == []


@pytest.mark.parametrize(("scheme", "other"), [("light", "dark"), ("dark", "light")])
def test_colours_follow_the_system_until_others_are_chosen(browser, museum_page, scheme, other):
    browser.set_scheme(scheme)
    browser.open(museum_page.address)
    system = browser.run(LUMINANCE)
    while browser.run("return document.documentElement.dataset.theme") != other:
        browser.click("#theme")
    chosen = browser.run(LUMINANCE)
    browser.open(museum_page.address)
    kept = browser.run(LUMINANCE)
    browser.run("localStorage.removeItem('theme')")

    assert (system > 128, chosen > 128, kept > 128) == (
        scheme == "light",
        other == "light",
        other == "light",
    )


def image_size(path):
    return struct.unpack(">II", path.read_bytes()[16:24])


def show_tool(browser, page, name):
    browser.open(page.address).show(name)
    browser.wait_until(lambda: browser.text(".request pre"))
    browser.wait_for("#list .cost .meter")


def show_form(browser, page):
    show_tool(browser, page, "buy_museum_tickets")


def show_model(browser, page):
    show_tool(browser, page, "create_special_event")
    browser.run("document.getElementById('model').scrollIntoView()")


def show_sizes(browser, page):
    browser.open(page.address).show_view("/sizes", "Sizes")


IMAGES_OF_DOCS = {
    "page-light": ("museum_page", "light", 1280, show_form),
    "page-dark": ("museum_page", "dark", 1280, show_model),
    "page-sizes": ("github_page", "light", 1280, show_sizes),
    "page-phone": ("museum_page", "light", 400, show_form),
}


@pytest.mark.parametrize("name", IMAGES_OF_DOCS)
def test_the_images_of_the_docs_are_made(browser, request, tmp_path, name):
    source, scheme, width, show = IMAGES_OF_DOCS[name]
    page = request.getfixturevalue(source)
    browser.set_size(width, 860)
    browser.set_scheme(scheme)
    show(browser, page)
    browser.run("document.activeElement.blur()")
    path = tmp_path / f"{name}.png"
    browser.driver.save_screenshot(str(path))
    in_docs = IMAGES / path.name
    if os.environ.get("BROWSE_IMAGES"):
        shutil.copyfile(path, in_docs)

    assert in_docs.exists(), "BROWSE_IMAGES=1 makes it"
    assert image_size(in_docs) == image_size(path) == (width, 860)
    assert in_docs.stat().st_size < 250_000
