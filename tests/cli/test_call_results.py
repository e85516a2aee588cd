"""`openapi-tools call`: arguments from files, results into files, pages, parts, cuts."""

import json
import sys

import pytest
from servers.site import Site, SiteResponse

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 50
ITEMS = [{"id": number, "name": f"n{number}", "more": None} for number in range(25)]
WORD = "distinctive-call-result-secret"
JSON = (("Content-Type", "application/json"),)


LONG = b'{"text":  "' + b"word " * 400 + b'"}'
LATIN = "é;1\n".encode("latin-1")
BODIES = {
    "picture": SiteResponse(PNG, headers=(("Content-Type", "image/png"),)),
    "names": SiteResponse(["a", "b"], headers=JSON),
    "long": SiteResponse(LONG, headers=JSON),
    "latin": SiteResponse(LATIN, headers=(("Content-Type", "text/csv"),)),
}


def respond(request):
    """Return a response: a page of items, an echo, or a body of its name."""
    name = request.path.rpartition("/")[2]
    if name == "broken" and request.query.get("offset"):
        return SiteResponse({"title": "out of order"}, 500, JSON)
    if name in ("items", "broken"):
        begin, size = int(request.query.get("offset", 0)), int(request.query.get("limit", 10))
        body = {"items": ITEMS[begin : begin + size], "total": len(ITEMS)}
        return SiteResponse(body, headers=(*JSON, ("X-Request-Id", "r-1"), ("Set-Cookie", "a=b")))
    if name == "echo":
        return SiteResponse({"got": request.headers["X-Key"]}, headers=JSON)
    return BODIES.get(name) or SiteResponse({"title": "no such thing"}, 404, JSON)


@pytest.fixture(scope="module")
def site():
    """The address of an API with pages and bodies of several kinds."""
    with Site(respond) as running:
        yield running.url


@pytest.fixture
def shop(write, site):
    numbers = [
        {"name": name, "in": "query", "schema": {"type": "integer"}} for name in ("offset", "limit")
    ]
    names = ("names", "picture", "long", "latin", "echo", "nothing")
    paths = {f"/{name}": {"get": {"operationId": name}} for name in names}
    listed = {"items": {"type": "array", "items": {}}, "total": {"type": "integer"}}
    content = {"application/json": {"schema": {"type": "object", "properties": listed}}}
    responses = {"200": {"description": "ok", "content": content}}
    page = {"operationId": "items", "parameters": numbers, "responses": responses}
    paths["/items"] = {"get": page}
    paths["/broken"] = {"get": {**page, "operationId": "broken"}}
    return write(paths, servers=[{"url": site}])


@pytest.fixture
def upload(send):
    """A document with one operation that takes texts, bytes, files and numbers."""
    properties = {
        "note": {"type": "string"},
        "title": {"type": "string", "maxLength": 99},
        "code": {"type": "string", "contentEncoding": "base64"},
        "file": {"type": "string", "format": "binary"},
        "files": {"type": "array", "items": {"type": "string", "format": "binary"}},
        "sizes": {"type": "array", "items": {"type": "integer"}},
        "filter": {"type": "object"},
    }
    return send({"multipart/form-data": {"schema": {"type": "object", "properties": properties}}})


@pytest.fixture
def preview(run, upload, monkeypatch, tmp_path):
    """Return the body that a dry run shows for these arguments, in the folder of `upload`."""
    monkeypatch.chdir(tmp_path)

    def send_arguments(*pairs, **options):
        result = run("call", upload, "send", *pairs, "--dry-run", **options)
        assert (result.exit_code, result.stderr) == (0, "")
        return result.stdout

    return send_arguments


def test_a_text_comes_from_a_file_and_two_at_signs_begin_one(preview, tmp_path, monkeypatch):
    (tmp_path / "note.txt").write_text("grüße\n", encoding="utf-8")

    assert "grüße\n" in preview("note=@note.txt")
    assert "@octocat" in preview("note=@@octocat")
    assert "of stdin" in preview("note=@-", stdin="of stdin")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "grüße" in preview("note=@~/note.txt")


def test_a_file_argument_takes_the_bytes_and_the_name_of_a_file(preview, tmp_path):
    (tmp_path / "a.bin").write_text("plain content", encoding="utf-8")
    (tmp_path / "b.bin").write_text("other content", encoding="utf-8")

    one, two = preview("file=@a.bin"), preview("files=@a.bin", "files=@b.bin")

    assert 'filename="a.bin"' in one
    assert "plain content" in one
    assert 'filename="b.bin"' in two
    assert "other content" in two
    assert "cGxhaW4gY29udGVudA==" in preview("code=@a.bin")


