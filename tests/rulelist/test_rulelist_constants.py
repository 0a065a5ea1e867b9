"""Rules about particular entities in rule lists, beside slow and obvious counts and sums."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reshuffle as rs
from reshuffle.cli.main import main
from reshuffle.deadlines import Deadline
from reshuffle.errors import InputError
from reshuffle.kg import KnowledgeGraph
from reshuffle.rulelist import RuleModel, RuleSettings, learn_rules, load_rule_model, refit, save_rule_model
from reshuffle.rulelist.constants.constant_rules import ConstantRules
from reshuffle.rulelist.constants.constant_text import compacted, texts_of
from reshuffle.rulelist.constants.constants_on_graph import ConstantsOnGraph
from reshuffle.rulelist.constants.counting import Counting, counted_rules
from reshuffle.rulelist.constants.joint_weights import joint_weights, telling
from reshuffle.rulelist.constants.properties import Properties
from reshuffle.rulelist.constants.weighing import ConstantLearning, Weighing
from reshuffle.rulelist.features import FeatureGraph, Questions
from reshuffle.rulelist.kernels.least_squares import MOST_BODIES
from reshuffle.rulelist.model_text import model_text, parse_rule_model
from reshuffle.rulelist.rule_answers import RulesOnGraph
from reshuffle.rulelist.training_rows import questions_of

if TYPE_CHECKING:
    from pathlib import Path

Fact = tuple[str, str, str]
Pair = tuple[str, str | None]  # a directed relation, and an entity or anybody
RELATIONS = ("r0", "r1", "r2")
DIRECTED = (*RELATIONS, *(f"{name}^-1" for name in RELATIONS))


def turned(relation: str) -> str:
    return relation.removesuffix("^-1") if relation.endswith("^-1") else f"{relation}^-1"


def random_facts(seed: int, *, entities: int = 9, facts: int = 40) -> list[Fact]:
    chance = np.random.default_rng(seed)
    rows = chance.integers((0, 0, 0), (entities, len(RELATIONS), entities), size=(facts, 3)).tolist()
    return sorted({(f"e{head}", RELATIONS[relation], f"e{tail}") for head, relation, tail in rows})


def properties_of(facts: list[Fact]) -> dict[str, set[Pair]]:
    """What each entity has, word for word."""
    found: dict[str, set[Pair]] = {name: set() for head, _, tail in facts for name in (head, tail)}
    for head, relation, tail in facts:
        found[head] |= {(relation, tail), (relation, None)}
        found[tail] |= {(f"{relation}^-1", head), (f"{relation}^-1", None)}
    return found


def counts_of(facts: list[Fact], body: Pair, head: Pair) -> tuple[int, int]:
    """Predictions and support: who has the body and some edge of the head's relation; who of these has the head."""
    having = [has for has in properties_of(facts).values() if body in has and (head[0], None) in has]
    return len(having), sum(head in has for has in having)


def random_rules(seed: int, names: tuple[str, ...], *, rules: int = 30) -> ConstantRules:
    chance = np.random.default_rng(seed)
    number = len(RELATIONS)
    rows = np.unique(
        np.column_stack(
            [
                chance.integers(0, 2 * number, rules),
                chance.integers(-1, len(names), rules),
                chance.integers(0, 2 * number, rules),
                chance.integers(0, len(names), rules),
            ]
        ),
        axis=0,
    ).astype(np.int32)
    rows = chance.permutation(rows)
    counts = np.column_stack([chance.integers(5, 9, len(rows)), chance.integers(1, 6, len(rows))])
    weights = chance.integers(0, 8, (len(rows), 2)) / 4
    weights[rows[:, 1] < 0, 1] = 0
    return compacted(ConstantRules(RELATIONS, names, rows[:, :2], rows[:, 2:], weights, counts))


def model_of(constants: ConstantRules) -> RuleModel:
    paths = rs.parse_rules("r0(X, Y) & r1(Y, Z) -> r2(X, Z)\nr1(X, Y) -> r0(X, Y)")
    return replace(RuleModel.from_rules(paths), constants=constants)


