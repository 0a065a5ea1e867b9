"""Named benchmarks, their search path and download, and users' own directories."""

from __future__ import annotations

import gzip
import hashlib
import os
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from datasets import REQUIRE_VARIABLE, benchmark, data_folder
from reshuffle.data import DataCard, DataNotFoundError, FileCard, GraphCard, file_cards, load_from_files
from reshuffle.data.finding import data_directories
from reshuffle.data.load import load_card
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.kg import KnowledgeGraph
from reshuffle.kg.splits import InductiveBenchmark, TransductiveBenchmark

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The paper's table of data set sizes: relations, entities and triples of the training and the test graph.
PAPER = {
    "FB15k-237-v1": ((180, 1594, 5226), (142, 1093, 2404)),
    "FB15k-237-v2": ((200, 2608, 12085), (172, 1660, 5092)),
    "FB15k-237-v3": ((215, 3668, 22394), (183, 2501, 9137)),
    "FB15k-237-v4": ((219, 4707, 33916), (200, 3051, 14554)),
    "WN18RR-v1": ((9, 2746, 6678), (8, 922, 1991)),
    "WN18RR-v2": ((10, 6954, 18968), (10, 2757, 4863)),
    "WN18RR-v3": ((11, 12078, 32150), (11, 5084, 7470)),
    "WN18RR-v4": ((9, 3861, 9842), (9, 7084, 15157)),
    "NELL-995-v1": ((14, 3103, 5540), (14, 225, 1034)),
    "NELL-995-v2": ((88, 2564, 10109), (79, 2086, 5521)),
    "NELL-995-v3": ((142, 4647, 20117), (122, 3566, 9668)),
    "NELL-995-v4": ((76, 2092, 9289), (61, 2795, 8520)),
}
TRANSDUCTIVE = {"FB15k-237", "WN18RR", "family"}


@pytest.mark.parametrize("name", PAPER)
def test_cards_give_the_counts_of_the_papers_table(name: str) -> None:
    graphs = file_cards()[name].graphs
    found = tuple((graph.relations, graph.entities, graph.triples) for graph in graphs.values())
    assert found == PAPER[name]


def test_every_card_is_one_of_the_named_benchmarks_and_its_splits_add_up() -> None:
    assert set(file_cards()) == PAPER.keys() | TRANSDUCTIVE
    for card in file_cards().values():
        for graph in card.graphs.values():
            assert sum(graph.splits.values()) == graph.triples


@pytest.mark.parametrize("name", [*PAPER, *sorted(TRANSDUCTIVE)])
def test_files_hold_what_their_card_says(name: str) -> None:
    bench = benchmark(name)  # raises where a count or a checksum differs
    assert bench.name == name
    assert isinstance(bench, InductiveBenchmark if name in PAPER else TransductiveBenchmark)


def test_relation_ids_are_shared_and_entities_are_per_graph() -> None:
    bench = benchmark("WN18RR-v3")
    assert isinstance(bench, InductiveBenchmark)
    assert bench.train.facts.relations is bench.test.queries.relations
    shared = set(bench.train.facts.entities) & set(bench.test.facts.entities)
    assert len(shared) == 8
    assert bench.train.facts.entities != bench.test.facts.entities
    assert bench.test.facts.entities is bench.test.queries.entities


def test_family_facts_are_background_and_training_triples() -> None:
    bench = benchmark("family")
    assert isinstance(bench, TransductiveBenchmark)
    assert (len(bench.facts), len(bench.valid), len(bench.queries)) == (17615 + 5868, 2038, 2835)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError) as caught:
        load_from_files("FB15k-237-v5")
    assert str(caught.value).startswith("unknown data set 'FB15k-237-v5'; did you mean 'FB15k-237-v")


# --- where files are looked for ------------------------------------------------------------------------