def test_a_file_may_be_larger_than_what_a_model_may_send(preview, tmp_path):
    (tmp_path / "large.bin").write_bytes(bytes(5_000_000))

    assert "content-length: 500" in preview("file=@large.bin")


def test_json_comes_from_a_file_and_a_colon_makes_any_value_json(preview, tmp_path):
    (tmp_path / "filter.json").write_text('{"a": [1]}', encoding="utf-8")

    assert '{"a":[1]}' in preview("filter=@filter.json")
    assert '{"a":[1]}' in preview("filter:=@filter.json")
    assert "7" in preview("sizes:=[7]")


UNREADABLE = [
    (["note=@nowhere.txt"], "note: the file 'nowhere.txt' cannot be read (No such file"),
    (["note=@nowhere.txt"], "write @@ for a string that begins with @"),
    (["note=@~no-such-user/x"], "the file '~no-such-user/x' cannot be read"),
    (["title=@raw.bin"], "title: the file 'raw.bin' is not UTF-8 text"),
    (["filter:={"], "filter: expected JSON, got '{', which is not valid JSON"),
    (["sizes:=[1]", "sizes=2"], "sizes:= and sizes= both set sizes; use one of them."),
    (["sizes=2", "sizes:=[1]"], "sizes= and sizes:= both set sizes; use one of them."),
    (["size:=1"], "unknown argument 'size'; did you mean sizes"),
    (["note=@-", "code=@-"], "cannot both be read from standard input"),
]


