"""Wire table: query strings."""

from functools import partial

from servers.documents import Row, parameter

query = partial(parameter, "query")
STRINGS = {"type": "array", "items": {"type": "string"}}
JSON = {"content": {"application/json": {"schema": {}}}}


def _one(title, section, value, target, *, version="3.1.2", **fields):
    """One query parameter `x`."""
    operation = {"version": version, "parameters": [query("x", **fields)]}
    return Row(title, section, operation, {"x": value}, {"target": "/p" + target})


_flat = partial(_one, explode=False)
_spaces = partial(_one, style="spaceDelimited")
_pipes = partial(_one, style="pipeDelimited")
_deep = partial(_one, style="deepObject")
_reserved = partial(_one, allowReserved=True)
_json = partial(_one, **JSON)


def _row(title, section, names, arguments, target, **fields):
    operation = {"parameters": [query(name) for name in names], **fields}
    return Row(title, section, operation, arguments, {"target": f"/p{target}"})


def _string(title, section, content, value, target):
    declared = parameter("querystring", "q", content=content)
    operation = {"version": "3.2.0", "parameters": [declared]}
    return Row(title, section, operation, {"q": value}, {"target": f"/p{target}"})


PRIMITIVES = [
    _one("a string", "3.1.2 §4.8.12.6 form", "blue", "?x=blue"),
    _one("an empty string", "3.0.3 Style Examples «empty»", "", "?x="),
    _one("an integer", "3.2.0 Appendix B", 42, "?x=42"),
    _one("zero", "3.2.0 Appendix B", 0, "?x=0"),
    _one("a negative integer", "3.2.0 Appendix B", -7, "?x=-7"),
    _one("an integer beyond 64 bits", "RFC 8259 §6", 2**70, "?x=1180591620717411303424"),
    _one("true", "3.2.0 Appendix B", True, "?x=true"),
    _one("false", "3.2.0 Appendix B", False, "?x=false"),
    _one("a float", "ECMA-262 Number::toString", 1.5, "?x=1.5"),
    _one("an integral float", "ECMA-262 Number::toString", 3.0, "?x=3"),
    _one("negative zero", "ECMA-262 Number::toString", -0.0, "?x=0"),
    _one("a large float", "ECMA-262 Number::toString", 1e22, "?x=1e%2B22"),
    _one("a small float", "ECMA-262 Number::toString", 1e-7, "?x=1e-7"),
    _one("null is left out", "RFC 6570 §2.3", None, ""),
    _one("a space", "RFC 6570 §3.2.1", "a b", "?x=a%20b"),
    _one("a plus", "3.2.0 Appendix E", "a+b", "?x=a%2Bb"),
    _one("a percent sign", "RFC 3986 §2.4", "50%", "?x=50%25"),
    _one("text that looks encoded", "RFC 3986 §2.4", "%2F", "?x=%252F"),
    _one("every reserved character", "RFC 3986 §2.2", ":/?#[]@!$&'()*+,;=",
         "?x=%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D"),
    _one("every unreserved mark", "RFC 3986 §2.3", "-._~", "?x=-._~"),
    _one("no second parameter", "PROMISES: smuggling", "x&admin=1", "?x=x%26admin%3D1"),
    _one("two-byte characters", "RFC 3986 §2.5", "é", "?x=%C3%A9"),
    _one("characters beyond the BMP", "RFC 3986 §2.5", "🚀", "?x=%F0%9F%9A%80"),
    _one("combining characters stay", "RFC 3986 §2.5", "e\u0301", "?x=e%CC%81"),
    _one("a line break", "RFC 3986 §2.1", "a\r\nb", "?x=a%0D%0Ab"),
    _one("NUL", "RFC 3986 §2.1", "a\0b", "?x=a%00b"),
    _one("quotes and angles", "RFC 3986 §2", '"<>\\^`{|}', "?x=%22%3C%3E%5C%5E%60%7B%7C%7D"),
]  # fmt: skip