def test_search_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    working = tmp_path / "project"
    working.mkdir()
    monkeypatch.chdir(working)
    monkeypatch.setenv("RESHUFFLE_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    places = data_directories()
    assert places[0] == tmp_path / "named"
    assert places[1] == tmp_path / "shared" / "datasets"
    assert places[-1] == tmp_path / "cache" / "reshuffle" / "datasets"


def test_without_xdg_the_cache_is_in_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_directories()[-1] == tmp_path / ".cache" / "reshuffle" / "datasets"


def test_missing_data_fails_instead_of_skipping_where_it_is_required(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(REQUIRE_VARIABLE, raising=False)
    with pytest.raises(pytest.skip.Exception, match="RESHUFFLE_DATA"):
        data_folder("family")
    monkeypatch.setenv(REQUIRE_VARIABLE, "1")
    with pytest.raises(pytest.fail.Exception, match="asks for them"):
        data_folder("family")


# --- a small benchmark, served from this machine -------------------------------------------------------

TRIPLES = {
    "facts": "ada\tbornIn\tlondon\nlondon\tcityIn\tuk\n",
    "valid": "ada\tcitizenOf\tuk\n",
    "queries": "ada\tspeaks\tenglish\n",
}
FILES = {f"{split}.txt": text.encode() for split, text in TRIPLES.items()}


def file_card(path: str, content: bytes) -> FileCard:
    checksum = hashlib.sha256(b"\n".join(content.splitlines())).hexdigest()
    return FileCard(path, len(content.splitlines()), checksum)


@pytest.fixture
def card() -> DataCard:
    files = {name.removesuffix(".txt"): (file_card(name, content),) for name, content in FILES.items()}
    splits = {split: group[0].triples for split, group in files.items()}
    graph = GraphCard(relations=4, entities=4, triples=4, splits=splits, files=files)
    return DataCard(
        name="tiny",
        title="a test",
        kind="transductive",
        origin="here",
        licence="none",
        graphs={"graph": graph},
        folder="tiny",
        url="http://127.0.0.1:9",
    )


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No data anywhere but in the cache, which is returned."""
    monkeypatch.setenv("RESHUFFLE_DATA", str(tmp_path / "nothing"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("reshuffle.data.finding._checkout", lambda: None)
    return tmp_path / "cache" / "reshuffle" / "datasets"


@dataclass
class Origin:
    """A server that may cut its answers off; `ranges` is what it was asked for."""

    content: dict[str, bytes] = field(default_factory=lambda: dict(FILES))
    cut_after: list[int | None] = field(default_factory=list)  # one answer each, then whole answers
    knows_ranges: bool = True
    ranges: list[str | None] = field(default_factory=list)
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        asked = handler.headers.get("Range")
        self.ranges.append(asked)
        body = self.content.get(handler.path.lstrip("/"))
        if body is None:
            handler.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").removesuffix("-")) if asked and self.knows_ranges else 0
        if start and start >= len(body):
            handler.send_error(416)
            return
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        cut = self.cut_after.pop(0) if self.cut_after else None
        handler.wfile.write(body[start:][:cut])


@contextmanager
def serving(origin: Origin) -> Iterator[Origin]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            origin.answer(self)

        def log_message(self, *_: object) -> None:
            """Keep the test output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        origin.url = f"http://127.0.0.1:{server.server_port}"
        yield origin
        server.shutdown()
        thread.join()


def test_downloads_into_the_cache_with_progress_and_only_once(card: DataCard, alone: Path) -> None:
    received: list[int] = []
    described: list[str] = []

    @contextmanager
    def progress(description: str, *, total: int | None = None, unit: str = "it") -> Iterator[object]:
        described.append(f"{description} in {unit}")
        yield received.append

    with serving(Origin()) as origin:
        card = replace(card, url=origin.url)
        bench = load_card(card, progress=progress)  # type: ignore[arg-type]
        again = load_card(card)
    assert isinstance(bench, TransductiveBenchmark)
    assert isinstance(again, TransductiveBenchmark)
    assert ("ada", "bornIn", "london") in bench.facts
    assert bench.queries == again.queries
    assert described[0] == "tiny: facts.txt in B"
    assert sum(received) == sum(map(len, FILES.values()))
    assert origin.ranges == [None, None, None]
    assert sorted(path.name for path in (alone / "tiny").iterdir()) == sorted(FILES)


def test_resumes_after_a_cut(card: DataCard, alone: Path) -> None:
    with serving(Origin(cut_after=[10])) as origin:
        load_card(replace(card, url=origin.url))
    assert origin.ranges[:2] == [None, "bytes=10-"]
    assert (alone / "tiny" / "facts.txt").read_bytes() == FILES["facts.txt"]


def test_what_arrived_is_kept_for_the_next_call(card: DataCard, alone: Path) -> None:
    with serving(Origin(cut_after=[10, 5, 3])) as origin:
        with pytest.raises(DataNotFoundError, match=r"ended after 3 of \d+ bytes"):
            load_card(replace(card, url=origin.url))
        assert (alone / "tiny" / "facts.txt.part").read_bytes() == FILES["facts.txt"][:18]
        assert not (alone / "tiny" / "facts.txt").exists()
        load_card(replace(card, url=origin.url))
    assert origin.ranges[3] == "bytes=18-"


def test_files_that_came_whole_are_not_fetched_again(card: DataCard, alone: Path) -> None:
    with serving(Origin(cut_after=[None, 3, 3, 3])) as origin:
        with pytest.raises(DataNotFoundError):
            load_card(replace(card, url=origin.url))
        asked_before = len(origin.ranges)
        load_card(replace(card, url=origin.url))
    assert origin.ranges[asked_before:] == ["bytes=9-", None]


def test_starts_again_where_the_server_knows_no_ranges(card: DataCard, alone: Path) -> None:
    with serving(Origin(cut_after=[10], knows_ranges=False)) as origin:
        load_card(replace(card, url=origin.url))
    assert (alone / "tiny" / "facts.txt").read_bytes() == FILES["facts.txt"]


def test_a_part_that_is_already_whole_is_taken(card: DataCard, alone: Path) -> None:
    part = alone / "tiny" / "facts.txt.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(FILES["facts.txt"])
    with serving(Origin()) as origin:
        load_card(replace(card, url=origin.url))
    assert origin.ranges[0] == f"bytes={len(FILES['facts.txt'])}-"


def test_a_part_that_is_a_link_is_refused(card: DataCard, alone: Path) -> None:
    """Whoever prepares it has another file written."""
    (alone / "tiny").mkdir(parents=True)
    (alone / "thesis.tex").write_text("mine")
    (alone / "tiny" / "facts.txt.part").symlink_to(alone / "thesis.tex")
    with serving(Origin()) as origin, pytest.raises(InputError, match=r"facts\.txt\.part: found a link"):
        load_card(replace(card, url=origin.url))
    assert (alone / "thesis.tex").read_text() == "mine"


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="needs the rights to give a file away"
)
def test_a_part_of_another_user_is_refused(card: DataCard, alone: Path) -> None:
    """Who owns it can change it after it was checked."""
    part = alone / "tiny" / "facts.txt.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(FILES["facts.txt"])
    os.chown(part, 12345, 12345)
    with serving(Origin()) as origin, pytest.raises(InputError, match="found a file of another user"):
        load_card(replace(card, url=origin.url))
    assert not (alone / "tiny" / "facts.txt").exists()


def test_a_wrong_checksum_leaves_nothing_behind(card: DataCard, alone: Path) -> None:
    wrong = b"ada\tbornIn\tparis\nparis\tcityIn\tfrance\n"
    with serving(Origin(content=FILES | {"facts.txt": wrong})) as origin:
        with pytest.raises(InputError) as caught:
            load_card(replace(card, url=origin.url))
        expected, found = (file_card("", content).sha256 for content in (FILES["facts.txt"], wrong))
        assert str(caught.value) == (
            f"{origin.url}/facts.txt: not the published file: "
            f"expected SHA-256 {expected}, found {found}\n"
            "  hint: download it again; only line ends and gzip may differ"
        )
    assert list((alone / "tiny").iterdir()) == []


def test_offline_is_one_error_that_says_where_to_put_the_files(card: DataCard, alone: Path) -> None:
    with serving(Origin()) as origin:
        gone = replace(card, url=origin.url)
    with pytest.raises(DataNotFoundError) as caught:
        load_card(gone)
    root = alone.parents[2]
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"the files of 'tiny' are not here, and {gone.url} cannot be reached (")
    assert lines[1:] == [
        "  looked in",
        f"    {root / 'nothing' / 'tiny'}",
        f"    {root.parent / 'shared' / 'datasets' / 'tiny'}",
        f"    {alone / 'tiny'}",
        "  for facts.txt, valid.txt, queries.txt",
        f"  hint: put the files from {gone.url} into one of these directories, "
        "or set RESHUFFLE_DATA to the directory that holds tiny/",
    ]


