"""Texts that want to become code, and documents that have them wherever text can stand."""

from documents import document, operation
from literal_values import TRICKY

MARK = "hostile_mark"
"""What a payload leaves behind where it runs: a file, an environment variable, an attribute."""
RUN = f"__import__('os').environ.update({MARK}='1')"

CODE = {
    "expression": RUN,
    "closes a text": f'"+{RUN}+"',
    "closes a text of single quotes": f"'+{RUN}+'",
    "closes a docstring": f'"""\n{RUN}\n"""',
    "closes a docstring of single quotes": f"'''\n{RUN}\n'''",
    "closes a docstring after a backslash": f'\\"""\n{RUN}\n"""',
    "closes a call": f'", {RUN}, "',
    "closes a call and a class": f'"}})\n\n\n{RUN}\n#',
    "closes parentheses": f'")\n    x = {RUN}\n    y = ("',
    "closes a comment": f"\n{RUN}\n#",
    "closes a comment, carriage return": f"\r{RUN}\r#",
    "closes a comment, both": f"\r\n{RUN}\r\n#",
    "closes a comment, form feed": f"\x0c{RUN}",
    "closes a comment, next line": f"\x85{RUN}",
    "closes a comment, line separator": f"\u2028{RUN}\u2029",
    "a file is made": f"__import__('os').system('touch {MARK}')",
    "a file is opened": f"');open('{MARK}','w');('",
    "backslash at the end": f"{RUN}\\",
    "backslash before quotes": f'\\"+{RUN}+\\"',
    "f-string": f"{{{RUN}}}",
    "f-string with a prefix": f'" f"{{{RUN}}}',
    "jinja expression": "{{ 7 * 7 }}{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "jinja statement": "{% raw %}{% endraw %}{% set package = 'x' %}{% include 'init.py.jinja' %}",
    "jinja line and comment": "{# #}\n# for x in y\n{{ tool.record }}",
    "template of Python": "$name ${name} %s %(name)s {0} {x!r}",
    "utf-7": f"# -*- coding: utf-7 -*-\n+AAo-{RUN}",
    "coding line": f"\n# vim: set fileencoding=utf_7 :\n{RUN}",
    "raw unicode escapes": "\\u000a__import__('os')\\N{LINE FEED}",
    "checks switched off": "# type: ignore\n# noqa\n# ruff: noqa\n# pragma: no cover\n# fmt: off",
    "inline script": '# /// script\n# dependencies = ["evil"]\n# ///',
    "bytes that end a string": "\x00\x1a\x04",
    "terminal": "\x1b]0;title\x07\x1b[2J\x9b31m",
}
MARKUP = {
    "HTML": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "HTML comment": "--> <b>x</b> <!-- ",
    "HTML entity": "&lt;b&gt; &#60;script&#62; &copy;",
    "processing": "<?php x ?><![CDATA[x]]><!DOCTYPE x>",
    "link": "[x](javascript:alert(1)) ![y](http://evil.example/y.png) <http://evil.example>",
    "reference": "[x]: http://evil.example 'y'\n[x][x]",
    "web address": "https://evil.example/a www.evil.example evil@evil.example ftp://evil.example/",
    "code": "`x` ``y`` ```z",
    "fence": "\n```sh\nrm -rf /\n```\n",
    "tildes": "\n~~~\nx\n~~~\n",
    "table": "| a | b | c | d |\n|---|---|---|---|\n| 1 | 2 | 3 | 4 |",
    "pipe after a backslash": "a \\| b \\\\| c \\\\\\| d",
    "headings": "# x\n## y\nz\n===\n",
    "number": "1. x",
    "number and bracket": "12) x",
    "bullets": "- x\n* y\n+ z",
    "quote": "> x",
    "rule": "---",
    "asterisks": "**x** __y__ ~~z~~ *a* _b_",
    "indented": "        x",
    "hard break": "x  \ny\\\nz",
    "people and issues": "@user #1 org/repo#2 $x$ :tada: [^1] GH-1",
    "shell": "$(touch x) `touch x` ; touch x && touch y",
    "TOML": f'"\n[project.scripts]\nx = "os:system"\n[tool.x]\n"""{MARK}\'\'\'',
    "entry point": 'x"\n[project.entry-points."console_scripts"]\ny = "z',
    "YAML": "x: !!python/object/apply:os.system [y]\n---\n- &a *a",
    "JSON": '"}, "files": {"../x": "0"}, "generator": "x',
}
_PLAIN = (
    *("class", "None", "match", "type", "_", "async", "lambda", "print", "__import__"),
    *("__builtins__", "__init__", "__main__", "__getattr__", "__class__", "mro", "self", "cls"),
    *("__name__", "Operation", "OperationTool", "Parameter", "ClassVar", "Any", "INDEX", "SKIPPED"),
    *("SETTINGS", "schemas", "tools", "index", "load", "mount", "name", "description"),
    *("input_schema", "operation", "json", "typing", "conftest", "sitecustomize", "os", "sys"),
    *("CON", "NUL", "com1", "aux.txt", "LPT9", "prn ", ".git", ".github/workflows/x.yml"),
    *("__pycache__", ".", "..", "-rf", "../../x", "/etc/passwd", "a/b/c", "~/x", "./x"),
    "%2e%2e%2fx",
)
NAMES = {
    **dict(zip(_PLAIN, _PLAIN, strict=True)),
    "drive": "C:\\x",
    "UNC": "\\\\server\\share\\x",
    "backslashes up": "..\\..\\x",
    "device path": "\\\\.\\COM1",
    "stream": "x::$DATA",
    "null": "a\x00b",
    "300 characters": "x" * 300,
    "300 words": "word " * 60,
    "empty": "",
    "space": " ",
    "symbols": "!!!",
    "emoji": "🚀",
    "CJK": "博物館",
    "NFC": "caf\u00e9",
    "NFD": "cafe\u0301",
    "NFKC": "\ufb01le \U0001d420\U0001d41e\U0001d42d",
    "homoglyph": "l\u0456st",
    "zero width": "li\u200bst",
    "soft hyphen": "li\u00adst",
    "digit first": "1st",
    "digits": "404",
    "one letter a word": "i_n_d_e_x",
    "pointer": "~0~1#/$defs/x",
}
PAYLOADS: dict[str, str] = {**CODE, **MARKUP, **NAMES, **TRICKY}
SPLIT = PAYLOADS.pop("a pair of lone surrogates")
"""JSON text has no way to say two halves of a character that are apart."""