ARRAYS = [
    _one("exploded", "3.1.2 §4.8.12.6 form", ["a", "b"], "?x=a&x=b", schema=STRINGS),
    _flat("not exploded", "3.1.2 §4.8.12.6 form", ["a", "b"], "?x=a,b"),
    _flat("a comma inside a value", "3.2.0 Appendix C", ["a,b", "c"], "?x=a%2Cb,c"),
    _one("empty: left out", "RFC 6570 §2.3", [], "", schema=STRINGS),
    _flat("empty, not exploded: left out", "RFC 6570 §2.3", [], ""),
    _one("null members: left out", "RFC 6570 §2.3", ["a", None, "b"], "?x=a&x=b"),
    _flat("only null members: left out", "RFC 6570 §2.3", [None], ""),
    _one("an empty string member", "RFC 6570 §3.2.8", ["", "a"], "?x=&x=a"),
    _flat("an empty string alone", "RFC 6570 §3.2.8", [""], "?x="),
    _flat("mixed primitives", "3.2.0 Appendix B", [1, True, 2.5], "?x=1,true,2.5"),
    _spaces("spaces", "3.1.2 spaceDelimited", ["a", "b"], "?x=a%20b"),
    _spaces(
        "spaces, exploded as form", "limits: n/a in 3.1.2", ["a", "b"], "?x=a&x=b", explode=True
    ),
    _pipes("pipes", "3.1.2 pipeDelimited", ["a", "b"], "?x=a%7Cb"),
    _pipes(
        "pipes as 3.0.3 prints them", "3.0.3 Style Examples", ["a", "b"], "?x=a|b", version="3.0.3"
    ),
    _pipes("pipes, exploded as form", "limits: n/a in 3.1.2", ["a", "b"], "?x=a&x=b", explode=True),
    _pipes("a primitive with pipes", "limits: n/a in 3.1.2", "a", "?x=a"),
    _one("objects inside: JSON", "limits: undefined by the standard", [{"a": 1}],
         "?x=%7B%22a%22%3A1%7D"),
    _flat("arrays inside: JSON", "limits: undefined by the standard", [[1, 2], [3]],
          "?x=%5B1%2C2%5D,%5B3%5D"),
]  # fmt: skip

OBJECTS = [
    _one("exploded", "3.1.2 §4.8.12.6 form", {"R": 1, "G": 2}, "?R=1&G=2"),
    _flat("not exploded", "3.1.2 §4.8.12.6 form", {"R": 1, "G": 2}, "?x=R,1,G,2"),
    _one("empty: left out", "3.2.0 Appendix C", {}, ""),
    _one("null members: left out", "RFC 6570 §2.3", {"R": None, "G": 2}, "?G=2"),
    _flat("only null members", "RFC 6570 §2.3", {"R": None}, ""),
    _one("keys are encoded", "3.2.0 Appendix C", {"a&b=": "c"}, "?a%26b%3D=c"),
    _one("an object inside: JSON", "limits: undefined", {"a": {"b": 1}}, "?a=%7B%22b%22%3A1%7D"),
    _spaces("spaces", "3.1.2 spaceDelimited", {"R": 1}, "?x=R%201"),
    _pipes("pipes", "3.1.2 pipeDelimited", {"R": 1}, "?x=R%7C1"),
]

DEEP = [
    _deep("flat", "3.1.2 deepObject", {"R": 1, "G": "b c"}, "?x%5BR%5D=1&x%5BG%5D=b%20c"),
    _deep("as 3.0.3 prints it", "3.0.3 Style Examples", {"R": 1}, "?x[R]=1", version="3.0.3"),
    _deep("as 3.1.0 prints it", "3.1.0 Style Examples", {"R": 1}, "?x[R]=1", version="3.1.0"),
    _deep("explode=false changes nothing", "3.2.0 §4.12.2.2", {"R": 1}, "?x%5BR%5D=1",
          explode=False, version="3.2.0"),
    _deep("objects inside", "PHP, Rails, qs", {"a": {"b": {"c": 1}}}, "?x%5Ba%5D%5Bb%5D%5Bc%5D=1"),
    _deep("primitives in arrays", "PHP, Rails, Stripe", {"a": [1, 2]},
          "?x%5Ba%5D%5B%5D=1&x%5Ba%5D%5B%5D=2"),
    _deep("objects in arrays are numbered", "PHP, qs, Stripe", {"a": [{"b": 1, "c": 2}, {"b": 3}]},
          "?x%5Ba%5D%5B0%5D%5Bb%5D=1&x%5Ba%5D%5B0%5D%5Bc%5D=2&x%5Ba%5D%5B1%5D%5Bb%5D=3"),
    _deep("an array at the root", "Stripe `expand[]`", ["a", "b"], "?x%5B%5D=a&x%5B%5D=b"),
    _deep("a primitive at the root", "limits: n/a in 3.1.2", "a", "?x=a"),
    _deep("null members: left out", "RFC 6570 §2.3", {"a": None, "b": 1}, "?x%5Bb%5D=1"),
    _deep("empty members: left out", "RFC 6570 §2.3", {"a": {}, "b": []}, ""),
    _deep("an empty string member", "RFC 6570 §3.2.8", {"a": ""}, "?x%5Ba%5D="),
    _deep("booleans", "3.2.0 Appendix B", {"a": True}, "?x%5Ba%5D=true"),
    _deep("keys are encoded", "3.2.0 Appendix C", {"a b": 1}, "?x%5Ba%20b%5D=1"),
]  # fmt: skip