def added_by(rules: ConstantRules, facts: list[Fact], who: str, relation: str, answer: str) -> float:
    """What rules add to an answer of (who, relation, ?): all that apply."""
    has, total = properties_of(facts), 0.0
    for place in range(len(rules)):
        body_relation, named, head_relation, entity = rules.claim(place)
        body = body_relation, named
        for way, applies in (
            (0, head_relation == relation and entity == answer and body in has[who]),
            (1, head_relation == turned(relation) and entity == who and body in has[answer]),
        ):
            if applies and not (way and named is None):
                total += float(rules.weights[place, way])
    return total


# --- counting -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_rules_are_counted_as_they_are_defined(seed: int) -> None:
    facts = random_facts(seed)
    graph = FeatureGraph(KnowledgeGraph(facts))
    properties = Properties.of(graph)
    counted = counted_rules(graph, properties, Counting(support=2))
    codes, names = list(graph.codes), graph.graph.entities
    has = properties_of(facts)
    every = sorted({one for some in has.values() for one in some}, key=str)

    def pair(number: int) -> Pair:
        entity = int(properties.entities[number])
        return codes[properties.codes[number]], None if entity < 0 else names[entity]

    columns = zip(counted.bodies, counted.heads, counted.predictions, counted.supports, strict=True)
    found = {(pair(body), pair(head)): (int(joined), int(support)) for body, head, joined, support in columns}
    wanted = {}
    for body in every:
        for head in every:
            joined, support = counts_of(facts, body, head)
            share = sum(head in some for some in has.values()) / max(
                1, sum((head[0], None) in some for some in has.values())
            )
            if head[1] is not None and head != body and support >= 2 and support > joined * share + 1e-12:
                wanted[body, head] = joined, support
    assert found == wanted


