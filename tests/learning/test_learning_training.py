"""Training as a whole: it learns, repeats itself, goes on after a kill, and stops when it must."""

from __future__ import annotations

import csv
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from benchmarks.paper import DATASETS, VARIANTS, cell_settings
from safetensors import safe_open
from safetensors.torch import save_file

from processes import Running, slowly
from reshuffle.data.load import load_benchmark
from reshuffle.errors import InputError, ReshuffleError
from reshuffle.evaluation import evaluate
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.checkpoints import load_checkpoint, save_checkpoint
from reshuffle.learning.estimator import Reshuffle, chosen_device
from reshuffle.learning.recipes import RECIPES
from reshuffle.learning.settings import Settings
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.loop import progress_note, run_training
from reshuffle.learning.training.saving import CHECKPOINT, TrainingLog, interrupts_held_back
from reshuffle.learning.training.trainer import DivergedError, Trainer, check_settings
from reshuffle.model.propagation import ModelGraph
from reshuffle.rules import parse_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reshuffle.kg.splits import InductiveBenchmark
    from reshuffle.learning.training.trainer import Epoch
    from reshuffle.progress import Report

TINY = {
    "num_slots": 4,
    "num_channels": 6,
    "num_layers": 2,
    "num_negatives": 5,
    "look_every": 2,
    "max_epochs": 6,
    "batch_size": 64,
}
FACTS = KnowledgeGraph(
    [(f"p{n}", "parent", f"p{n + 1}") for n in range(20)]
    + [(f"p{n}", "grandparent", f"p{n + 2}") for n in range(19)]
)


@cache
def families() -> InductiveBenchmark:
    return load_benchmark("families")


def model(**changes: Any) -> Reshuffle:
    return Reshuffle(device="cpu", **{"recipe": "paper", **TINY, **changes})


def trainer(facts: KnowledgeGraph = FACTS, **changes: Any) -> Trainer:
    settings = model(**changes).settings
    data = examples_of(facts, None, seed=settings.training.seed)[1]
    return Trainer(data, settings.architecture, settings.training, device=torch.device("cpu"))


def losses(one: Trainer) -> list[float]:
    return [epoch.loss for epoch in one.history.epochs]


# --- learning -------------------------------------------------------------------------------------------------


def test_it_learns_families_better_than_chance_and_than_types() -> None:
    settings = {"num_slots": 6, "num_channels": 8, "num_layers": 2, "num_negatives": 20, "redraw": "call"}
    fitted = Reshuffle(recipe="paper", device="cpu", max_epochs=15, look_every=5, **settings).fit(
        families().train
    )
    report = evaluate(
        fitted.on(families().test.facts),
        families().test.queries,
        protocol="sampled-50",
        known=families().test,
    )
    assert report["hits@10"] > 0.4  # chance: 10 of 51
    assert fitted.history.epochs[-1].loss < fitted.history.epochs[0].loss
    assert fitted.summary()["hits@10"] == max(
        epoch.hits_at_10 for epoch in fitted.history.epochs if epoch.hits_at_10 is not None
    )


@pytest.mark.parametrize("redraw", ["once", "step", "call"])
@pytest.mark.parametrize("changes", [{}, {"row_function": "square"}, {"bias": True, "identity": False}])
def test_the_same_seed_gives_the_same_curve_and_another_does_not(
    redraw: str, changes: dict[str, Any]
) -> None:
    curves = []
    for seed in (1, 1, 2):
        one = trainer(redraw=redraw, seed=seed, max_epochs=3, **changes)
        run_training(one)
        curves.append(losses(one))
    assert curves[0] == curves[1] != curves[2]


def test_redraw_says_how_often_initial_values_are_drawn() -> None:
    for redraw, changes in (("once", False), ("step", True)):
        one = trainer(redraw=redraw)
        matrices = one.model.matrices()
        (before,), (after,) = (one.objective.states(matrices) for _ in range(2))
        assert torch.equal(before, after) != changes