RESERVED = [
    _reserved("a path stays readable", "RFC 6570 §3.2.3", "/a/b:c@d", "?x=/a/b:c@d"),
    _reserved("triples stay", "RFC 6570 §3.2.3", "a%2Fb", "?x=a%2Fb"),
    _reserved("a lone percent sign", "RFC 6570 §3.2.3", "50% off", "?x=50%25%20off"),
    _reserved("a half triple", "RFC 6570 §3.2.3", "%4", "?x=%254"),
    _reserved("others are encoded", "RFC 6570 §3.2.3", 'a"é', "?x=a%22%C3%A9"),
    _reserved("what would end the pair or the query", "3.2.0 §4.12.4; limits", "a&b=c#d+e",
        "?x=a%26b=c%23d%2Be"),
    _reserved("brackets and the rest", "RFC 6570 §3.2.3", "[]!$'()*,;=?", "?x=[]!$'()*,;=?"),
    _reserved("in arrays", "3.2.0 Appendix C", ["a/b", "c"], "?x=a/b,c", explode=False),
    _deep("in deep objects", "3.2.0 Appendix C", {"a": "b/c"}, "?x%5Ba%5D=b/c", allowReserved=True),
    _reserved("names stay encoded", "3.2.0 Appendix C", {"a/b": "c/d"}, "?a%2Fb=c/d"),
]  # fmt: skip

CONTENT = [
    _json("JSON object", "3.1.2 §4.8.12.2.3", {"a": "b c"}, "?x=%7B%22a%22%3A%22b%20c%22%7D"),
    _json("JSON array", "3.1.2 §4.8.12.2.3", [1, None], "?x=%5B1%2Cnull%5D"),
    _json("JSON string has quotes", "RFC 8259 §7", "a", "?x=%22a%22"),
    _json("JSON number", "RFC 8259 §6", 1.5, "?x=1.5"),
    _json("JSON keeps an empty array", "RFC 8259 §5", [], "?x=%5B%5D"),
    _json(
        "JSON is UTF-8", "RFC 8259 §8.1", {"é": "🚀"}, "?x=%7B%22%C3%A9%22%3A%22%F0%9F%9A%80%22%7D"
    ),
    _one("a +json type", "RFC 6839 §3.1", {"a": 1}, "?x=%7B%22a%22%3A1%7D",
         content={"application/vnd.x+json": {}}),
    _one("text as it is", "3.1.2 §4.8.12.2.3", "a b", "?x=a%20b",
         content={"text/plain": {"schema": {"type": "string"}}}),
]  # fmt: skip

SEVERAL = [
    _row("in the document's order", "3.2.0 Appendix C", "bac", {"c": 1, "a": 2, "b": 3},
         "?b=3&a=2&c=1"),
    _row("what is not given is not sent", "3.1.2 §4.8.12.2", "ab", {"b": 1}, "?b=1"),
    _row("names with brackets", "3.2.0 Appendix E", ["filter[status]"],
         {"filter[status]": "open"}, "?filter%5Bstatus%5D=open"),
    _row("a name with &", "PROMISES: smuggling", ["a&b"], {"a&b": 1}, "?a%26b=1"),
    _row("a name with a dollar sign", "RFC 6570 §3.2.1", ["$top"], {"$top": 5}, "?%24top=5"),
    _row("a fixed query in the path", "limits: path keys with ?", "a", {"a": 1}, "?beta=true&a=1",
         path="/p?beta=true"),
    Row("a fixed query alone", "limits: path keys with ?", {"path": "/p?beta=a%20b c"}, {},
        {"target": "/p?beta=a%20b%20c"}),
    _row("a fragment tells operations apart", "limits: path keys with #", "a", {"a": 1}, "?a=1",
         path="/p#Action=Tag"),
]  # fmt: skip

FORM = {"application/x-www-form-urlencoded": {}}
TEXT = {"application/jsonpath": {"schema": {"type": "string"}}}
QUERYSTRING = [
    _string("null is left out", "RFC 6570 §2.3", **JSON, value=None, target=""),
    _string("a form", "3.2.0 §4.12.8", FORM,
            {"foo": "a + b", "bar": True, "list": [1, 2], "none": None},
            "?foo=a+%2B+b&bar=true&list=1&list=2"),
    _string("JSON", "3.2.0 §4.12.8", **JSON, value={"numbers": [1, 2], "flag": None},
            target="?%7B%22numbers%22%3A%5B1%2C2%5D%2C%22flag%22%3Anull%7D"),
    _string("text", "3.2.0 §4.12.8", TEXT, "$.a.b[1:1]", "?%24.a.b%5B1%3A1%5D"),
]  # fmt: skip

GROUPS = {
    "query primitive": PRIMITIVES,
    "query array": ARRAYS,
    "query object": OBJECTS,
    "deepObject": DEEP,
    "allowReserved": RESERVED,
    "query content": CONTENT,
    "query": SEVERAL,
    "querystring": QUERYSTRING,
}