def test_of_many_facts_only_frequent_rules_are_counted() -> None:
    graph = FeatureGraph(KnowledgeGraph(random_facts(1, facts=60)))
    properties = Properties.of(graph)
    everything = counted_rules(graph, properties, Counting(support=2))
    frequent = counted_rules(graph, properties, Counting(support=2, one_in=len(graph.graph) // 4))
    assert set(everything.supports.tolist()) >= {2, 3}
    assert frequent.supports.min() == 4


def test_what_a_deadline_leaves_out_is_told_and_is_of_all_relations() -> None:
    facts = random_facts(1, entities=60, facts=900)
    graph, told = FeatureGraph(KnowledgeGraph(facts), cores=1), list[str]()
    properties = Properties.of(graph)
    every = counted_rules(graph, properties, Counting(support=2), notes=told.append)
    assert not told
    over = Deadline(time.monotonic() - 1)
    some = counted_rules(graph, properties, Counting(support=2), deadline=over, notes=told.append)
    assert told == ["rules about entities were counted for 2% of what entities have in common"]
    assert 0 < len(some) < len(every)
    rules = {*zip(every.bodies.tolist(), every.heads.tolist(), strict=True)}
    assert {*zip(some.bodies.tolist(), some.heads.tolist(), strict=True)} < rules
    assert (np.diff(every.bodies) >= 0).all()  # in whichever order they were counted
    assert some.bodies[0] > every.bodies[0]  # not always the first relation


# --- answers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_the_paths_and_of_all_rules_that_apply(seed: int) -> None:
    facts = random_facts(seed)
    graph = KnowledgeGraph(facts)
    rules = random_rules(seed, (*graph.entities, "somebody else"))
    model = model_of(rules)
    bare, whole = (RulesOnGraph(one, graph) for one in (model.without_constants(), model))
    anchors = np.arange(graph.num_entities)
    for number, name in enumerate(bare.graph.relations):
        for side, relation in (("tail", name), ("head", turned(name))):
            asked = whole.questions(anchors, np.full(len(anchors), number), side)
            before, after = bare.scored(asked)[0], whole.scored(asked)[0]
            for who in anchors.tolist():
                for answer in anchors.tolist():
                    if who == answer and not bare.has_loops(number):
                        continue
                    added = added_by(rules, facts, graph.entities[who], relation, graph.entities[answer])
                    assert after[who, answer] - before[who, answer] == pytest.approx(added)


@pytest.mark.parametrize("seed", range(3))
def test_explanations_add_up_and_show_the_facts(seed: int) -> None:
    facts = random_facts(seed)
    answers = model_of(random_rules(seed, tuple(KnowledgeGraph(facts).entities))).on(facts)
    seen = 0
    for row in answers.missing(top=None):
        told = answers.explain(*row.triple)
        assert told.score == pytest.approx(sum(part.value for part in told.parts))
        for part in told.parts:
            if part.rule is not None and "(" not in part.evidence and " of " in part.evidence:
                seen += 1
                assert part.proofs
                assert all(len(walk) == 1 and walk[0] in set(facts) for walk in part.proofs)
    assert seen


@pytest.mark.parametrize("seed", range(3))
def test_missing_links_are_those_that_any_rule_leads_to(seed: int) -> None:
    facts = random_facts(seed)
    answers = model_of(random_rules(seed, tuple(KnowledgeGraph(facts).entities))).on(facts)
    found = {row.triple: row.sum.score for row in answers.missing(top=None)}
    wanted = {}
    for head in answers.graph.entities:
        for relation in answers.relations:
            for tail in answers.graph.entities:
                told = answers.judge(head, relation, tail)
                if told and not told.known and (head != tail or answers._state.has_loops(0)):
                    wanted[told.triple] = told.score
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(3))
def test_a_hidden_fact_is_no_reason(seed: int) -> None:
    facts = [fact for fact in random_facts(seed) if fact[0] != fact[2]]
    graph = KnowledgeGraph(facts)
    features, rules = FeatureGraph(graph), random_rules(seed, tuple(graph.entities), rules=200)
    finding = ConstantsOnGraph(rules, features, np.ones(2 * len(graph.relations), dtype=np.bool_))
    asked, seen = questions_of(graph), 0
    names, codes = graph.entities, list(features.codes)
    for rows, fired in finding.fired(asked):
        for question, rule in zip(fired.questions.tolist(), fired.rules.tolist(), strict=True):
            anchor, code, hidden = (int(column[question + rows.start]) for column in asked)
            body, end, _, _ = rules.claim(rule)
            if not fired.of_members[seen]:
                assert (body, end) != (codes[code], names[hidden])
                left = {has for has in properties_of(facts)[names[anchor]] if has[1] is not None}
                left.remove((codes[code], names[hidden]))
                assert (body, end) in left or (end is None and body in {relation for relation, _ in left})
            seen += 1
    assert seen


# --- weights --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("penalty", [0.1, 1.0])
def test_joint_weights_are_the_best_that_are_not_negative(seed: int, penalty: float) -> None:
    """By the conditions of Karush, Kuhn and Tucker, from a table of who has what."""
    graph = FeatureGraph(KnowledgeGraph(random_facts(seed, entities=12, facts=90)))
    properties = Properties.of(graph)
    counted = telling(counted_rules(graph, properties, Counting(support=2)), properties, 2_000)
    weights = joint_weights(counted, properties, penalty, cores=1)
    has = np.zeros((graph.graph.num_entities, len(properties.codes)))
    for number in range(len(properties.codes)):
        has[properties.members[properties.starts[number] : properties.starts[number + 1]], number] = 1
    assert (weights >= 0).all()
    assert weights.any()
    for head in np.unique(counted.heads):
        rules = np.flatnonzero(counted.heads == head)
        bodies = has[:, counted.bodies[rules]]
        sizes = bodies.sum(axis=0)
        missed = has[:, head] - bodies @ weights[rules]
        slopes = (bodies.T @ missed) / np.sqrt(sizes) - penalty * weights[rules] * np.sqrt(sizes)
        assert (slopes < 2e-3).all()
        assert np.abs(slopes[weights[rules] > 0]).max(initial=0) < 2e-3


def test_of_each_head_the_bodies_are_kept_that_tell_most() -> None:
    facts = [(f"x{who}", "r", f"c{place}") for place in range(90) for who in range(place % 9 + 2)]
    facts += [(f"x{who}", "h", "c") for who in range(10)]
    graph = FeatureGraph(KnowledgeGraph([*facts, *((f"y{who}", "h", "d") for who in range(9))]))
    properties = Properties.of(graph)
    every = counted_rules(graph, properties, Counting(support=2))
    kept = telling(every, properties, 2_000)
    codes = graph.codes["h"]
    about = [some.part(properties.codes[some.heads] == codes) for some in (every, kept)]
    assert len(about[0]) > MOST_BODIES >= len(about[1])
    assert about[1].supports.min() > about[0].supports.min()
    assert (np.diff(kept.heads) >= 0).all()


def test_a_trial_holds_facts_out_and_counts_rules_without_them() -> None:
    graph = KnowledgeGraph(spoken())
    model = learn_rules(spoken(), settings=RuleSettings(constants=None))
    rules, trial = ConstantLearning(model, graph, Weighing()).rules()
    assert trial is not None
    held = set(graph) - set(trial.graph)
    assert len(held) == len(graph) // 10
    assert set(trial.graph) < set(graph)
    names = [*trial.graph.relations, *(f"{name}^-1" for name in trial.graph.relations)]
    for anchor, code, answer in zip(*(column.tolist() for column in trial.asked), strict=True):
        fact = trial.graph.entities[anchor], names[code], trial.graph.entities[answer]
        turned_fact = (fact[2], turned(fact[1]), fact[0])
        assert {fact, turned_fact} & {tuple(one) for one in held}
    left = list(map(tuple, trial.graph))
    for place in range(0, len(trial.rules), 7):
        body, end, head, entity = trial.rules.claim(place)
        assert counts_of(left, (body, end), (head, entity)) == tuple(trial.rules.counts[place].tolist())
    assert len(rules)


def test_other_graphs_are_answered_as_without() -> None:
    facts = random_facts(2)
    other = [(f"x{head}", relation, f"x{tail}") for head, relation, tail in random_facts(3)]
    model = model_of(random_rules(2, tuple(KnowledgeGraph(facts).entities)))
    for relation in RELATIONS:
        with_them, without = (
            [
                (row.triple, row.sum.score, row.probability)
                for row in one.on(other).missing(relation=relation, top=None)
            ]
            for one in (model, model.without_constants())
        )
        assert with_them == without


def test_other_graphs_have_the_same_probabilities(learned: RuleModel) -> None:
    other = [(f"x{head}", relation, f"x{tail}") for head, relation, tail in spoken(60)]
    found, wanted = (
        [row.probability for row in one.on(other).missing(relation="speaks", top=50)]
        for one in (learned, learned.without_constants())
    )
    assert found == wanted
    assert found[0] is not None
    own = learned.on(spoken()).missing(relation="speaks", top=1)[0].probability
    assert own != learned.without_constants().on(spoken()).missing(relation="speaks", top=1)[0].probability


def test_answers_follow_the_facts() -> None:
    text = '[model]\nversion\t1\nrelations\tbornIn\tspeaks\n[constants]\n2.5\t"-"\tx'
    with pytest.raises(InputError):
        parse_rule_model(text)
    model = parse_rule_model(
        '[model]\nversion\t1\n[constants]\n2.5\tbornIn(X, "london") -> speaks(X, "english")\n'
    )
    answers = model.on([("ada", "bornIn", "paris"), ("bob", "speaks", "english")])
    assert not answers.predict(head="ada", relation="speaks", top=1)[0].sum
    answers.add([("ada", "bornIn", "london")])
    best = answers.predict(head="ada", relation="speaks", top=1)[0]
    assert (best.triple.tail, best.sum.score) == ("english", 2.5)
    assert answers.predict(tail="english", relation="speaks", top=1)[0].triple.head == "ada"


# --- text -----------------------------------------------------------------------------------------------------------

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=6)