@pytest.mark.parametrize(("pairs", "message"), UNREADABLE, ids=[row[1] for row in UNREADABLE])
def test_what_is_no_value_is_wrong_usage(refused, upload, tmp_path, monkeypatch, pairs, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.bin").write_bytes(b"\xff\xfe\x00")

    assert refused("call", upload, "send", *pairs, messages=[message]).count("\n") == 2


@pytest.mark.parametrize(("tool", "content"), [("picture", PNG), ("long", LONG), ("latin", LATIN)])
def test_a_body_goes_to_a_file_byte_for_byte(run, shop, tmp_path, tool, content):
    place = tmp_path / "body"

    result = run("call", shop, tool, "--output", place, "--max-output-chars", 100)

    assert (result.exit_code, result.stdout) == (0, "")
    assert place.read_bytes() == content
    assert f"{place}: {len(content):,} bytes, " in result.stderr


def test_a_body_goes_to_standard_output_as_it_came(run, shop):
    result = run("call", shop, "picture", "--output", "-")

    assert (result.exit_code, result.stdout_bytes, result.stderr) == (0, PNG, "")


def test_a_file_is_not_overwritten_without_force(refused, run, shop, tmp_path):
    place = tmp_path / "body"
    place.write_bytes(b"mine")

    refused(
        "call",
        shop,
        "picture",
        "--output",
        place,
        messages=["the file exists; --force overwrites it."],
    )
    assert place.read_bytes() == b"mine"

    link = tmp_path / "link"
    link.symlink_to(tmp_path / "elsewhere")
    refused(
        "call",
        shop,
        "picture",
        "--output",
        link,
        messages=["the file exists; --force overwrites it."],
    )
    assert not link.exists()
    run("call", shop, "picture", "--output", place, "--force")
    assert place.read_bytes() == PNG


def test_a_failed_call_writes_no_file_and_a_secret_is_in_none(run, refused, shop, tmp_path):
    place = tmp_path / "body"
    refused(
        "call", shop, "nothing", "--output", place, code=1, messages=["http 404", "no such thing"]
    )
    assert not place.exists()

    key = ("--header", "X-Key: $KEY")
    run("call", shop, "echo", *key, "--output", place, env={"KEY": WORD})
    assert place.read_bytes() == b'{"got": "***"}'


def test_a_file_that_cannot_be_written_is_an_error(refused, shop, tmp_path):
    refused(
        "call", shop, "picture", "--output", tmp_path / "no" / "x", messages=["cannot be written"]
    )


@pytest.mark.parametrize(
    ("options", "count", "note"),
    [
        (["--all-pages"], 25, ""),
        (["--limit", "12"], 12, "max_items: 12 items came in 2 pages"),
        (["--all-pages", "--limit", "30"], 25, ""),
    ],
)
def test_all_pages_are_one_list(run, shop, options, count, note):
    result = run("call", shop, "items", "limit=10", *options)

    assert result.exit_code == 0
    assert json.loads(result.stdout) == ITEMS[:count]
    assert result.stderr.startswith(note)
    assert bool(result.stderr) == bool(note)


def test_items_before_a_failed_page_are_printed_and_the_failure_is_reported(run, shop):
    result = run("call", shop, "broken", "limit=10", "--all-pages")

    assert result.exit_code == 1
    assert json.loads(result.stdout) == ITEMS[:10]
    assert result.stderr.startswith("http 500: GET /broken")
    assert "out of order" in result.stderr


def test_a_list_without_known_paging_says_so(run, shop):
    listed, single = (run("call", shop, name, "--all-pages") for name in ("names", "echo"))

    assert (listed.exit_code, json.loads(listed.stdout)) == (0, ["a", "b"])
    assert "the document has no paging for names" in listed.stderr
    assert (single.exit_code, single.stdout) == (1, "")
    assert "the response contains no list; call without --all-pages and --limit." in single.stderr


def test_fields_choose_parts_of_a_response_of_all_pages_and_of_a_file(run, shop, tmp_path):
    one = run("call", shop, "items", "--fields", "items[:2].id")
    every = run("call", shop, "items", "limit=10", "--all-pages", "--fields", "[].id")
    run("call", shop, "items", "--fields", "items[0].name", "--output", tmp_path / "name")

    assert json.loads(one.stdout) == [0, 1]
    assert json.loads(every.stdout) == list(range(25))
    assert (tmp_path / "name").read_text() == "n0"


def test_a_wrong_expression_is_reported(refused, shop):
    refused("call", shop, "items", "--fields", "items[", code=1, messages=["invalid_input: "])
    refused("call", shop, "items", "--fields", "items[", "--all-pages", messages=["ends too early"])
    refused(
        "call", shop, "items", "--fields", "sort(@)", "--all-pages", messages=["--fields: sort()"]
    )


def test_status_and_headers_go_to_standard_error(run, shop):
    result = run("call", shop, "items", "limit=1", "-i")
    failed = run("call", shop, "nothing", "-i")
    paged = run("call", shop, "items", "-i", "--all-pages", "limit=10")

    assert "200 application/json\n" in result.stderr
    assert "x-request-id: r-1\n" in result.stderr
    assert "a=b" not in result.stderr
    assert failed.stderr.startswith("404 application/json\n")
    assert paged.stderr.startswith("200 application/json\n25 items in 3 pages\nx-request-id: ")
    first = run("call", shop, "items", "-i", "--limit", "1").stderr
    assert first.startswith("200 application/json\n1 item in 1 page\n")
    assert "max_items: 1 item came in 1 page; " in first


def test_a_cut_result_says_how_much_and_what_gives_the_rest(run, shop):
    result = run("call", shop, "long", "--max-output-chars", "500")

    assert result.exit_code == 3
    assert len(json.loads(result.stdout)["text"]) < 500
    assert result.stderr.startswith("cut: ")
    assert (
        "of 2,013 characters; --max-output-chars 2013 prints all of them, --output" in result.stderr
    )
    whole = run("call", shop, "long", "--max-output-chars", "2013")
    assert (whole.exit_code, whole.stderr) == (0, "")


def test_a_dry_run_says_which_credential_is_missing(run, museum):
    result = run("call", museum, "get_museum_hours", "--dry-run")

    assert result.exit_code == 0
    assert result.stderr.startswith("note: ")
    assert "--credential 'MuseumPlaceholderAuth=$NAME'" in result.stderr
    anonymous = run("call", museum, "get_museum_hours", "--dry-run", "--anonymous")
    assert (anonymous.stdout, anonymous.stderr) == (result.stdout, "")


def test_a_mock_without_openapi_core_says_that_it_does_not_check(run, museum, monkeypatch):
    monkeypatch.setitem(sys.modules, "openapi_core", None)

    result = run("call", museum, "get_museum_hours", "startDate=tomorrow", "--mock", "--limit", "1")

    assert (result.exit_code, len(json.loads(result.stdout))) == (0, 1)
    assert result.stderr.startswith("note: request not checked: openapi_core is not installed: pip")
    assert "[testing]" in result.stderr


def test_a_mock_needs_no_server_and_follows_references_of_examples(run, write):
    example = {"summary": "one", "value": {"$ref": "#/components/examples/pet"}}
    content = {"application/json": {"examples": {"one": example}}}
    get = {"operationId": "pet", "responses": {"200": {"description": "ok", "content": content}}}
    components = {"examples": {"pet": {"value": {"name": "Bo"}}}}
    relative = write({"/pet": {"get": get}}, servers=[{"url": "/v1"}], components=components)

    result = run("call", relative, "pet", "--mock")

    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"name": "Bo"}
