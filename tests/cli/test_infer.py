"""`reshuffle infer`: sorted lines, counts, files, and what goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main
from reshuffle.kg import KnowledgeGraph, read_graph
from reshuffle.rules import parse_rules
from reshuffle.rules.entailment import closure

if TYPE_CHECKING:
    from pathlib import Path

RULES = """
parent(X, Y) -> ancestor(X, Y)
ancestor(X, Y) & ancestor(Y, Z) -> ancestor(X, Z)
sibling(X, Y) -> sibling(Y, X)
"""
FACTS = [
    ("ann", "parent", "bob"),
    ("bob", "parent", "cleo"),
    ("ann", "sibling", "al"),
    ("é", "parent", "ann"),
]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    rules, facts = tmp_path / "family.rules", tmp_path / "facts.tsv"
    rules.write_text(RULES, encoding="utf-8")
    facts.write_text("".join("\t".join(fact) + "\n" for fact in FACTS), encoding="utf-8")
    return str(rules), str(facts)


def derived() -> list[tuple[str, str, str]]:
    return sorted(closure(parse_rules(RULES), FACTS) - set(FACTS))


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_prints_the_derived_triples_sorted(files, engine, capsys):
    assert main(["infer", *files, "--engine", engine]) == 0
    printed = capsys.readouterr().out
    assert printed == "".join("\t".join(triple) + "\n" for triple in derived())


def test_json_is_one_array(files, capsys):
    assert main(["--json", "infer", *files]) == 0
    assert json.loads(capsys.readouterr().out) == [list(triple) for triple in derived()]


@pytest.mark.parametrize("engine", ["auto", "chase"])
def test_counts_per_relation(files, engine, capsys):
    assert main(["infer", *files, "--count", "--engine", engine]) == 0
    assert capsys.readouterr().out == "ancestor\t6\t6\nparent\t0\t3\nsibling\t1\t2\n"
    assert main(["infer", *files, "--count", "--json", "--engine", engine]) == 0
    assert json.loads(capsys.readouterr().out)["ancestor"] == {"derived": 6, "total": 6}


def test_a_bound_and_compiled_rules(files, tmp_path, capsys):
    compiled = str(tmp_path / "compiled.json")
    assert main(["compile", files[0], "-o", compiled, "--bound", "1"]) == 0
    assert main(["infer", *files, "--bound", "1", "--count"]) == 0
    by_rules = capsys.readouterr().out.splitlines()[1:]
    assert "ancestor\t5\t5" in by_rules
    assert main(["infer", compiled, files[1], "--count"]) == 0
    assert capsys.readouterr().out.splitlines() == by_rules
    assert main(["infer", compiled, files[1], "--bound", "3"]) == 2
    assert "were compiled for bound 1, not for bound 3" in capsys.readouterr().err


@pytest.mark.parametrize("ending", [".tsv", ".tsv.gz", ".nt", ".parquet"])
def test_writes_a_file_by_its_ending(files, tmp_path, ending, capsys):
    target = tmp_path / f"out{ending}"
    assert main(["infer", *files, "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 7 derived triples\n"
    assert read_graph(target) == KnowledgeGraph(derived())


def test_the_chase_takes_rules_without_geometry_unless_a_geometry_is_asked_for(files, tmp_path, capsys):
    rules = tmp_path / "odd.rules"
    rules.write_text("parent(X,Y) & sibling(Y,Z) & parent(Z,U) -> sibling(X,U)\n", encoding="utf-8")
    assert main(["infer", str(rules), files[1], "--engine", "geometry"]) == 1
    assert "--engine chase" in capsys.readouterr().err
    assert main(["infer", str(rules), files[1]]) == 0
    assert capsys.readouterr().err.endswith(": answered by the chase\n")
    assert main(["infer", str(rules), files[1], "--engine", "chase"]) == 0


@pytest.mark.parametrize("options", [["--sketch", "200"], ["--epsilon", "0.001", "--seed", "3"]])
def test_a_sketch_says_so_and_misses_nothing(files, options, capsys):
    assert main(["infer", *files, *options]) == 0
    captured = capsys.readouterr()
    assert set(captured.out.splitlines()) >= {"\t".join(triple) for triple in derived()}
    assert captured.err.startswith("sketch: false positives 0.")


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        (["--engine", "chas"], 2, "unknown engine 'chas'; did you mean 'chase'?"),
        (["--engine", "chase", "--bound", "2"], 2, "the chase has no bound"),
        (["--memory", "20"], 2, "memory of 20 B is too small"),
        (["--memory", "much"], 2, "not a size: 'much'"),
        (["--sketch", "0"], 2, "at least one channel, not 0"),
        (["--sketch", "9", "--engine", "chase"], 2, "a sketch needs the geometry"),
        (["--bound", "9", "--node-budget", "5"], 2, "node"),
    ],
)
def test_bad_options_are_named(files, options, status, message, capsys):
    assert main(["infer", *files, *options]) == status
    assert message in capsys.readouterr().err


def test_facts_that_share_no_relation_get_a_warning(files, tmp_path, capsys):
    facts = tmp_path / "other.tsv"
    facts.write_text("ann\tparents\tbob\n", encoding="utf-8")
    assert main(["infer", files[0], str(facts)]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "share no relation" in captured.err and "'parent' (facts: 'parents')" in captured.err


@pytest.fixture
def large(tmp_path: Path) -> list[str]:
    """A chain whose closure has two million triples."""
    rules, facts = tmp_path / "r.rules", tmp_path / "chain.tsv"
    rules.write_text("r(X, Y) & r(Y, Z) -> r(X, Z)\n", encoding="utf-8")
    facts.write_text("".join(f"n{i:05}\tr\tn{i + 1:05}\n" for i in range(2000)), encoding="utf-8")
    return [
        sys.executable,
        "-c",
        "from reshuffle.cli.main import entry_point; entry_point()",
        "infer",
        str(rules),
        str(facts),
    ]


def test_a_closed_pipe_is_no_error(large):
    quiet = [*large, "-q"]  # on a busy machine there would be lines of progress
    with subprocess.Popen(quiet, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"n00000\tr\tn00002\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=120) == 0


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_an_interrupt_leaves_no_file(large, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "derived.tsv"
    process = subprocess.Popen(
        [*large, "-o", str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Tests may run where interrupts are ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    # In the midst of writing: while libraries are loaded an interrupt may come where Python can only ignore it.
    while not any(part.stat().st_size for part in folder.iterdir()):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    # On a busy machine, lines before it tell how far it was.
    assert errors.splitlines()[-1] == b"interrupted" and b"Traceback" not in errors
    assert list(folder.iterdir()) == []


def test_counts_go_to_the_file(files, tmp_path, capsys):
    assert main(["infer", *files, "--count"]) == 0
    printed = capsys.readouterr().out
    out = tmp_path / "counts.tsv"
    assert main(["infer", *files, "--count", "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"{out}: counts of 3 relations\n"
    assert out.read_text(encoding="utf-8") == printed
    assert main(["infer", *files, "--count", "--json", "-o", str(out)]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": str(out), "relations": 3}
    assert json.loads(out.read_text(encoding="utf-8"))["sibling"] == {"derived": 1, "total": 2}


def test_a_negative_seed(files, capsys):
    assert main(["infer", *files, "--sketch", "8", "--seed", "-1"]) == 2
    assert capsys.readouterr().err == "a seed of -1\n  hint: a seed is 0 or a positive whole number\n"


def test_broken_constraints_are_told_with_their_proofs(files, tmp_path, capsys):
    rules = tmp_path / "constrained.rules"
    rules.write_text(RULES + "parent(X, Y) & ancestor(X, Y) -> false\n", encoding="utf-8")
    first = "parent(X, Y) & ancestor(X, Y) -> false\nparent(ann, bob)    fact\nancestor(ann, bob)    ["
    assert main(["infer", str(rules), files[1]]) == 1
    told = capsys.readouterr()
    assert told.out == "".join("\t".join(triple) + "\n" for triple in derived())
    assert told.err.startswith("warning: what follows breaks a constraint:\n")
    assert first in told.err
    assert main(["-q", "infer", str(rules), files[1]]) == 1
    assert first in capsys.readouterr().err


def test_of_many_broken_constraints_a_few_are_told(tmp_path, capsys):
    rules, facts = tmp_path / "all.rules", tmp_path / "facts.tsv"
    rules.write_text("r(X, Y) -> s(X, Y)\nr(X, Y) & s(X, Y) -> false\n", encoding="utf-8")
    facts.write_text("".join(f"e{n}\tr\tf{n}\n" for n in range(5)), encoding="utf-8")
    assert main(["infer", str(rules), str(facts), "--count"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("warning: what follows breaks a constraint; the first 3, -v shows all:\n")
    assert told.count("-> false") == 3
    assert main(["infer", str(rules), str(facts), "-v"]) == 1
    assert capsys.readouterr().err.count("-> false") == 5


@pytest.mark.parametrize("options", [[], ["--count"]])
def test_where_the_answers_go_is_looked_at_first(files, options, tmp_path, capsys):
    target = str(tmp_path / "none" / "out.tsv")
    assert main(["infer", "missing.rules", files[1], "-o", target, *options]) == 2
    assert capsys.readouterr().err.startswith(f"{target}: cannot be written: the directory")


def test_an_ending_that_nobody_could_write_is_refused_first(files, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    assert main(["infer", "missing.rules", files[1], "-o", str(tmp_path / "out.nt")]) == 2
    assert "RDF files need the package pyoxigraph" in capsys.readouterr().err


def test_facts_that_a_model_has_not_learned_are_told(tmp_path, capsys):
    pytest.importorskip("torch")
    from reshuffle.learning.estimator import Reshuffle
    from reshuffle.rulegraphs import constraints_for

    constraints = constraints_for(parse_rules("parent(X, Y) -> ancestor(X, Y)"))
    Reshuffle.from_constraints(constraints, device="cpu").save(tmp_path / "model")
    facts = tmp_path / "more.tsv"
    facts.write_text("ann\tparent\tbob\nann\tsibling\tal\nal\tsibling\tann\n")
    assert main(["infer", str(tmp_path / "model"), str(facts)]) == 0
    told = capsys.readouterr().err.splitlines()[-1]
    assert told == "2 of 3 facts are skipped, of relations never seen in training: 'sibling' (2)"


def test_facts_named_like_inverses_are_refused_with_their_line(files, tmp_path, capsys):
    facts = tmp_path / "weird.tsv"
    facts.write_text("ann\tparent\tbob\nbob\tparent^-1\tann\n")
    assert main(["infer", files[0], str(facts)]) == 2
    assert capsys.readouterr().err.startswith(f"{facts}:2: found the relation 'parent^-1'")


ONTOLOGY = """@prefix ex: <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:teaches rdfs:domain ex:Teacher .
ex:Teacher rdfs:subClassOf ex:Person .
"""


@pytest.fixture
def university(tmp_path: Path) -> tuple[str, str]:
    pytest.importorskip("pyoxigraph")
    (tmp_path / "ontology.ttl").write_text(ONTOLOGY, encoding="utf-8")
    (tmp_path / "facts.nt").write_text(
        "<http://example.org/ada> <http://example.org/teaches> <http://example.org/logic> .\n",
        encoding="utf-8",
    )
    return str(tmp_path / "ontology.ttl"), str(tmp_path / "facts.nt")


def test_types_are_printed_and_counted_without_helpers(university, capsys):
    rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    assert main(["infer", *university]) == 0
    assert capsys.readouterr().out == "".join(
        f"http://example.org/ada\t{rdf_type}\thttp://example.org/{name}\n" for name in ("Person", "Teacher")
    )
    assert main(["infer", *university, "--count", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "http://example.org/teaches": {"derived": 0, "total": 1},
        rdf_type: {"derived": 2, "total": 2},
    }


def test_literals_give_types_by_domains(university, tmp_path, capsys):
    literals = tmp_path / "literals.nt"
    literals.write_text('<http://example.org/bob> <http://example.org/teaches> "Latin" .\n', encoding="utf-8")
    assert main(["infer", university[0], str(literals)]) == 0
    printed = capsys.readouterr()
    assert [line.split("\t")[2] for line in printed.out.splitlines()] == [
        "http://example.org/Person",
        "http://example.org/Teacher",
    ]
    assert printed.err == f"{literals}: 1 triple with a literal as tail skipped\n"
    assert main(["infer", university[0], str(literals), "--with-facts", "-o", str(tmp_path / "out.nt")]) == 0
    assert len(read_graph(tmp_path / "out.nt")) == 2
    assert main(["infer", university[0], str(literals), "--count", "--json"]) == 0
    assert "~" not in capsys.readouterr().out
    assert main(["explain", university[0], str(literals), "ex:bob", "rdf:type", "ex:Teacher"]) == 0
    assert capsys.readouterr().out == (
        'rdf:type(ex:bob, ex:Teacher)    [ex:teaches(X, Y) -> rdf:type(X, "ex:Teacher")]\n'
        "└─ ex:teaches(ex:bob, a literal)    fact\n"
    )
    (tmp_path / "plain.rules").write_text('"http://example.org/teaches"(X, Y) -> r(X, Y)\n')
    assert main(["infer", str(tmp_path / "plain.rules"), str(literals)]) == 2
    assert "found no triples" in capsys.readouterr().err


def test_turtle_has_the_prefixes_of_the_ontology(university, tmp_path):
    assert main(["infer", *university, "--with-facts", "-o", str(tmp_path / "out.ttl")]) == 0
    assert (tmp_path / "out.ttl").read_text() == (
        "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n@prefix ex: <http://example.org/> .\n"
        "ex:ada ex:teaches ex:logic ;\n\ta ex:Person , ex:Teacher .\n"
    )


@pytest.mark.parametrize("ending", [".rdf", ".jsonld", ".nq", ".trig", ".nt", ".ttl.gz", ".tsv"])
def test_facts_and_derived_triples_together(university, tmp_path, ending):
    out = tmp_path / f"out{ending}"
    assert main(["infer", *university, "--with-facts", "-o", str(out)]) == 0
    facts = read_graph(university[1])
    assert len(read_graph(out)) == 3
    assert facts <= read_graph(out)
    assert main(["infer", *university, "-o", str(out)]) == 0
    assert len(read_graph(out)) == 2
    assert facts.isdisjoint(read_graph(out))


def test_facts_and_derived_triples_are_printed_in_one_order(files, capsys):
    assert main(["infer", *files, "--with-facts"]) == 0
    together = sorted([*derived(), *FACTS])
    assert capsys.readouterr().out == "".join("\t".join(triple) + "\n" for triple in together)


def test_named_graphs_need_a_format_that_has_them(university, tmp_path, capsys):
    out = tmp_path / "out.trig"
    assert main(["infer", *university, "--with-facts", "--named-graphs", "-o", str(out)]) == 0
    text = out.read_text()
    assert text.index("<urn:reshuffle-graph:facts>") < text.index("<urn:reshuffle-graph:derived>")
    assert (
        main(["infer", *university, "--with-facts", "--named-graphs", "-o", str(tmp_path / "out.ttl")]) == 2
    )
    assert "Turtle has no named graphs" in capsys.readouterr().err
    for wrong in (["--named-graphs", "-o", str(out)], ["--count", "--with-facts"]):
        with pytest.raises(SystemExit, match="2"):
            main(["infer", *university, *wrong])


@pytest.mark.parametrize(("options", "name"), [([], "out.xyz"), (["--count"], "out.csv"), ([], "out.json")])
def test_endings_without_a_format_are_refused_before_any_work(files, tmp_path, options, name, capsys):
    assert main(["infer", files[0], str(tmp_path / "missing.tsv"), *options, "-o", str(tmp_path / name)]) == 2
    assert "ending '." in capsys.readouterr().err
    assert not (tmp_path / name).exists()


PROGRAM = """% a Datalog program
parent(ann, bob).  parent(bob, cleo).
ancestor(X, Y) :- parent(X, Y).
ancestor(X, Z) :- parent(X, Y),
                  ancestor(Y, Z).
