"""`reshuffle data list` and `reshuffle data show NAME`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from datasets import data_folder
from reshuffle.cli.main import main
from reshuffle.data.load import data_cards

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No benchmark file on this machine, and no way to the public origin."""
    monkeypatch.setenv("RESHUFFLE_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reshuffle.data.finding._checkout", lambda: None)
    return tmp_path


def test_list_shows_every_data_set_and_where_it_is(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list"]) == 0
    header, *rows, blank, legend = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "kind", "relations", "entities", "triples", "where"]
    assert [row.split()[0] for row in rows] == list(data_cards())
    first = "FB15k-237-v1  inductive     180 / 142  1,594 / 1,093   5,226 / 2,404    not here"
    assert rows[0] == first
    assert rows[-1].endswith("  embedded")
    assert (blank, legend[:6]) == ("", "Counts")


def test_list_as_json(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert listed.keys() == data_cards().keys()
    assert listed["WN18RR-v1"]["where"] == "not here"
    assert listed["WN18RR-v1"]["graphs"]["test"] == {
        "relations": 8,
        "entities": 922,
        "triples": 1991,
        "facts": 1618,
        "valid": 185,
        "queries": 188,
    }


def test_show_prints_card_counts_degrees_and_relations(capsys: pytest.CaptureFixture[str]) -> None:
    folder = data_folder("FB15k-237-v1")
    assert main(["data", "show", "FB15k-237-v1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("FB15k-237-v1 (inductive)\n")
    for line in (
        f"files    {folder}",
        "Test graph: 142 relations, 1,093 entities, 2,404 triples (1,993 facts, 206 validation, 205 queries)",
        "edges all       1   3.000  5.326   353",
        "... and 170 more; -v shows all",
    ):
        assert line in out.splitlines()


def test_show_lists_all_relations_with_v(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "families"]) == 0
    short = capsys.readouterr().out
    assert main(["data", "show", "families", "-v"]) == 0
    full = capsys.readouterr().out
    assert "twin" not in short
    assert full.count("\ntwin ") == 2


def test_show_as_json_has_all_relations_by_size(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--json", "data", "show", "families"]) == 0
    shown = json.loads(capsys.readouterr().out)
    graph = shown["graphs"]["train"]
    assert sum(graph["relations_by_size"].values()) == graph["facts"]
    sizes = list(graph["relations_by_size"].values())
    assert sizes == sorted(sizes, reverse=True)
    assert set(graph["degrees"]) == {"out", "in", "all"}
    assert graph["degrees"]["all"]["mean"] == pytest.approx(2 * graph["facts"] / graph["entities"])


def test_show_of_an_unknown_name_suggests_and_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "famly"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "unknown data set 'famly'; did you mean 'family' or 'families'?\n"


def test_show_of_missing_files_is_the_card_alone(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "WN18RR"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("WN18RR (transductive)\n") and "files    not here\n" in captured.out
    assert "Graph: 11 relations, 40,943 entities, 93,003 triples (86,835 facts," in captured.out
    assert captured.err.startswith("the files are not here, so what follows is the card alone")
    assert not list(nowhere.iterdir()) if nowhere.exists() else True  # nothing was downloaded


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Facts and benchmarks of one's own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "facts.tsv").write_text("ada \tr\tb\nb\tr\t\u00e9\nb\ts\te\u0301\nb\ts\tx\0y\n")
    for folder in ("plain", "two", "two/inference"):
        (tmp_path / folder).mkdir()
        for name, fact in (("train", "a\ts\tb\nb\tr\tc\n"), ("valid", "a\ts\tc\n"), ("test", "b\ts\ta\n")):
            (tmp_path / folder / f"{name}.tsv").write_text(fact)
    return tmp_path


def test_show_of_rdf_has_short_names_and_right_plurals(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyoxigraph")
    (own / "facts.ttl").write_text("@prefix ex: <http://example.org/> . ex:a ex:knows ex:b .")
    assert main(["data", "show", "facts.ttl"]) == 0
    told = capsys.readouterr().out
    assert "Graph: 1 relation, 2 entities, 1 triple (1 fact, 0 validation, 0 queries)" in told
    assert told.endswith("facts of relation  triples\nex:knows                 1\n")
    assert main(["data", "show", "facts.ttl", "--json"]) == 0
    assert '"http://example.org/knows"' in capsys.readouterr().out


def test_show_of_a_file_is_a_summary_with_odd_names(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "show", "facts.tsv"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("facts.tsv (facts)\n\nGraph: 2 relations, 5 entities, 4 triples (4 facts")
    assert "facts of relation" in told and "edges out" in told
    assert "names with blanks at an end: 1\n    'ada '" in told
    assert "names with NUL or other control characters: 1\n    'x\\x00y'" in told
    assert "names that differ by their Unicode form alone: 1\n    '\u00e9'  'e\u0301'" in told
    assert r"that is '\xe9'  'e\u0301'" in told  # which look alike otherwise
    assert main(["data", "show", "facts.tsv", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["graphs"]["graph"]["relations_by_size"] == {"r": 2, "s": 2}
    assert data["odd_names"]["graph"]["with blanks at an end"] == [["ada "]]


@pytest.mark.parametrize(("folder", "kind", "roles"), [("plain", "transductive", 1), ("two", "inductive", 2)])
def test_show_of_a_directory_is_its_benchmark(
    own: Path, folder: str, kind: str, roles: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "show", folder, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["kind"] == kind and len(data["graphs"]) == roles
    for graph in data["graphs"].values():
        assert (graph["facts"], graph["valid"], graph["queries"], graph["triples"]) == (2, 1, 1, 4)


def test_show_of_several_files_and_of_a_folder_without_a_benchmark(
    own: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "show", "plain/train.tsv", "plain/test.tsv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"]["graph"]["triples"] == 3
    (own / "plain" / "train.tsv").rename(own / "plain" / "first.tsv")
    assert main(["data", "show", "plain", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["graphs"]["graph"]["facts"] == 4


@pytest.mark.parametrize("folder", ["plain", "two"])
def test_own_directories_are_benchmarks_to_train_and_evaluate_on(
    own: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", folder, "-o", "model", "--recipe", "rules", "-q"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "types", "--benchmark", folder, "--protocol", "full", "--json", "-q"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert main(["evaluate", "types", "--benchmark", "model"]) == 2
    assert "found no train.txt or the like" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["data", "show"], "`data show` needs a name; `data list` gives them"),
        (["data", "list", "family"], "`data list` takes no name; did you mean `data show NAME`?"),
        (["data", "lst"], "invalid choice: 'lst'"),
    ],
)
def test_bad_usage_exits_with_2(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
