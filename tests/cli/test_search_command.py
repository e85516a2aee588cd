"""`openapi-tools search`, `stubs` and `run`."""

import json
import os

import pytest
import terminals

from openapi_tools.errors import install_command

ID = {"name": "pet_id", "in": "path", "required": True, "schema": {"type": "string"}}
PET = {"type": "object", "title": "Pet", "properties": {"id": {"type": "string"}}}
LISTED = {"content": {"application/json": {"schema": {"type": "array", "items": PET}}}}
PETS = {
    "/pets": {
        "get": {
            "operationId": "list_pets",
            "summary": "List the pets of a shop",
            "responses": {"200": {"description": "ok", **LISTED}},
        }
    },
    "/pets/{pet_id}": {
        "get": {"operationId": "get_pet", "summary": "Get a pet", "parameters": [ID]},
        "delete": {"operationId": "delete_pet", "summary": "Delete a pet", "parameters": [ID]},
    },
    "/orders": {
        "get": {"operationId": "list_orders", "summary": "List orders", "tags": ["Orders"]}
    },
}


@pytest.fixture
def pets(write):
    """A document in which one operation needs the id that another yields."""
    return write(PETS)


def test_a_search_prints_signatures_the_best_first_and_what_they_need(run, pets):
    ran = run("search", pets, "delete", "a", "pet")

    assert (ran.exit_code, ran.stderr) == (0, "")
    first, needs, *_ = ran.stdout.splitlines()
    assert first.startswith("delete_pet(pet_id: str)")
    assert needs == "  # pet_id: from list_pets"


BAD = {"get": {"operationId": "get_owner", "parameters": [{"$ref": "#/nowhere"}]}}
SKIPPED = "note: GET /owners/{id} was skipped at /paths/~1owners~1{id}/get/parameters/0: "


@pytest.mark.parametrize("words", [["get_owner"], ["the", "owner"], ["GET", "/owners/{id}"]])
def test_a_search_whose_best_operation_was_skipped_says_why(run, write, words):
    spec = write({**PETS, "/owners/{id}": BAD})

    ran, data = run("search", spec, *words), run("search", spec, *words, "--json")

    assert ran.exit_code == data.exit_code == 0
    assert SKIPPED in ran.stderr
    assert "#/nowhere" in ran.stderr
    assert SKIPPED in data.stderr


@pytest.mark.parametrize("words", [["get", "a", "pet"], ["list", "orders"]])
def test_a_search_that_finds_a_tool_says_nothing_of_skipped_ones(run, write, words):
    ran = run("search", write({**PETS, "/owners/{id}": BAD}), *words)

    assert ran.stdout
    assert ran.stderr == ""


def test_words_are_one_query_and_lines_are_several(run, pets):
    ran = run("search", pets, "orders\ndelete pet", "--limit", 2, "--json")

    tools = json.loads(ran.stdout)["tools"]
    assert [each["name"] for each in tools] == ["list_orders", "delete_pet"]
    assert tools[1].keys() == {"name", "method", "path", "needs", "stub", "score"}
    assert (tools[1]["method"], tools[1]["path"]) == ("DELETE", "/pets/{pet_id}")
    assert tools[1]["needs"] == {"pet_id": ["list_pets"]}
    assert tools[1]["stub"].startswith("delete_pet(pet_id: str)")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--tag", "Orders"], ["list_orders"]),
        (["--method", "delete"], []),
        (["--match", "*_orders"], ["list_orders"]),
        (["--limit", 1], ["list_orders"]),
    ],
)
def test_a_search_is_among_the_selected_tools(run, pets, options, names):
    ran = run("search", pets, "list", *options, "--json")

    assert [each["name"] for each in json.loads(ran.stdout)["tools"]] == names


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["zebra"], "none of the 4 tools matches these words; try others.\n"),
        (["list", "--tag", "None"], "no tool is selected; the document has the tags Orders.\n"),
    ],
)
def test_a_search_without_hits_says_so(run, pets, words, message):
    ran = run("search", pets, *words)

    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "", message)


def test_stubs_are_printed_in_the_order_of_their_names(run, pets):
    ran = run("stubs", pets, "get_pet", "list_pets")

    first, needs, last = ran.stdout.splitlines()
    assert first.startswith("get_pet(pet_id: str)")
    assert needs == "  # pet_id: from list_pets"
    assert last.startswith("list_pets() -> list[")


def test_stubs_are_data_too(run, pets):
    (tool,) = json.loads(run("stubs", pets, "get_pet", "--json").stdout)["tools"]

    assert tool.keys() == {"name", "method", "path", "needs", "stub"}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["search"], "Missing argument 'WORDS...'"),
        (["search", "pets", "--limit", 0], "0 is not in the range"),
        (["stubs"], "name at least one tool; `openapi-tools list SPEC` lists them."),
        (["stubs", "get_pte"], "no tool is called 'get_pte'; did you mean get_pet"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "nothing.py"], "'nothing.py': No such file or directory."),
        (["run", "-", "--timeout", 0], "0.0 is not in the range"),
        (["run", "-", "--calls", 10**20], "limits: calls must be greater than 0 and at most"),
    ],
)
def test_wrong_usage_is_one_line(refused, pets, command, message):
    name, *arguments = command

    assert refused(name, pets, *arguments, messages=[message]).count("error:") == 1


