"""`reshuffle predict`, and `explain` and `infer` with a model directory, through the front door."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from reshuffle.cli.main import main
from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import ReshuffleError
from reshuffle.kg import KnowledgeGraph, read_graph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.model.answers import link_candidates
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import parse_rules

FACTS = "ann\tparent\tbob\nbob\tparent\tcleo\nann\tparent\tbea\nbea\tparent\tcleo\nx\tgrandparent\ty\n"
RULE = "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"
QUICK = {"num_slots": 4, "num_layers": 3, "epoch_steps": 4, "max_epochs": 2, "look_every": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A model that is a rule, exactly, and facts."""
    folder = tmp_path_factory.mktemp("predict")
    options = {"num_layers": 4, "device": "cpu"}
    Reshuffle.from_constraints(constraints_for(parse_rules(RULE)), **options).save(folder / "model")
    (folder / "facts.tsv").write_text(FACTS, encoding="utf-8")
    return [str(folder / "model"), str(folder / "facts.tsv")]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A model with evidence, trained a little, and its facts."""
    folder = tmp_path_factory.mktemp("trained")
    chain = [(f"p{n}", "parent", f"p{n + 1}") for n in range(12)]
    chain += [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(0, 11)]
    lines = "".join("\t".join(triple) + "\n" for triple in chain)
    (folder / "facts.tsv").write_text(lines, encoding="utf-8")
    Reshuffle(**QUICK).fit(KnowledgeGraph(chain)).save(folder / "model")
    return [str(folder / "model"), str(folder / "facts.tsv")]


@pytest.fixture(scope="module")
def soft(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A model that is nearly a rule, with a channel per query, and facts."""
    folder = tmp_path_factory.mktemp("soft")
    options = {"num_layers": 4, "device": "cpu", "strength": 3.0, "initial": "head"}
    Reshuffle.from_constraints(constraints_for(parse_rules(RULE)), **options).save(folder / "model")
    more = "ann\tparent\tbert\nbert\tparent\tcora\n"
    (folder / "facts.tsv").write_text(FACTS + more, encoding="utf-8")
    return [str(folder / "model"), str(folder / "facts.tsv")]


def test_a_table_with_reasons(files, capsys):
    command = [
        "predict",
        *files,
        "--head",
        "ann",
        "--relation",
        "grandparent",
        "--top",
        "2",
    ]
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["rank", "score", "constraint", "head", "relation", "tail"]
    assert lines[1].split() == ["1", "0.000", "captured", "ann", "grandparent", "cleo"]
    place = lines.index(f"grandparent(ann, cleo)    [{RULE}]")
    assert lines[place - 1] == "100% of its support"
    assert lines[place + 1 : place + 3] == ["├─ parent(ann, bob)    fact", "└─ parent(bob, cleo)    fact"]


