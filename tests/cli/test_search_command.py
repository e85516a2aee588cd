"""`openapi-tools search`, `stubs` and `run`."""

import json

import pytest

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


def test_words_are_one_query_and_lines_are_several(run, pets):
    ran = run("search", pets, "orders\ndelete pet", "--limit", 2, "--json")

    found = json.loads(ran.stdout)["tools"]
    assert [each["name"] for each in found] == ["list_orders", "delete_pet"]
    assert found[1].keys() == {"name", "method", "path", "needs", "stub", "score"}
    assert (found[1]["method"], found[1]["path"]) == ("DELETE", "/pets/{pet_id}")
    assert found[1]["needs"] == {"pet_id": ["list_pets"]}
    assert found[1]["stub"].startswith("delete_pet(pet_id: str)")


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
    ("words", "said"),
    [
        (["zebra"], "no tool fits these words, of 4; try others.\n"),
        (["list", "--tag", "None"], "no tool is selected; the document has the tags Orders.\n"),
    ],
)
def test_a_search_without_hits_says_so(run, pets, words, said):
    ran = run("search", pets, *words)

    assert (ran.exit_code, ran.stdout, ran.stderr) == (0, "", said)


def test_stubs_are_printed_in_the_order_of_their_names(run, pets):
    ran = run("stubs", pets, "get_pet", "list_pets")

    first, needs, last = ran.stdout.splitlines()
    assert first.startswith("get_pet(pet_id: str)")
    assert needs == "  # pet_id: from list_pets"
    assert last.startswith("list_pets() -> list[")


def test_stubs_are_data_too(run, pets):
    (found,) = json.loads(run("stubs", pets, "get_pet", "--json").stdout)["tools"]

    assert found.keys() == {"name", "method", "path", "needs", "stub"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["search"], "Missing argument 'WORDS...'"),
        (["search", "pets", "--limit", 0], "0 is not in the range"),
        (["stubs"], "name at least one tool; `openapi-tools list` shows which exist."),
        (["stubs", "get_pte"], "no tool is called 'get_pte'; did you mean get_pet"),
        (["run"], "Missing argument 'FILE'"),
        (["run", "nothing.py"], "'nothing.py': No such file or directory."),
        (["run", "-", "--timeout", 0], "0.0 is not in the range"),
    ],
)
def test_wrong_usage_is_one_line(refused, pets, command, said):
    name, *more = command

    assert refused(name, pets, *more, said=[said]).count("error:") == 1


def test_a_document_and_a_program_are_not_both_read_from_standard_input(refused):
    said = "SPEC and FILE cannot both be read from standard input."

    refused("run", "-", "-", said=[said])


def test_texts_of_a_document_do_not_steer_a_terminal(run, write):
    named = {"operationId": "send", "summary": "Send \x1b[31m\u202eit"}

    ran = run("search", write({"/send": {"post": named}}), "send")

    assert ran.stdout.startswith("send(")
    assert not {"\x1b", "\u202e"} & set(ran.stdout)