def test_a_missing_page_is_not_asked_for_again(card: DataCard, alone: Path) -> None:
    with serving(Origin(content={})) as origin, pytest.raises(DataNotFoundError, match="404"):
        load_card(replace(card, url=origin.url))
    assert origin.ranges == [None]


# --- files that are there, but are not what the card says -----------------------------------------------


def put(directory: Path, files: dict[str, bytes]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return directory


def test_gzip_and_line_ends_do_not_matter(card: DataCard, alone: Path) -> None:
    packed = {f"{name}.gz": gzip.compress(text.replace(b"\n", b"\r\n")) for name, text in FILES.items()}
    put(alone / "tiny", packed)
    bench = load_card(card)
    assert isinstance(bench, TransductiveBenchmark)
    assert ("london", "cityIn", "uk") in bench.facts


def test_a_wrong_count_names_the_file_and_both_numbers(card: DataCard, alone: Path) -> None:
    folder = put(alone / "tiny", FILES | {"facts.txt": b"ada\tbornIn\tlondon\n"})
    with pytest.raises(InputError) as caught:
        load_card(card)
    assert str(caught.value) == (
        f"{folder / 'facts.txt'}: expected 2 triples, found 1\n"
        "  hint: put the published file here, or read your own data with from_directory or from_files"
    )


def test_other_triples_of_the_same_number_are_noticed(card: DataCard, alone: Path) -> None:
    folder = put(alone / "tiny", FILES | {"valid.txt": b"bob\tcitizenOf\tuk\n"})
    with pytest.raises(InputError, match="not the published file") as caught:
        load_card(card)
    assert str(caught.value).startswith(f"{folder / 'valid.txt'}: ")


def test_graph_counts_are_checked(card: DataCard, alone: Path) -> None:
    folder = put(alone / "tiny", FILES)
    wrong = replace(card, graphs={"graph": replace(card.graphs["graph"], entities=5)})
    with pytest.raises(InputError) as caught:
        load_card(wrong)
    assert str(caught.value) == (
        f"{folder}: the graph of 'tiny' should have 5 entities, found 4\n  hint: put the published files here"
    )


# --- users' own data --------------------------------------------------------------------------------------

OWN = {
    "train.txt": b"ada\tbornIn\tlondon\n",
    "valid.txt": b"ada\tspeaks\tenglish\n",
    "test.txt": b"ada\tcitizenOf\tuk\n",
}
OWN_INFERENCE = {
    "train.txt": b"bob\tbornIn\tparis\n",
    "valid.txt": b"bob\tspeaks\tfrench\n",
    "test.txt": b"bob\tcitizenOf\tfrance\n",
}


def check_own(bench: InductiveBenchmark) -> None:
    assert list(bench.train.facts) == [("ada", "bornIn", "london")]
    assert list(bench.train.valid) == [("ada", "speaks", "english")]
    assert list(bench.train.queries) == [("ada", "citizenOf", "uk")]
    assert list(bench.test.facts) == [("bob", "bornIn", "paris")]
    assert list(bench.test.valid) == [("bob", "speaks", "french")]
    assert list(bench.test.queries) == [("bob", "citizenOf", "france")]


@pytest.mark.parametrize("folder", ["../own_ind", "inference", "ind", "own_ind"])
def test_from_directory_reads_both_layouts_of_grail(tmp_path: Path, folder: str) -> None:
    own = put(tmp_path / "own", OWN)
    put(own / folder, OWN_INFERENCE)
    bench = InductiveBenchmark.from_directory(own)
    check_own(bench)
    assert bench.name == "own"


def test_from_directory_takes_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "own_ind", OWN_INFERENCE)
    monkeypatch.chdir(put(tmp_path / "own", OWN))
    bench = InductiveBenchmark.from_directory(".")
    check_own(bench)
    assert bench.name == "own"