@given(names=st.lists(NAMES, min_size=2, max_size=5, unique=True), seed=st.integers(0, 1000))
def test_every_rule_is_read_as_it_is_written(names: list[str], seed: int) -> None:
    rules = random_rules(seed, tuple(names))
    assert list(texts_of(rules)) == [str(rules.rule(place)) for place in range(len(rules))]
    model = model_of(rules).knowing(RELATIONS)
    assert parse_rule_model(model_text(model)) == model


@pytest.mark.parametrize(
    ("line", "weights"),
    [
        ('bornIn(X, "london") -> speaks(X, "english")', (2.3026, 2.3026)),
        ('1.5\tbornIn(X, "london") -> speaks(X, "english")', (1.5, 1.5)),
        ('1.5\t0\tbornIn(X, "london") -> speaks(X, "english")', (1.5, 0.0)),
        ('15\t10\t0.5\tbornIn(X, "london") -> speaks(X, "english")', (0.6931, 0.6931)),
        ('speaks("english", X) <- bornIn("london", X)', None),
        ('2\tbornIn("london", Z) -> speaks("english", Z)  # turned round', (2.0, 2.0)),
        ("2\tplays(X, Y) -> speaks(X, <english>)", (2.0, 2.0)),
        ('1.5\t0.25\t10\t9\t0.6\tbornIn(X, "london") -> speaks(X, "english")', (1.5, 0.25)),
        ('1.5\t0.25\t10\t9\t0.6\tbornIn(X, "a)\\"(X") -> speaks(X, "english")', (1.5, 0.25)),
    ],
)
def test_lines_may_be_short(line: str, weights: tuple[float, float] | None) -> None:
    text = f"[model]\nversion\t1\n[constants]\n{line}\n"
    if weights is None:
        with pytest.raises(InputError):
            parse_rule_model(text)
        return
    constants = parse_rule_model(text).constants
    assert constants.weights.tolist() == [list(weights)]
    assert constants.rule(0).conclusion[0] == "speaks"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["bornIn(X, Y) -> speaks(X, Y)"], "no rule about a particular entity"),
        (['-> speaks(X, "english")'], "no rule about a particular entity"),
        (['bornIn(X, "london") & in(X, Y) -> speaks(X, "english")'], "no rule about a particular entity"),
        (['bornIn("ada", "london") -> speaks(X, "english")'], "variable of the head does not occur"),
        (['bornIn(X, "london") -> speaks("ada", "english")'], "no rule about a particular entity"),
        (['-1\tbornIn(X, "london") -> speaks(X, "english")'], "expected a number from 0"),
        (['1\t2\t3\t4\tbornIn(X, "london") -> speaks(X, "english")'], "4 numbers before the rule"),
        (['bornIn(X, "london") -> speaks(X, "english")'] * 2, "the same rule stands in line 4"),
        (
            ['1\t1\t9\t8\t0.5\tbornIn(X, "london") -> speaks(X, "english")'] * 2,
            "the same rule stands in line 4",
        ),
        (['1\t1\t9\t-8\t0.5\tbornIn(X, "london") -> speaks(X, "english")'], "expected a number from 0"),
    ],
)
def test_other_lines_are_refused_with_their_place(lines: list[str], told: str) -> None:
    with pytest.raises(InputError, match=told) as raised:
        parse_rule_model("\n".join(["[model]", "version\t1", "[constants]", *lines]), file="m.rules")
    assert str(raised.value).startswith(f"m.rules:{3 + len(lines)}:")