@pytest.mark.parametrize(("redraw", "draws"), [("once", 1), ("step", 1), ("call", 2)])
def test_redraw_says_whether_positives_and_negatives_share_a_draw(
    redraw: str, draws: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, seen = trainer(redraw=redraw), []
    real = one.objective.states

    def watched(*arguments: object, **options: int) -> list[torch.Tensor]:
        seen.extend(real(*arguments, **options))
        return seen

    monkeypatch.setattr(one.objective, "states", watched)
    one.loss(torch.arange(8))
    assert len(seen) == draws
    if draws == 2:
        assert not torch.equal(*seen)


def test_draws_side_by_side_are_those_that_come_one_after_the_other() -> None:
    one, other = trainer(redraw="call"), trainer(redraw="call")
    matrices = one.model.matrices()
    together = one.objective.states(matrices, calls=2)
    apart = [other.objective.states(matrices)[0] for _ in range(2)]
    for state, expected in zip(together, apart, strict=True):
        torch.testing.assert_close(state, expected)


def test_the_gradient_of_a_batch_in_pieces_is_that_of_the_batch() -> None:
    one = trainer(redraw="once", num_negatives=4000)
    batch = torch.arange(16)
    found = []
    for pieces in (1, 4):
        one._gradients(batch.chunk(pieces))
        found.append(one.model.matrices.logits.grad.clone())
    # The negatives differ between the two, so only many of them make the gradients close.
    assert torch.nn.functional.cosine_similarity(found[0].flatten(), found[1].flatten(), dim=0) > 0.9
    assert found[1].norm() / found[0].norm() == pytest.approx(1, abs=0.2)


def test_hidden_targets_send_no_message_in_their_step() -> None:
    facts = KnowledgeGraph([("a", "r", "b"), *((f"x{n}", "r", f"y{n}") for n in range(3))])
    shown, hidden = trainer(facts, redraw="once"), trainer(facts, redraw="once", hide_targets=True)
    everything = torch.arange(len(shown.examples))
    graph = ModelGraph(hidden.model, hidden.data.triples, hidden.data.num_entities).messages
    assert graph.hiding(everything % len(facts)).unique().max() == graph.num_messages
    assert shown.loss(everything).item() != hidden.loss(everything).item()


# --- unusual data ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "facts",
    [
        [("a", "r", "b")],
        [("a", "r", "a")],
        [("a", "r", "b"), ("c", "s", "d"), ("e", "t", "f")],
    ],
    ids=["one triple", "one entity", "each relation once"],
)
def test_small_graphs_train_and_answer(facts: list[tuple[str, str, str]]) -> None:
    fitted = model(batch_size=1).fit(KnowledgeGraph(facts))
    answers = fitted.on(KnowledgeGraph([*facts, ("z", "r", "a")]))
    assert answers.states.isfinite().all()
    assert fitted.summary()["epochs"] == 6
    assert fitted.summary()["best_epoch"] == 6  # nothing to look at: the last
    changed = (
        fitted.model.matrices.logits
        - Trainer(
            examples_of(KnowledgeGraph(facts), None, seed=1)[1],
            fitted.settings.architecture,
            fitted.settings.training,
            device=torch.device("cpu"),
        ).model.matrices.logits
    )
    assert len(facts) == 1 or changed.abs().max() > 0


def test_isolated_entities_and_relations_without_facts() -> None:
    split = families().train
    facts = KnowledgeGraph.from_ids(
        split.facts.heads[:5],
        split.facts.relation_ids[:5],
        split.facts.tails[:5],
        entities=split.facts.entities,
        relations=split.facts.relations,
    )
    said: list[str] = []
    fitted = model(max_epochs=2).fit(facts, valid=split.valid, notes=said.append)
    assert set(fitted.relations) == {relation for _, relation, _ in facts}
    assert len(said) == 1 and "validation triples are left out" in said[0]
    learned = fitted.on(split.facts).learned_relations
    assert learned.sum() == len(fitted.relations) < len(split.facts.relations)


