"""A rule model through the verbs: train, read, strike out, predict."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from reshuffle.cli.main import main
from reshuffle.cli.rule_training import quick_minutes
from reshuffle.errors import InputError
from reshuffle.explorer.decisions import Decisions
from reshuffle.kg import read_graph
from reshuffle.kg.io.files import made_directory
from reshuffle.locks import alone_in
from reshuffle.rulelist import load_rule_model
from reshuffle.rulelist.links import rule_links
from reshuffle.rulelist.model_text import FILE
from reshuffle.theories.kinds import MODEL_RULES

if TYPE_CHECKING:
    from pathlib import Path

RULE = "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"
FAST = ("--set", "steps=40")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rule_models")
    lines = []
    for n in range(20):
        lines += [f"a{n}\tparent\tb{n}", f"b{n}\tparent\tc{n}", f"c{n}\tknows\ta{(7 * n) % 20}"]
        lines += [f"a{n}\tgrandparent\tc{n}"]
    (folder / "facts.tsv").write_text("\n".join(lines) + "\n")
    (folder / "other.tsv").write_text("x\tparent\ty\ny\tparent\tz\nz\tknows\tw\n")
    (folder / "queries.tsv").write_text("x\tgrandparent\tz\n")
    assert (
        main(
            [
                "train",
                str(folder / "facts.tsv"),
                "-o",
                str(folder / "model"),
                "--recipe",
                "rules",
                *FAST,
                "-q",
            ]
        )
        == 0
    )
    return folder


def asked(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> str:
    assert main(list(words)) == status
    return capsys.readouterr().out


def test_the_directory_holds_the_list_alone(world: Path) -> None:
    assert [path.name for path in (world / "model").iterdir()] == ["model.rules"]


def test_verbs_know_the_file_without_importing_the_model() -> None:
    assert MODEL_RULES == FILE


def test_predict_and_explain_tell_the_same_sum(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, facts = str(world / "model"), str(world / "other.tsv")
    found = json.loads(
        asked(capsys, "predict", model, facts, "--head", "x", "--relation", "grandparent", "--json")
    )
    first = found["predictions"][0]
    assert (first["head"], first["tail"]) == ("x", "z")
    told = json.loads(asked(capsys, "explain", model, facts, "x", "grandparent", "z", "--json"))
    assert told["score"] == first["score"]
    assert told["supported"]
    assert [part for part in told["parts"] if part.get("rule") == RULE]
    text = asked(capsys, "explain", model, facts, "x", "grandparent", "z")
    assert f"{RULE}  (1 walk)\n              parent(x, y), parent(y, z)" in text
    assert "no rule leads to it" in asked(capsys, "explain", model, facts, "w", "grandparent", "w", status=1)


def test_predict_asks_about_all_relations_and_writes_tables(
    world: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, facts = str(world / "model"), str(world / "other.tsv")
    table = asked(capsys, "predict", model, facts, "--head", "x", "--reasons", "0")
    assert ["x", "grandparent", "z"] in [line.split()[-3:] for line in table.splitlines()]
    out = world / "links.tsv"
    asked(capsys, "predict", model, facts, "--all", "--top", "3", "-o", str(out), "--reasons", "1")
    header, first, *_ = out.read_text().splitlines()
    assert header.split("\t")[:5] == ["head", "relation", "tail", "probability", "score"]
    assert RULE in first


def test_filters_of_missing_links(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("predict", str(world / "model"), str(world / "other.tsv"), "--all", "--json")
    every = json.loads(asked(capsys, *files, "--per-relation", "100"))["predictions"]
    assert len(every) > 1
    one_each = json.loads(asked(capsys, *files, "--per-relation", "1"))["predictions"]
    assert len(one_each) == len({row["relation"] for row in every})
    middle = every[len(every) // 2]["probability"]
    likely = json.loads(asked(capsys, *files, "--min-probability", str(middle - 1e-6)))["predictions"]
    assert likely == [row for row in every if row["probability"] >= middle]
    main([*files, "--per-relation", "100", "--reasons-only"])
    reasons = json.loads(capsys.readouterr().out)
    assert reasons["predictions"] == [row for row in every if row["rules"] > row["distance"] + row["types"]]


def test_limits_of_missing_links(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = world / "typed.nt"
    types = {"x": "Child", "y": "Adult", "z": "Adult"}
    lines = (world / "other.tsv").read_text().split()
    triples = [lines[place : place + 3] for place in range(0, len(lines), 3)]
    triples += [[name, "http://www.w3.org/1999/02/22-rdf-syntax-ns#type", of] for name, of in types.items()]
    named = [[word if ":" in word else f"http://ex.org/{word}" for word in triple] for triple in triples]
    facts.write_text("".join(f"<{h}> <{r}> <{t}> .\n" for h, r, t in named))
    (world / "typed.rules").write_text(
        "<http://ex.org/parent>(X, Y) -> <http://ex.org/knows>(Y, X)\n"
        "<http://ex.org/knows>(X, Y) -> <http://ex.org/knows>(Y, X)\n"
    )
    (world / "ex.ttl").write_text("@prefix ex: <http://ex.org/> .\n")
    files = ("predict", str(world / "typed.rules"), str(facts), "--all", "--json")
    files += ("--prefixes", str(world / "ex.ttl"))

    def found(*words: str, status: int = 0) -> set[str]:
        rows = json.loads(asked(capsys, *files, *words, status=status))["predictions"]
        return {" ".join(row[name].rsplit("/", 1)[-1] for name in ("head", "tail")) for row in rows}

    assert found() == {"y x", "z y", "w z"}
    assert found("--tail-type", "ex:Child") == {"y x"}
    assert found("--head-type", "ex:Adult", "--tail-type", "ex:Child", "--tail-type", "ex:Adult") == {
        "y x",
        "z y",
    }
    assert found("--head-type", "ex:Child", status=1) == set()
    assert found("--seen-ends", status=1) == set()
    assert found("--not-linked", status=1) == set()
    assert found("--tail-type", "ex:y", "--type-relation", "ex:parent") == {"y x"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--head", "x", "--per-relation", "2"], "--per-relation needs --all"),
        (["--head", "x", "--resume"], "--resume needs --all"),
        (["--all", "--resume"], "--resume needs -o OUT"),
        (["--all", "--min-probability", "2"], "found the least probability 2.0"),
        (["--all", "--per-relation", "0"], "top = 0"),
        (["--head", "x", "--head-type", "child"], "--head-type needs --all"),
        (["--head", "x", "--not-linked"], "--not-linked needs --all"),
        (["--all", "--all-questions"], "--all-questions needs a soft model, and"),
        (["--all", "--type-relation", "parent"], "--type-relation needs --head-type or --tail-type"),
        (["--all", "--tail-type", "y"], "no relation of these facts is known to say what something is"),
        (
            ["--all", "--tail-type", "yy", "--type-relation", "parent"],
            "unknown type 'yy'; did you mean 'y'",
        ),
    ],
)
def test_filters_that_do_not_fit(
    world: Path, words: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(SystemExit):
        assert main(["predict", str(world / "model"), str(world / "other.tsv"), *words]) == 2
    assert told in capsys.readouterr().err


def test_ctrl_c_leaves_the_links_that_are_there(
    world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second block of entities is interrupted: the first one's links are written, and the same command goes on."""
    monkeypatch.setattr(rule_links, "BLOCK", 1)
    out, best = world / "missing.tsv", rule_links.Wanted.best
    command = ["predict", str(world / "model"), str(world / "other.tsv"), "--all", "-o", str(out)]
    calls = iter(range(1000))

    def interrupted(self: rule_links.Wanted, links: rule_links.Links) -> rule_links.Links:
        if threading.current_thread() is threading.main_thread() and next(calls) == 1:
            raise KeyboardInterrupt
        return best(self, links)

    with monkeypatch.context() as patch:
        patch.setattr(rule_links.Wanted, "best", interrupted)
        assert main(command) == 130
    told = capsys.readouterr().err
    assert "stopped after " in told and "the same command continues from here" in told
    part = out.read_text()
    assert main([*command, "--resume"]) == 0
    whole = out.read_text()
    assert set(part.splitlines()) <= set(whole.splitlines())
    assert main(command) == 0
    assert out.read_text() == whole
    assert main([*command, "--resume"]) == 2
    assert "no unfinished search" in capsys.readouterr().err


