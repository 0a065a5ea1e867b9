"""Random rules and updates beside the slow oracle, and beside clingo where it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path
    from random import Random

    from reshuffle.reasoning.answers import Answers
    from reshuffle.reasoning.proofs import Proof
    from reshuffle.rules import RuleBase

ENTITIES = [f"e{n}" for n in range(6)]
RELATIONS = [f"r{n}" for n in range(5)]
ENGINES: list[dict[str, Any]] = [{"engine": "auto"}, {"engine": "chase"}]


def random_rule(random: Random) -> str:
    """A path, a hierarchy rule or an intersection, atoms backwards among them."""
    head = random.choice(RELATIONS)
    if random.random() < 0.2:
        body = [_atom(random, "X", "Y") for _ in range(random.randint(2, 3))]
        return f"{' & '.join(body)} -> {head}(X, Y)"
    length = random.choice([1, 1, 2, 2, 2, 3])
    names = ["X", *(f"Z{n}" for n in range(1, length)), "Y"]
    body = [_atom(random, names[n], names[n + 1]) for n in range(length)]
    return f"{' & '.join(body)} -> {head}(X, Y)"


def _atom(random: Random, start: str, end: str) -> str:
    relation = random.choice(RELATIONS)
    return f"{relation}({end}, {start})" if random.random() < 0.15 else f"{relation}({start}, {end})"


def random_fact(random: Random) -> list[str]:
    """A triple over a few names."""
    return [random.choice(ENTITIES), random.choice(RELATIONS), random.choice(ENTITIES)]


class RuleBases(Part):
    """All engines say what the definition of entailment says, and prove it."""

    name = "rules"

    def made(self, random: Random) -> Case:
        return {
            "rules": [random_rule(random) for _ in range(random.randint(1, 6))],
            "facts": [random_fact(random) for _ in range(random.randint(0, 12))],
        }

    def run(self, case: Case, folder: Path) -> Counts:
        from reshuffle import parse_rules

        del folder
        counts = {"engines": 0, "proofs": 0}
        rules, facts = parse_rules("\n".join(case["rules"])), {(h, r, t) for h, r, t in case["facts"]}
        expected = self.expected(rules, facts)
        for options in ENGINES:
            answers = _answers(rules, facts, options)
            if answers is not None:
                counts["engines"] += 1
                counts["proofs"] += compare(answers, rules, facts, expected, str(options))
        return counts

    def expected(self, rules: RuleBase, facts: Iterable[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
        """All triples that hold."""
        from reshuffle.rules.entailment import closure

        return closure(rules, facts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for key in case:
            for items in without_pieces(case[key]):
                if items or key != "rules":
                    yield {**case, key: items}


class Peers(RuleBases):
    """The same beside clingo, an engine that others wrote."""

    name = "peers"

    def missing(self) -> str | None:
        return None if find_spec("clingo") else "the package clingo is not installed"

    def expected(self, rules: RuleBase, facts: Iterable[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
        import clingo

        control = clingo.Control(["--warn=none"])
        control.add("base", [], "\n".join([*(f"{r}({h},{t})." for h, r, t in facts), *map(_datalog, rules)]))
        control.ground([("base", [])])
        found: set[tuple[str, str, str]] = set()

        def take(model: clingo.Model) -> None:
            for atom in model.symbols(atoms=True):
                head, tail = map(str, atom.arguments)
                found.add((head, atom.name, tail))

        control.solve(on_model=take)
        return found


class Updates(RuleBases):
    """Facts come and go, and questions between them are answered as if all had been there from the start."""

    name = "updates"

    def made(self, random: Random) -> Case:
        kinds = ["add", "add", "remove", "ask", "explain", "materialise"]
        steps = [[random.choice(kinds), *random_fact(random)] for _ in range(random.randint(1, 14))]
        return {**super().made(random), "steps": steps}

    def run(self, case: Case, folder: Path) -> Counts:
        from reshuffle import parse_rules

        del folder
        rules = parse_rules("\n".join(case["rules"]))
        for options in ENGINES:
            self._follow(rules, case, options)
        return {"steps": len(ENGINES) * len(case["steps"])}

    def _follow(self, rules: RuleBase, case: Case, options: dict[str, Any]) -> None:
        from reshuffle import ReshuffleError

        facts = {(h, r, t) for h, r, t in case["facts"]}
        answers = _answers(rules, facts, options)
        if answers is None:
            return
        for kind, *names in case["steps"]:
            fact = (names[0], names[1], names[2])
            try:
                if kind == "add":
                    answers.add([fact])
                    facts.add(fact)
                elif kind == "remove":
                    answers.remove([fact])
                    facts.discard(fact)
                elif kind == "materialise" and hasattr(answers, "materialise"):
                    answers.materialise()
                else:
                    proof = answers.explain(*fact)
                    if bool(proof) != (fact in self.expected(rules, facts)):
                        raise WrongAnswerError(f"{options}: a proof of {fact}: {proof}")
            except ReshuffleError:
                continue  # a name that nobody knows
            compare(answers, rules, facts, self.expected(rules, facts), f"{options} after {kind}")


def _datalog(rule: Any) -> str:
    from reshuffle.rules.rule import variables

    *body, head = (f"{r}({a},{b})" for r, a, b in rule.terms(variables(rule.num_variables)))
    return f"{head} :- {', '.join(body)}."


def _answers(
    rules: RuleBase, facts: Iterable[tuple[str, str, str]], options: dict[str, Any]
) -> Answers | None:
    from reshuffle import KnowledgeGraph, NotExpressibleError, Reasoner

    try:
        return Reasoner(rules, **options).on(KnowledgeGraph(sorted(facts)))
    except NotExpressibleError:
        return None


def compare(
    answers: Answers,
    rules: RuleBase,
    facts: set[tuple[str, str, str]],
    expected: set[tuple[str, str, str]],
    what: str,
) -> int:
    """Raise where the derived triples, their number, or the proof of one of them is wrong; how many were proved."""
    found = [tuple(triple) for triple in answers.triples()]
    if set(found) != expected - facts or len(found) != len(set(found)):
        raise WrongAnswerError(
            f"{what}: derived {sorted(set(found) ^ (expected - facts))[:5]} wrongly or not, or twice"
        )
    if answers.count() != len(expected - facts):
        raise WrongAnswerError(f"{what}: counted {answers.count()}, not {len(expected - facts)}")
    for triple in sorted(expected)[:3]:
        if not answers.holds(*triple):
            raise WrongAnswerError(f"{what}: {triple} does not hold")
        proof = answers.explain(*triple)
        if not proof or not proves(proof, rules, facts):
            raise WrongAnswerError(f"{what}: no proof of {triple}: {proof}")
    return min(3, len(expected))


def proves(proof: Proof, rules: RuleBase, facts: set[tuple[str, str, str]]) -> bool:
    """Is every leaf a fact, and every step a rule of the base?"""
    if proof.rule is None:
        return tuple(proof.triple) in facts
    known = proof.rule in rules.rules or proof.rule in [rule.reversed() for rule in rules.rules]
    return known and all(proves(premise, rules, facts) for premise in proof.premises)


PARTS = (RuleBases(), Peers(), Updates())
