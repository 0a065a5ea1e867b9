"""Rules given to a model: which are taken, what they do to its answers, and that they are kept."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from reshuffle.cli.main import main
from reshuffle.errors import InputError, ReshuffleError
from reshuffle.kg import KnowledgeGraph
from reshuffle.learning.estimator import Reshuffle
from reshuffle.learning.injection import ChosenRules, choose_rules
from reshuffle.learning.training.examples import examples_of
from reshuffle.learning.training.objective import held_back
from reshuffle.learning.training.trainer import Trainer
from reshuffle.model.injected import InjectedBlock
from reshuffle.rulegraphs import constraints_for
from reshuffle.rules import PathRule, Quality, RuleBase, parse_rules, read_rules
from reshuffle.rules.classes import classify
from reshuffle.rules.entailment import closure
from strategies import rule_bases

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = 12
FACTS = KnowledgeGraph(
    [(f"p{n}", "bornIn", f"c{n % 4}") for n in range(PEOPLE)]
    + [(f"c{n}", "cityIn", f"s{n % 2}") for n in range(4)]
    + [(f"p{n}", "citizenOf", f"s{n % 2}") for n in range(6)]
)
VALID = KnowledgeGraph([("p7", "citizenOf", "s1"), ("p8", "citizenOf", "s0")])
CITIZENS = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)")
QUICK: dict[str, Any] = {
    "num_slots": 4, "num_layers": 2, "max_epochs": 2, "epoch_steps": 3, "look_every": 1, "batch_size": 8,
    "rules_weight": 0,
}  # fmt: skip


def fitted(
    rules: RuleBase | None = CITIZENS, *, fit: dict[str, Any] | None = None, **changes: Any
) -> Reshuffle:
    model = Reshuffle(device="cpu", **{**QUICK, **changes})
    return model.fit(FACTS, valid=VALID, inject=rules, **(fit or {}))


def all_scores(model: Reshuffle, side: str) -> Any:
    anchors = np.arange(FACTS.num_entities, dtype=np.int32)
    relation = np.full_like(anchors, FACTS.relations.id("citizenOf"))
    return model.on(FACTS).scores(anchors, relation, side=side, candidates=None)


# --- choosing -------------------------------------------------------------------------------------------------------


def rule(body: str, head: str, confidence: float | None = None) -> PathRule:
    quality = None if confidence is None else Quality(confidence=confidence)
    return PathRule(tuple(body.split()), head, quality)


def test_the_better_of_two_rules_that_do_not_fit_together_is_taken() -> None:
    left, right, other = rule("r a", "r", 0.5), rule("b r c", "r", 0.7), rule("a", "b", 0.1)
    chosen = choose_rules(RuleBase((left, right, other)))
    assert chosen.taken.rules == (left, other)  # `b;r;c -> r` has no geometry, whatever its confidence
    first, second = rule("r s", "r", 0.9), rule("r s", "s", 0.8)
    assert choose_rules(RuleBase((second, first))).taken.rules == (first,)
    worse = RuleBase((second, PathRule(first.body, first.head, Quality(confidence=0.1))))
    assert choose_rules(worse).taken.rules == (second,)


def test_rules_go_by_confidence_and_those_without_one_come_first() -> None:
    some = [rule("a", "b", 0.2), rule("b", "c", 0.8), rule("c", "d"), rule("d", "e", 0.5)]
    chosen = choose_rules(RuleBase(tuple(some)))
    assert chosen.taken.rules == (some[2], some[1], some[3], some[0])
    assert not chosen.left_out


def one_by_one(rules: RuleBase) -> tuple[list[Any], list[Any]]:
    """What the steps of a greedy choice amount to, rule by rule."""
    taken: list[Any] = []
    left: list[Any] = []
    for one in rules.rules:
        (taken if classify(RuleBase((*taken, one))).faithful else left).append(one)
    return taken, left


@given(rules=rule_bases(most_rules=8, inverses=True, intersections=True))
@settings(max_examples=150, deadline=None)
def test_what_is_taken_has_exact_geometry_and_nothing_is_lost(rules: RuleBase) -> None:
    chosen = choose_rules(rules)
    assert constraints_for(chosen.taken).num_slots == chosen.constraints.num_slots
    assert {*chosen.taken.rules, *(one.rule for one in chosen.left_out)} == set(rules.rules)
    for one in chosen.left_out:
        assert "no exact geometry" in one.reason


@given(rules=rule_bases(most_rules=8, inverses=True))
@settings(max_examples=100, deadline=None)
def test_steps_that_double_choose_as_one_by_one_does(rules: RuleBase) -> None:
    chosen = choose_rules(rules)
    assert (list(chosen.taken.rules), [one.rule for one in chosen.left_out]) == one_by_one(rules)


def test_slots_are_not_exceeded_and_rules_that_still_fit_are_taken() -> None:
    long = rule("a b c d e f g", "h", 0.9)
    others = [rule("x", "y", 0.8), rule("y", "z", 0.7)]
    chosen = choose_rules(RuleBase((long, *others)), slots=5)
    assert chosen.taken.rules == tuple(others)
    assert chosen.constraints.num_slots <= 5
    assert str(chosen.left_out[0]) == f"{long}: 8 slots would be needed with it, and there are 5"
    with pytest.raises(ReshuffleError, match="0 slots for injected rules; there must be at least 1"):
        choose_rules(RuleBase((long,)), slots=0)


def test_a_choice_prints_and_is_plain_data() -> None:
    chosen = choose_rules(RuleBase((*(rule("a b", f"h{n}") for n in range(3)), rule("a h0 b", "h0"))))
    shown = str(chosen).splitlines()
    assert shown[0] == f"3 rules injected, in {chosen.constraints.num_slots} slots"
    assert shown[1] == "1 rule left out"
    assert "`h0` calls itself between other atoms" in shown[2]
    data = json.loads(json.dumps(chosen.to_dict()))
    assert data["taken"][0] == "a(X, Y) & b(Y, Z) -> h0(X, Z)"
    assert data["left_out"][0]["rule"] == str(chosen.left_out[0].rule)


def test_a_rule_without_room_keeps_no_other_out() -> None:
    """Together the two have no exact geometry; but the first needs four slots, so that the second stands alone."""
    embedded = PathRule(("b", "a", "d"), "c", Quality(confidence=0.9))
    closing = PathRule(("c",), "a", Quality(confidence=0.5))
    rules = RuleBase((embedded, closing))
    assert choose_rules(rules, slots=4).taken.rules == (embedded,)
    assert choose_rules(rules, slots=3).taken.rules == (closing,)


def test_rules_without_geometry_among_the_others_keep_none_out() -> None:
    """Where every second rule is left out for another reason than room, all that fit are found."""
    pairs = [(rule(f"a{n}", f"c{n}"), rule(f"a{n} c{n} b{n}", f"c{n}")) for n in range(70)]
    chosen = choose_rules(RuleBase(tuple(one for pair in pairs for one in pair)), slots=256)
    assert chosen.taken.rules == tuple(good for good, _ in pairs)
    assert all("no exact geometry" in one.reason for one in chosen.left_out)


@pytest.mark.slow
def test_two_thousand_rules_are_chosen_from() -> None:
    chance = np.random.default_rng(3)
    names = [f"r{n}" for n in range(60)]
    rules = tuple(
        PathRule(
            tuple(chance.choice(names, size=int(chance.integers(1, 3)))),
            str(chance.choice(names)),
            Quality(confidence=float(chance.random())),
        )
        for _ in range(2000)
    )
    chosen = choose_rules(RuleBase(rules))
    assert len(chosen.taken) + len(chosen.left_out) == len(RuleBase(rules))
    assert chosen.constraints.num_slots <= 256


# --- in a model -----------------------------------------------------------------------------------------------------


def test_entailed_triples_are_captured_by_the_injected_rules_and_others_are_not() -> None:
    model = fitted()
    answers, entailed = model.on(FACTS), closure(CITIZENS, FACTS)
    for side in ("tail", "head"):
        for person in range(PEOPLE):
            for state in ("s0", "s1", "c0"):
                judged = answers.judge(f"p{person}", "citizenOf", state, side=side)
                assert judged.injected is not None
                assert ("injected" in judged.captured_by) == ((f"p{person}", "citizenOf", state) in entailed)
                total = judged.constraint_score + judged.injected + sum(judged.evidence.values())
                assert judged.score == pytest.approx(total)


def test_a_judgement_says_which_block_captured_it() -> None:
    answers = fitted().on(FACTS)
    yes, no = (answers.judge("p7", "citizenOf", state) for state in ("s1", "s0"))
    assert (yes.captured, yes.captured_by, no.captured) == (True, ("injected",), False)
    assert "p7 citizenOf s1: captured by the injected constraints; evidence: " in str(yes)
    assert f", injected {no.injected:.4f}; evidence: " in str(no)
    assert (yes.to_dict()["injected"], yes.to_dict()["captured_by"]) == (0.0, ["injected"])
    silent = answers.judge("p7", "bornIn", "c0")
    assert silent.injected is None
    assert "injected" not in silent.to_dict()


def test_predictions_and_scores_count_what_the_rules_say() -> None:
    model = fitted()
    answers = model.on(FACTS)
    best = answers.predict(relation="citizenOf", head="p7")[0]
    assert (best.triple.tail, best.injected, best.captured) == ("s1", 0.0, True)
    assert answers.explain(*best.triple).judgement == answers.judge(*best.triple)
    assert "injected" in answers.predict(relation="citizenOf", head="p7").to_arrow().column_names
    assert "injected" in str(answers.predict(relation="citizenOf", head="p7")).splitlines()[0]
    assert answers.predict(relation="bornIn", head="p7")[0].injected is None
    row = all_scores(model, "tail")[FACTS.entities.id("p7")]
    for state in ("s0", "s1"):
        assert row[FACTS.entities.id(state)] == pytest.approx(answers.judge("p7", "citizenOf", state).score)


def test_a_relation_without_a_fact_is_known_from_its_rules() -> None:
    unseen = parse_rules("citizenOf(X, Y) & speaks(Y, Z) -> understands(X, Z)")
    model = fitted(unseen)
    assert {"speaks", "understands"} <= set(model.relations)
    world = [
        ("a", "citizenOf", "s"),
        ("s", "speaks", "l"),
        ("b", "citizenOf", "t"),
        ("b", "understands", "k"),
    ]
    answers = model.on(KnowledgeGraph(world))
    assert answers.judge("a", "understands", "l").captured_by == ("injected",)
    assert answers.judge("b", "understands", "l").captured_by == ()


def test_a_relation_that_neither_training_nor_the_graph_has_a_fact_of() -> None:
    answers = fitted(parse_rules("citizenOf(X, Y) & speaks(Y, Z) -> understands(X, Z)")).on(
        KnowledgeGraph([("a", "citizenOf", "s"), ("s", "speaks", "l"), ("b", "citizenOf", "t")])
    )
    assert answers.judge("a", "understands", "l").captured_by == ("injected",)
    assert answers.predict(head="a", relation="understands", top=1)[0].triple.tail == "l"
    assert answers.predict(tail="l", relation="understands", top=1)[0].triple.head == "a"
    assert answers.missing(relation="understands", top=1)[0].triple == ("a", "understands", "l")
    assert answers.explain("a", "understands", "l").proofs


def test_rules_make_heads_of_those_who_were_none_in_training() -> None:
    # In training nobody who was a tail of cityIn was a head of citizenOf.
    answers = fitted(parse_rules("cityIn(Y, X) & speaks(Y, Z) -> citizenOf(X, Z)")).on(
        KnowledgeGraph([("c", "cityIn", "s"), ("c", "speaks", "l"), ("p", "bornIn", "c")])
    )
    found = answers.missing(relation="citizenOf", top=100)
    assert ("s", "citizenOf", "l") in {row.triple for row in found if row.captured}


def test_rules_follow_facts_that_come_and_go() -> None:
    answers = fitted().on(FACTS)
    assert answers.judge("p7", "citizenOf", "s0").captured_by == ()
    answers.add([("p7", "bornIn", "c2"), ("new", "bornIn", "c3")])
    assert answers.judge("p7", "citizenOf", "s0").captured_by == ("injected",)
    assert answers.judge("new", "citizenOf", "s1", side="head").captured_by == ("injected",)
    answers.remove([("p7", "bornIn", "c2")])
    assert answers.judge("p7", "citizenOf", "s0").captured_by == ()


def test_links_of_a_whole_graph_count_what_the_rules_say() -> None:
    answers = fitted().on(FACTS | KnowledgeGraph([("p7", "citizenOf", "s0")]))
    found = {link.triple: link for link in answers.missing(relation="citizenOf", top=100)}
    link = found[next(triple for triple in found if triple[0] == "p7" and triple[2] == "s1")]
    assert link.injected == 0
    assert link.score == pytest.approx(answers.judge(*link.triple).score, rel=1e-5)


def test_without_rules_nothing_changes() -> None:
    plain = Reshuffle(device="cpu", **QUICK).fit(FACTS, valid=VALID)
    assert plain.injection is None
    assert not any("injected" in name for name in plain.model.state_dict())
    assert plain.on(FACTS).judge("p7", "citizenOf", "s1").injected is None


def test_weights_are_learned_and_stay_where_nothing_is_known() -> None:
    rules = parse_rules("bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)\nlikes(X, Y) -> adores(X, Y)")
    model = fitted(rules, evidence_decay=1.0, drop_facts=0.0)  # a weak pull, since there are few facts
    block = model.model.injected
    assert block is not None
    weights = dict(zip(model.relations, block.weights().tolist(), strict=False))
    assert weights["adores"] == pytest.approx(4.0, abs=1e-3)
    assert abs(weights["citizenOf"] - 4.0) > 1e-3


def test_a_strong_pull_keeps_the_weights_of_rules() -> None:
    moved = [
        (block.logits - block.logits[-1]).abs().max().item()
        for decay in (0.0, 1e4)
        if (block := fitted(evidence_decay=decay, drop_facts=0.0).model.injected) is not None
    ]
    assert moved[1] < 0.5 * moved[0]


def test_rules_to_refine_are_where_the_learned_matrices_start() -> None:
    started = fitted(fit={"inject_mode": "refine"}, learning_rate=1e-12)
    assert started.model.injected is None
    constraints = started.injection.rules.constraints  # type: ignore[union-attr]
    hard, slots = started.harden(), constraints.num_slots
    for relation in constraints.relations:
        np.testing.assert_array_equal(hard.source_of(relation)[:slots], constraints.source_of(relation))
    trained = fitted(fit={"inject_mode": "refine"}, learning_rate=0.5)
    assert not torch.equal(trained.model.matrices.logits, started.model.matrices.logits)


def test_refining_switches_identities_on_where_the_rules_need_them() -> None:
    near = parse_rules("near(X, Y) & near(Y, Z) -> near(X, Z)\nbornIn(X, Y) & near(Y, Z) -> citizenOf(X, Z)")
    told: list[str] = []
    model = fitted(near, fit={"inject_mode": "refine", "notes": told.append}, num_slots=6)
    assert model.settings.architecture.identity
    assert any("identity = true" in note for note in told)
    assert len(model.identities) == max(1, len(constraints_for(near).identities))


@pytest.mark.parametrize(
    ("changes", "fit", "message"),
    [
        ({"recipe": "paper"}, {}, "a frozen block needs a channel per query"),
        ({}, {"inject_mode": "freeze"}, "unknown way to inject 'freeze'"),
        ({}, {"inject_mode": "refine", "inject_slots": 5}, "5 slots to refine, and the model has 4"),
        (
            {"row_function": "square"},
            {"inject_mode": "refine"},
            "refining rules needs softmax rows",
        ),
    ],
)
def test_how_rules_cannot_be_injected_is_refused(
    changes: dict[str, Any], fit: dict[str, Any], message: str
) -> None:
    with pytest.raises(ReshuffleError, match=message):
        fitted(fit=fit, **changes)


@pytest.mark.parametrize("fit", [{"inject_mode": "refine"}, {"inject_slots": 5}])
def test_how_to_inject_says_nothing_without_rules(fit: dict[str, Any]) -> None:
    with pytest.raises(ReshuffleError, match="but there are none\n  hint: give inject=rules"):
        fitted(None, fit=fit)


@pytest.mark.parametrize("rules", ["r(X, Y) -> s(X, Y)", ["r(X, Y) -> s(X, Y)"], 5])
def test_what_is_no_rule_base_is_refused(rules: Any) -> None:
    with pytest.raises(ReshuffleError, match=r"expected rules\n  hint: parse_rules\(text\)"):
        fitted(rules)


def test_a_list_of_rules_is_a_rule_base() -> None:
    assert fitted(list(CITIZENS.rules)).injection.rules.taken == CITIZENS


def test_rules_of_which_none_can_be_taken_are_refused() -> None:
    with pytest.raises(ReshuffleError) as caught:
        fitted(fit={"inject_slots": 1})
    assert str(caught.value) == (
        "the rule cannot be injected\n"
        f"  {CITIZENS.rules[0]}: 3 slots would be needed with it, and there are 1\n"
        "  hint: allow more slots (--inject-slots, num_slots), or give other rules"
    )
    many = RuleBase(tuple(rule(f"a r{n} b", f"r{n}") for n in range(5)))
    with pytest.raises(ReshuffleError) as caught:
        fitted(many)
    first, *reasons, more, _hint = str(caught.value).splitlines()
    assert (first, more) == ("none of the rules can be injected", "  and 2 more")
    assert [f"no exact geometry: `r{n}` calls itself" in line for n, line in enumerate(reasons)] == [True] * 3
    with pytest.raises(ReshuffleError, match="there are no rules to inject\n  hint: "):
        fitted(RuleBase(()))


# --- kept -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["frozen", "refine"])
def test_a_loaded_model_has_its_rules(mode: str, tmp_path: Path) -> None:
    saved = fitted(fit={"inject_mode": mode})
    saved.save(tmp_path)
    loaded = Reshuffle.load(tmp_path, device="cpu")
    assert loaded.injection is not None
    assert (loaded.injection.mode, loaded.injection.rules.taken) == (mode, CITIZENS)
    assert read_rules(tmp_path / "injected.rules").rules == CITIZENS.rules
    for side in ("tail", "head"):
        np.testing.assert_array_equal(all_scores(loaded, side), all_scores(saved, side))


def test_rules_of_another_model_are_refused(tmp_path: Path) -> None:
    fitted().save(tmp_path)
    constraints_for(parse_rules("bornIn(X, Y) -> citizenOf(X, Y)")).save(tmp_path / "injected.json")
    with pytest.raises(InputError, match="these injected rules do not match the settings"):
        Reshuffle.load(tmp_path, device="cpu")


class KilledError(Exception):
    pass


@pytest.mark.parametrize("mode", ["frozen", "refine"])
def test_a_training_with_rules_goes_on_after_a_kill(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fitted(fit={"inject_mode": mode}, max_epochs=3)
    epoch = Trainer._epoch

    def killed(self: Trainer, number: int) -> float:
        if number == 2:
            raise KilledError
        return epoch(self, number)

    monkeypatch.setattr(Trainer, "_epoch", killed)
    kept = {"directory": tmp_path, "inject_mode": mode}
    with pytest.raises(KilledError):
        fitted(fit=kept, max_epochs=3)
    monkeypatch.undo()
    none = (None, {"directory": tmp_path})
    for other, options in (none, (parse_rules("cityIn(X, Y) & bornIn(Y, Z) -> citizenOf(X, Z)"), kept)):
        with pytest.raises(InputError, match="made with other injected rules, or with none"):
            fitted(other, fit={**options, "resume": True}, max_epochs=3)
    resumed = fitted(fit={**kept, "resume": True}, max_epochs=3)
    np.testing.assert_array_equal(all_scores(resumed, "tail"), all_scores(whole, "tail"))


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts, rules, model = tmp_path / "facts.tsv", tmp_path / "mined.txt", tmp_path / "model"
    facts.write_text("".join("\t".join(triple) + "\n" for triple in FACTS), encoding="utf-8")
    rules.write_text(
        "9\t9\t0.9\tcitizenOf(X,Y) <= bornIn(X,A), cityIn(A,Y)\n"
        "9\t5\t0.5\tcitizenOf(X,Y) <= bornIn(X,A), citizenOf(A,B), cityIn(B,Y)\n"
        "9\t5\t0.5\tcitizenOf(X,s0) <= bornIn(X,c0)\n",
        encoding="utf-8",
    )
    changes = [part for name, value in QUICK.items() for part in ("--set", f"{name}={value}")]
    command = ["train", str(facts), "-o", str(model), "--inject", str(rules), "--inject-slots", "4", *changes]
    assert main([*command, "--json"]) == 0
    shown = capsys.readouterr()
    injected = json.loads(shown.out)["injected"]
    assert injected["mode"] == "frozen"
    assert injected["taken"] == ["bornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)"]
    assert [one["rule"].count("citizenOf") for one in injected["left_out"]] == [2, 1]
    assert "1 rule injected, in 3 slots\n2 rules left out\n" in shown.err
    assert isinstance(Reshuffle.load(model).injection.rules, ChosenRules)  # type: ignore[union-attr]
    assert main(["train", str(facts), "-o", str(tmp_path / "m2"), "--inject", str(tmp_path / "none")]) == 2


def test_evidence_and_injected_weights_are_held_back_by_examples() -> None:
    facts = KnowledgeGraph([("a", "r", "b"), ("b", "r", "c"), ("a", "s", "b"), ("a", "s", "c")])
    settings = Reshuffle(num_slots=3, num_layers=2, device="cpu", evidence_decay=7.0, batch_size=4).settings
    data = examples_of(facts, None, seed=1)[1]
    block = InjectedBlock(constraints_for(parse_rules("r(X, Y) -> s(X, Y)")), facts.relations)
    one = Trainer(data, settings.architecture, settings.training, device=torch.device("cpu"), injected=block)
    assert settings.training.evidence_prior == "examples"
    evidence, injected = one.model.evidence, one.model.injected
    assert evidence is not None and injected is not None
    evidence.of_fact.data[0] += 1.0
    injected.logits.data[1] += 1.0
    examples = torch.tensor([3, 1, 4, 1])
    expected = 7.0 / 4 * (evidence.penalty(examples) + 1.0 / (1 + 1))
    assert evidence.penalty(examples) > 0
    torch.testing.assert_close(held_back(one, examples), expected)
