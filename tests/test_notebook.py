"""The notebook of docs/examples: it runs offline, and its stored outputs are what it prints."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))


def outputs_of(notebook):
    """Return the printed text and the values of each cell; a kernel may send text in parts."""
    cells = [cell.get("outputs", ()) for cell in notebook.cells]
    texts = ["".join(output.get("text", "") for output in outputs) for outputs in cells]
    values = [output["data"] for outputs in cells for output in outputs if "data" in output]
    return [*texts, *values]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
@pytest.mark.filterwarnings("default")  # of Jupyter's packages
def test_a_notebook_prints_what_it_shows(path, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # a request would fail
    notebook = nbformat.read(path, as_version=4)
    stored = outputs_of(notebook)

    resources = {"metadata": {"path": str(EXAMPLES)}}
    NotebookClient(notebook, timeout=120, resources=resources).execute()

    assert outputs_of(notebook) == stored
    assert any("image/svg+xml" in output for output in stored)


def test_there_is_a_notebook_without_numbers_of_runs():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert not [cell for cell in cells if cell.get("execution_count")]
