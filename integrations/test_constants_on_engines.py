"""Rules with constants on DuckDB, on both plans of Spark and in clingo: the same answers as by the definition."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import clingo
import pytest

import reshuffle as rs
from reshuffle.reasoning.scaling.engine_interface import Options
from reshuffle.reasoning.scaling.engines import opened
from reshuffle.reasoning.scaling.parquet_facts import ParquetFacts
from reshuffle.rules import RuleBase, format_rules
from reshuffle.rules.entailment import closure
from reshuffle.rules.formats import prolog
from reshuffle.rules.rule import Constant, ConstantRule, PathRule
from reshuffle.spark.spark_session import Spark, spark_session
from strategies import SHAPES

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.rules.entailment import Fact

RELATIONS, ENTITIES = ["r1", "r2", "r3"], ["e1", "e2", "e3", "e4"]


def random_rule(chance: random.Random) -> ConstantRule | PathRule:
    if chance.random() < 0.2:
        return PathRule((chance.choice(RELATIONS), chance.choice(RELATIONS)), chance.choice(RELATIONS))
    body, head = chance.choice(SHAPES)
    constants = {name: Constant(chance.choice(["e1", "e2", "k1"])) for name in "cdef"}
    atoms = [
        (chance.choice(RELATIONS), *(constants.get(end, end) for end in ends.split()))
        for ends in [*filter(None, body.split("|")), head]
    ]
    return ConstantRule.of(atoms[:-1], atoms[-1])  # type: ignore[arg-type]


def random_case(seed: int) -> tuple[RuleBase, list[Fact]]:
    chance = random.Random(seed)
    constant = next(
        rule for rule in iter(lambda: random_rule(chance), None) if isinstance(rule, ConstantRule)
    )
    rules = RuleBase((constant, *(random_rule(chance) for _ in range(chance.randint(1, 5)))))
    facts = {
        (chance.choice(ENTITIES), chance.choice(RELATIONS), chance.choice(ENTITIES))
        for _ in range(chance.randint(1, 8))
    }
    return rules, sorted(facts)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("stored", [False, True])
def test_duckdb_derives_what_the_definition_says(seed: int, stored: bool, tmp_path: Path) -> None:
    rules, facts = random_case(seed)
    graph = rs.KnowledgeGraph(facts)
    reasoner = rs.Reasoner(rules)
    answers = reasoner.on(graph)
    expected = closure(rules, facts) - {*facts}
    if not stored:
        answers.write(tmp_path / "out.tsv", engine="duckdb")
        found = rs.read_graph(tmp_path / "out.tsv") if expected else ()
        assert set(found) == expected
        return
    graph.write(tmp_path / "facts.parquet")
    assert reasoner.encoding is not None
    given = ParquetFacts.at(tmp_path / "facts.parquet").with_helpers_of(reasoner.encoding)
    with opened(reasoner.deduction, given, Options("duckdb")) as on_engine:
        on_engine.write(f"{tmp_path}/out/")
        assert on_engine.num_facts == len(facts)
    written = [*(tmp_path / "out").rglob("*.parquet")]
    assert (set(ParquetFacts.at(tmp_path / "out").graph()) if written else set()) == expected


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas")
def test_spark_derives_what_the_definition_says(tmp_path: Path) -> None:
    with spark_session(Spark(master="local[2]")) as session:
        for seed in range(4):
            rules, facts = random_case(seed)
            expected = closure(rules, facts) - {*facts}
            graph = rs.KnowledgeGraph(facts)
            graph.write(tmp_path / f"facts{seed}.parquet")
            for plan in ("split", "tables"):
                reasoner = rs.Reasoner(rules)
                if plan == "split" and reasoner.constraints is None:
                    continue
                assert reasoner.encoding is not None
                given = ParquetFacts.at(tmp_path / f"facts{seed}.parquet").with_helpers_of(reasoner.encoding)
                options = Options("spark", session=session, plan=plan, partitions=2)
                with opened(reasoner.deduction, given, options) as on_engine:
                    assert on_engine.write(f"{tmp_path}/{plan}{seed}/") == len(expected)


@pytest.mark.parametrize("seed", range(40))
def test_clingo_derives_what_the_definition_says(seed: int) -> None:
    rules, facts = random_case(seed)
    bodied = RuleBase(tuple(rule for rule in rules.given if not isinstance(rule, ConstantRule) or rule.atoms))
    clauses = [line for line in format_rules(bodied, "prolog").splitlines() if not line.startswith(":-")]
    given = [f'{prolog.written(relation)}("{head}", "{tail}").' for head, relation, tail in facts]
    control = clingo.Control(["--warn=none"])
    control.add("base", [], "\n".join([*clauses, *given]))
    control.ground([("base", [])])
    found = {
        (atom.symbol.arguments[0].string, atom.symbol.name, atom.symbol.arguments[1].string)
        for atom in control.symbolic_atoms
        if atom.is_fact
    }
    assert found == closure(bodied, facts)