def test_a_rule_with_constants_among_the_others_is_told_its_place() -> None:
    with pytest.raises(InputError, match=r"write it below \[constants\]"):
        parse_rule_model('[model]\nversion\t1\n[rules]\n1\tbornIn(X, "london") -> speaks(X, "english")\n')


# --- learning -------------------------------------------------------------------------------------------------------


def spoken(people: int = 120) -> list[Fact]:
    """Who is born where speaks what is spoken there, mostly; no path says so, for cities are in no country."""
    chance = np.random.default_rng(3)
    facts = []
    for place in range(people):
        city = place % 4
        tongue = city if chance.random() < 0.9 else int(chance.integers(4))
        facts += [(f"p{place}", "bornIn", f"city{city}"), (f"p{place}", "speaks", f"tongue{tongue}")]
        facts.append((f"p{place}", "likes", f"thing{int(chance.integers(6))}"))
    return facts


@pytest.fixture(scope="module")
def learned() -> RuleModel:
    return learn_rules(spoken())


def best_tongue(model: RuleModel, facts: list[Fact]) -> str:
    answers = model.on([*facts, ("newcomer", "bornIn", "city2"), ("newcomer", "likes", "thing1")])
    return answers.predict(head="newcomer", relation="speaks", top=1)[0].triple.tail


def test_what_people_have_in_common_is_learned(learned: RuleModel) -> None:
    assert best_tongue(learned, spoken()) == "tongue2"
    texts = [*texts_of(learned.constants)]
    assert 'bornIn(X, "city2") -> speaks(X, "tongue2")' in texts
    place = texts.index('bornIn(X, "city2") -> speaks(X, "tongue2")')
    predictions, support = learned.constants.counts[place].tolist()
    assert counts_of(spoken(), ("bornIn", "city2"), ("speaks", "tongue2")) == (predictions, support)