def test_from_directory_takes_other_endings_and_missing_optional_files(tmp_path: Path) -> None:
    own = put(
        tmp_path / "own", {"train.tsv": OWN["train.txt"], "valid.tsv.gz": gzip.compress(OWN["valid.txt"])}
    )
    put(own / "inference", {"train.txt": OWN_INFERENCE["train.txt"], "test.tsv": OWN_INFERENCE["test.txt"]})
    bench = InductiveBenchmark.from_directory(own)
    assert list(bench.train.valid) == [("ada", "speaks", "english")]
    assert len(bench.train.queries) == len(bench.test.valid) == 0


def test_held_out_triples_may_be_none_and_queries_may_not(tmp_path: Path) -> None:
    own = put(tmp_path / "own", OWN | {"valid.txt": b"", "test.txt": b"\n"})
    folder = put(own / "inference", OWN_INFERENCE | {"valid.txt": b""})
    bench = InductiveBenchmark.from_directory(own)
    assert len(bench.train.valid) == len(bench.train.queries) == len(bench.test.valid) == 0
    assert len(TransductiveBenchmark.from_files(**_three(own, queries=own / "train.txt")).valid) == 0
    with pytest.raises(InputError, match=r"test\.txt: found no triples"):
        TransductiveBenchmark.from_files(**_three(own, queries=own / "test.txt"))
    (folder / "test.txt").write_bytes(b"")
    with pytest.raises(InputError, match=r"test\.txt: the file is empty"):
        InductiveBenchmark.from_directory(own)


