"""`reshuffle check`, `compile` and `draw`: what they print, their files, and their exit status."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main
from reshuffle.constraints import OrderingConstraints

if TYPE_CHECKING:
    from pathlib import Path

FAMILY = """\
bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)
citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)
"""
NOT_REGULAR = "r1(X, Y) & r2(Y, Z) & r1(Z, U) -> r2(X, U)\n"
BOTH = "a(X, Y) & b(X, Y) -> c(X, Y)\n"
WHY_NOT = "`r2` calls itself between other atoms: rule 1: r1(X, Y) & r2(Y, Z) & r1(Z, Z1) -> r2(X, Z1)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Rule files in the working directory, so that messages name them as a user would."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"family": FAMILY, "not_regular": NOT_REGULAR, "both": BOTH}.items():
        (tmp_path / f"{name}.rules").write_text(text)
    return tmp_path


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.suffix != ".rules"}


# --- check --------------------------------------------------------------------------------------------------------


def test_class_axioms_are_counted_as_they_were_written(folder, capsys):
    pytest.importorskip("pyoxigraph")
    (folder / "classes.ttl").write_text(
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <urn:x:> .\n"
        ":A rdfs:subClassOf :B . :B rdfs:subClassOf :C . :p rdfs:domain :A ; rdfs:subPropertyOf :q .\n"
    )
    assert main(["check", "classes.ttl", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["rules"], found["relations"]) == (4, 3)


def test_check_says_what_was_proved(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "family.rules"]) == 0
    assert capsys.readouterr() == (
        "rules: 2, relations: 5\n"
        "class: acyclic\n"
        "rule graph: 4 nodes (6 before reduction), 5 edges, identity relations: 0; exact\n"
        "  R1: holds\n"
        "  R2: holds\n"
        "  R3: holds\n"
        "  R4: holds\n",
        "",
    )


def test_check_with_intersections_shows_the_clause_forms(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "both.rules"]) == 0
    out = capsys.readouterr().out
    assert "class: hierarchy-intersection\n" in out
    assert "  R3∧: holds\n" in out
    assert "  R4∧: holds\n" in out


def test_check_without_geometry_is_a_yes_since_the_chase_is_exact(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", "not_regular.rules"]) == 0
    assert capsys.readouterr() == (
        "rules: 1, relations: 2\n"
        f"class: none ({WHY_NOT})\n"
        "no exact geometry exists for this class\n"
        "  hint: `infer --engine chase` answers exactly, without geometry; --bound M answers within M steps\n",
        "",
    )


def test_check_with_a_bound_is_a_yes_that_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "not_regular.rules", "--bound", "2"]) == 0
    out = capsys.readouterr().out
    assert "; exact within 2 steps\n" in out
    assert out.endswith("  R4m: holds\n")


def test_check_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "family.rules"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "rules": 2,
        "relations": 5,
        "nodes": 4,
        "class": "acyclic",
        "faithful": True,
        "bound": None,
        "not_read": [],
        "violations": [],
        "reason": None,
        "checks": {name: {"status": "holds"} for name in ("R1", "R2", "R3", "R4")},
    }


def test_check_json_with_a_bound(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "family.rules", "--bound", "1"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["faithful"], data["bound"], data["class"]) == (False, 1, "acyclic")
    assert list(data["checks"]) == ["R1", "R2", "R3", "R4m"]


def test_check_json_without_geometry(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", "not_regular.rules"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data == {
        "rules": 1,
        "relations": 2,
        "nodes": 0,
        "class": "none",
        "faithful": False,
        "bound": None,
        "not_read": [],
        "violations": [],
        "reason": WHY_NOT,
        "checks": {},
    }


PREFIXES = (
    "@prefix : <http://e.org/> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)


@pytest.fixture
def university(folder: Path) -> None:
    pytest.importorskip("pyoxigraph")
    (folder / "uni.ttl").write_text(
        f"{PREFIXES}:Course owl:disjointWith :Person . :takes rdfs:range :Course ."
    )
    (folder / "more.ttl").write_text(
        f"{PREFIXES}:Student rdfs:subClassOf :Person . :zoe a :Student ; :takes :math ."
    )
    (folder / "data.nt").write_text("<http://e.org/ada> <http://e.org/takes> <http://e.org/logic> .\n")
    (folder / "clash.ttl").write_text(f"{PREFIXES}:logic a :Person .")


@pytest.mark.usefixtures("university")
def test_check_whether_facts_are_consistent(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "uni.ttl", "data.nt", "--consistent"]) == 0
    assert capsys.readouterr().out == "consistent (exact)\n"
    assert main(["-q", "check", "uni.ttl", "data.nt", "clash.ttl", "--consistent"]) == 1
    assert capsys.readouterr() == (
        "inconsistent: 1 clash\n"
        'rdf:type(X, ":Course") & rdf:type(X, ":Person") -> false\n'
        'rdf:type(:logic, :Course)    [:takes(X, Y) -> rdf:type(Y, ":Course")]\n'
        "└─ :takes(:ada, :logic)    fact\n"
        "rdf:type(:logic, :Person)    fact\n",
        "",
    )
    assert main(["check", "uni.ttl", "data.nt", "clash.ttl", "--consistent", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["consistent"], data["exactness"], len(data["violations"])) == (False, "exact", 1)
    assert main(["check", "uni.ttl", "data.nt", "clash.ttl"]) == 1  # which looks at the facts, too


@pytest.mark.usefixtures("university")
def test_each_file_is_taken_for_what_it_holds(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.rules").write_text('"http://e.org/takes"(X, Y) -> knows(X, Y)\n')
    assert main(["infer", "data.nt", "uni.ttl", "mine.rules", "more.ttl"]) == 0
    printed = capsys.readouterr()
    assert "zoe\tknows\thttp://e.org/math" in printed.out and "http://e.org/ada\tknows" in printed.out
    assert printed.out.count("http://e.org/Course\n") == 2 and printed.out.count("http://e.org/Person\n") == 1
    assert (
        "uni.ttl: taken for axioms\nmine.rules: taken for rules\nmore.ttl: taken for axioms and facts\n"
        in printed.err
    )
    assert "data.nt: taken for facts\n" in printed.err


def test_check_counts_a_relation_and_its_inverse_once(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "inverse.rules").write_text("parent(X, Y) -> child(Y, X)\n")
    assert main(["check", "inverse.rules"]) == 0
    assert capsys.readouterr().out.startswith("rules: 1, relations: 2\n")


def test_verbose_says_why_not_the_other_classes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-v", "family.rules"]) == 0
    assert capsys.readouterr().err == (
        "not right-regular: `citizenOf` is derived by a rule and is not the last atom: "
        "rule 2: citizenOf(X, Y) & hasLanguage(Y, Z) -> speaks(X, Z)\n"
        "not hierarchy-intersection: a path of 2 atoms is present: "
        "rule 1: bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\n"
    )


def test_duplicates_and_tautologies_are_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "odd.rules").write_text("a(X, Y) -> b(X, Y)\na(X, Y) -> b(X, Y)\nc(X, Y) -> c(X, Y)\n")
    assert main(["check", "odd.rules"]) == 0
    messages = capsys.readouterr().err
    assert messages == (
        "odd.rules: given more than once: a(X, Y) -> b(X, Y)\nodd.rules: says nothing: c(X, Y) -> c(X, Y)\n"
    )
    assert main(["-q", "check", "odd.rules"]) == 0
    assert capsys.readouterr().err == ""


def test_skip_unsupported_reads_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mined.rules").write_text("a(X, london) -> b(X, london)\na(X, Y) -> b(X, Y)\n")
    assert main(["check", "mined.rules"]) == 2
    assert "london" in capsys.readouterr().err
    assert main(["check", "mined.rules", "--skip-unsupported"]) == 0
    assert capsys.readouterr().out.startswith("rules: 1, relations: 2\n")


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["family.rules", "--bound", "-1"],
            2,
            "a bound of -1 steps\n  hint: a bound is 0 (the facts and one-atom rules) or more\n",
        ),
        (
            ["both.rules", "--bound", "1"],
            1,
            "a bound together with intersection rules is an open question of the paper\n"
            "  hint: leave out the bound; or "
            "engine='chase' (--engine chase of infer and explain) answers exactly, without geometry\n",
        ),
        (
            ["family.rules", "--node-budget", "2"],
            2,
            "the rule graph needs more than the 2 nodes it was allowed\n"
            "  hint: engine='chase' (--engine chase of infer and explain) answers exactly, without geometry; or "
            "allow more with node_budget= (--node-budget), or use fewer or shorter rules\n",
        ),
        (["familiy.rules"], 2, None),
    ],
)
def test_check_refusals(
    folder: Path, arguments: list[str], status: int, message: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *arguments]) == status
    out, err = capsys.readouterr()
    assert out == ""
    if message is None:
        assert err.startswith(
            "familiy.rules: there is no such file or directory; did you mean 'family.rules'?"
        )
    else:
        assert err == message


# --- compile ------------------------------------------------------------------------------------------------------


def test_compile_writes_what_load_reads(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "family.rules", "-o", "family.json"]) == 0
    assert capsys.readouterr() == ("family.json: 4 slots, 5 relations\n", "")
    constraints = OrderingConstraints.load(folder / "family.json")
    assert (constraints.num_slots, len(constraints.relations)) == (4, 5)
    assert str(constraints.rules) == FAMILY.strip()
    assert files(folder) == {"family.json"}


def test_compile_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", "not_regular.rules", "--bound", "1", "-o", "x.json", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["file"], data["bound"]) == ("x.json", 1)
    assert data["slots"] == OrderingConstraints.load("x.json").num_slots


def test_compile_refuses_without_touching_the_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "x.json").write_text("mine")
    assert main(["compile", "not_regular.rules", "-o", "x.json"]) == 1
    assert capsys.readouterr() == (
        "",
        f"no exact geometry: {WHY_NOT}\n"
        "  hint: engine='chase' (--engine chase of infer and explain) answers exactly, without geometry; "
        "bound=M (--bound M) answers within M steps\n",
    )
    assert (folder / "x.json").read_text() == "mine"
    assert files(folder) == {"x.json"}


def test_compile_writes_whole_or_not_at_all(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "x.json").write_text("mine")

    def interrupted(_: object) -> dict[str, object]:
        raise KeyboardInterrupt

    monkeypatch.setattr(OrderingConstraints, "to_dict", interrupted)
    assert main(["compile", "family.rules", "-o", "x.json"]) == 130
    assert capsys.readouterr() == ("", "interrupted\n")
    assert (folder / "x.json").read_text() == "mine"
    assert files(folder) == {"x.json"}


# --- draw ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ending", "start"), [("mmd", "graph LR\n"), ("dot", "digraph rules {\n")])
def test_draw(folder: Path, ending: str, start: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["draw", "family.rules", "-o", f"graph.{ending}", "--slots"]) == 0
    assert capsys.readouterr() == (f"graph.{ending}: 4 nodes, 5 edges\n", "")
    assert (folder / f"graph.{ending}").read_text().startswith(start)


def test_draw_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "draw", "family.rules", "-o", "graph.mmd", "--slots"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": "graph.mmd", "nodes": 4, "edges": 5}


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["family.rules", "-o", "graph.pdf"],
            2,
            "graph.pdf: found the ending '.pdf', expected one of .svg, .dot, .mmd\n"
            "  hint: the ending names the format\n",
        ),
        (
            ["family.rules", "-o", "nowhere/graph.mmd"],
            2,
            "nowhere/graph.mmd: cannot be written: the directory 'nowhere' does not exist\n"
            "  hint: make the directory first, or name another\n",
        ),
    ],
)
def test_draw_refusals(
    folder: Path, arguments: list[str], status: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["draw", *arguments]) == status
    assert capsys.readouterr() == ("", message)
    assert files(folder) == set()


@pytest.mark.parametrize("verb", ["compile", "draw"])
def test_an_output_file_is_asked_for(verb: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main([verb, "family.rules"])
    assert caught.value.code == 2
    assert "-o/--output" in capsys.readouterr().err


def test_one_step_is_one_step(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for bound, steps in ((1, "1 step"), (2, "2 steps")):
        assert main(["check", "family.rules", "--bound", str(bound)]) == 0
        assert f"; exact within {steps}\n" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["compile", "draw"])
def test_where_the_file_goes_is_looked_at_first(
    verb: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([verb, "missing.rules", "-o", "nowhere/out.dot"]) == 2
    assert capsys.readouterr().err.startswith("nowhere/out.dot: cannot be written: the directory 'nowhere'")
