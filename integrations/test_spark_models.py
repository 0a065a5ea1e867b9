"""Links of models and the search for rules on Spark: the same as on one machine, to the last bit (`local[2]`)."""

from __future__ import annotations

import random
import secrets
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import reshuffle.rulelist.training_rows as training_rows_module
from reshuffle import KnowledgeGraph, Reshuffle, RuleModel, learn_rules, parse_rules
from reshuffle.deadlines import NO_DEADLINE, Deadline
from reshuffle.errors import ReshuffleError
from reshuffle.kg import Triple
from reshuffle.model.answers import link_candidates
from reshuffle.progress import SILENT
from reshuffle.rulelist import save_rule_model
from reshuffle.rulelist.features import FeatureGraph, Questions
from reshuffle.rulelist.learner import RuleSettings
from reshuffle.rulelist.programs import Program
from reshuffle.rulelist.rejected_links import RejectedLinks
from reshuffle.rulelist.rule_finding import find_rules
from reshuffle.rulelist.sampling.fact_samples import Budget
from reshuffle.rulelist.sampling.walk_counting import WalksHere
from reshuffle.rulelist.spark.features_on_spark import FeaturesOnSpark
from reshuffle.rulelist.spark.finding_on_spark import WalksOnSpark
from reshuffle.rulelist.training_rows import Room, TrainingRows, training_rows
from reshuffle.rules.mining import mine
from reshuffle.spark.spark_session import Spark, spark_session
from reshuffle.spark.workers import Workers, workers_on

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reshuffle.progress import Report

pytestmark = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")

TINY = {"num_slots": 4, "num_layers": 2, "epoch_steps": 3, "max_epochs": 1, "batch_size": 15}


def families(people: int) -> KnowledgeGraph:
    """Parents, grandparents of most of them, and people who know each other by chance."""
    chance, facts = random.Random(people), []
    for number in range(people):
        parent = (7 * number + 3) % people
        facts.append((f"p{number}", "parent", f"p{parent}"))
        if number % 5:
            facts.append((f"p{number}", "grandparent", f"p{(7 * parent + 3) % people}"))
        facts.append((f"p{number}", "knows", f"p{chance.randrange(people)}"))
    return KnowledgeGraph(facts)


SMALL, LARGE = families(60), families(1000)  # the questions of the large one are asked in several pieces


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    with spark_session(Spark(master="local[2, 2]")) as made:  # a task may fail once
        yield made


@pytest.fixture(scope="module")
def soft() -> Reshuffle:
    """With every kind of evidence, a rule list, and injected rules."""
    rules = parse_rules("parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)")
    return Reshuffle(recipe="best", device="cpu", **TINY).fit(SMALL, inject=rules)


@pytest.mark.parametrize("asked", [{}, {"relation": "knows", "tail": "p7"}])
def test_a_soft_model_finds_the_links_of_one_machine(
    asked: dict[str, str], soft: Reshuffle, session: Any, tmp_path: Path
) -> None:
    answers = soft.on(LARGE)
    alone = answers.missing(**asked, top=300)
    found = answers.missing(**asked, top=300, engine="spark", session=session, partitions=3, folder=tmp_path)
    assert len(alone) and alone.numbers
    assert found == alone
    assert found.to_arrow() == alone.to_arrow()
    assert found[0].explain()  # reasons are looked for here
    assert not list(tmp_path.iterdir())
    assert session.range(3).count() == 3  # a session that is given goes on


def test_the_questions_that_a_list_chooses_are_those_of_one_machine(
    soft: Reshuffle, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("_WORTH", 0), ("_LEAST", 40), ("_TIMES", 2)):
        monkeypatch.setattr(link_candidates, name, value)
    answers, told = soft.on(LARGE), []
    asked: dict[str, Any] = {"top": 30, "per_relation": 12, "not_linked": True, "notes": told.append}
    alone = answers.missing(**asked)
    found = answers.missing(**asked, engine="spark", session=session, partitions=2, folder=tmp_path)
    assert len(alone) > 12
    assert found == alone
    assert len(told) == 2 and told[0] == told[1] and "--all-questions asks all of them" in told[0]


def test_channels_that_are_drawn_are_drawn_alike(session: Any) -> None:
    model = Reshuffle(recipe="paper", device="cpu", num_channels=4, **TINY).fit(SMALL)
    answers = model.on(LARGE, seed=7)
    answers.add([("new", "knows", "p1")])
    assert (
        len(answers.missing(head="new", top=5)) == 5
    )  # states are computed, so that the next change follows them
    answers.add([("newer", "parent", "new")])
    found = answers.missing(top=50, engine="spark", session=session, partitions=2)
    assert len(found) == 50
    assert found == answers.missing(top=50)