def test_explanations_print_rules_with_their_counts(learned: RuleModel) -> None:
    weights = np.zeros_like(learned.constants.weights)
    place = [*texts_of(learned.constants)].index('bornIn(X, "city2") -> speaks(X, "tongue2")')
    weights[place] = 7.5
    model = replace(learned, constants=replace(learned.constants, weights=weights))
    predictions, support = learned.constants.counts[place].tolist()
    told = model.on(spoken()).explain("p2", "speaks", "tongue2")
    assert f'+7.500  bornIn(X, "city2") -> speaks(X, "tongue2")  ({support} of {predictions})\n' in str(told)
    assert "bornIn(p2, city2)" in str(told)
    (part,) = [part for part in told.to_dict()["parts"] if part["value"] == 7.5]
    assert (part["predictions"], part["support"]) == (predictions, support)
    assert part["proofs"] == [[["p2", "bornIn", "city2"]]]


def test_everything_else_of_the_list_is_as_without(learned: RuleModel) -> None:
    without = learn_rules(spoken(), settings=RuleSettings(constants=None))
    assert not without.constants
    assert learned.without_constants() == without
    assert learned.constants.likelihood is not None
    assert learned.constants.likelihood != learned.likelihood


def test_what_is_struck_out_stays_out(learned: RuleModel, tmp_path: Path) -> None:
    path = save_rule_model(learned, tmp_path)
    lines = path.read_text("utf-8").split("\n")
    kept = [line for line in lines if not line.endswith('-> speaks(X, "tongue2")')]
    path.write_text("\n".join(kept), encoding="utf-8")
    edited = load_rule_model(tmp_path)
    assert 0 < len(edited.constants) < len(learned.constants)
    again = refit(edited, spoken())
    assert {*texts_of(again.constants)} <= {*texts_of(edited.constants)}
    assert again.constants
    assert again.constants == refit(again, spoken()).constants
    assert not refit(learned.without_constants(), spoken()).constants


def test_a_rule_that_a_person_wrote_stays(learned: RuleModel, tmp_path: Path) -> None:
    """With its weight, though no fact supports it."""
    path, line = save_rule_model(learned, tmp_path), '3.5\tlikes(X, "thing9") -> speaks(X, "tongue0")'
    path.write_text(path.read_text("utf-8").replace("\n[likelihood of", f"\n{line}\n[likelihood of"), "utf-8")
    again = refit(load_rule_model(tmp_path), spoken()).constants
    place = [*texts_of(again)].index(line.split("\t")[1])
    assert again.weights[place].tolist() == [3.5, 3.5]
    assert len(again) == len(learned.constants) + 1


def test_a_relation_alone_has_rules_of_its_own(learned: RuleModel) -> None:
    about = learn_rules(spoken(), relations=["speaks"])
    heads = {about.constants.relations[one] for one in about.constants.head_relations().tolist()}
    assert heads == {"speaks"}
    assert len(about.constants) < len(learned.constants)


def test_the_rules_that_tell_least_are_left_out() -> None:
    few = learn_rules(spoken(), settings=RuleSettings(constants=Weighing(rules=10)))
    every = learn_rules(spoken())
    assert 0 < len(few.constants) <= 10 < len(every.constants)
    kept = set(texts_of(few.constants))
    assert kept < set(texts_of(every.constants))
    assert {f'bornIn(X, "city{place}") -> speaks(X, "tongue{place}")' for place in range(4)} <= kept


def test_the_command_line_learns_them_or_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = tmp_path / "facts.tsv"
    facts.write_text("\n".join("\t".join(fact) for fact in spoken()) + "\n", encoding="utf-8")
    command = ["train", str(facts), "--recipe", "rules", "-q", "-o"]
    assert main([*command, str(tmp_path / "with")]) == 0
    assert "about particular entities" in capsys.readouterr().out
    assert main([*command, str(tmp_path / "without"), "--no-constants"]) == 0
    assert "about particular entities" not in capsys.readouterr().out
    assert load_rule_model(tmp_path / "with").constants
    assert not load_rule_model(tmp_path / "without").constants
    assert main(["rules", str(tmp_path / "with")]) == 0
    assert "about particular entities, in the file below [constants]" in capsys.readouterr().out


def test_questions_without_edges_fire_nothing() -> None:
    graph = KnowledgeGraph([("a", "r", "b")])
    finding = ConstantsOnGraph(ConstantRules.none(["r"]), FeatureGraph(graph), np.zeros(2, dtype=np.bool_))
    nobody = np.zeros(0, dtype=np.int32)
    assert finding.is_silent
    assert list(finding.fired(Questions(nobody, nobody, nobody))) == []