def _three(own: Path, queries: Path) -> dict[str, Path]:
    return {"facts": own / "train.txt", "valid": own / "valid.txt", "queries": queries}


def test_from_directory_shows_which_file_is_expected_where(tmp_path: Path) -> None:
    own = put(tmp_path / "own", {"train.txt": OWN["train.txt"]})
    with pytest.raises(InputError) as caught:
        InductiveBenchmark.from_directory(own)
    assert str(caught.value).splitlines() == [
        f"{own}: not an inductive benchmark: 3 of the files below missing",
        f"    found           {own}/train.txt  (train_facts: the graph to learn from)",
        f"    MISSING         {own}/valid.txt  (train_valid: held-out triples of the training graph)",
        f"    may be missing  {own}/test.txt  (train_queries: its test triples)",
        f"    MISSING         {own}_ind/train.txt  (test_facts: the graph given at test time)",
        f"    may be missing  {own}_ind/valid.txt  (test_valid: more true triples of the test graph)",
        f"    MISSING         {own}_ind/test.txt  (test_queries: the triples of the test graph to predict)",
        f"  hint: the test graph may also lie in {own}/inference; "
        ".tsv, .csv, .nt, .ttl, .parquet and .gz are read too; "
        "or give the files one by one with InductiveBenchmark.from_files",
    ]


def test_from_directory_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="own: no such directory"):
        InductiveBenchmark.from_directory(tmp_path / "own")


def test_from_files_names_every_role(tmp_path: Path) -> None:
    own = put(tmp_path, OWN)
    other = put(tmp_path / "other", OWN_INFERENCE)
    check_own(
        InductiveBenchmark.from_files(
            train_facts=own / "train.txt",
            train_valid=own / "valid.txt",
            train_queries=own / "test.txt",
            test_facts=other / "train.txt",
            test_valid=other / "valid.txt",
            test_queries=str(other / "test.txt"),
        )
    )


def test_transductive_from_directory_and_its_missing_queries(tmp_path: Path) -> None:
    own = put(tmp_path / "own", {"train.txt": OWN["train.txt"]})
    with pytest.raises(InputError, match=r"MISSING +\S+own/test.txt  \(queries: the triples to predict\)"):
        TransductiveBenchmark.from_directory(own)
    put(own, {"test.txt": OWN["test.txt"]})
    bench = TransductiveBenchmark.from_directory(own)
    assert list(bench.queries) == [("ada", "citizenOf", "uk")]
    assert list(bench.facts.entities) == ["ada", "london", "uk"]


def test_the_triples_of_a_split_are_the_union() -> None:
    facts, queries = KnowledgeGraph([("a", "r", "b")]), KnowledgeGraph([("b", "s", "c"), ("a", "r", "b")])
    split = TransductiveBenchmark.from_graphs("own", facts=facts, queries=queries).graph
    assert sorted(split.triples) == [("a", "r", "b"), ("b", "s", "c")]
