"""Reports to mail: `predict -o report.html`, `rules -o rules.html`, `evaluate -o report.html`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from reading_pictures import HOSTILE, SHOWN_HOSTILE, page_texts
from reshuffle import __version__
from reshuffle.cli.main import main
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import parse_rules

if TYPE_CHECKING:
    from pathlib import Path

RULE = "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"
WHO = HOSTILE.replace("\x00", "")
SHOWN_WHO = SHOWN_HOSTILE.replace("\\u0000", "")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Facts with a hostile name, a hard model and a rule model."""
    folder = tmp_path_factory.mktemp("reports")
    facts = [
        (WHO, "parent", "bob"),
        ("bob", "parent", "cleo"),
        ("x", "grandparent", "y"),
        ("y", "parent", "x"),
    ]
    KnowledgeGraph(facts).write(folder / "facts.csv")
    KnowledgeGraph([(WHO, "grandparent", "cleo"), ("bob", "parent", "x")]).write(folder / "queries.csv")
    (folder / "family.rules").write_text(RULE + "\n", encoding="utf-8")
    hard = Reshuffle.from_constraints(constraints_for(parse_rules(RULE)), num_layers=4, device="cpu")
    hard.save(folder / "hard")
    learn = ["train", str(folder / "facts.csv"), "-o", str(folder / "list"), "--recipe", "rules", "-q"]
    assert main([*learn, "--set", "steps=2", "--rules", str(folder / "family.rules")]) == 0
    return folder


def text_of(path: Path) -> str:
    return "\n".join(page_texts(path.read_text(encoding="utf-8")))


