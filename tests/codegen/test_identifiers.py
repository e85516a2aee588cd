"""Names in generated files: from an allow-list, all different, none that means something else."""

import builtins
import keyword
import re
import sys

import pytest
from hostile_documents import PAYLOADS
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.codegen.package_plan import (
    TAKEN_CONSTANTS,
    Names,
    api_name,
    constant_name,
    is_api_name,
)
from openapi_tools.common.visible_text import short_hash

ANY = st.text(max_size=80) | st.sampled_from(list(PAYLOADS.values()))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("The Museum API 1.0", "museum"),
        ("Redocly Museum API", "redocly_museum"),
        ("Swagger Petstore - OpenAPI 3.0", "petstore"),
        ("API", "api"),
        ("The API of the web", "the_api_of_the_web"),
        ("3scale", "api_3scale"),
        ("🚀", "api"),
        ("x" * 300, "api"),
        ("word " * 300, "word_word_word_word_word"),
        ("import os; os.system('x')", "import_os_os_system_x"),
    ],
)
def test_an_api_is_named_by_the_telling_words_of_its_title(title, expected):
    assert api_name(title) == expected


@pytest.mark.parametrize(
    "name",
    [
        *("", "_", "_a", "a_", "a__b", "1a", "A", "a-b", "a\n", "\ufb01le", "\u0430", "x" * 41),
        "openapi",  # its package would be ours
        "openapi_",  # its distribution would be ours: PEP 503 reads `openapi--tools` as ours
    ],
)
def test_a_name_of_an_api_is_lower_case_words_and_no_other(name):
    fine = ("a", "museum", "a1", "a_1", "con", "class", "json", "tools", "x" * 40, "open_api")

    assert all(map(is_api_name, fine))
    assert not is_api_name(name)


def test_the_first_to_want_a_name_keeps_it():
    names = Names(["taken"])

    assert names.claim("pets", whose="Pets") == "pets"
    assert names.claim("pets", whose="pets") == f"pets_{short_hash('pets')}"
    assert names.claim("pets", whose="PETS") == f"pets_{short_hash('PETS')}"
    assert names.claim("taken", whose="x") == f"taken_{short_hash('x')}"


def test_a_long_name_is_cut_and_gets_a_hash():
    names = Names()

    first = names.claim("x" * 300, whose="first")
    second = names.claim("x" * 300, whose="second")

    assert first == f"{'x' * 59}_{short_hash('first')}"
    assert second == f"{'x' * 59}_{short_hash('second')}"
    assert names.claim("y" * 66, whose="") == "y" * 66


@pytest.mark.long
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "a_b", "x" * 70]), ANY), max_size=30))
def test_names_are_all_different_and_do_not_depend_on_later_ones(claims):
    names, fewer = Names(), Names()

    results = [names.claim(word, whose=whose) for word, whose in claims]

    assert len(set(results)) == len(results)
    assert all(re.fullmatch(r"[a-z_0-9]{1,66}", name) for name in results)
    half = claims[: len(claims) // 2]
    assert [fewer.claim(word, whose=whose) for word, whose in half] == results[: len(half)]


def test_classes_of_tools_that_read_alike_are_distinguished():
    classes = Names(["PET"])

    assert classes.claim_class("a_b") == "AB"
    assert classes.claim_class("a-b") == f"AB{short_hash('a-b').upper()}"
    assert classes.claim_class("aB") == f"AB{short_hash('aB').upper()}"
    assert classes.claim_class("p_e_t") == f"PET{short_hash('p_e_t').upper()}"


def test_no_tool_hides_a_builtin_or_a_name_of_the_templates():
    used = {"Any", "ClassVar", "OperationTool", "Operation", "Parameter", "Toolset", "Callable"}
    used |= {"Mapping", "Select", "RequestBody", *TAKEN_CONSTANTS}
    words = [*vars(builtins), *keyword.kwlist, *keyword.softkwlist, *used]
    snake = [re.sub("(?<=[a-z])(?=[A-Z])", "_", name).strip("_").lower() for name in words]

    names = {Names().claim_class(tool) for tool in [*snake, "i_n_d_e_x", "s_e_t_t_i_n_g_s"]}

    assert not names & (vars(builtins).keys() | used | set(keyword.kwlist))
    assert Names().claim_class("x" * 64) == "X" + "x" * 63
    assert [Names().claim_class(tool) for tool in ("_", "_1st")] == ["Tool", "Tool1st"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PullRequest", "PULL_REQUEST"),
        ("HTTPServer", "HTTP_SERVER"),
        ("io.k8s.api.core.v1.Pod", "IO_K8S_API_CORE_V1_POD"),
        ("../../etc/passwd", "ETC_PASSWD"),
        ("\u212aelvin \ufb01le", "KELVIN_LE"),
        ("a\x00b\nc", "A_B_C"),
        ("404", "SCHEMA_404"),
        ("博物館", "SCHEMA"),
    ],
)
def test_a_constant_is_words_of_letters_and_digits(text, expected):
    assert constant_name(text) == expected


def test_no_module_of_python_has_a_name_that_a_module_of_ours_can_have():
    # Every module of a package is `tools…`, `schemas…` or `index`; the package is `…_tools`.
    assert not [name for name in sys.stdlib_module_names if re.match("(tools|schemas)", name)]
    assert not [name for name in sys.stdlib_module_names if name.endswith("_tools")]