def test_a_document_and_a_program_are_not_both_read_from_standard_input(refused):
    message = "SPEC and FILE cannot both be read from standard input."

    refused("run", "-", "-", messages=[message])


@pytest.fixture
def program(tmp_path):

    def write_program(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return write_program


def test_a_program_returns_json_and_its_prints_go_to_standard_error(run, museum, program):
    text = "print('two', 'hours')\nhours = await get_museum_hours(limit=2)\n[hours[0]['date']]"

    ran = run("run", museum, program(text), "--mock")

    assert (ran.exit_code, ran.stderr) == (0, "two hours\n")
    assert json.loads(ran.stdout) == ["2023-09-11"]


@pytest.mark.parametrize(
    ("text", "value", "printed"),
    [
        ("'text'", '"text"\n', ""),
        ("{'result': 1, 'printed': 2}", '{"result":1,"printed":2}\n', ""),
        ("print('a')", "", "a\n"),
        ("print('a')\n{'b': 1}", '{"b":1}\n', "a\n"),
        ("x = 1", "", "the value of the program is None, and nothing was printed\n"),
        ("'x' * 100_000", f'"{"x" * 100_000}"\n', ""),
    ],
)
def test_values_are_json_whatever_they_are(run, museum, text, value, printed):
    ran = run("run", museum, "-", "--mock", stdin=text)

    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, value, printed)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("1 / 0", [], "ZeroDivisionError"),
        ("print('before')\n1 / 0", [], "before\n"),
        ("await get_musuem_hours()", [], "get_musuem_hours"),
        ("await buy_museum_tickets()", [], "ticketDate"),
        ("await get_museum_hours()\nawait get_museum_hours()", ["--calls", 1], "more than 1 call"),
        ("while True:\n    pass", ["--timeout", 0.2], "timeout: "),
        ("await get_ticket_code(ticketId='a')", ["--tag", "Events"], "get_ticket_code"),
    ],
)
def test_a_program_that_fails_is_reported_on_standard_error(run, museum, text, options, message):
    ran = run("run", museum, "-", "--mock", *options, stdin=text)

    assert (ran.exit_code, ran.stdout) == (1, "")
    assert message in ran.stderr
    assert "Traceback" not in ran.stderr


def test_requests_that_do_not_fit_the_document_are_reported(run, write):
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    nested = {"type": "object", "properties": {"at": inner}}
    asked = [{"name": "q", "in": "query", "schema": nested}]
    spec = write({"/a": {"get": {"operationId": "find", "parameters": asked}}})

    ran = run("run", spec, "-", "--mock", stdin="await find(q={'at': {'x': 1}})\n5")

    assert (ran.exit_code, ran.stdout) == (0, "5\n")
    assert ran.stderr.startswith(
        "note: request not checked: query parameter 'q': OpenAPI does not define"
    )


DELETING = "await delete_special_event(eventId='3be6453c-03eb-4357-ae5a-984a0e574a54')"
NOWHERE = ["--base-url", "http://127.0.0.1:1", "--anonymous"]
CTRL_C = "\x03"


def test_without_a_terminal_calls_that_may_change_something_are_refused(run, museum, program):
    ran = run("run", museum, program(DELETING), *NOWHERE)

    assert (ran.exit_code, ran.stdout) == (1, "")
    assert "delete_special_event may change something" in ran.stderr
    assert "--yes allows such calls." in ran.stderr


def test_such_calls_are_made_when_they_are_allowed(run, museum, program):
    ran = run("run", museum, program(DELETING), *NOWHERE, "--yes")

    assert ran.exit_code == 1
    assert "Connection refused" in ran.stderr or "onnect" in ran.stderr


@pytest.mark.parametrize(
    ("answer", "code", "message"), [("y", 1, "onnect"), ("n", 1, "not approved")]
)
def test_on_a_terminal_such_calls_are_asked_about(museum, program, answer, code, message):
    ended, screen = on_terminal(["run", museum, program(DELETING), *NOWHERE], answer)

    assert "Call delete_special_event (DELETE /special-events/{eventId})?" in screen
    assert (ended, message in screen, "Traceback" in screen) == (code, True, False)


def test_an_interrupted_question_ends_the_command(museum, program):
    # `input` may miss an interrupt until it has a line.
    ended, screen = on_terminal(["run", museum, program(DELETING), *NOWHERE], CTRL_C)

    assert (ended, "Traceback" in screen) == (130, False)


def on_terminal(arguments, keys):
    """Run the command on a terminal, answer its question; return the exit code and the output."""
    answered = []

    def hear(_process, terminal, screen):
        if b"[y/N]" in screen and not answered:
            answered.append(keys)
            os.write(terminal, keys.encode() + b"\n")

    return terminals.talk([*terminals.PROGRAM, *map(str, arguments)], hear=hear)


@pytest.mark.usefixtures("without_code")
def test_without_the_package_the_extra_is_named_in_one_line(refused, museum, program):
    error = refused("run", museum, program("1"), "--mock")

    assert error == (
        f"openapi-tools: error: pydantic_monty is not installed: {install_command('code')}\n"
    )
