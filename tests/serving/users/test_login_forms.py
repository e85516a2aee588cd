"""The form of a login: no other page can send it, frame it or read where it leads."""

import asyncio
import re
import shutil

import pytest
from servers.authorization import SECRET
from servers.recorder import CannedResponse, Recorder
from servers.team import (
    ALICE,
    BOB,
    Browser,
    call_tool,
    hidden_fields,
    link,
    login_table,
    shop_served,
    table,
)

AUTH = {"tokens": {"alice": "${ALICE}", "eve": "${BOB}"}}
EVE = BOB


@pytest.fixture
async def site(issuer, api):
    async with shop_served(api, AUTH, users=login_table(issuer)) as shop:
        yield shop


FOREIGN = {
    "another site": {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"},
    "another origin alone": {"Origin": "https://evil.example"},
    "another port of this machine": {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
    "a sandboxed page": {"Origin": "null"},
    "a page of the same site alone": {"Sec-Fetch-Site": "same-site"},
    "another site alone": {"Sec-Fetch-Site": "cross-site"},
    "no page": {"Sec-Fetch-Site": "none"},
    "a longer origin": {"Origin": "{origin}.evil.example"},
    "another scheme": {"Origin": "https{origin}"},
    "a frame": {"Origin": "{origin}", "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "iframe"},
}


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
async def test_a_form_that_another_page_sends_is_refused(headers, site, issuer, api):
    """Even one that has the cookie and the field of this browser."""
    page = link(await call_tool(site, EVE))
    form_headers = {
        n: v.format(origin=site.origin).replace("httpshttp", "https") for n, v in headers.items()
    }
    async with Browser("ada") as victim:
        form = await victim.get(page)
        data = {**hidden_fields(form), "token": EVE}
        response = await victim.post(page, data=data, headers=form_headers)

    assert response.status_code == 403
    assert "location" not in response.headers
    assert (await call_tool(site, EVE)).is_error
    assert api.requests == []


def other_key(data):
    return {**data, "form": "0" * 64}


UNBOUND = {
    "no cookie": (lambda data: data, False),
    "no field": (lambda data: {"token": data["token"]}, True),
    "an empty field": (lambda data: {**data, "form": ""}, True),
    "another field": (other_key, True),
    "neither": (lambda data: {"token": data["token"]}, False),
    "odd characters": (lambda data: {**data, "form": "é\ud7ff"}, True),
    "many fields": (lambda data: data | {f"f{number}": "1" for number in range(20)}, True),
    "a large form": (lambda data: {**data, "x": "y" * 100_000}, True),
}


@pytest.mark.parametrize(("change", "keeps"), UNBOUND.values(), ids=UNBOUND)
async def test_a_form_without_the_cookie_of_its_page_is_refused(change, keeps, site):
    page = link(await call_tool(site, EVE))
    async with Browser("eve") as browser, Browser("ada") as victim:
        form = await browser.get(page)
        sender = browser if keeps else victim
        data = change({**hidden_fields(form), "token": EVE})
        response = await sender.post(page, data=data)

    assert response.status_code == 403
    assert "location" not in response.headers


async def test_a_form_of_one_login_is_none_of_another(site):
    pages = [link(await call_tool(site, token)) for token in (ALICE, EVE)]
    async with Browser("ada") as browser:
        forms = [hidden_fields(await browser.get(page)) for page in pages]
        crossed = await browser.post(pages[0], data={**forms[1], "token": ALICE})
        # Two forms in two windows are both good.
        rights = [
            (await browser.post(page, data={**form, "token": token})).status_code
            for page, form, token in zip(pages, forms, (ALICE, EVE), strict=True)
        ]

    assert (crossed.status_code, rights) == (403, [303, 303])


async def test_a_form_of_the_page_itself_is_taken(site):
    page = link(await call_tool(site, ALICE))
    headers = {"Origin": site.origin, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "document"}
    async with Browser("ada") as browser:
        form = await browser.get(page, headers={"Sec-Fetch-Site": "none"})
        data = {**hidden_fields(form), "token": ALICE}
        response = await browser.post(page, data=data, headers=headers)
        head = await browser.head(page)

    assert response.status_code == 303
    assert head.status_code == 200


@pytest.mark.parametrize("public", ["https://tools.example.com", ""])
async def test_the_cookie_of_the_form_is_for_this_server_and_page_alone(public, issuer, api):
    options = {"users": login_table(issuer), "public": public}
    async with shop_served(api, AUTH, **options) as site, Browser("ada") as browser:
        path = link_path(await call_tool(site, ALICE))
        response = await browser.get(f"{site.origin}{path}")

    cookie = response.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    if public:
        assert cookie.startswith("__Host-openapi-tools-form=")
        assert "Secure" in cookie
        assert "Path=/;" in cookie
    else:
        assert "Path=/login;" in cookie
    headers = response.headers
    assert headers["x-frame-options"] == "DENY"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert (headers["cache-control"], headers["referrer-policy"]) == ("no-store", "same-origin")


def link_path(result):
    return re.search(r"/login\?flow=\S+", str(result))[0].rstrip("'\"")


FRAMES = ["iframe", "image", "script", "empty"]


@pytest.mark.parametrize("kind", FRAMES)
async def test_a_login_begins_in_a_window_of_its_own_only(kind, issuer, api):
    auth = table(issuer, client_id="app", client_secret="${SECRET}")
    async with shop_served(api, auth, users=login_table(issuer)) as site, Browser("ada") as browser:
        page = link(await call_tool(site, issuer.token("ada")))
        response = await browser.get(page, headers={"Sec-Fetch-Dest": kind})

    assert response.status_code == 403
    assert "set-cookie" not in response.headers
    assert SECRET not in response.text


@pytest.mark.long
async def test_a_browser_sends_the_form_of_the_page_and_none_of_other_pages(site, issuer, api):
    """In Chromium, whose headers are its own: a policy without referrers would send `null`."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    programs = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if not all(programs):
        pytest.skip("chromium or chromedriver is not installed; .ci/apt installs them on Debian")
    pages = {token: link(await call_tool(site, token)) for token in (ALICE, EVE)}
    attack = f'<form method="post" action="{pages[EVE]}"><input name="token" value="{EVE}"></form>'
    attack += "<script>document.forms[0].submit()</script>"
    async with Recorder() as evil:
        evil.response = CannedResponse(
            headers=[("Content-Type", "text/html")], body=attack.encode()
        )
        foreign = [evil.url, evil.url.replace("127.0.0.1", "localhost")]
        driver = await asyncio.to_thread(start, webdriver, programs)
        try:
            attacked = [await asyncio.to_thread(open_page, driver, url) for url in foreign]
            page_text = await asyncio.to_thread(log_in, driver, pages[ALICE], ALICE)
        finally:
            await asyncio.to_thread(driver.quit)

    assert all("was not sent from this page" in text for text in attacked)
    assert "You are logged in." in page_text
    assert not (await call_tool(site, ALICE)).is_error
    assert (await call_tool(site, EVE)).is_error


def start(webdriver, programs):
    options = webdriver.ChromeOptions()
    options.binary_location = programs[0]
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage"):
        options.add_argument(f"--{argument}")
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(programs[1]))


def open_page(driver, url):
    """Open an attacker's page, and return what the page says to which its form leads."""
    driver.get(url)
    return text_at(driver, "/login")


def log_in(driver, url, token):
    driver.get(url)
    driver.find_element("name", "token").send_keys(token)
    driver.find_element("tag name", "button").click()
    return text_at(driver, "/login/callback")


def text_at(driver, path):
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(driver, 20, 0.05).until(lambda _: path in driver.current_url)
    return driver.find_element("tag name", "body").text
