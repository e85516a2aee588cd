"""FastMCP with its defaults, serving a document.

fastmcp_server.py DOCUMENT stdio
fastmcp_server.py DOCUMENT http PORT
"""

import json
import sys
from pathlib import Path

import fastmcp
import httpx2

document = json.loads(Path(sys.argv[1]).read_bytes())
client = httpx2.AsyncClient(base_url=document["servers"][0]["url"])
server = fastmcp.FastMCP.from_openapi(document, client=client)
if sys.argv[2] == "stdio":
    server.run("stdio", show_banner=False)
else:
    server.run("http", show_banner=False, port=int(sys.argv[3]), log_level="error")