"""


def test_a_program_brings_its_own_facts(tmp_path, capsys):
    program, more = tmp_path / "family.dl", tmp_path / "more.tsv"
    program.write_text(PROGRAM)
    more.write_text("cleo\tparent\tdan\n")
    lines = "ann\tancestor\tbob\nann\tancestor\tcleo\nbob\tancestor\tcleo\n"
    for facts in ([], [str(program)]):
        assert main(["infer", str(program), *facts]) == 0
        assert capsys.readouterr().out == lines
    assert main(["infer", str(program), str(more)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 6
    assert main(["explain", str(program), str(program), "ann", "ancestor", "cleo"]) == 0
    assert capsys.readouterr().out.startswith("ancestor(ann, cleo)    [parent(X, Y) & ancestor(Y, Z) ->")
    assert main(["compile", str(program), "-o", str(tmp_path / "compiled.json")]) == 0
    assert "2 facts among the rules left out" in capsys.readouterr().err


def test_an_ontology_may_hold_the_facts(university, tmp_path, capsys):
    both = tmp_path / "both.ttl"
    both.write_text(ONTOLOGY + "ex:ada ex:teaches ex:logic .\n")
    for facts in ([], [str(both)]):
        assert main(["infer", str(both), *facts]) == 0
        printed = [line.split("/")[-1] for line in capsys.readouterr().out.splitlines()]
        assert printed == ["Person", "Teacher", "Person"]  # the last one is a domain


def test_rules_without_facts_need_a_file(files, capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["infer", files[0]])
    assert "the following arguments are required: FACTS" in capsys.readouterr().err
