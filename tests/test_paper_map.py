"""docs/paper_map.md: every item of the paper is there, and every reference in it leads somewhere."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NOT_YET = "not yet"
# How many numbered items of each kind the paper has, appendix included.
NUMBERED = {
    "Definition": 6,
    "Equation": 11,
    "Proposition": 18,
    "Lemma": 18,
    "Corollary": 1,
    "Example": 9,
    "Figure": 6,
    "Table": 5,
}


@dataclass(frozen=True)
class Row:
    item: str
    code: str
    test: str
    departure: str


def paper_map() -> str:
    return (ROOT / "docs" / "paper_map.md").read_text(encoding="utf-8")


def rows() -> list[Row]:
    """The rows of every table with the header `paper item | code | test | departure`."""
    found: list[Row] = []
    inside = False
    for line in paper_map().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == ["paper item", "code", "test", "departure"]:
            inside = True
        elif not line.startswith("|"):
            inside = False
        elif inside and not set(line) <= set("|- "):
            assert len(cells) == 4, f"a row with {len(cells)} cells: {line}"
            found.append(Row(*cells))
    return found


def references(cell: str) -> list[str]:
    """What a cell refers to; a cell holds references in backticks between commas, and nothing else."""
    parts = [part.strip() for part in cell.split(",")]
    assert all(re.fullmatch(r"`[^`]+`", part) for part in parts), f"not a list of references: {cell!r}"
    return [part.strip("`") for part in parts]


def resolve(reference: str) -> object:
    """The object of a dotted name: the longest part that is a module, then attributes."""
    names = reference.split(".")
    for length in range(len(names), 0, -1):
        try:
            found: object = import_module(".".join(names[:length]))
        except ModuleNotFoundError:
            continue
        for name in names[length:]:
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(reference)


@cache
def function_names(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def has_test(reference: str) -> bool:
    file, _, name = reference.partition("::")
    path = ROOT / file
    return name.startswith("test_") and path.is_file() and name in function_names(path)


ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.item)
def test_every_cell_leads_somewhere(row: Row) -> None:
    if row.code != NOT_YET:
        for reference in references(row.code):
            assert reference.startswith(("reshuffle.", "benchmarks.")), reference
            resolve(reference)
    if row.test != NOT_YET:
        for reference in references(row.test):
            assert has_test(reference), reference


@pytest.mark.parametrize("kind", NUMBERED)
def test_every_numbered_item_of_the_paper_has_one_row(kind: str) -> None:
    numbers = [
        int(number)
        for row in ROWS
        if (match := re.match(rf"{kind} ([\d, ]+):", row.item))
        for number in match[1].split(",")
    ]
    assert sorted(numbers) == list(range(1, NUMBERED[kind] + 1))


def test_no_item_is_listed_twice() -> None:
    items = [row.item for row in ROWS]
    assert len(items) == len(set(items))


def test_what_is_still_to_come_is_counted() -> None:
    match = re.search(r"Items without code: (\d+)\. Items without a test: (\d+)\.", paper_map())
    assert match is not None
    without_code = sum(row.code == NOT_YET for row in ROWS)
    without_test = sum(row.test == NOT_YET for row in ROWS)
    assert (int(match[1]), int(match[2])) == (without_code, without_test)


def test_wrong_references_are_noticed() -> None:
    with pytest.raises(AttributeError):
        resolve("reshuffle.constraints.OrderingConstraints.no_such_method")
    with pytest.raises(ModuleNotFoundError):
        resolve("no_such_package.thing")
    assert not has_test("tests/test_paper_map.py::test_no_such_test")
    assert not has_test("tests/no_such_file.py::test_it")
    with pytest.raises(AssertionError, match="not a list of references"):
        references("`reshuffle.kg`, soon")
