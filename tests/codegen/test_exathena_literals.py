"""Values as Elixir: literals only, whatever a document says, and laid out as `mix format` does."""

from __future__ import annotations

import json
import math

import pytest
from elixir import check_format, evaluate, needs_elixir
from hostile_documents import PAYLOADS
from hypothesis import given
from hypothesis import strategies as st
from source_characters import loose_marks_in, unseen_in

from openapi_tools.codegen import Code
from openapi_tools.codegen.elixir_literals import (
    AtomMap,
    UnwritableInElixir,
    escape_text,
    write_elixir_literal,
)

HOSTILE = {
    **PAYLOADS,
    "interpolation": "#{System.halt(1)} \\#{x} ##{x} #\n{x}",
    "ends a string": '" <> System.cmd("touch", ["x"]) <> "',
    "ends a heredoc": 'x\n"""\nSystem.halt(1)\n"""\n' + "long " * 40,
    "sigils": "~s(x) ~S|#{1}| ~r/x/ ~w[a b]a ~c'x' ?a :atom :'#{x}' &1 @x",
    "escapes": "\\x41 \\u0041 \\u{41} \\0 \\s \\\n \\",
    "blank ends": "  x  \n\n  " * 30,
    "NUL and other controls": "".join(map(chr, range(0x20))) + "\x7f\x80\x9f\u2028\ufeff\uffff",
    "beyond the plane": "\U0001f600\U0010ffff" * 30,
    "hash before every place": "#{" * 200,
    "backslashes": "\\" * 301,
}
"""Texts that want to be more than text."""
TEXTS = {
    name: text
    for name, text in HOSTILE.items()
    if not any("\ud800" <= character <= "\udfff" for character in text)
}

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=20,
)  # fmt: skip
PARSE = r"""
defmodule Look do
  # Nothing but literals: maps, lists, tuples, a sign before a number.
  def value({:%{}, _, members}) do
    {:map, Enum.map(members, fn {key, member} -> {value(key), value(member)} end)}
  end

  def value({:-, _, [number]}) when is_number(number), do: -number
  def value(list) when is_list(list), do: Enum.map(list, &value/1)
  def value(plain) when is_binary(plain) or is_number(plain) or is_atom(plain), do: plain

  def json({:map, members}) do
    "{" <> Enum.map_join(members, ",", fn {k, v} -> json(k) <> ":" <> json(v) end) <> "}"
  end

  def json(list) when is_list(list), do: "[" <> Enum.map_join(list, ",", &json/1) <> "]"
  def json(nil), do: "null"

  def json(text) when is_binary(text) do
    units = for <<unit::16 <- :unicode.characters_to_binary(text, :utf8, :utf16)>>, do: unit
    "\"" <> Enum.map_join(units, &unit/1) <> "\""
  end

  def json(plain), do: to_string(plain)

  defp unit(unit), do: "\\u" <> String.pad_leading(Integer.to_string(unit, 16), 4, "0")
end

for path <- Path.wildcard(Path.join(__DIR__, "*.literal")) |> Enum.sort() do
  {:ok, tree} = path |> File.read!() |> Code.string_to_quoted()
  say.({path |> Path.basename() |> Path.rootname(), tree |> Look.value() |> Look.json()})
end
"""


async def parse_in_elixir(folder, values):
    """Return what Elixir's own parser reads; it fails on anything that is no literal."""
    for number, value in enumerate(values):
        text = write_elixir_literal(value, indent=4)
        assert unseen_in(text) == []
        (folder / f"{number:06}.literal").write_text(text, encoding="utf-8")
    results = await evaluate(folder, PARSE)
    return [json.loads(line.partition(" ")[2]) for line in results]


@needs_elixir
async def test_elixir_reads_texts_numbers_and_containers_as_they_are(tmp_path):
    numbers = [0, -1, 7, 999999, 1000000, -1234567, 2**200, 1.5, -0.25, 1e22, 1e-7, 123456.75]
    values = [[text, {text: text, "deep": [{"k": [text]}]}] for text in TEXTS.values()]
    values += [numbers, {"a": None, "b": True, "c": False}, {}, [], [[]], [{}]]

    assert await parse_in_elixir(tmp_path, values) == values


@needs_elixir
def test_the_layout_is_that_of_mix_format(tmp_path):
    values = [
        [text, {text: text}, "x " * 60, {"k" * n: "v" * n for n in range(40, 60)}]
        for text in TEXTS.values()
    ]
    values += [
        {"description": "word " * n, "n": [n * 10**n, {"x": [{"y": "z" * n}] * 3}]}
        for n in range(30)
    ]
    for number, value in enumerate(values):
        text = f"def value{number} do\n  {write_elixir_literal(value, indent=2)}\nend\n"
        (tmp_path / f"{number}.ex").write_text(text, encoding="utf-8")

    assert not check_format(tmp_path)


@given(value=JSON)
def test_what_is_written_is_visible_and_its_texts_hold_no_interpolation(value):
    written = write_elixir_literal({"value": value})

    assert unseen_in(written) == loose_marks_in(written) == []
    assert "#{" not in written.replace("\\#{", "")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "nil"),
        (True, "true"),
        (-1234567, "-1_234_567"),
        (99999, "99999"),
        (1e22, "1.0e22"),
        (1.5e-9, "1.5e-9"),
        (3.0, "3.0"),
        ("a#b #{c}", '"a#b \\#{c}"'),
        ('"\\', '"\\"\\\\"'),
        ("\0\u202e\n\t", '"\\u{0}\\u{202E}\\n\\t"'),
        ([], "[]"),
        ({}, "%{}"),
        (("a", Code(":b")), '{"a", :b}'),
        ({"a": [1, {"b": None}]}, '%{"a" => [1, %{"b" => nil}]}'),
        (AtomMap(method=Code(":get"), path=["/"]), '%{method: :get, path: ["/"]}'),
    ],
)
def test_a_value_as_elixir(value, written):
    assert write_elixir_literal(value) == written


def test_a_long_text_stands_in_a_heredoc_or_below_its_key():
    text = write_elixir_literal("One two three. " * 12 + "\nNext.", indent=2)

    assert text.startswith('"""\n  One two three.')
    assert text.endswith('\\n\\\n  Next.\\\n  """')
    assert max(map(len, text.splitlines())) <= 98
    assert write_elixir_literal({"key": "v" * 90}) == '%{\n  "key" =>\n    "' + "v" * 90 + '"\n}'


def nest(levels):
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("a\ud800b", "lone surrogate"),
        ({"\udfff": 1}, "lone surrogate"),
        (math.inf, "not a number in Elixir"),
        (10**5000, "thousands of digits"),
        (nest(200), "nests deeper than 100 levels"),
    ],
    ids=["text", "key", "infinity", "digits", "depth"],
)
def test_what_elixir_cannot_hold_is_reported(value, reason):
    with pytest.raises(UnwritableInElixir, match=reason):
        write_elixir_literal(value)


def test_no_atom_is_made_of_anything_but_words_of_ours():
    with pytest.raises(TypeError):
        write_elixir_literal(AtomMap({"a b": 1}))
    with pytest.raises(TypeError):
        write_elixir_literal({"a": object()})
    assert escape_text("plain") == "plain"
