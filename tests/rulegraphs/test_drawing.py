"""Pictures: DOT and Mermaid text, and Graphviz where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from reshuffle.errors import InputError, ReshuffleError
from reshuffle.rulegraphs import build
from reshuffle.rulegraphs.draw import draw, node_names, to_dot, to_mermaid
from reshuffle.rules import PathRule, RuleBase, parse_rules

if TYPE_CHECKING:
    from pathlib import Path

TRANSITIVE = build(parse_rules("r(X, Y) & r(Y, Z) -> r(X, Z)"))
ODD = build(RuleBase((PathRule(('say "hi"', "back\\slash #1"), "c"),)))
has_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")


def test_dot() -> None:
    assert to_dot(TRANSITIVE) == (
        "digraph rules {\n"
        "  rankdir=LR;\n"
        '  node [shape=box, fontname="Helvetica"];\n'
        '  0 [label="n0"];\n'
        '  1 [label="n_r"];\n'
        '  0 -> 1 [label="r"];\n'
        '  1 -> 0 [label="eq", style=dashed];\n'
        "}\n"
    )


def test_mermaid() -> None:
    assert to_mermaid(TRANSITIVE) == ('graph LR\n  0["n0"]\n  1["n_r"]\n  0 -->|"r"| 1\n  1 -.->|"eq"| 0\n')


def test_labels_between_the_same_nodes_share_an_edge() -> None:
    symmetric = build(parse_rules("r(X, Y) -> r(Y, X)"))
    assert '|"r^-1, r"|' in to_mermaid(symmetric) or '|"r, r^-1"|' in to_mermaid(symmetric)
    assert to_dot(symmetric).count("->") == 1


def test_odd_names_are_escaped() -> None:
    assert '"n_say \\"hi\\""' in to_dot(ODD)
    assert '"n_back\\\\slash #1"' in to_dot(ODD) or '"back\\\\slash #1"' in to_dot(ODD)
    assert "say #34;hi#34;" in to_mermaid(ODD)
    assert "back\\slash #35;1" in to_mermaid(ODD)
    assert "#60;img#62;" in to_mermaid(build(RuleBase((PathRule(("<img>",), "c"),))))


def test_a_relation_with_several_clauses_names_no_node() -> None:
    both = build(parse_rules("a(X, Y) & b(X, Y) -> c(X, Y)"))
    assert "n_c" not in node_names(both)


@pytest.mark.parametrize(("ending", "start"), [(".dot", b"digraph"), (".mmd", b"graph LR")])
def test_text_pictures(tmp_path: Path, ending: str, start: bytes) -> None:
    target = tmp_path / f"graph{ending}"
    draw(TRANSITIVE, target)
    assert target.read_bytes().startswith(start)
    assert [file.name for file in tmp_path.iterdir()] == [target.name]


@has_graphviz
def test_graphviz_pictures(tmp_path: Path) -> None:
    target = tmp_path / "graph.svg"
    draw(ODD, target)
    assert b"<svg" in target.read_bytes()


def test_an_unknown_ending(tmp_path: Path) -> None:
    for name, found in (("graph.pdf", ".pdf"), ("graph", "file without an ending")):
        target = tmp_path / name
        with pytest.raises(InputError) as caught:
            draw(TRANSITIVE, target)
        assert str(caught.value) == (f"{target}: cannot draw a {found}\n  hint: use one of .svg, .dot, .mmd")
    assert not list(tmp_path.iterdir())


def test_without_graphviz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(ReshuffleError) as caught:
        draw(TRANSITIVE, tmp_path / "graph.svg")
    assert str(caught.value) == (
        "drawing SVG needs the program `dot` of Graphviz, which is not installed\n"
        "  hint: install Graphviz, or draw a .dot or .mmd file, which needs nothing"
    )
    assert not list(tmp_path.iterdir())


def test_graphviz_that_fails_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, b"", b"syntax error\n")
    monkeypatch.setattr(shutil, "which", lambda name: name)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(ReshuffleError) as caught:
        draw(TRANSITIVE, tmp_path / "graph.svg")
    assert str(caught.value) == "dot could not draw the graph: syntax error"
    assert not list(tmp_path.iterdir())
