"""From an OpenAPI document to its tools; `load.load_tools` shows the steps in order."""
