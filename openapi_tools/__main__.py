"""`python -m openapi_tools`: the command line."""

from __future__ import annotations

from openapi_tools.cli import main

if __name__ == "__main__":
    main()