def test_triples_are_taken_where_a_graph_is() -> None:
    valid = [("p0", "grandparent", "p3")]
    plain = model(max_epochs=1).fit(list(FACTS), valid=valid)
    graph = model(max_epochs=1).fit(KnowledgeGraph(FACTS), valid=KnowledgeGraph(valid))
    assert plain.history == graph.history
    triple = ("p0", "parent", "p1")
    judged = [one.judge(*triple).score for one in (plain.on(tuple(FACTS)), graph.on(FACTS))]
    assert judged[0] == pytest.approx(judged[1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "facts.tsv",
            r"found 'facts.tsv', expected a graph or triples .*\n  hint: reshuffle.read_graph\(path\)",
        ),
        (Path("facts.tsv"), r"expected a graph or triples .*\n  hint: reshuffle.read_graph\(path\)"),
        (5, r"found 5, expected a graph or triples of names: \(head, relation, tail\)\n  hint: "),
        ([("a", "b")], r"found \('a', 'b'\), expected a triple of names"),
    ],
)
def test_what_is_no_graph_is_refused(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model().fit(given)
    with pytest.raises(InputError, match=message):
        model().fit(FACTS, valid=given)
    with pytest.raises(InputError, match=message):
        model(max_epochs=0).fit(FACTS).on(given)


def test_a_benchmark_in_place_of_its_parts_is_refused() -> None:
    with pytest.raises(
        InputError, match=r"^found InductiveBenchmark, expected a graph\n  hint: give its .train$"
    ):
        model().fit(families())  # type: ignore[arg-type] - the slip
    fitted = model(max_epochs=0).fit(FACTS)
    with pytest.raises(InputError, match=r"hint: give its .test.facts$"):
        fitted.on(families())  # type: ignore[arg-type] - the slip
    with pytest.raises(InputError, match=r"^found GraphSplit, expected a graph\n  hint: give its .facts$"):
        fitted.on(families().test)  # type: ignore[arg-type] - the slip
    for given, part in ((families().train, "valid"), (families(), "train.valid")):
        with pytest.raises(InputError, match=rf"hint: give its .{part}$"):
            model().fit(FACTS, valid=given)  # type: ignore[arg-type] - the slip


def test_an_estimator_says_what_it_is(tmp_path: Path) -> None:
    one = Reshuffle(num_slots=3, num_layers=2, max_epochs=1, epoch_steps=2, device="cpu")
    settings = "recipe 'best', num_slots=3, num_layers=2, epoch_steps=2, max_epochs=1"
    assert repr(one).replace("max_epochs=1, epoch_steps=2", "epoch_steps=2, max_epochs=1") == (
        f"<Reshuffle: {settings}; not trained>"
    )
    one.fit(FACTS, inject=parse_rules("parent(X, Y) & parent(Y, Z) -> grandparent(X, Z)"))
    assert repr(one).endswith("; trained for 1 epoch on 2 relations, 1 injected rule>")
    one.save(tmp_path)
    assert repr(Reshuffle.load(tmp_path, device="cpu")) == repr(one)
    given = Reshuffle.from_constraints(one.harden(), device="cpu")
    assert repr(given).endswith("; of given constraints on 2 relations>")


def test_training_on_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="there are no training triples"):
        model().fit(KnowledgeGraph())


def test_empty_validation_is_told() -> None:
    said: list[str] = []
    model(max_epochs=1).fit(FACTS, valid=KnowledgeGraph(), notes=said.append)
    assert said == ["the given set of validation triples is empty: 3 of the facts are held out instead"]
    said.clear()
    fitted = model(max_epochs=3).fit(KnowledgeGraph([("a", "r", "b")]), notes=said.append)
    assert said == [
        "there are no validation triples for early stopping: all epochs run, and the last one is kept"
    ]
    assert fitted.summary() == {"epochs": 3, "best_epoch": 3}


