"""`reshuffle evaluate` with the baselines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from datasets import benchmark
from reshuffle.cli.main import main
from reshuffle.cli.verbs.evaluate import PROTOCOL_NAMES
from reshuffle.evaluation import PROTOCOLS
from reshuffle.kg.splits import TransductiveBenchmark

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = range(40)
BORN = [(f"p{n}", "bornIn", f"c{n % 7}") for n in PEOPLE]
LIVES = [(f"p{n}", "livesIn", f"c{n % 7}") for n in PEOPLE]


def write(path: Path, triples: list[tuple[str, str, str]]) -> str:
    path.write_text("".join("\t".join(triple) + "\n" for triple in triples), encoding="utf-8")
    return str(path)


@pytest.fixture
def data(tmp_path: Path) -> list[str]:
    """Facts in which a rule can be mined, and queries that it answers."""
    return [
        "--facts",
        write(tmp_path / "facts.tsv", [*BORN, *LIVES[:30]]),
        "--queries",
        write(tmp_path / "queries.tsv", LIVES[30:35]),
        "--known",
        write(tmp_path / "valid.tsv", LIVES[35:]),
    ]


def answer(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    assert main(["evaluate", *arguments, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("protocol", ["sampled-50", "full"])
def test_rules_answer_what_types_cannot(
    protocol: str, data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(["rules", *data, "--protocol", protocol], capsys)
    assert found["protocol"] == protocol
    assert found["queries"] == 5
    assert found["sides"]["tail"]["hits@1"] == 1.0  # type: ignore[index]
    assert found["type_baseline"]["sides"]["tail"]["hits@1"] < 1.0  # type: ignore[index]


def test_it_prints_a_table(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "rules+types", *data]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("sampled-50: ")
    named = ["rules, then types"] * 3 + ["type baseline"] * 3 + ["mined rules"] * 3
    assert [line.split("  ")[0] for line in lines[4:]] == named


def test_the_help_names_every_protocol() -> None:
    assert tuple(PROTOCOLS) == PROTOCOL_NAMES


def test_full_facts_filters_the_facts_alone_and_says_that_ties_lose(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(["rules", *data, "--protocol", "full-facts"], capsys)
    assert (found["protocol"], found["ties"]) == ("full-facts", "pessimistic")
    # Every city has six or seven rivals among people: those of --queries and --known are not filtered, and tie.
    full = answer(["rules", *data, "--protocol", "full"], capsys)
    assert found["sides"]["head"]["mean_rank"] > full["sides"]["head"]["mean_rank"]  # type: ignore[index]
    assert main(["evaluate", "rules", *data, "--protocol", "full-facts"]) == 0
    first, second = capsys.readouterr().out.splitlines()[:2]
    assert first.startswith("full-facts: all entities, only the facts of the graph filtered; ties lose")
    assert "pessimistic ranks" in second


def test_queries_that_are_facts_are_told_once(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = write(tmp_path / "asked.tsv", LIVES[28:32])
    assert main(["evaluate", "rules", *data[:2], "--queries", asked, "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["queries_among_facts"] == 2
    told = "2 of 4 queries are facts of the graph: they are ranked with themselves in it\n"
    assert printed.err == told
    assert main(["evaluate", "rules", *data[:2], "--queries", asked]) == 0
    printed = capsys.readouterr()
    assert printed.out.endswith(told) and printed.err == ""


def test_the_type_baseline_is_not_its_own_neighbour(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(["types", *data], capsys)["type_baseline"] is None


def test_mined_rules_stand_beside_what_is_not_mined(
    data: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    mined = answer(["rules", *data], capsys)
    assert mined["mined_rules"] is None
    beside = answer(["types", *data], capsys)["mined_rules"]
    assert {name: mined[name] for name in ("metrics", "tie_rate", "sides")} == beside
    assert answer(["types", *data, "--no-rules"], capsys)["mined_rules"] is None


def test_mined_rules_beside_are_as_long_as_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    states = [(f"c{n}", "cityIn", f"s{n % 3}") for n in range(7)]
    citizens = [
        (f"p{n}", "citizenOf", f"s{n % 7 % 3}") for n in PEOPLE
    ]  # two steps lead there, and no one step
    facts = write(tmp_path / "facts.tsv", [*BORN, *states, *citizens[:30]])
    data = ["--facts", facts, "--queries", write(tmp_path / "queries.tsv", citizens[30:35])]

    def metrics(*options: str) -> list[object]:
        beside = answer(["types", *data, *options], capsys)["mined_rules"]
        return [beside["metrics"], answer(["rules", *data, *options], capsys)["metrics"]]  # type: ignore[index]

    (one, same_one), (two, same_two) = metrics("--max-length", "1"), metrics()
    assert one == same_one != two == same_two


def test_known_triples_are_filtered(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    more = answer(["types", *data, "--protocol", "full"], capsys)
    less = answer(["types", *data[:4], "--protocol", "full"], capsys)
    assert more["metrics"]["mean_rank"] < less["metrics"]["mean_rank"]  # type: ignore[index]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_files_give_what_a_benchmark_of_them_gives(
    protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "facts": write(tmp_path / "facts.tsv", [*BORN, *LIVES[:30]]),
        "queries": write(tmp_path / "queries.tsv", LIVES[30:38]),  # p30 and p37 live in the same city
        "valid": write(tmp_path / "valid.tsv", LIVES[38:]),
    }
    bench = TransductiveBenchmark.from_files(**files)
    monkeypatch.setattr("reshuffle.data.load.load_benchmark", lambda _name, **_options: bench)
    named = answer(["types", "--benchmark", "tiny", "--protocol", protocol], capsys)
    halves = [write(tmp_path / f"known{place}.tsv", [LIVES[place]]) for place in (38, 39)]
    options = [
        "--facts",
        files["facts"],
        "--queries",
        files["queries"],
        "--known",
        halves[0],
        "--known",
        halves[1],
    ]
    own = answer(["types", *options, "--protocol", protocol], capsys)
    varying = {"benchmark", "seconds"}
    assert {key: own[key] for key in own if key not in varying} == {
        key: named[key] for key in named if key not in varying
    }


def test_negatives_are_saved_and_used_again(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "negatives.parquet")
    first = answer(
        ["types", *data, "--seed", "1", "--protocol", "grail-49", "--save-negatives", file], capsys
    )
    other = answer(["types", *data, "--seed", "2", "--protocol", "grail-49"], capsys)
    again = answer(["types", *data, "--seed", "2", "--protocol", "grail-49", "--negatives", file], capsys)
    assert first["metrics"] == again["metrics"] != other["metrics"]
    assert [found["seed"] for found in (first, other, again)] == [1, 2, 1]


def test_negatives_of_another_protocol_are_refused(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "negatives.parquet")
    answer(["types", *data, "--seed", "3", "--save-negatives", file], capsys)
    assert main(["evaluate", "types", *data, "--protocol", "type-matched", "--negatives", file]) == 2
    assert capsys.readouterr().err == (
        "the negatives were drawn for the protocol 'sampled-50', and the one to evaluate by is 'type-matched'\n"
        '  hint: protocol="sampled-50" (--protocol sampled-50) ranks against them; leave them out to draw new ones\n'
    )


def test_unknown_names_are_refused_or_skipped(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data[3] = write(tmp_path / "odd.tsv", [*LIVES[30:35], ("p1", "likes", "c1")])
    assert main(["evaluate", "types", *data]) == 2
    assert "an unknown relation: 'likes' (1)" in capsys.readouterr().err
    assert answer(["types", *data, "--unknown", "skip"], capsys)["skipped"] == {"unseen relation": 1}


def test_a_benchmark_is_fitted_on_its_training_graph(capsys: pytest.CaptureFixture[str]) -> None:
    benchmark("NELL-995-v1")
    found = answer(["types", "--benchmark", "NELL-995-v1", "--protocol", "full"], capsys)
    assert found["metrics"]["mrr"] == pytest.approx(0.594, abs=0.0006)  # type: ignore[index]
    assert found["benchmark"] == "NELL-995-v1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["types"], "give --benchmark NAME, or --facts F and --queries Q"),
        (["types", "--facts", "f"], "give --benchmark NAME, or --facts F and --queries Q"),
        (["types", "--benchmark", "families", "--facts", "f"], "--benchmark brings its own data"),
        (["types", "--facts", "f", "--queries", "q", "--max-length", "0"], "at least one atom"),
        (
            ["types", "--facts", "f", "--queries", "q", "--protocol", "full", "--save-negatives", "n"],
            "--save-negatives: the protocol 'full' ranks all entities",
        ),
    ],
)
def test_bad_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_an_unknown_scorer_is_named(data: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", "type", *data]) == 2
    assert capsys.readouterr().err == (
        "'type' is neither a model directory nor a baseline; did you mean 'types'?\n"
        "  hint: give a directory that `reshuffle train` wrote, or one of types, rules, rules+types\n"
    )


def test_nothing_more_may_be_known(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nothing = write(tmp_path / "nothing.tsv", [])
    assert main(["evaluate", "types", *data[:4], "--known", nothing]) == 0
    assert capsys.readouterr().err == f"{nothing}: no triples\n"
    assert main(["evaluate", "types", "--facts", nothing, *data[2:]]) == 2
    assert "the file is empty" in capsys.readouterr().err


def test_where_candidates_go_is_looked_at_first(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reshuffle.evaluation.evaluate", None)  # not reached
    target = str(tmp_path / "none" / "n.parquet")
    assert main(["evaluate", "types", *data, "--save-negatives", target]) == 2
    assert capsys.readouterr().err.startswith(f"{target}: cannot be written: the directory")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["{model}", "--train", "facts.tsv"], "--train is for baselines: a model has learned already"),
        (["{model}", "--max-length", "3"], "--max-length is for rules that are mined, and none are"),
        (
            ["types", "--max-length", "3", "--no-rules"],
            "--max-length is for rules that are mined, and none are",
        ),
        (["rules", "--no-rules"], "--no-rules leaves out the rules beside a scorer"),
    ],
)
def test_options_that_would_do_nothing(
    options: list[str], message: str, data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "model").mkdir()
    with pytest.raises(SystemExit) as caught:
        main(["evaluate", *(option.format(model=tmp_path / "model") for option in options), *data])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_saved_negatives_know_entities_that_were_isolated(
    data: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    queries = write(tmp_path / "strangers.tsv", [*LIVES[30:35], ("stranger", "livesIn", "c1")])
    command = ["rules", *data[:2], "--queries", queries, "--unknown", "isolate"]
    saved = str(tmp_path / "n.parquet")
    drawn = answer([*command, "--seed", "3", "--save-negatives", saved], capsys)
    read = answer([*command, "--negatives", saved], capsys)
    assert {**drawn, "seconds": 0} == {**read, "seconds": 0}