def test_a_rule_model_finds_the_links_of_one_machine(session: Any, tmp_path: Path) -> None:
    answers = learn_rules(SMALL).on(LARGE)
    assert answers._state.constants is not None  # rules about entities take part
    limits = {"seen_ends": True, "not_linked": True}
    for asked in ({}, {"head": "p3"}, {"relation": "knows"}, limits):
        alone = answers.missing(**asked, top=300)  # type: ignore[arg-type]
        found = answers.missing(
            **asked,  # type: ignore[arg-type]
            top=300,
            engine="spark",
            session=session,
            partitions=3,
            folder=tmp_path,
        )
        assert len(alone)
        assert found == alone
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("limits", [{"most_joined": 60}, {"max_length": 3, "min_confidence": 0.2}])
def test_mining_finds_the_rules_of_one_machine(limits: dict[str, Any], session: Any, tmp_path: Path) -> None:
    alone = mine(SMALL, **limits)
    found = mine(SMALL, **limits, engine="spark", session=session, partitions=4, folder=tmp_path)
    assert len(alone.rules) > 3
    assert found == alone
    assert list(found.measures) == list(alone.measures)
    assert [rule.quality for rule in found.rules] == [rule.quality for rule in alone.rules]
    assert (alone.skipped_bodies > 0) == ("most_joined" in limits)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("budget", [Budget(), Budget(work=20_000, listing=20_000)])
def test_the_search_for_rules_finds_those_of_one_machine(budget: Budget, session: Any) -> None:
    """With little work allowed, facts are sampled, and pairs are not counted from all entities."""
    graph = families(4000)
    alone = find_rules(graph, budget=budget, seed=5)
    with workers_on(graph, Spark(session=session, partitions=3)) as workers:
        counter = WalksOnSpark(workers, FeatureGraph(graph))
        found = find_rules(graph, budget=budget, seed=5, counter=counter)
    assert len(alone.rules) > 5
    assert (alone.samples[3].share_of_all < 1) == (budget.work == 20_000)
    assert found.rules == alone.rules and found.notes == alone.notes
    assert [rule.quality for rule in found.rules] == [rule.quality for rule in alone.rules]


@pytest.mark.parametrize(
    ("partitions", "most", "counted"),
    [(3, 1200, 2048), (1, 1200, 2048), (10, 0, 512), (2, 10_000, 4000)],
    ids=["within a share", "at the end of a share", "behind a share of nothing", "never"],
)
def test_counting_stops_where_one_machine_stops(
    partitions: int, most: int, counted: int, session: Any
) -> None:
    graph, bodies = families(4000), [(0, 1), (1, 2), (2, 5)]  # 8 pieces of starts
    starts = np.random.default_rng(0).permutation(graph.num_entities).astype(np.int32)
    firsts = np.array([bodies[n % 3][0] for n in range(len(starts))], dtype=np.int32)
    asked = Questions(starts, firsts, np.full_like(starts, -1))
    options: dict[str, Any] = {"most": most, "deadline": NO_DEADLINE, "progress": SILENT}
    counts, done = WalksHere(FeatureGraph(graph)).pairs(bodies, asked, **options)
    with workers_on(graph, Spark(session=session, partitions=partitions)) as workers:
        counter = WalksOnSpark(workers, FeatureGraph(graph))
        found, also_done = counter.pairs(bodies, asked, **options)
    assert found.tolist() == counts.tolist()
    assert also_done == done == counted


def asked_about_families(people: int) -> tuple[FeatureGraph, Program]:
    """A graph, and rules that lead nowhere, to one and to several."""
    graph = families(people)
    rules = parse_rules(
        "parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)\nknows(X, Y) & knows(Z, Y) -> knows(X, Z)\n"
        "grandparent(X, Y) & parent(Z, Y) -> parent(X, Z)"
    )
    return FeatureGraph(graph), Program.of(rules.rules, list(graph.relations), loops=())