def test_ten_percent_are_held_out_by_seed() -> None:
    held = [
        {tuple(row) for row in examples_of(FACTS, None, seed=seed)[1].valid.tolist()} for seed in (1, 1, 2)
    ]
    assert len(held[0]) == 3
    assert held[0] == held[1] != held[2]
    _, data = examples_of(FACTS, None, seed=1)
    assert len(data.triples) + len(data.valid) == len(FACTS)
    assert held[0].isdisjoint(map(tuple, data.triples.tolist()))


def test_symmetric_relations_are_given_by_name() -> None:
    fitted = model(symmetric=["parent"], max_epochs=1).fit(FACTS)
    rows = fitted.model.matrices()
    number = fitted.relations.index("parent")
    assert torch.equal(rows[number], rows[number + 2])
    constraints = fitted.harden()
    assert constraints.source_of("parent").tolist() == constraints.source_of("parent^-1").tolist()
    message = r"^setting 'symmetric' names an unknown relation 'parents'; did you mean 'parent' or"
    with pytest.raises(ReshuffleError, match=message):
        model(symmetric=["parents"]).fit(FACTS)


def test_private_states_cannot_be_trained_with_but_answer() -> None:
    with pytest.raises(ReshuffleError, match="training with private initial states is not possible"):
        model(initial="private").fit(FACTS)
    fitted = model(max_epochs=1).fit(FACTS)
    import numpy as np

    one, other = (
        fitted.on(FACTS, initial="private", seed=seed).scores(
            np.array([0, 3], dtype=np.int32), np.array([0, 1], dtype=np.int32), side=side, candidates=None
        )
        for seed, side in ((1, "tail"), (2, "tail"))
    )
    np.testing.assert_array_equal(one, other)  # no chance


def test_dropped_facts_need_a_channel_per_query() -> None:
    with pytest.raises(ReshuffleError) as caught:
        model(drop_facts=0.5).fit(FACTS)
    assert str(caught.value) == (
        "drop_facts needs a channel per query\n  hint: train with initial = 'head', or with drop_facts = 0"
    )
    assert model(drop_facts=0.5, initial="head", max_epochs=1).fit(FACTS).summary()["epochs"] == 1


def test_every_recipe_and_the_settings_of_every_cell_of_the_paper_can_be_trained_with() -> None:
    cells = [
        cell_settings(dataset, recipe, variant)
        for recipe, variants in VARIANTS.items()
        for variant in variants
        for dataset in DATASETS
    ]
    assert cells
    for settings in (*map(Settings.of, RECIPES), *cells):
        check_settings(settings.architecture, settings.training)


def test_devices() -> None:
    assert chosen_device("cpu") == torch.device("cpu")
    with pytest.raises(ReshuffleError, match="unknown device 'tpu9'"):
        chosen_device("tpu9")
    if not torch.cuda.is_available():
        with pytest.raises(ReshuffleError, match="torch finds no GPU\n  hint: "):
            chosen_device("cuda")


# --- going on ---------------------------------------------------------------------------------------------------