def test_evaluate_ranks_it(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ("--facts", str(world / "other.tsv"), "--queries", str(world / "queries.tsv"))
    report = json.loads(
        asked(capsys, "evaluate", str(world / "model"), *files, "--protocol", "full", "--json")
    )
    assert report["metrics"]["mrr"] == 1.0


def test_rules_prints_the_list(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(world / "model")
    assert RULE in asked(capsys, "rules", model)
    lines = asked(
        capsys, "rules", model, "--format", "anyburl", "--min-confidence", "0.75", "--max-length", "2"
    )
    assert "20\t20\t0.8\tgrandparent(X,Y) <= parent(X,A), parent(A,Y)" in lines.splitlines()
    listed = json.loads(asked(capsys, "rules", model, "--json", "--top", "1"))
    assert len(listed["rules"]) == 1
    for key in ("weight", "confidence", "support"):
        rows = json.loads(asked(capsys, "rules", model, "--json", "--sort", key))["rules"]
        assert [row[key] for row in rows] == sorted((row[key] for row in rows), reverse=True)
    heads = [
        row["head"] for row in json.loads(asked(capsys, "rules", model, "--json", "--sort", "head"))["rules"]
    ]
    assert heads == sorted(heads)
    assert main(["rules", model, "--sort", "degree"]) == 2
    assert "the rules of a rule model have no degree" in capsys.readouterr().err
    assert main(["rules", model, "--hard"]) == 2
    assert "--hard is not for a rule model" in capsys.readouterr().err


def test_rules_are_measured_on_other_facts(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of three pairs that two parents join, one is a fact; weights stay."""
    lines = [f"{x}{n}\tparent\t{y}{n}" for n in range(3) for x, y in ("xy", "yz")]
    (world / "others.tsv").write_text("\n".join([*lines, "x0\tgrandparent\tz0"]) + "\n")
    model, facts = str(world / "model"), str(world / "others.tsv")

    def told(*words: str) -> dict[str, dict[str, object]]:
        rows = json.loads(asked(capsys, "rules", model, "--json", *words))["rules"]
        return {row["rule"]: row for row in rows}

    before, after = told(), told("--on", facts)
    assert before.keys() == after.keys()
    row = after[RULE]
    assert (row["support"], row["predictions"], row["confidence"]) == (1, 3, 0.125)
    assert all(after[rule]["weight"] == before[rule]["weight"] for rule in before)
    assert list(told("--on", facts, "--min-support", "1")) == [
        rule for rule, row in after.items() if row["support"]
    ]
    assert main(["rules", model, "--on", str(world / "none.tsv")]) == 2
    assert "none.tsv" in capsys.readouterr().err


def test_infer_reasons_with_sure_rules(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, facts = str(world / "model"), str(world / "other.tsv")
    assert main(["infer", model, facts, "--engine", "chase"]) == 0
    done = capsys.readouterr()
    assert "x\tgrandparent\tz\n" in done.out
    assert "rules, those without an exception in the training facts" in done.err
    assert main(["infer", model, facts, "--engine", "chase", "--min-confidence", "0.99"]) == 2
    assert "no rule is sure enough to reason with" in capsys.readouterr().err


def test_an_edited_list_is_what_predicts_and_can_be_fitted_again(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (world / "model" / "model.rules").read_text()
    kept = [line for line in text.splitlines() if "-> grandparent" not in line and "-> parent" not in line]
    place = kept.index("[rules]") + 1
    edited = tmp_path / "edited"
    edited.mkdir()
    (edited / "model.rules").write_text(
        "\n".join([*kept[:place], "9\tknows(X, Y) -> grandparent(X, Y)", *kept[place:]])
    )
    facts = str(world / "other.tsv")
    found = json.loads(
        asked(capsys, "predict", str(edited), facts, "--head", "z", "--relation", "grandparent", "--json")
    )
    assert found["predictions"][0]["tail"] == "w"
    assert found["predictions"][0]["rules"] == 9.0
    words = ("train", str(world / "facts.tsv"), "-o", str(edited), "--recipe", "rules", "--refit", *FAST)
    assert "with weights, in" in asked(capsys, *words)
    lines = (edited / "model.rules").read_text().splitlines()
    again = [line for line in lines if line.endswith("-> grandparent(X, Y)")]
    assert len(again) == 1
    assert again[0].split("\t")[2:5] == ["20", "0", "0"]


def test_decisions_change_a_refit(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts, file = str(world / "facts.tsv"), tmp_path / "my.decisions.jsonl"
    decisions, weights = Decisions(file), []
    for decided in (False, True):
        folder = tmp_path / str(decided)
        folder.mkdir()
        (folder / "model.rules").write_text((world / "model" / "model.rules").read_text())
        if decided:
            found = load_rule_model(folder).on(read_graph(facts)).missing(top=4)
            for place, link in enumerate(found):
                decisions.add(link.triple, "accept" if place == 0 else "reject")
        more = ("--decisions", str(file)) if decided else ()
        assert main(["train", facts, "-o", str(folder), "--recipe", "rules", "--refit", *FAST, *more]) == 0
        told = capsys.readouterr().err
        assert ("1 accepted link as facts, 3 rejected links as wrong answers" in told) == decided
        weights.append([one.weight for one in load_rule_model(folder).rules])
    assert weights[0] != weights[1]


def test_any_rule_file_ranks(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mined.txt").write_text("10\t9\t0.6\tgrandparent(X,Y) <= parent(X,A), parent(A,Y)\n")
    words = (
        "predict",
        str(tmp_path / "mined.txt"),
        str(world / "other.tsv"),
        "--head",
        "x",
        "--relation",
        "grandparent",
    )
    found = json.loads(asked(capsys, *words, "--json"))
    assert found["predictions"][0]["tail"] == "z"
    assert found["predictions"][0]["score"] == 0.9163


def test_a_rule_file_with_confidences_is_taken_wherever_a_model_is(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mined = tmp_path / "mined.txt"
    mined.write_text(
        "10\t9\t0.9\tgrandparent(X,Y) <= parent(X,A), parent(A,Y)\n10\t4\t0.4\tknows(X,Y) <= parent(X,Y)\n"
    )
    files = (
        "--facts",
        str(world / "other.tsv"),
        "--queries",
        str(world / "queries.tsv"),
        "--protocol",
        "full",
    )
    report = json.loads(asked(capsys, "evaluate", str(mined), *files, "--json"))
    assert report["metrics"]["mrr"] == 1
    listed = asked(capsys, "rules", str(mined), "--format", "anyburl", "--min-confidence", "0.5")
    assert listed == "10\t9\t0.9\tgrandparent(X,Y) <= parent(X,A), parent(A,Y)\n"
    measured = json.loads(asked(capsys, "rules", str(mined), "--on", str(world / "facts.tsv"), "--json"))[
        "rules"
    ]
    assert [row["support"] for row in measured] == [20, 0]
    (tmp_path / "plain.rules").write_text(RULE)  # without confidences, which --on gives
    plain = asked(capsys, "rules", str(tmp_path / "plain.rules"), "--on", str(world / "facts.tsv"), "--json")
    assert json.loads(plain)["rules"][0]["support"] == 20
    words = ("infer", str(mined), str(world / "other.tsv"))
    assert asked(capsys, *words) == "x\tgrandparent\tz\nx\tknows\ty\ny\tknows\tz\n"
    assert asked(capsys, *words, "--min-confidence", "0.5") == "x\tgrandparent\tz\n"
    asked(capsys, *words, "--min-confidence", "0.95", status=2)
    with pytest.raises(SystemExit):
        main([*words, "--min-confidence", "95"])
    assert "a confidence is between 0 and 1" in capsys.readouterr().err


def test_rules_from_elsewhere_take_part(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.rules").write_text("knows(X, Y) & knows(Y, Z) -> grandparent(X, Z)\n")
    more = ("--rules", str(tmp_path / "mine.rules"), "--rules", str(world / "model"))
    words = ("train", str(world / "facts.tsv"), "-o", str(tmp_path / "model"), "--recipe", "rules", *FAST)
    asked(capsys, *words, *more)
    assert (
        "knows(X, Y) & knows(Y, Z) -> grandparent(X, Z)" in (tmp_path / "model" / "model.rules").read_text()
    )


def test_a_quick_look_is_a_rule_model(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(capsys, "train", str(world / "facts.tsv"), "-o", str(tmp_path / "model"), "--quick", *FAST)
    assert (tmp_path / "model" / "model.rules").read_text() == (world / "model" / "model.rules").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--quick", "--recipe", "paper"), "--quick is --recipe rules: leave out --recipe paper"),
        (("--recipe", "rules", "--config", "c.toml"), "--config is not for --recipe rules"),
        (("--recipe", "rules", "--refit", "--resume"), "--refit begins anew"),
        (("--recipe", "rules", "--decisions", "d.jsonl"), "--decisions needs --refit"),
        (("--recipe", "rules", "--refit", "--rejected-weight", "3"), "--rejected-weight needs --decisions"),
        (("--refit",), "--rules and --refit need --recipe rules"),
        (("--engine", "spark"), "--engine spark looks for rules: it needs --recipe rules"),
        (("--recipe", "rules", "--refit", "--engine", "spark"), "it needs --recipe rules, without --refit"),
        (("--quick", "--partitions", "4"), "--partitions is for Spark"),
        (("--recipe", "rules", "--set", "slots=3"), "there is no setting 'slots'"),
        (("--recipe", "rules", "--refit"), "not a rule model"),
    ],
)
def test_options_that_do_not_fit_are_told(
    world: Path, tmp_path: Path, words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(["train", str(world / "facts.tsv"), "-o", str(tmp_path / "none"), *words])
    except SystemExit as stopped:
        status = int(stopped.code or 0)
    assert status == 2
    assert message in capsys.readouterr().err


def test_a_second_training_in_the_directory_is_refused(
    world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", str(world / "facts.tsv"), "-o", str(tmp_path / "list"), "--recipe", "rules", *FAST]
    with alone_in(made_directory(tmp_path / "list"), "training"):
        assert main(words) == 2
    assert "another training uses this directory" in capsys.readouterr().err
    assert not (tmp_path / "list" / FILE).exists()


def test_questions_about_one_entity_are_those_of_every_model(world: Path) -> None:
    answers = load_rule_model(world / "model").on([("x", "parent", "y"), ("y", "parent", "z")])
    with pytest.raises(InputError, match="found no end of the question"):
        answers.predict()
    with pytest.raises(InputError, match="found both ends of a link"):
        answers.missing(head="x", tail="z")
    notes: list[str] = []
    answers.remove([("x", "parent", "z")], notes=notes.append)
    assert notes == ["1 of 1 triple is no fact, and skipped: parent(x, z)"]
    links = answers.missing()
    assert [link.score for link in links] == [answers.explain(*link.triple).score for link in links]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--minutes", "1", "--recipe", "best", "--resume"], "leave out --resume"),
        (["--minutes", "0"], "--minutes 0.0: more than 0"),
        (["--minutes", "1", "--refit"], "leave out --refit"),
        (["--relation", "r"], "--relation needs --recipe rules"),
    ],
)
def test_options_of_time_and_relations_are_for_rule_lists(
    options: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n")
    with pytest.raises(SystemExit) as ended:
        main(["train", str(tmp_path / "facts.tsv"), "-o", str(tmp_path / "model"), *options])
    assert ended.value.code == 2 and told in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_a_quick_training_says_first_how_long_it_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"a{n}\tr\tb{n}\na{n}\ts\tb{n}\n" for n in range(9)]
    (tmp_path / "facts.tsv").write_text("".join(rows))
    given = [str(tmp_path / "facts.tsv"), "-o", str(tmp_path / "model"), "--set", "steps=5"]
    assert main(["train", *given, "--quick", "--relation", "s"]) == 0
    assert "learning from 18 facts takes at most 1 minute" in capsys.readouterr().err
    assert "-> s(" in (tmp_path / "model" / "model.rules").read_text()
    assert "-> r(" not in (tmp_path / "model" / "model.rules").read_text()
    assert [quick_minutes(facts) for facts in (10, 300_000, 5_000_000, 10**9)] == [1, 1, 10, 10]