@pytest.mark.parametrize("partitions", [1, 3])
def test_the_features_are_those_of_one_machine(partitions: int, session: Any, tmp_path: Path) -> None:
    """Several pieces in several rounds, with rejected links, and a window that is larger than the rest of the order."""
    features, program = asked_about_families(1500)
    options: dict[str, Any] = {"room": Room(window=40, most_reached=30), "seed": 3}
    plain = training_rows(features, program, **options)
    rejected = [Triple(f"p{n}", "knows", f"p{m}") for n in range(9) for m in range(1500)]
    options["rejected"] = RejectedLinks.of(rejected, features.graph, weight=4)
    alone = training_rows(features, program, **options)
    spark = Spark(session=session, partitions=partitions, folder=tmp_path)
    with workers_on(features.graph, spark) as workers:
        found = training_rows(features, program, **options, counter=FeaturesOnSpark(workers))
    assert len(alone) > 7_000 and len(alone.rules) > len(plain.rules) > 0
    assert same(found, alone)
    assert not list(tmp_path.iterdir())


def same(rows: TrainingRows, others: TrainingRows) -> bool:
    """To the last bit, and of the same types."""
    pairs = list(zip(rows.arrays, others.arrays, strict=True))
    return all(one.dtype == other.dtype and one.tobytes() == other.tobytes() for one, other in pairs)


def test_features_end_with_the_time_but_never_without_a_piece(
    session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_rows_module, "_FIRST", 4000)
    features, program = asked_about_families(1500)
    options: dict[str, Any] = {"room": Room(window=40), "seed": 3}
    alone = training_rows(features, program, **options)
    with workers_on(features.graph, Spark(session=session)) as workers:
        options |= {"counter": FeaturesOnSpark(workers), "deadline": Deadline.after(0)}
        found = training_rows(features, program, **options)
    assert len(found) == 2 * features.searched_at_once  # a piece for each core
    assert found.relations.tolist() == alone.relations[: len(found)].tolist()