def hostile(text):
    """Return a document that has a text in every place that takes one, each in its own operation.

    So what a loader refuses in one place hides none of the others.
    """
    holder = {"schema": schema(text)}
    gets = {
        "/texts": ("texts", {"summary": text, "description": text, **_extensions(text)}),
        "/summary": ("summary", {"summary": text}),
        "/query": ("query", {"parameters": [_parameter(text, "query", text)], "description": text,
                             "tags": [text, "plain"]}),
        "/header": ("header", {"parameters": [_parameter(f"X-{text}", "header", text)]}),
        "/cookie": ("cookie", {"parameters": [_parameter(text, "cookie", text)]}),
        "/values": ("values", {"parameters": [_parameter("v", "query", text)]}),
        f"/path/{{{text}}}": ("path", {"parameters": [_parameter(text, "path", text)]}),
        f"/{text}": ("key", {"summary": "Key."}),
        text: ("bare_key", {}),
        "/server": ("server", {"servers": [_server(text), {"url": text}]}),
        "/security": ("security", {"security": [{text: [text]}, {"oauth": [text]}, {}]}),
        "/answer": ("answer", {"responses": {
            "200": {"description": text, "content": {f"a/{text}": holder}}
        }}),
    }  # fmt: skip
    posts = {
        "/body": ("body", _body(text)),
        "/media": ("media", {"content": {text: holder}}),
        "/media/2": ("media2", {"content": {f"text/{text}": holder}}),
        "/part": ("part", _multipart(text)),
        "/deep": ("deep", _json(_deep(text))),
    }
    paths = {
        "/plain": {"get": _plain("plain")},
        "/id": {"get": operation(operationId=text), "post": operation(operationId=text + "b")},
        "/tags": {"get": _plain("tags", tags=[text, text]), "put": _plain("t2", tags=["a" + text])},
        **{path: {"get": _plain(name, **fields)} for path, (name, fields) in gets.items()},
        **{path: {"post": _plain(name, requestBody=body)} for path, (name, body) in posts.items()},
        "/shared": {
            method: _plain(f"shared_{method}", requestBody=_reference(text))
            for method in ("put", "post", "patch")
        },
        "/method": {"additionalOperations": {text: operation(), "COPY": _plain("copy")}},
    }
    return document(
        paths,
        openapi="3.2.0",
        info=_info(text),
        tags=[{"name": text, "description": text, "externalDocs": {"url": text, "x-a": text}}],
        servers=[_server(text)],
        components={"schemas": {text: _large(text)}, "securitySchemes": _schemes(text)},
        externalDocs={"url": text, "description": text},
        **_extensions(text),
    )


