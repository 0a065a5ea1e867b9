"""The notebooks run, and what they have stored is what they print.

`RESHUFFLE_WRITE_NOTEBOOKS=1 python -m pytest integrations/test_notebooks.py -n 0` stores it anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 60_000  # bytes: outputs are small


def executed(path: Path, folder: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
        if cell.cell_type == "code":
            cell.execution_count = None
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = None
    return notebook


def printed(notebook: Any) -> list[str]:
    """The text of each cell's outputs; numbers may differ in their last digits from one processor to another."""
    texts = (
        "".join(output.get("text") or output["data"]["text/plain"] for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    )
    return [re.sub(r"\d+", "#", text) for text in texts]


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["learned-rules", "ontology-classes", "ontology"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_has_stored(path: Path, tmp_path: Path) -> None:
    notebook = executed(path, tmp_path)
    if os.environ.get("RESHUFFLE_WRITE_NOTEBOOKS"):
        nbformat.write(notebook, path)
    assert printed(notebook) == printed(nbformat.read(path, as_version=4))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small(path: Path) -> None:
    assert path.stat().st_size < LARGEST
