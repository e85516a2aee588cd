"""Draw the pictures of these pages: `python docs/pictures.py` writes docs/images/*.svg.

Each picture is its own light or dark page, as the reader's system is, and uses no font of its own.
"""

from html import escape
from pathlib import Path

IMAGES = Path(__file__).resolve().parent / "images"
LINE = 17
STYLE = """
  .page { fill: #ffffff } .box { fill: #f3f5f9; stroke: #8a94a6 } .key { fill: #e3edff; stroke: #3563b8 }
  .edge { stroke: #5a6579; stroke-width: 1.5; fill: none } .head { fill: #5a6579 }
  text { fill: #1c2330; font: 13px system-ui, sans-serif } .title { font-weight: 600 }
  .code { font: 12px ui-monospace, monospace; white-space: pre } .note { fill: #4c566a; font-size: 12px }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181f } .box { fill: #1f2632; stroke: #66728a } .key { fill: #1d3157; stroke: #7ea6f0 }
    .edge { stroke: #9aa6ba } .head { fill: #9aa6ba } text { fill: #e8ecf3 } .note { fill: #b3bccb }
  }
"""  # noqa: E501 -- one line for each scheme and kind of shape

HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    ' width="{width}" height="{height}" role="img">'
)
MARKER = (
    '<marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7"'
    ' orient="auto-start-reverse"><path class="head" d="M0 0L10 5L0 10z"/></marker>'
)


class Drawing:
    """A picture that grows by boxes, arrows and texts; lengths are in pixels."""

    def __init__(self, title, *, width, height):
        """Begin an empty picture; its title is read to those who cannot see it."""
        self.title, self.size = title, (width, height)
        self.shapes = []

    def add_text(self, x, y, text, *, kind=""):
        """Write one line of text, whose baseline begins at a point."""
        self.shapes.append(f'<text class="{kind}" x="{x}" y="{y}">{escape(text)}</text>')

    def add_box(self, corner, size, title, *, lines=(), kind="box", text="note"):
        """Draw a box with a title and lines below it."""
        (x, y), (width, height) = corner, size
        self.shapes.append(
            f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>'
        )
        self.add_text(x + 12, y + 22, title, kind="title")
        for number, line in enumerate(lines, start=1):
            self.add_text(x + 12, y + 24 + number * LINE, line, kind=text)

    def add_arrow(self, start, end, *, label="", both=False):
        """Draw a straight arrow, or one with two heads, with a label above its start."""
        (x1, y1), (x2, y2) = start, end
        begin = ' marker-start="url(#head)"' if both else ""
        self.shapes.append(
            f'<path class="edge" d="M{x1} {y1}L{x2} {y2}" marker-end="url(#head)"{begin}/>'
        )
        if label:
            self.add_text(x1 + 6, min(y1, y2) - 7, label, kind="note")

    def as_svg(self):
        """Return the picture as the text of an SVG file."""
        width, height = self.size
        parts = [
            HEAD.format(width=width, height=height),
            f"<title>{escape(self.title)}</title>",
            f"<style>{STYLE}</style>",
            MARKER,
            f'<rect class="page" width="{width}" height="{height}" rx="8"/>',
            *self.shapes,
            "</svg>\n",
        ]
        return "\n".join(parts)


def draw_overview():
    """Draw what the package does: a document becomes tools, and a tool's call a request."""
    title = "An OpenAPI document becomes tools; a model's call of a tool becomes a request"
    drawing = Drawing(title, width=860, height=258)
    document = (
        "openapi: 3.1.0",
        "paths:",
        "  /tickets:",
        "    post:",
        "      summary: Buy museum…",
    )
    drawing.add_box((16, 40), (216, 130), "OpenAPI document", lines=document, text="code")
    tools = ("get_museum_hours", "buy_museum_tickets", "  description", "  input_schema", "…")
    drawing.add_box((312, 40), (216, 130), "tools", lines=tools, kind="key", text="code")
    request = (
        "POST /tickets",
        "content-type: application/json",
        '{"ticketType": "general",',
        ' "ticketDate": "2023-09-07"}',
    )
    drawing.add_box((612, 40), (236, 130), "request to the API", lines=request, text="code")
    drawing.add_arrow((232, 105), (310, 105), label="load_tools")
    drawing.add_arrow((528, 90), (610, 90), label="execute")
    drawing.add_arrow((612, 130), (530, 130))
    drawing.add_text(548, 150, "result", kind="note")
    drawing.add_box((300, 206), (240, 36), "the model behind your agent")
    drawing.add_arrow((372, 170), (372, 204))
    drawing.add_text(382, 192, "definitions", kind="note")
    drawing.add_arrow((462, 206), (462, 172))
    drawing.add_text(472, 192, "a call", kind="note")
    return drawing