def test_features_that_a_round_has_found_are_kept(
    session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run that goes on computes what is missing, and its model is that of one machine."""
    monkeypatch.setattr(training_rows_module, "_WORTH_KEEPING", 0.0)
    settings = RuleSettings(constants=None).changed(steps=5)
    options: dict[str, Any] = {"settings": settings, "engine": "spark", "session": session}
    with pytest.raises(KeyboardInterrupt):
        learn_rules(LARGE, **options, directory=tmp_path, progress=Stopping(after=1024))
    kept = len(list(tmp_path.glob("features-*.npz")))
    assert kept >= 2
    seen = Stopping(after=10**9)
    found = learn_rules(LARGE, **options, directory=tmp_path, resume=True, progress=seen)
    assert seen.told[0] == 512 * kept  # nothing is computed twice
    assert found == learn_rules(LARGE, settings=settings)


class Stopping:
    """A progress that ends the features after so many questions, and keeps what it is told of them."""

    def __init__(self, *, after: int) -> None:
        self.after, self.told = after, list[int]()

    @contextmanager
    def __call__(self, description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        del total, unit

        def report(done: int, /, note: str = "") -> None:
            del note
            if description == "features" and done:
                self.told.append(done)
                if sum(self.told) > self.after:
                    raise KeyboardInterrupt

        yield report


def test_commands_start_a_session_and_stop_it(tmp_path: Path) -> None:
    """In a process of its own: this one has a session already."""
    SMALL.write(tmp_path / "facts.tsv")
    spark = ["--engine", "spark", "--master", "local[2]", "--partitions", "3"]
    train = ["train", "facts.tsv", "--recipe", "rules", "-o"]
    predict = ["predict", "alone", "facts.tsv", "--all", "--top", "40", "-o"]
    commands = [
        [*train, "alone"],
        [*train, "shared", *spark],
        [*predict, "alone.csv"],
        [*predict, "shared.csv", *spark],
    ]
    code = f"from reshuffle.cli.main import main; print([main(command) for command in {commands!r}])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.stdout.endswith("[0, 0, 0, 0]\n"), done.stderr
    assert "FutureWarning" not in done.stderr  # of PySpark, about pandas
    for one, other in (("alone/model.rules", "shared/model.rules"), ("alone.csv", "shared.csv")):
        assert (tmp_path / one).read_bytes() == (tmp_path / other).read_bytes()
    assert len((tmp_path / "alone.csv").read_text().splitlines()) > 3
    assert {path.name for path in tmp_path.iterdir()} == {
        "facts.tsv",
        "alone",
        "shared",
        "alone.csv",
        "shared.csv",
    }


def test_tasks_that_fail_run_again_and_nothing_is_there_twice(session: Any, tmp_path: Path) -> None:
    def task(share: slice) -> pa.Table:  # inside, so that it travels to workers as code
        first = tmp_path / f"tried-{share.start}"
        if share.start == 1 and not first.exists():
            first.touch()
            raise ValueError("not yet")
        return pa.table({"number": list(range(10))[share]})

    workers = Workers(session, tmp_path, shares=3)
    assert [table["number"].to_pylist() for table in workers.tables(task)] == [
        [0, 3, 6, 9],
        [1, 4, 7],
        [2, 5, 8],
    ]
    assert (tmp_path / "tried-1").exists()


def test_progress_tells_of_a_task_while_others_run(session: Any, tmp_path: Path) -> None:
    """The second task waits until somebody has heard of the first."""
    heard = tmp_path / "heard"

    def task(share: slice) -> pa.Table:
        for _ in range(600 if share.start else 0):
            if heard.exists():
                break
            time.sleep(0.1)
        else:
            assert not share.start, "nobody was told of the first task"
        return pa.table({})

    counted: list[Any] = []

    @contextmanager
    def progress(description: str, *, total: int | None = None, unit: str = "") -> Iterator[Report]:
        def report(done: int, /, note: str = "") -> None:
            heard.touch()
            counted.append(done)

        counted.append((description, total, unit))
        yield report

    Workers(session, tmp_path, shares=2, progress=progress).tables(task, shown="waiting")
    assert counted == [("waiting", 2, "shares"), 1, 1]


def test_shares_that_are_done_are_not_given_out_again(session: Any, tmp_path: Path) -> None:
    """The second try finds the shares of the first one, but not those of another work or another number of shares."""

    def task(share: slice) -> pa.Table:
        if share.start == 1 and not (tmp_path / "again").exists():
            while not (tmp_path / "numbers-0-of-2.json").exists():  # the other one comes to its end
                time.sleep(0.1)
            raise ValueError("not yet")
        (tmp_path / f"ran-{share.start}-{secrets.token_hex(4)}").touch()
        return pa.table({"number": [share.start]})

    told: list[str] = []
    workers = Workers(session, tmp_path, shares=2, notes=told.append)
    with pytest.raises(ReshuffleError, match="not yet"):
        workers.tables(task, work="numbers")
    (tmp_path / "again").touch()
    assert [table["number"].to_pylist() for table in workers.tables(task, work="numbers")] == [[0], [1]]
    assert len(list(tmp_path.glob("ran-0-*"))) == 1 and told == ["going on after 1 of 2 shares"]
    workers.tables(task, work="others")
    workers.tables(task)
    Workers(session, tmp_path, shares=3).tables(task, work="numbers")
    assert len(list(tmp_path.glob("ran-0-*"))) == 4 and len(told) == 1


def test_a_task_that_fails_again_is_one_clear_error(session: Any, tmp_path: Path) -> None:
    def task(share: slice) -> pa.Table:
        raise ValueError(f"share {share.start} is odd\nand more")

    with pytest.raises(ReshuffleError) as told:
        Workers(session, tmp_path, shares=1).tables(task)
    assert told.value.message == "Spark gave up on a task: ValueError: share 0 is odd"


def test_a_folder_that_workers_do_not_see_is_told(session: Any, tmp_path: Path) -> None:
    with pytest.raises(ReshuffleError, match="does not see the folder /nowhere"):
        Workers(session, Path("/nowhere"), shares=1).tables(lambda _share: pa.table({}))


def test_a_link_at_the_place_of_the_work_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("mine")
    (tmp_path / ".missing.csv.unfinished").symlink_to(tmp_path / "precious")
    SMALL.write(tmp_path / "facts.tsv")
    (tmp_path / "model").mkdir()
    rules = parse_rules("up(X, Y) & up(Y, Z) -> up(X, Z)")
    save_rule_model(RuleModel.from_rules(rules), tmp_path / "model")
    asked = ["predict", str(tmp_path / "model"), str(tmp_path / "facts.tsv"), "--all"]
    spark = ["--engine", "spark", "--master", "local[2]", "--partitions", "2"]
    command = [sys.executable, "-m", "reshuffle", *asked, "-o", str(tmp_path / "missing.csv"), *spark]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False
    )  # this process has a session already
    assert done.returncode == 2
    assert ".missing.csv.unfinished: found a link, expected a work folder of an unfinished run" in done.stderr
    assert [entry.name for entry in (tmp_path / "precious").iterdir()] == ["thesis.tex"]
    assert not (tmp_path / "missing.csv").exists()
