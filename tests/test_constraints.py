"""OrderingConstraints: captured rules by their definition, and files."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reshuffle.constraints import OrderingConstraints
from reshuffle.errors import InputError, UnknownNameError
from reshuffle.rulegraphs import build, compiled, constraints_for
from reshuffle.rules import IntersectionRule, PathRule, RuleBase, parse_rules
from reshuffle.rules.classes import classify
from reshuffle.rules.entailment import entails_rule
from reshuffle.theories.kinds import kind_at
from strategies import mixed_bases, regular_bases, relation_names, rule_bases, rule_graphs

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from reshuffle.rulegraphs import RuleGraph
    from reshuffle.rules import Rule

bodies = st.lists(relation_names(3), min_size=1, max_size=3).map(tuple)
rules = st.one_of(
    st.builds(PathRule, bodies, relation_names(3)),
    st.builds(
        IntersectionRule, st.lists(relation_names(3), min_size=2, max_size=2).map(tuple), relation_names(3)
    ),
)


def raised(
    constraints: OrderingConstraints, vectors: list[NDArray[np.float64]], steps: list[tuple[int, str, int]]
) -> list[NDArray[np.float64]]:
    """The smallest vectors above the given ones in the regions of all steps and of the identities."""
    loops = [(place, identity, place) for place in range(len(vectors)) for identity in constraints.identities]
    vectors = [vector.copy() for vector in vectors]
    changed = True
    while changed:
        changed = False
        for first, relation, second in (*steps, *loops):
            for source, slot in constraints.constrained_slots(relation):
                if vectors[first][source] > vectors[second][slot]:
                    vectors[second][slot] = vectors[first][source]
                    changed = True
    return vectors


def in_region(
    constraints: OrderingConstraints, first: NDArray[np.float64], relation: str, second: NDArray[np.float64]
) -> bool:
    return all(first[source] <= second[slot] for source, slot in constraints.constrained_slots(relation))


def body_steps(rule: Rule) -> list[tuple[int, str, int]]:
    if isinstance(rule, PathRule):
        return [(place, relation, place + 1) for place, relation in enumerate(rule.body)]
    return [(0, relation, 1) for relation in rule.body]


@given(rule_graphs(most_nodes=4), rules, st.integers(0, 2**32 - 1))
@settings(max_examples=300)
def test_captures_rule_is_the_definition(graph: RuleGraph, rule: Rule, seed: int) -> None:
    """Definition 2, with (x, eq, x) for all x: no vectors in the body's regions are outside the head's."""
    constraints = compiled(graph)
    assume({*rule.body, rule.head} <= set(constraints.relations))
    steps = body_steps(rule)
    last = max(end for _, _, end in steps)
    rng = np.random.default_rng(seed)
    # Random vectors, then the sharpest ones: a single one in one slot, everything else as low as it may be.
    starts = [[rng.normal(size=graph.num_nodes) for _ in range(last + 1)] for _ in range(5)]
    for slot in range(graph.num_nodes):
        low = [np.zeros(graph.num_nodes) for _ in range(last + 1)]
        low[0][slot] = 1
        starts.append(low)
    outcomes = []
    for start in starts:
        vectors = raised(constraints, start, steps)
        outcomes.append(in_region(constraints, vectors[0], rule.head, vectors[last]))
    assert constraints.captures_rule(rule) == all(outcomes)


@given(st.one_of(regular_bases(levels=2), rule_bases(inverses=True), mixed_bases()), st.data())
@settings(max_examples=150)
def test_a_faithful_model_captures_exactly_the_entailed_rules(base: RuleBase, data: st.DataObject) -> None:
    assume(classify(base).faithful and base.rules)
    constraints = constraints_for(base)
    names = sorted({r.removesuffix("^-1") for rule in base for r in (*rule.body, rule.head)})
    name = st.sampled_from(names)
    path = data.draw(st.builds(PathRule, st.lists(name, min_size=1, max_size=4).map(tuple), name))
    assert constraints.captures_rule(path) == entails_rule(base, path)
    meet = data.draw(st.builds(IntersectionRule, st.lists(name, min_size=2, max_size=3).map(tuple), name))
    assert constraints.captures_rule(meet) == entails_rule(base, meet)


@given(rule_graphs(), st.lists(relation_names(3), max_size=4))
def test_composed_is_the_product_of_matrices(graph: RuleGraph, word: list[str]) -> None:
    constraints = compiled(graph)
    assume(set(word) <= set(constraints.relations))
    product = np.eye(graph.num_nodes, dtype=int)
    for relation in word:
        product = constraints.matrix(relation).astype(int) @ product
    source = constraints.composed(word)
    for i, j in np.ndindex(product.shape):
        assert bool(product[i, j]) == (source[i] == j)


def test_a_rule_may_follow_by_going_back() -> None:
    """Each triple (x, a, y) comes with (y, a^-1, x), so a;a^-1;a -> b captures a -> b."""
    constraints = constraints_for(RuleBase((PathRule(("a", "a^-1", "a"), "b"),)))
    assert constraints.captures_rule(PathRule(("a",), "b"))
    assert not constraints.captures_rule(PathRule(("b",), "a"))


def test_without_roots_all_slots_decide() -> None:
    sources = np.array([[1, -1, 0]], dtype=np.int32)
    assert OrderingConstraints(("r",), sources).decisive_slots("r") == ((1, 0), (0, 2))
    assert OrderingConstraints(("r",), sources, roots={"r": ((0, 2),)}).decisive_slots("r") == ((0, 2),)


def test_sources_cannot_be_changed() -> None:
    constraints = constraints_for(parse_rules("a(X, Y) & b(Y, Z) -> c(X, Z)"))
    with pytest.raises(ValueError, match="read-only"):
        constraints.sources[0, 0] = 1


def test_inverses_are_known_where_they_exist() -> None:
    constraints = constraints_for(parse_rules("a(X, Y) -> b(Y, X)"))
    assert constraints.inverse_of("a") == "a^-1"
    assert constraints_for(parse_rules("a(X, Y) -> b(X, Y)")).inverse_of("a") is None


def test_an_unknown_relation_has_near_names() -> None:
    constraints = constraints_for(parse_rules("speaks(X, Y) -> knows(X, Y)"))
    with pytest.raises(UnknownNameError) as caught:
        constraints.matrix("speeks")
    assert str(caught.value) == "unknown relation 'speeks'; did you mean 'speaks'?"


# --- files --------------------------------------------------------------------------------------------------------


@given(st.one_of(rule_bases(inverses=True), mixed_bases()), st.integers(0, 2))
@settings(max_examples=60)
def test_to_dict_round_trip(base: RuleBase, bound: int) -> None:
    graph = build(base, bound=None if classify(base).faithful else bound)
    constraints = compiled(graph)
    back = OrderingConstraints.from_dict(json.loads(json.dumps(constraints.to_dict())))
    assert np.array_equal(back.sources, constraints.sources)
    for name in ("relations", "identities", "hidden", "roots", "bound", "rules"):
        assert getattr(back, name) == getattr(constraints, name)


def saved(tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    constraints = constraints_for(parse_rules('"böse ä"(X, Y) & b(Y, Z) -> c(X, Z)'))
    file = tmp_path / "rules.json"
    constraints.save(file)
    assert np.array_equal(OrderingConstraints.load(file).sources, constraints.sources)
    return file, constraints.to_dict()


def test_save_and_load(tmp_path: Path) -> None:
    file, data = saved(tmp_path)
    assert OrderingConstraints.load(file).to_dict() == data
    assert [path.name for path in tmp_path.iterdir()] == ["rules.json"]
    assert "böse ä" in file.read_text(encoding="utf-8")
    assert kind_at(file) == "constraint_files"


def test_rules_are_not_compiled_constraints(tmp_path: Path) -> None:
    file = tmp_path / "family.rules"
    file.write_text("a(X, Y) -> b(X, Y)\n")
    assert kind_at(file) == "rule_files"
    (tmp_path / "empty").touch()
    assert kind_at(tmp_path / "empty") == "rule_files"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a(X, Y) -> b(X, Y)\n", "JSONDecodeError"),
        (b"[]", "TypeError"),
        (b"{}", "KeyError"),
        (b'{"format": "something else", "version": 1}', "KeyError"),
        (b'{"format": "reshuffle-constraints"}', "KeyError"),
        (b'{"\xff": 1}', "UnicodeDecodeError"),
    ],
)
def test_files_of_another_kind(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "rules.json"
    file.write_bytes(content)
    with pytest.raises(InputError) as caught:
        OrderingConstraints.load(file)
    assert str(caught.value) == (
        f"{file}: not a file of compiled constraints ({why})\n"
        "  hint: `reshuffle compile RULES -o FILE` writes one"
    )


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a file of compiled constraints \(FileNotFoundError\)"):
        OrderingConstraints.load(tmp_path / "none.json")


def test_another_version(tmp_path: Path) -> None:
    file, data = saved(tmp_path)
    file.write_text(json.dumps({**data, "version": 2}))
    with pytest.raises(InputError) as caught:
        OrderingConstraints.load(file)
    assert str(caught.value) == (
        f"{file}: constraints of version 2; this reshuffle reads version 1\n  hint: compile the rules again"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"roots": None}, "ValueError: roots is None"),
        ({"num_slots": True}, "ValueError: num_slots is True"),
        ({"num_slots": 10**12}, "ValueError: 1000000000000 slots for "),
        ({"num_slots": -1}, "ValueError: -1 slots for "),
        ({"bound": -2}, "ValueError: a bound of -2"),
        ({"bound": "3"}, "ValueError: bound is 3"),
        ({"matrices": {"c": [[0.0, 1]]}}, "ValueError: slots are not pairs of whole numbers"),
        ({"matrices": {"c": [5]}}, "ValueError: slots are not pairs of whole numbers"),
        ({"matrices": {"": [[0, 1]]}}, "ValueError: relations without a matrix, or without a name"),
        ({"hidden": ["gone"]}, "ValueError: relations without a matrix, or without a name"),
        ({"identities": [["c"]]}, "TypeError: "),
        ({"matrices": {"c": [[0, 9]]}}, "ValueError: slot 9 of 3"),
        ({"matrices": {"c": [[-1, 0]]}}, "ValueError: slot -1 of 3"),
        ({"roots": {"c": [[0, 3]]}}, "ValueError: slot 3 of 3"),
        ({"rules": "c("}, "InputError: "),
    ],
)
def test_damaged_files(tmp_path: Path, change: dict[str, Any], why: str) -> None:
    file, data = saved(tmp_path)
    file.write_text(json.dumps({**data, "num_slots": 3, **change}))
    with pytest.raises(InputError) as caught:
        OrderingConstraints.load(file)
    text = str(caught.value)
    assert text.startswith(f"{file}: compiled constraints, modified after they were written ({why}")
    assert text.endswith("\n  hint: compile the rules again")


def test_a_file_cut_short_is_not_read(tmp_path: Path) -> None:
    file, data = saved(tmp_path)
    del data["matrices"]
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"modified after they were written \(KeyError: 'matrices'\)"):
        OrderingConstraints.load(file)


def test_an_edited_slot_is_noticed_and_files_without_a_digest_are_read(tmp_path: Path) -> None:
    file, data = saved(tmp_path)
    said = json.loads(file.read_text(encoding="utf-8"))
    relation = next(iter(said["matrices"]))
    said["matrices"][relation] = []
    file.write_text(json.dumps(said))
    with pytest.raises(
        InputError, match=r"modified after they were written \(ValueError: its digest does not match\)"
    ):
        OrderingConstraints.load(file)
    file.write_text(json.dumps(data))  # as older versions wrote it
    assert OrderingConstraints.load(file).to_dict() == data


def test_a_file_that_would_fill_the_memory_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as stream:
        stream.write(b'{"format": "reshuffle-constraints", "x": "')
        stream.truncate(1 << 34)  # zeros that take no room on the disk
    with pytest.raises(InputError, match="found more than 536,870,912 bytes"):
        OrderingConstraints.load(file)