FLOORS = (
    ("for shells, teams, people", ("cli", "serving", "browse")),
    ("for documents, tests, coordinators", ("learning", "testing", "contracts")),
    ("a document to tools, tools to files", ("loading", "changes", "codegen", "conformance")),
    ("what a user holds", ("toolsets", "code", "search", "tools", "configuration")),
    ("for model providers, for secrets", ("providers", "auth")),
    ("one request and its response", ("requests", "responses", "validation")),
    ("the network, and what is reported", ("transport", "observability")),
    ("state, secrets removed", ("state", "redaction")),
    ("values and rules", ("common", "model", "errors")),
)


def draw_architecture():
    """Draw the packages in floors; imports point down."""
    title = "The packages in floors, from the command line down to values: imports point down"
    drawing = Drawing(title, width=860, height=56 + 46 * len(FLOORS))
    for number, (purpose, packages) in enumerate(FLOORS):
        y = 20 + number * 46
        drawing.add_text(16, y + 22, purpose, kind="note")
        for column, package in enumerate(packages):
            drawing.add_box((226 + column * 124, y), (116, 34), package, kind="key")
    bottom = 20 + 46 * len(FLOORS)
    drawing.add_arrow((848, 20), (848, bottom - 12))
    drawing.add_text(738, bottom + 16, "imports point down", kind="note")
    return drawing


STEPS = (
    ("1 arguments", "of the model, as JSON"),
    ("2 check", "against the full schema"),
    ("3 input guardrails", "pass, change or refuse"),
    ("4 credentials", "for this origin only"),
    ("5 request", "URL, headers, body"),
    ("6 approval", "a person sees it"),
    ("7 send", "limits, deadline, retries"),
    ("8 response", "read and shortened"),
    ("9 output guardrails", "pass, change, withhold"),
    ("10 result", "secrets removed"),
)


def draw_call():
    """Draw the steps of a call, and where it may end early."""
    title = "The ten steps of a call, from a model's arguments to the result"
    drawing = Drawing(title, width=896, height=236)
    for number, (name, text) in enumerate(STEPS):
        row, column = divmod(number, 5)
        x, y = 16 + column * 176, 24 + row * 110
        kind = "key" if name in ("7 send", "10 result") else "box"
        drawing.add_box((x, y), (160, 62), name, lines=(text,), kind=kind)
        if column:
            drawing.add_arrow((x - 16, y + 31), (x - 2, y + 31))
    drawing.shapes.append('<path class="edge" d="M800 86V110H96V132" marker-end="url(#head)"/>')
    note = "An error at any step is a result for the model; before step 7 the request was not sent."
    drawing.add_text(16, 222, note, kind="note")
    return drawing


def draw_server():
    """Draw a server for a team: who connects, what runs, and what it needs."""
    title = "Serve for teams: MCP clients, one server with workers, the APIs behind it"
    drawing = Drawing(title, width=880, height=310)
    drawing.add_box((16, 60), (180, 62), "MCP client of Ada", lines=("her token",))
    drawing.add_box((16, 150), (180, 62), "MCP client of Bo", lines=("his token",))
    server = ("checks tokens; roles choose tools", "one path for all APIs, one for each")
    drawing.add_box((296, 40), (280, 200), "openapi-tools serve", lines=server, kind="key")
    for number in range(2):
        drawing.add_box((312 + number * 128, 112), (118, 36), f"worker {number + 1}")
    for number, line in enumerate(
        ("/healthz  /readyz  /metrics", "audit log, traces", "limits for each user")
    ):
        drawing.add_text(312, 176 + number * LINE, line, kind="note")
    drawing.add_arrow((196, 91), (294, 110), label="HTTPS, /mcp")
    drawing.add_arrow((196, 181), (294, 160))
    apis = (
        ("API: pets", "Ada's or Bo's credential"),
        ("API: shop", "its own settings"),
    )
    for number, (name, text) in enumerate(apis):
        drawing.add_box((676, 60 + number * 90), (188, 62), name, lines=(text,))
        drawing.add_arrow((576, 110 + number * 50), (674, 91 + number * 90))
    drawing.add_box((296, 262), (124, 36), "Redis")
    drawing.add_box((430, 262), (146, 36), "identity provider")
    drawing.add_arrow((360, 240), (360, 260), both=True)
    drawing.add_arrow((510, 240), (510, 260), both=True)
    return drawing


PICTURES = {
    "overview": draw_overview,
    "architecture": draw_architecture,
    "call": draw_call,
    "server": draw_server,
}


def main():
    """Write all pictures."""
    for name, draw in PICTURES.items():
        (IMAGES / f"{name}.svg").write_text(draw().as_svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