def schema(text):
    """Return a schema with a text in every keyword."""
    texts = ("title", "description", "const", "example", "format", "pattern", "contentMediaType")
    return {
        "type": "string",
        **dict.fromkeys((*texts, "$comment"), text),
        "enum": [text, text + "2", {text: text}, [text]],
        "default": {text: [text]},
        "examples": [text, {text: text}],
        **_extensions(text),
    }


def _plain(name, **fields):
    return operation(**{"operationId": name, "tags": ["plain"], **fields})


def _json(schema, **fields):
    return {"content": {"application/json": {"schema": schema, **fields}}}


def _extensions(text):
    names = ("x-python-import", "x-customTypePath", "x-codegen-import", f"x-{text}")
    return dict.fromkeys((*names, "customTypePath"), text)


def _parameter(name, location, text):
    declared = {"name": name, "in": location, "required": location == "path", "description": text}
    return {**declared, "schema": schema(text), **_extensions(text)}


def _body(text):
    body_schema = {
        "type": "object",
        "description": text,
        "properties": {text: schema(text), "plain": schema(text)},
        "required": [text],
        "dependentRequired": {text: [text]},
        "patternProperties": {text: schema(text)},
        "additionalProperties": schema(text),
        "discriminator": {"propertyName": text, "mapping": {text: text}},
        "xml": {"name": text},
    }
    return {"description": text, **_json(body_schema, example=text)}


def _reference(text):
    token = text.replace("~", "~0").replace("/", "~1").replace("%", "%25")
    return _json({"properties": {"one": {"$ref": f"#/components/schemas/{token}"}}})


def _large(text):
    """Return a schema that is worth a constant of its own."""
    described = {"type": "object", "description": text + " word" * 60}
    return {**described, "properties": {text: schema(text)}}


def _deep(text, levels=80):
    nested = schema(text)
    for _ in range(levels):
        nested = {"type": "array", "items": nested}
    return {"type": "object", "properties": {"deep": nested}}


def _multipart(text):
    headers = {name: {"schema": schema(text)} for name in (text, f"X-{text}")}
    encoding = {name: {"contentType": text, "headers": headers} for name in (text, "a")}
    form_schema = {"type": "object", "properties": {text: schema(text), "a": {}}}
    return {"content": {"multipart/form-data": {"schema": form_schema, "encoding": encoding}}}


def _server(text):
    variable = {"default": text, "enum": [text, "b"], "description": text}
    return {
        "url": f"https://{{v}}.example.com/{text}",
        "description": text,
        "variables": {"v": variable, text: variable},
    }


def _schemes(text):
    flow = {"authorizationUrl": text, "tokenUrl": text, "scopes": {text: text}, "x-a": text}
    return {
        text: {"type": "apiKey", "name": text, "in": "header", "description": text},
        f"{text} http": {"type": "http", "scheme": text, "bearerFormat": text},
        f"{text} type": {"type": text, "name": text, "in": text},
        "oauth": {"type": "oauth2", "flows": {"implicit": flow, text: flow}},
        "connect": {"type": "openIdConnect", "openIdConnectUrl": text},
    }


def _info(text):
    return {
        **dict.fromkeys(("title", "version", "summary", "description", "termsOfService"), text),
        "contact": {"name": text, "url": text, "email": text},
        "license": {"name": text, "identifier": text, "url": text},
        **_extensions(text),
    }