def test_heads_known_ones_and_json(trained, capsys):
    command = ["predict", *trained, "--relation", "parent", "--tail", "p3", "--top", "13", "--json"]
    assert main([*command, "--known", "mark", "--reasons", "2"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert [row["head"] for row in rows if row["known"]] == ["p2"]
    assert len(rows) == 12 and all(row["tail"] == "p3" and len(row["reasons"]) <= 2 for row in rows)
    assert sorted(rows[0]["evidence"]) == ["far", "negative", "proximity", "rules", "unary", "ways"]
    assert rows == sorted(rows, key=lambda row: -row["score"])
    assert main([*command, "--reasons", "0"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert len(rows) == 11 and not {"p2", "p3"} & {row["head"] for row in rows} and "reasons" not in rows[0]
    assert main(command) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert max(len(row["reasons"]) for row in rows) == 1


def test_the_scores_of_known_ones_are_told_apart(trained, capsys):
    command = ["predict", *trained, "--head", "p1", "--relation", "parent", "--top", "13", "--reasons", "0"]
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    for more in ([], ["--json"]):
        assert main([*command, "--known", "mark", *more]) == 0
        assert capsys.readouterr().err == (
            "scores of known facts are made with the fact itself in the graph, and do not compare with the others'\n"
        )


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_all_links_to_a_file(trained, ending, tmp_path: Path, capsys):
    target = tmp_path / f"missing{ending}"
    assert main(["predict", *trained, "--all", "--relation", "parent", "--top", "7", "-o", str(target)]) == 0
    assert capsys.readouterr().out == f"{target}: 7 predictions\n"
    if ending == ".parquet":
        assert set(pq.read_table(target).column("relation").to_pylist()) == {"parent"}
        return
    header, *lines = target.read_text(encoding="utf-8").splitlines()
    mark = "," if ending == ".csv" else "\t"
    assert header.split(mark)[:5] == ["head", "relation", "tail", "plausibility", "score"]
    assert [line.split(mark)[1] for line in lines] == ["parent"] * 7


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_reasons_go_to_the_file_too(files, ending, tmp_path: Path, capsys):
    target = tmp_path / f"new{ending}"
    command = [
        "predict",
        *files,
        "--head",
        "ann",
        "--relation",
        "grandparent",
        "--top",
        "1",
        "-o",
        str(target),
    ]
    assert main([*command, "--reasons", "2"]) == 0
    told = f"100% of its support: {RULE}: parent(ann, bob), parent(bob, cleo)"
    if ending == ".parquet":
        assert told in pq.read_table(target).column("reasons").to_pylist()[0]
    else:
        mark = "," if ending == ".csv" else "\t"
        rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines(), delimiter=mark))
        assert told in rows[0]["reasons"].split(" | ")
    assert main(command) == 0
    assert ending == ".parquet" or "reasons" not in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(("end", "place"), [("head", 0), ("tail", 2)])
def test_what_is_not_known_about_one_entity(trained, end: str, place: int, capsys):
    assert main(["predict", *trained, f"--{end}", "p3", "--top", "300", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert {row[end] for row in rows} == {"p3"} and {row["relation"] for row in rows} == {
        "parent",
        "grandparent",
    }
    facts = {tuple(line.split("\t")) for line in Path(trained[1]).read_text(encoding="utf-8").splitlines()}
    assert not facts & {(row["head"], row["relation"], row["tail"]) for row in rows}
    assert rows == sorted(rows, key=lambda row: -row["plausibility"])
    assert all(row["head"] != row["tail"] for row in rows)  # no fact leads from anyone to itself


def test_all_links_of_all_relations(trained, capsys):
    assert main(["predict", *trained, "--all", "--top", "300", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    assert {row["relation"] for row in rows} == {"parent", "grandparent"}
    assert not any(row["known"] or "reasons" in row for row in rows)


def test_all_links_come_in_the_order_of_what_they_show(trained, tmp_path: Path, capsys):
    command = ["predict", *trained, "--all", "--top", "50"]
    assert main([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["predictions"]
    values = [row["plausibility"] for row in rows]
    assert values == sorted(values, reverse=True) and len(set(values)) > 10
    assert main(command) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.split()[:3] == ["rank", "plausibility", "score"]
    assert first.split()[1] == f"{values[0]:.3f}"
    for ending in (".csv", ".parquet"):
        assert main([*command, "-o", str(tmp_path / f"links{ending}")]) == 0
    with (tmp_path / "links.csv").open(encoding="utf-8") as file:
        assert [float(row["plausibility"]) for row in csv.DictReader(file)] == values
    assert pq.read_table(tmp_path / "links.parquet").column("plausibility").to_pylist() == values


def test_all_links_within_limits(trained, capsys):
    def found(*words: str) -> list[dict]:
        assert main(["predict", *trained, "--all", "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)["predictions"]

    def links(rows: list[dict]) -> list[tuple]:  # the last bits of a score depend on the questions beside it
        return [(row["head"], row["relation"], row["tail"]) for row in rows]

    every, facts = found("--top", "1000"), read_graph(trained[1])
    of_both = [[row for row in every if row["relation"] == name] for name in ("parent", "grandparent")]
    wanted = [row for row in every if any(row in rows[:2] for rows in of_both)]
    assert links(found("--per-relation", "2")) == links(wanted)
    last = {"parent": "p12", "grandparent": "p11 p12"}
    wanted = [
        row for row in every if row["tail"] == "p2" and row["head"] not in last[row["relation"]].split()
    ]
    typed = ("--tail-type", "p3", "--type-relation", "parent")  # p2 is the one whose parent fact names p3
    assert links(found("--top", "3", "--seen-ends", *typed)) == links(wanted)[:3]
    joined = {frozenset((head, tail)) for head, _, tail in facts}
    wanted = [row for row in every if frozenset((row["head"], row["tail"])) not in joined]
    assert links(found("--top", "3", "--not-linked")) == links(wanted)[:3]
    least = sorted(row["confidence"] for row in every)[-5]
    assert links(found("--min-probability", str(least))) == links(
        [row for row in every if row["confidence"] >= least]
    )


def test_the_questions_that_rules_answer_best_are_asked_unless_all_are(
    trained, tmp_path, capsys, monkeypatch
):
    for name, value in (("_WORTH", 0), ("_LEAST", 1), ("_TIMES", 1)):
        monkeypatch.setattr(link_candidates, name, value)
    facts = tmp_path / "facts.tsv"
    facts.write_text("".join(f"q{place}\tparent\tq{place + 1}\n" for place in range(9)), encoding="utf-8")
    asked = ["predict", trained[0], str(facts), "--all", "--top", "3"]
    assert main(asked) == 0
    assert re.search(r"^[1-3] of \d+ questions were asked, to which the rules", capsys.readouterr().err, re.M)
    assert main([*asked, "--all-questions"]) == 0
    assert "questions were asked" not in capsys.readouterr().err


def test_all_links_have_heads_without_such_a_fact(files, capsys):
    assert main(["predict", *files, "--all", "--relation", "grandparent", "--top", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[-4:] == ["captured", "ann", "grandparent", "cleo"]


def test_a_relation_of_the_model_that_the_facts_do_not_have(trained, tmp_path: Path, capsys):
    facts, queries = tmp_path / "parents.tsv", tmp_path / "queries.tsv"
    facts.write_text("a\tparent\tb\nb\tparent\tc\nc\tparent\td\n", encoding="utf-8")
    queries.write_text("a\tgrandparent\tc\nb\tgrandparent\td\n", encoding="utf-8")
    command = ["predict", trained[0], str(facts), "--relation", "grandparent", "--json"]
    for asked in (["--head", "a"], ["--tail", "c"], ["--all"]):
        assert main([*command, *asked]) == 0
        rows = json.loads(capsys.readouterr().out)["predictions"]
        assert len(rows) >= 3 and {row["relation"] for row in rows} == {"grandparent"}
    assert main(["evaluate", trained[0], "--facts", str(facts), "--queries", str(queries), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["queries"] == 2
    assert main(["evaluate", trained[0], "--facts", str(facts), "--queries", str(facts)]) == 0


def test_no_new_link_exits_with_1(files, tmp_path: Path, capsys):
    facts = tmp_path / "full.tsv"
    facts.write_text("a\tparent\ta\nb\tgrandparent\tb\na\tparent\tb\n", encoding="utf-8")
    assert main(["predict", files[0], str(facts), "--head", "a", "--relation", "parent"]) == 1
    assert capsys.readouterr().out == "no predictions\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--head", "an", "--relation", "parent"], "unknown entity 'an'; did you mean 'ann'?\n"),
        (["--head", "ann", "--relation", "parents"], "unknown relation 'parents'; did you mean 'parent' or"),
        (["--head", "ann", "--relation", "parent", "--top", "0"], "--top 0\n  hint: give 1 or more\n"),
        (
            ["--head", "ann", "--relation", "parent", "--reasons", "-1"],
            "--reasons -1\n  hint: give 0 or more\n",
        ),
        (
            ["--all", "-o", "links.xlsx"],
            "links.xlsx: found the ending '.xlsx', expected one of .csv, .tsv, .parquet, .arrow, .json, ",
        ),
        (
            ["--all", "-o", "no/links.csv"],
            "no/links.csv: cannot be written: the directory 'no' does not exist",
        ),
        (
            ["--all", "--master", "local[2]"],
            "--master is for Spark\n  hint: add --engine spark, or leave it out",
        ),
        (
            ["--all", "--reasons-only"],
            "/model is a soft model\n  hint: train one: reshuffle train FACTS -o MODEL --recipe rules\n",
        ),
        (
            ["--all", "--min-probability", "0.5"],
            "this model does not say how likely its links are\n  hint: leave the least probability out, or train the "
            "model with validation triples, which calibrate it\n",
        ),
        (["--all", "--engine", "spark", "--partitions", "0"], "0 partitions\n  hint: give 1 or more\n"),
        (
            ["--all", "--engine", "spark", "--device", "cuda:1"],
            "workers of Spark compute on CPUs\n  hint: leave out --device, or leave out --engine\n",
        ),
    ],
)
def test_what_cannot_be_answered(files, arguments, message, capsys):
    assert main(["predict", *files, *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == "" and message in told.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give --head H or --tail T, with or without --relation R; or --all"),
        (["--head", "ann", "--known", "mark"], "--known mark needs --relation R"),
        (["--head", "ann", "--relation", "parent", "--tail", "bob"], "give --head H or --tail T"),
        (["--all", "--head", "ann"], "--all asks about all heads"),
        (["--head", "ann", "--engine", "spark"], "--engine spark needs --all"),
        (["--head", "ann", "--all-questions"], "--all-questions needs --all"),
        (["--all", "--engine", "duckdb"], "argument --engine: invalid choice: 'duckdb'"),
    ],
)
def test_bad_usage(files, arguments, message, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["predict", *files, *arguments])
    assert stopped.value.code == 2 and message in capsys.readouterr().err


def test_spark_and_torchrun_do_not_share_the_work_both(files, capsys, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert main(["predict", *files, "--all", "--engine", "spark"]) == 2
    assert "Spark and torchrun both share the work\n  hint: leave out torchrun" in capsys.readouterr().err


def test_facts_of_relations_never_learned_are_told(files, tmp_path: Path, capsys):
    facts = tmp_path / "more.tsv"
    facts.write_text(FACTS + "ann\tlikes\tbob\n", encoding="utf-8")
    assert main(["predict", files[0], str(facts), "--head", "ann", "--relation", "grandparent"]) == 0
    told = capsys.readouterr().err
    assert told == "1 of 6 facts is skipped, of relations never seen in training: 'likes' (1)\n"
    facts.write_text(FACTS + "ann\tparents\tbob\n", encoding="utf-8")
    assert main(["predict", files[0], str(facts), "--head", "ann", "--relation", "grandparent"]) == 0
    assert capsys.readouterr().err.endswith(": 'parents' (1); did you mean 'parent' for 'parents'?\n")
    facts.write_text(FACTS + "ann\tlikes\tbob\n", encoding="utf-8")
    assert main(["predict", files[0], str(facts), "--head", "ann", "--relation", "likes"]) == 2
    assert "the model does not know the relation 'likes'" in capsys.readouterr().err


def test_scores_that_are_no_numbers_are_refused(trained, tmp_path: Path, capsys):
    model = Reshuffle.load(trained[0], device="cpu")
    for parameter in model.model.parameters():
        parameter.data.fill_(np.nan)
    with pytest.raises(ReshuffleError) as caught:
        model.on(read_graph(trained[1])).predict(head="p1", relation="parent")
    assert str(caught.value) == (
        "the scorer returned NaN for a candidate, expected a number\n"
        "  hint: the training may have diverged; use an earlier checkpoint"
    )
    model.save(tmp_path / "model")
    asked = ["--head", "p1", "--relation", "parent"]
    assert main(["predict", str(tmp_path / "model"), trained[1], *asked]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{tmp_path / 'model' / 'model.safetensors'}: the array ")
    assert told.endswith(" holds numbers that are not finite\n  hint: train the model again\n")


def test_no_model(files, tmp_path: Path, capsys):
    assert main(["predict", str(tmp_path), files[1], "--all"]) == 2
    assert "not a model directory: it has no settings.toml" in capsys.readouterr().err


# --- explain and infer ------------------------------------------------------------------------------------------


def test_explain_by_a_model(files, capsys):
    assert main(["explain", *files, "ann", "grandparent", "cleo"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("grandparent(ann, cleo): captured, score ")
    assert text.count(f"[{RULE}]") == 2 and "reason 2: 100% of its support" in text
    assert main(["explain", *files, "ann", "grandparent", "cleo", "--most", "1", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["captured"] is True and len(data["reasons"]) == 1
    assert data["reasons"][0]["facts"] == [["ann", "parent", "bob"], ["bob", "parent", "cleo"]]


def test_explain_exits_with_1_where_nothing_supports(files, capsys):
    assert main(["explain", *files, "cleo", "grandparent", "ann"]) == 1
    assert "nothing supports it" in capsys.readouterr().out


def test_explain_exits_with_1_where_only_the_channel_of_the_query_says_yes(trained, capsys):
    assert main(["explain", *trained, "p1", "grandparent", "p1", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert (data["captured"], data["follows"], data["supported"]) == (True, False, False)
    assert main(["explain", *trained, "p1", "grandparent", "p1"]) == 1
    text = capsys.readouterr().out
    assert text.startswith("grandparent(p1, p1): constraint score 0, but it does not follow, score ")


def test_every_triple_that_infer_lists_is_explained_by_the_hardened_constraints(soft, capsys):
    assert main(["infer", *soft]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "ann\tgrandparent\tcleo" in lines
    for line in lines:
        assert main(["explain", *soft, *line.split("\t"), "--hard"]) == 0
        assert "    fact\n" in capsys.readouterr().out
    assert main(["explain", *soft, "ann", "grandparent", "cleo", "--hard", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["follows"] is True and [proof["triple"] for proof in data["proofs"]] == [
        ["ann", "grandparent", "cleo"]
    ]
    assert main(["explain", *soft, "ann", "grandparent", "ann", "--hard"]) == 1
    assert capsys.readouterr().out == "grandparent(ann, ann) does not follow (exact)\n"


def test_a_soft_no_names_the_hardened_yes(soft, capsys, monkeypatch):
    # On hardened matrices a reasoner may need minutes to get ready, which is too long for a remark.
    monkeypatch.setattr("reshuffle.reasoning.Reasoner", None)
    assert main(["explain", *soft, "ann", "grandparent", "cleo"]) == 1
    told = capsys.readouterr()
    assert "too little to count as support: it would have to fit better than 90% of the others\n" in told.out
    assert "nothing supports it" not in told.out
    hardened = "it follows from the hardened matrices, which `infer` goes by: `explain --hard` shows how\n"
    assert told.err == hardened
    assert main(["explain", *soft, "cleo", "grandparent", "ann"]) == 1
    assert capsys.readouterr().err == ""


def test_several_slots_have_several_paths_and_all_of_them_are_shown(tmp_path: Path, capsys):
    """t asks for what r brings to slot 0 and s to slot 1."""
    sources = np.array([[0, -1], [-1, 1], [0, 1], [-1, -1], [-1, -1], [-1, -1]], dtype=np.int32)
    constraints = OrderingConstraints(("r", "s", "t", "r^-1", "s^-1", "t^-1"), sources)
    Reshuffle.from_constraints(constraints, device="cpu").save(tmp_path / "model")
    (tmp_path / "facts.tsv").write_text("a\tr\tb\na\ts\tb\nx\tt\ty\n", encoding="utf-8")
    command = ["explain", str(tmp_path / "model"), str(tmp_path / "facts.tsv"), "a", "t", "b", "--hard"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert text.startswith(
        "2 paths, which together meet every slot that the relation asks for:\n\nt(a, b)    ["
    )
    assert "─ r(a, b)    fact" in text and "─ s(a, b)    fact" in text
    assert main([*command, "--most", "1"]) == 0
    assert capsys.readouterr().out.startswith("t(a, b)    [")


def test_a_model_without_a_hard_form_is_explained_as_well(tmp_path: Path, capsys):
    facts = [(f"p{n}", "parent", f"p{n + 1}") for n in range(12)]
    Reshuffle(**QUICK, recipe="paper", row_function="square").fit(KnowledgeGraph(facts)).save(
        tmp_path / "model"
    )
    (tmp_path / "facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts), encoding="utf-8")
    files = [str(tmp_path / "model"), str(tmp_path / "facts.tsv")]
    assert main(["explain", *files, "p5", "parent", "p1"]) in (0, 1)
    assert "hard" not in capsys.readouterr().err
    assert main(["explain", *files, "p5", "parent", "p1", "--hard"]) == 2
    assert "the squared variant cannot be hardened" in capsys.readouterr().err


def test_explain_by_a_model_says_what_the_evidence_looked_at(trained, capsys):
    assert main(["explain", *trained, "p1", "grandparent", "p3"]) == 0
    text = capsys.readouterr().out
    assert ", a fact\n" in text
    assert "p3 is the tail of no other fact of grandparent" in text
    assert "p3 is 1 step away from p1" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["anne", "parent", "bob"], "unknown entity 'anne'; did you mean 'ann'"),
        (
            ["ann", "parent", "bob", "--bound", "2"],
            "--bound and --engine are for proofs, and a soft model has scores\n",
        ),
        (["ann", "parent", "bob", "--most", "0"], "--most 0 asks for no proof"),
    ],
)
def test_what_a_model_cannot_explain(files, arguments, message, capsys):
    assert main(["explain", *files, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_infer_by_the_hardened_constraints(files, capsys):
    assert main(["infer", *files]) == 0
    told = capsys.readouterr()
    assert told.out == "ann\tgrandparent\tcleo\n"
    assert "reasoning with the hard constraints nearest to what was learned" in told.err