def test_a_checkpoint_holds_everything_the_next_epoch_depends_on(tmp_path: Path) -> None:
    whole = trainer(redraw="call", look_every=1)
    run_training(whole)
    cut = trainer(redraw="call", look_every=1)
    for epoch in cut.epochs():
        if epoch.number == 3:
            save_checkpoint(cut, tmp_path / "c.safetensors")
            break
    fresh = trainer(redraw="call", look_every=1)
    load_checkpoint(fresh, tmp_path / "c.safetensors")
    run_training(fresh)
    assert fresh.history == whole.history
    assert fresh.patience == whole.patience
    for name, value in whole.model.state_dict().items():
        assert torch.equal(fresh.model.state_dict()[name], value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"margin": 2.0}, r"made with other settings: margin = 1.0 \(now 2.0\)"),
        ({"facts": KnowledgeGraph([("a", "r", "b")] * 1)}, "made with other triples"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    save_checkpoint(trainer(), tmp_path / "c.safetensors")
    with pytest.raises(InputError, match=message):
        load_checkpoint(trainer(**changes), tmp_path / "c.safetensors")


DAMAGED = "not a checkpoint, or an incomplete or damaged one\n  hint: remove it to start again"


def test_a_checkpoint_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(trainer(), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=DAMAGED):
        load_checkpoint(trainer(), path)


def flipped(path: Path, place: int) -> None:
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def without_digest(path: Path) -> None:
    """As checkpoints were written before they had one."""
    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
        notes = {name: note for name, note in file.metadata().items() if name != "digest"}
    save_file(tensors, path, metadata=notes)


@pytest.mark.parametrize(
    "place",
    [
        lambda content: content.index(b"best_epoch") - 2,  # a quote: no JSON any more
        lambda content: content.index(b"best_epoch"),  # JSON with another name
        lambda content: content.index(b"relative_delta") + 20,  # a digit
        lambda content: content.index(b"generator"),  # the name of a tensor
        lambda content: len(content) - 1,  # of a tensor
    ],
    ids=["no JSON", "another name", "a digit", "a tensor's name", "a tensor"],
)
def test_a_checkpoint_with_a_flipped_bit_is_refused(place: Callable[[bytes], int], tmp_path: Path) -> None:
    path = tmp_path / "c.safetensors"
    save_checkpoint(trainer(), path)
    load_checkpoint(trainer(), path)
    flipped(path, place(path.read_bytes()))
    with pytest.raises(InputError, match=DAMAGED):
        load_checkpoint(trainer(), path)


def test_a_checkpoint_from_before_there_were_digests_is_read(tmp_path: Path) -> None:
    path, one, other = tmp_path / "c.safetensors", trainer(), trainer()
    next(one.epochs())
    save_checkpoint(one, path)
    without_digest(path)
    load_checkpoint(other, path)
    assert torch.equal(other.model.matrices.logits, one.model.matrices.logits)
    assert other.history == one.history
    for name in (b"best_epoch", b"generator"):  # what can be seen without one
        save_checkpoint(one, path)
        without_digest(path)
        flipped(path, path.read_bytes().index(name))
        with pytest.raises(InputError, match=DAMAGED):
            load_checkpoint(trainer(), path)


def test_more_epochs_may_be_asked_for_later(tmp_path: Path) -> None:
    first = model(max_epochs=4).fit(FACTS, directory=tmp_path)
    more = model(max_epochs=6).fit(FACTS, directory=tmp_path, resume=True)
    whole = model(max_epochs=6).fit(FACTS)
    assert first.summary()["epochs"] == 4
    assert [e.loss for e in more.history.epochs] == [e.loss for e in whole.history.epochs]


def test_a_second_training_in_a_directory_must_say_resume(tmp_path: Path) -> None:
    model(max_epochs=2).fit(FACTS, directory=tmp_path)
    with pytest.raises(InputError, match="this directory already has a training\n  hint: --resume"):
        model(max_epochs=2).fit(FACTS, directory=tmp_path)


def test_resume_without_a_directory_is_refused() -> None:
    with pytest.raises(ReshuffleError) as caught:
        model(max_epochs=1).fit(FACTS, resume=True)
    assert str(caught.value) == (
        "resume = True needs a directory with an interrupted training\n"
        "  hint: give directory=... with its checkpoint, or leave out resume"
    )


def test_resume_where_there_is_no_checkpoint_is_told(tmp_path: Path) -> None:
    said: list[str] = []
    for resume in (True, True, False):
        place = tmp_path if resume else tmp_path / "other"
        model(max_epochs=1).fit(FACTS, directory=place, resume=resume, notes=said.append)
    assert said == [f"there is no checkpoint in {tmp_path}: starting from the beginning"]


def log_of(directory: Path) -> list[dict[str, str]]:
    with (directory / "log.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_log_has_every_epoch_once(tmp_path: Path) -> None:
    model(max_epochs=4).fit(FACTS, directory=tmp_path)
    with (tmp_path / "log.csv").open("a", encoding="utf-8") as file:
        file.write("5,0.1,,,9.0\r\n6,0.")  # epochs after the last checkpoint, the last of them cut short
    fitted = model(max_epochs=6).fit(FACTS, directory=tmp_path, resume=True)
    rows = log_of(tmp_path)
    assert [row["epoch"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    assert [float(row["loss"]) for row in rows] == [epoch.loss for epoch in fitted.history.epochs]
    assert [row["hits@10"] != "" for row in rows] == [False, True] * 3
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)


def test_a_kill_while_a_training_is_taken_up_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = model(max_epochs=4).fit(FACTS, directory=tmp_path).history
    before = (tmp_path / "log.csv").read_bytes()

    def killed(_file: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(csv, "writer", killed)
    with pytest.raises(KeyboardInterrupt):
        TrainingLog(tmp_path, history)
    assert (tmp_path / "log.csv").read_bytes() == before


def test_tensorboard_shows_every_epoch_once_after_a_kill(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    model(max_epochs=3, look_every=1).fit(FACTS, directory=tmp_path)
    (tmp_path / CHECKPOINT).unlink()  # killed before the first checkpoint: it starts anew
    fitted = model(max_epochs=4, look_every=2).fit(FACTS, directory=tmp_path, resume=True)
    events = EventAccumulator(str(tmp_path / "tensorboard")).Reload()
    shown = [(event.step, event.value) for event in events.Scalars("loss")]
    assert shown == [(epoch.number, pytest.approx(epoch.loss)) for epoch in fitted.history.epochs]
    assert [event.step for event in events.Scalars("hits@10")] == [2, 4]


LONG = 40  # epochs


def long_training(directory: Path) -> None:
    model(max_epochs=LONG, patience=1000).fit(FACTS, directory=directory, resume=True).save(directory)


def test_after_kills_at_any_moment_the_result_is_that_of_an_uninterrupted_run(tmp_path: Path) -> None:
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for most in (3, 12):  # kill -9 once the log has that many epochs
        running = Running(slowly, long_training, killed)
        while running.is_alive and _epochs(killed) < most:
            time.sleep(0.01)
        assert running.killed() == -signal.SIGKILL
        assert most <= _epochs(killed) < LONG
    long_training(killed)
    long_training(whole)
    for column in ("epoch", "loss", "hits@10", "mrr"):
        assert [row[column] for row in log_of(killed)] == [row[column] for row in log_of(whole)]
    for file in ("model.safetensors", "settings.toml"):
        assert (killed / file).read_bytes() == (whole / file).read_bytes()


def _epochs(directory: Path) -> int:
    try:
        return len((directory / "log.csv").read_text(encoding="utf-8").splitlines()) - 1
    except FileNotFoundError:
        return 0


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: signal.raise_signal(signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_waits_until_an_epoch_is_written_down(
    ctrl_c: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TensorBoard's thread would wait for what it was half given, and the training would never end."""
    write, close = TrainingLog.write, TrainingLog.close

    def interrupted_write(log: TrainingLog, epoch: Epoch) -> None:
        if epoch.number == 2:
            ctrl_c()
        write(log, epoch)

    def interrupted_close(log: TrainingLog) -> None:
        ctrl_c()  # the second one of an impatient user
        close(log)
        closed.append(log)

    closed: list[TrainingLog] = []
    monkeypatch.setattr(TrainingLog, "write", interrupted_write)
    monkeypatch.setattr(TrainingLog, "close", interrupted_close)
    with pytest.raises(KeyboardInterrupt):
        model().fit(FACTS, directory=tmp_path)
    assert [row["epoch"] for row in log_of(tmp_path)] == ["1", "2"]
    assert (tmp_path / CHECKPOINT).exists()  # of epoch 2, which looked
    assert len(closed) == 1
    with pytest.raises(KeyboardInterrupt):
        ctrl_c()  # as before


def test_interrupts_are_held_back_in_the_main_thread_only(ctrl_c: Callable[[], None]) -> None:
    def held_back() -> None:
        with interrupts_held_back():
            seen.append(signal.getsignal(signal.SIGINT))

    seen: list[Any] = []
    elsewhere = threading.Thread(target=held_back)
    elsewhere.start()
    elsewhere.join()
    held_back()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    held_back()
    assert [one is signal.default_int_handler for one in seen] == [True, False, False]
    assert seen[2] == signal.SIG_IGN


# --- trouble ----------------------------------------------------------------------------------------------------


def test_a_diverging_loss_stops_and_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    said: list[str] = []
    settings = {"row_function": "square", "learning_rate": 300, "look_every": 1}  # good for two epochs
    with pytest.raises(DivergedError, match=r"the loss became nan in epoch \d") as caught:
        model(**settings).fit(FACTS, directory=tmp_path, notes=said.append)
    assert "hint: lower the learning rate (learning_rate = 300)" in str(caught.value)
    kept = trainer(**settings)
    load_checkpoint(kept, tmp_path / CHECKPOINT)
    assert all(parameter.isfinite().all() for parameter in kept.model.parameters())
    good = len(kept.history.epochs)
    assert good == caught.value.epoch - 1 >= 1
    assert said == [
        f"{tmp_path / CHECKPOINT} holds epoch {good}, the last good epoch: --resume with "
        f"max_epochs={good} saves its model; other settings need another directory"
    ]
    saved = model(**settings, max_epochs=good).fit(FACTS, directory=tmp_path, resume=True)
    assert saved.summary()["epochs"] == good


def test_a_divergence_before_the_first_checkpoint_leaves_the_directory_free(tmp_path: Path) -> None:
    said: list[str] = []
    settings = {"row_function": "square", "look_every": 100, "batch_size": 1024}
    with pytest.raises(ReshuffleError, match="the loss became"):
        model(**settings, learning_rate=1e18).fit(FACTS, directory=tmp_path, notes=said.append)
    assert said == ["there is no checkpoint yet; a new training can start in the same directory"]
    assert model(**settings).fit(FACTS, directory=tmp_path).summary()["epochs"] == 6


# Its only step has a finite loss and leaves finite parameters, whose scores overflow.
BLOWN_UP = {"row_function": "square", "num_layers": 8, "learning_rate": 3000, "batch_size": 1024}


def test_a_divergence_that_only_a_look_sees_is_one(tmp_path: Path) -> None:
    said: list[str] = []
    with pytest.raises(DivergedError) as caught:
        model(**BLOWN_UP, look_every=1, max_epochs=1).fit(FACTS, directory=tmp_path, notes=said.append)
    assert caught.value.epoch == 1
    assert str(caught.value).startswith(
        "the validation scores became nan in epoch 1, and no further epoch can mend that\n"
        "  hint: lower the learning rate (learning_rate = 3000); "
    )
    assert said == ["there is no checkpoint yet; a new training can start in the same directory"]
    assert not (tmp_path / CHECKPOINT).exists()


def test_a_look_at_scores_that_are_no_numbers_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    one = trainer(look_every=1)
    look = one.objective.look

    def spoilt() -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        scores_of = look()
        return lambda *asked: scores_of(*asked).index_fill(1, torch.tensor([3]), torch.nan)

    epochs = one.epochs()
    next(epochs)
    kept, best = replace(one.patience), one.best
    monkeypatch.setattr(one.objective, "look", spoilt)
    with pytest.raises(DivergedError, match="the validation scores became nan in epoch 2"):
        next(epochs)
    assert one.patience == kept and one.best is best
    assert len(one.history.epochs) == 1


def test_a_training_that_runs_out_of_memory_goes_on_in_pieces_and_says_so() -> None:
    said: list[str] = []
    settings = model(batch_size=64).settings
    data = examples_of(FACTS, None, seed=1)[1]
    one = Trainer(
        data, settings.architecture, settings.training, device=torch.device("cpu"), notes=said.append
    )
    real = one.loss

    def loss_of_few(batch: torch.Tensor) -> torch.Tensor:
        if len(batch) > 16:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return real(batch)

    one.loss = loss_of_few  # type: ignore[method-assign] - the GPU's limit, on a machine without one
    run_training(one)
    assert one.pieces == 4
    assert said == [
        f"out of GPU memory: continuing with batches in {n} pieces (CUDA out of memory)" for n in (2, 4)
    ]
    assert len(one.history.epochs) == 6
    assert losses(one)[-1] < losses(one)[0]


def test_the_note_beside_the_bar() -> None:
    one = trainer()
    notes = [progress_note(one, epoch) for epoch in one.epochs()]
    assert "hits@10" not in notes[0]
    assert f"loss {one.history.epochs[-1].loss:.4f}, hits@10 {one.patience.best:.3f} (epoch " in notes[-1]
    assert notes[-1].endswith(" GB")


def test_the_note_names_what_the_kept_epoch_is_best_in() -> None:
    one = trainer(select_by="mrr", look_every=6)
    note = [progress_note(one, epoch) for epoch in one.epochs()][-1]
    assert f"mrr {one.patience.best:.3f} (epoch 6)" in note
    assert one.patience.best == one.history.epochs[-1].mrr


def test_the_bar_tells_the_steps_within_an_epoch() -> None:
    told: list[tuple[int, str]] = []
    looked: list[tuple[int, str]] = []

    @contextmanager
    def telling(description: str, *, total: int | None = None, unit: str = "it") -> Iterator[Report]:
        bars = {("training", 2, "epoch"): told, ("validating", 6, "queries"): looked}
        yield lambda done, /, note="": bars[description, total, unit].append((done, note))

    run_training(trainer(max_epochs=2, epoch_steps=3), progress=telling)
    steps = [note for done, note in told if not done and note]
    assert [note.rpartition(", ")[2] for note in steps] == [f"step {n} of 3" for n in (1, 2, 3)] * 2
    assert "loss" in steps[-1]  # what the epoch before said stays in sight
    assert sum(done for done, _ in looked) == 6


BEST = {
    "recipe": "best",
    "num_slots": 4,
    "num_layers": 2,
    "epoch_steps": 4,
    "look_every": 1,
    "batch_size": 16,
}


def test_the_best_recipe_goes_on_as_if_nothing_had_happened(tmp_path: Path) -> None:
    changes = {**BEST, "num_channels": 40, "num_negatives": 100, "max_epochs": 4}
    whole, cut, fresh = (trainer(**changes) for _ in range(3))
    run_training(whole)
    for epoch in cut.epochs():
        if epoch.number == 2:
            save_checkpoint(cut, tmp_path / "c.safetensors")
            break
    load_checkpoint(fresh, tmp_path / "c.safetensors")
    run_training(fresh)
    assert losses(fresh) == losses(whole)
    for name, value in whole.model.state_dict().items():
        assert torch.equal(value, fresh.model.state_dict()[name]), name


def test_a_falling_learning_rate_cannot_be_stretched(tmp_path: Path) -> None:
    changes = {**BEST, "max_epochs": 2}
    model(**changes).fit(FACTS, directory=tmp_path)
    with pytest.raises(InputError, match=r"made with other settings: max_epochs = 2 \(now 3\)"):
        model(**{**changes, "max_epochs": 3}).fit(FACTS, directory=tmp_path, resume=True)
    kept = model(**{**changes, "max_epochs": 1}).fit(FACTS, directory=tmp_path, resume=True)
    assert kept.summary()["epochs"] == 2  # nothing more to train, so nothing that could differ


def test_training_needs_a_slot() -> None:
    with pytest.raises(ReshuffleError, match="setting 'num_slots' is 0; it must be at least 1 to train"):
        model(num_slots=0).fit(FACTS)