@pytest.mark.parametrize("model", ["hard", "list", "family.rules"])
def test_predictions_with_reasons_rules_and_how_they_were_made(
    world: Path, model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "report.html"
    asked = [
        "predict",
        str(world / model),
        str(world / "facts.csv"),
        "--head",
        WHO,
        "--relation",
        "grandparent",
    ]
    assert main([*asked, "-o", str(target)]) == 0
    assert capsys.readouterr().out.startswith(f"{target}: ")
    told = text_of(target)
    for part in (
        "grandparent",
        "cleo",
        SHOWN_WHO,
        "Why",
        "Rules behind these links",
        RULE,
        "parent(bob, cleo)",
    ):
        assert part in told
    for part in ("How this was made", "reshuffle predict", __version__, str(world / model), "4 triples"):
        assert part in told
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", told)
    assert "<img" not in target.read_text(encoding="utf-8")


def test_a_report_without_reasons_and_one_of_a_whole_graph(world: Path, tmp_path: Path) -> None:
    target, files = str(tmp_path / "report.html"), [str(world / "list"), str(world / "facts.csv")]
    assert main(["predict", *files, "--head", WHO, "--reasons", "0", "-o", target]) == 0
    assert "Rules behind" not in text_of(tmp_path / "report.html")
    assert main(["predict", *files, "--all", "--top", "2", "-o", target]) == 0
    assert "Most plausible missing links" in text_of(tmp_path / "report.html")


@pytest.mark.parametrize(("model", "options"), [("list", []), ("hard", ["--on", "facts.csv"])])
def test_rules_as_a_page(
    world: Path, model: str, options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "rules.html"
    more = [str(world / word) if word.endswith("csv") else word for word in options]
    assert main(["rules", str(world / model), *more, "-o", str(target), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == str(target) and told["rules"] >= 1
    page = target.read_text(encoding="utf-8")
    assert RULE in text_of(target) and 'class="sortable"' in page
    assert page.count("<tr>") == told["rules"] + 1


def test_an_evaluation_as_a_page(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "report.html"
    data = [
        "--facts",
        str(world / "facts.csv"),
        "--queries",
        str(world / "queries.csv"),
        "--protocol",
        "full",
    ]
    assert main(["evaluate", str(world / "list"), *data, "-o", str(target), "--json"]) == 0
    told = capsys.readouterr()
    mrr = json.loads(told.out)["metrics"]["mrr"]
    assert f"{target}: the report\n" in told.err
    text = text_of(target)
    for part in ("type baseline", "By relation", "grandparent", "ranks of the true answers", "by direction"):
        assert part in text
    assert f"{mrr:.3f}" in text


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "list", "facts.csv", "--head", "bob", "-o", "out.pdf"],
        ["rules", "list", "-o", "out.pdf"],
        ["evaluate", "list", "--facts", "facts.csv", "--queries", "queries.csv", "-o", "out.pdf"],
    ],
)
def test_other_endings_are_refused(
    world: Path, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(world)
    assert main(command) == 2
    assert "out.pdf: found the ending '.pdf', expected one of " in capsys.readouterr().err
    assert not (world / "out.pdf").exists()


def test_a_page_does_not_replace_an_input_and_has_no_format(
    world: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    facts = tmp_path / "facts.html"
    facts.write_bytes((world / "facts.csv").read_bytes())
    assert main(["rules", str(world / "hard"), "--on", str(facts), "-o", str(facts)]) == 2
    assert "would replace the input" in capsys.readouterr().err
    assert main(["rules", str(world / "list"), "--format", "amie", "-o", str(tmp_path / "rules.html")]) == 2
    assert capsys.readouterr().err == (
        "--format amie prints lines, and -o writes a table or a page\n"
        "  hint: give one of the two; > FILE keeps what is printed\n"
    )


# --- names of IRIs ------------------------------------------------------------------------------------------------

NAMED = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:ann ex:parent ex:bob ; rdfs:label "Ann" . ex:bob ex:parent ex:cleo . ex:x ex:grandparent ex:y .
"""


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Facts in Turtle with prefixes and a label, and rules about them."""
    pytest.importorskip("pyoxigraph")
    folder = tmp_path_factory.mktemp("named")
    (folder / "facts.ttl").write_text(NAMED, encoding="utf-8")
    (folder / "my.rules").write_text(
        "@prefix ex: <http://example.org/> .\nex:parent(X, Y) & ex:parent(Y, Z) -> ex:grandparent(X, Z)\n"
    )
    assert main(["train", str(folder / "facts.ttl"), "-o", str(folder / "list"), "--quick", "-q",
                 "--rules", str(folder / "my.rules")]) == 0  # fmt: skip
    return folder


def seen(path: Path) -> str:
    """What one reads on a page or picture without pointing at anything; how it was made has the command as typed."""
    markup = path.read_text(encoding="utf-8").partition("How this was made")[0]
    return re.sub(r"<[^>]*>", " ", re.sub(r"<(title|style|head)>.*?</\1>", "", markup, flags=re.DOTALL))


@pytest.mark.parametrize(
    "asked",
    [
        ["predict", "list", "facts.ttl", "--head", "ex:ann", "-o", "report.html"],
        ["rules", "list", "--on", "facts.ttl", "-o", "rules.html"],
        ["evaluate", "list", "--facts", "facts.ttl", "--queries", "facts.ttl", "-o", "evaluation.html"],
        ["explain", "my.rules", "facts.ttl", "ex:ann", "ex:grandparent", "ex:cleo", "-o", "proof.html"],
        ["explain", "my.rules", "facts.ttl", "ex:ann", "ex:grandparent", "ex:cleo", "-o", "proof.svg"],
        ["explain", "my.rules", "facts.ttl", "ex:ann", "ex:grandparent", "ex:cleo", "-o", "proof.mmd"],
        ["explain", "my.rules", "facts.ttl", "ex:ann", "ex:grandparent", "ex:cleo", "-o", "proof.dot"],
    ],
    ids=lambda asked: asked[-1],
)
def test_names_are_short_where_one_reads_and_in_full_where_one_points(
    named: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(named)
    assert main([*asked, "-q"]) == 0
    page = named / asked[-1]
    assert "ex:grandparent" in seen(page)
    if page.suffix == ".dot":
        assert "example.org" not in re.sub('tooltip="(\\\\.|[^"\\\\])*"', "", page.read_text())
    else:
        assert "example.org" not in seen(page)
    if page.suffix != ".mmd":
        assert "http://example.org/grandparent" in page.read_text(encoding="utf-8")
    if asked[0] in ("predict", "explain"):
        assert re.search('ex:ann (&quot;|#quot;|\\\\")Ann', page.read_text(encoding="utf-8"))


def test_tables_and_json_have_full_names(named: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(named)
    assert main(["predict", "list", "facts.ttl", "--head", "ex:ann", "-o", "table.csv", "-q"]) == 0
    assert "http://example.org/ann" in (named / "table.csv").read_text()
    asked = [
        "explain",
        "my.rules",
        "facts.ttl",
        "ex:ann",
        "ex:grandparent",
        "ex:cleo",
        "-o",
        "proof.json",
        "-q",
    ]
    assert main(asked) == 0
    assert "http://example.org/ann" in (named / "proof.json").read_text()
