"""The documents say what is so."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import reshuffle
from reshuffle.rulegraphs import build
from reshuffle.rulegraphs.draw import to_mermaid

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
DOCUMENTS = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def project() -> dict[str, Any]:
    return dict(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def required() -> dict[str, set[str]]:
    """Package names by section: the core and each extra."""
    groups = {"Core": project()["dependencies"], **project()["optional-dependencies"]}
    return {
        group: {re.split(r"[<>=!;\s]", requirement, maxsplit=1)[0] for requirement in requirements}
        for group, requirements in groups.items()
    }


def reasons() -> dict[str, dict[str, str]]:
    """Package names and reasons by section of the decision record."""
    found: dict[str, dict[str, str]] = {}
    text = (ROOT / "docs" / "decisions" / "0001-dependencies.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        title, *lines = section.splitlines()
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        found[title] = {package: why for package, why in rows if package not in {"package", "---"}}
    return found


def test_every_dependency_has_its_line_of_reason_and_no_other_has() -> None:
    assert {group: set(rows) for group, rows in reasons().items()} == required()
    for rows in reasons().values():
        assert all(len(why.split()) >= 3 for why in rows.values())


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_files(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        if not target.startswith(("http://", "https://")):
            assert (document.parent / target).exists(), target


def test_the_readme_can_be_run_by_its_tenth_line() -> None:
    top = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:10]
    assert any(line.startswith("make demo") for line in top)
    assert any(line.startswith("make test") for line in top)


def test_the_version_is_the_same_everywhere() -> None:
    assert project()["version"] == reshuffle.__version__
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {reshuffle.__version__}\n" in citation


def test_the_readme_has_the_demos_stored_figures() -> None:
    found = json.loads((ROOT / "benchmarks" / "results" / "demo.json").read_text(encoding="utf-8"))
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"Hits@10 {found['hits@10']:.2f} among 50 negatives" in text
    assert f"an entity-type baseline reaches {found['type_baseline_hits@10']:.2f}." in text
    assert (
        f"{found['rules_recovered']} of the {found['rules_total']} generating rules are among the first "
        f"{found['rules_read']} extracted"
    ) in text


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_examples_stand_in_code_blocks(document: Path) -> None:
    """Outside of one, `>>>` is shown as a quotation within a quotation."""
    blocks = document.read_text(encoding="utf-8").split("```")
    assert [text for text in blocks[::2] if re.search(r"^\s*>>>", text, flags=re.MULTILINE)] == []


def test_install_lines_work_from_a_checkout_and_name_extras_that_exist() -> None:
    """No index of packages has this library, so `pip install reshuffle` fails."""
    extras = project()["optional-dependencies"].keys()
    for path in [*DOCUMENTS, *(ROOT / "docs").rglob("*.ipynb"), *(ROOT / "src").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"pip install\W+(?:-\w+\W+)*reshuffle", text) == [], path
        named = re.findall(r"pip install[^\n]*?\.\[([\w,]+)\]", text)
        assert {extra for group in named for extra in group.split(",")} <= extras, path


def test_the_picture_of_a_rule_graph_shows_its_edges() -> None:
    page = (ROOT / "docs" / "explanation" / "rule-graphs.md").read_text(encoding="utf-8")
    rules = re.search(r'parse_rules\("""(.*?)"""\)', page, flags=re.DOTALL)
    assert rules is not None
    graph = build(reshuffle.parse_rules(rules[1].replace("...", "")))
    edges = re.findall(r'^  (\d) -->\|"(.*?)"\| (\d)$', to_mermaid(graph), flags=re.MULTILINE)
    names = dict(re.findall(r'^  (\d)\["(.*?)"\]$', to_mermaid(graph), flags=re.MULTILINE))
    picture = (ROOT / "docs" / "explanation" / "rule-graph.svg").read_text(encoding="utf-8")
    drawn = re.findall(r"<title>(\w+) to (\w+): (\w+)</title>", picture)
    assert sorted(drawn) == sorted((names[start], names[end], label) for start, label, end in edges)
    assert {label for *_, label in drawn} <= set(re.findall(r">(\w+)</text>", picture))


def test_the_reference_lists_every_public_name() -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs/reference/api").glob("*.md"))
    listed = re.findall(r"^\.\. auto\w+:: reshuffle\.(\w+)$", pages, flags=re.MULTILINE)
    assert sorted(listed) == sorted(set(reshuffle.__all__) - {"__version__"})
