"""Rules that name entities, in several syntaxes, beside a naive evaluation. What is outside the class is refused."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, TypeAlias

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces
from benchmarks.attack.readers import ran
from benchmarks.attack.reasoning import ENTITIES, RELATIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from random import Random

    from reshuffle.rules import RuleBase

Fact: TypeAlias = tuple[str, str, str]
Body: TypeAlias = "Sequence[Sequence[str]]"
Rule: TypeAlias = "tuple[Body, Sequence[str]]"
Binding: TypeAlias = dict[str, str]

VARIABLES = ("X", "Y", "Z")
_NAMED = [*ENTITIES[:4], "new"]
_ENGINES = ("auto", "chase")
_PROVED = 3


def _atoms(atoms: Sequence[Sequence[str]], variable: str, constant: str, separator: str) -> str:
    """Atoms as text; `variable` and `constant` say how arguments are written.

    >>> _atoms([["r", "X", "e1"]], "?{}", '"{}"', ", ")
    'r(?X, "e1")'
    """
    shown = (
        f"{relation}({', '.join((variable if name in VARIABLES else constant).format(name) for name in ends)})"
        for relation, *ends in atoms
    )
    return separator.join(shown)


def _native(body: Body, head: Sequence[str]) -> str:
    quoted = '"{}"'
    return f"{_atoms(body, '{}', quoted, ' & ')} -> {_atoms([head], '{}', quoted, '')}"


def _anyburl(body: Body, head: Sequence[str]) -> str:
    return f"10\t5\t0.5\t{_atoms([head], '{}', '{}', '')} <= {_atoms(body, '{}', '{}', ', ')}"


def _nemo(body: Body, head: Sequence[str]) -> str:
    return f"{_atoms([head], '?{}', '{}', '')} :- {_atoms(body, '?{}', '{}', ', ')} ."


def _prolog(body: Body, head: Sequence[str]) -> str:
    return f"{_atoms([head], '{}', '{}', '')} :- {_atoms(body, '{}', '{}', ', ')}."


SYNTAXES = {"a.rules": _native, "a.txt": _anyburl, "a.rls": _nemo, "a.pl": _prolog}


def closed(rules: Sequence[Rule], facts: set[Fact]) -> set[Fact]:
    """The facts and all that follows: every rule with every binding, until nothing is new."""
    facts = set(facts)
    while True:
        new = {
            (binding.get(start, start), relation, binding.get(end, end))
            for body, (relation, start, end) in rules
            for binding in _bindings(body, facts)
        } - facts
        if not new:
            return facts
        facts |= new


def _bindings(body: Body, facts: set[Fact]) -> list[Binding]:
    found: list[Binding] = [{}]
    for relation, start, end in body:
        found = [
            {**binding, **more}
            for binding in found
            for head, name, tail in facts
            if name == relation and (more := _matched(binding, (start, head), (end, tail))) is not None
        ]
    return found


def _matched(binding: Binding, *pairs: tuple[str, str]) -> Binding | None:
    more: Binding = {}
    for name, entity in pairs:
        if name not in VARIABLES:
            if name != entity:
                return None
        elif {**binding, **more}.setdefault(name, entity) != entity:
            return None
        else:
            more[name] = entity
    return more


class Constants(Part):
    """Derived triples and proofs in every engine, from the text of a rule file."""

    name = "constants"

    def made(self, random: Random) -> Case:
        facts = [
            [random.choice(ENTITIES[:4]), random.choice(RELATIONS), random.choice(ENTITIES[:4])]
            for _ in range(random.randint(1, 10))
        ]
        rules = [_random_rule(random) for _ in range(random.randint(1, 3))]
        return {"file": random.choice(sorted(SYNTAXES)), "rules": rules, "facts": facts}

    def run(self, case: Case, folder: Path) -> Counts:
        from reshuffle import ReshuffleError
        from reshuffle.rules import read_rules

        path, facts = folder / case["file"], folder / "facts.tsv"
        path.write_text("".join(SYNTAXES[case["file"]](*rule) + "\n" for rule in case["rules"]), "utf-8")
        facts.write_text("".join("\t".join(fact) + "\n" for fact in case["facts"]), "utf-8")
        try:
            rules = read_rules(path)
        except ReshuffleError:
            return {"refused": 1}
        given = {(h, r, t) for h, r, t in case["facts"]}
        expected = closed(case["rules"], given) - given
        counts = {"engines": sum(_compare(rules, given, expected, engine) for engine in _ENGINES)}
        if find_spec("duckdb"):
            counts["engines"] += _compare_duckdb(path, facts, expected)
        return {**counts, "read": 1, "triples": len(expected)}

    def smaller(self, case: Case) -> Iterator[Case]:
        for key in ("rules", "facts"):
            for items in without_pieces(case[key]):
                if items:
                    yield {**case, key: items}


def _random_rule(random: Random) -> list[list[list[str]] | list[str]]:
    """Atoms that hang together, with a constant here and there; the head speaks of what the body binds."""
    body = [
        [random.choice(RELATIONS), *_ends(random, VARIABLES[n : n + 2])]
        for n in range(random.choice([1, 1, 2]))
    ]
    bound = sorted({name for _, *ends in body for name in ends if name in VARIABLES})
    ends = [random.choice([*bound, *bound, random.choice(_NAMED)]) for _ in range(2)]
    return [body, [random.choice(RELATIONS), *ends]]


def _ends(random: Random, names: Sequence[str]) -> list[str]:
    ends = [random.choice(_NAMED) if random.random() < 0.3 else name for name in names]
    return ends[::-1] if random.random() < 0.3 else ends


def _compare(rules: RuleBase, facts: set[Fact], expected: set[Fact], engine: str) -> int:
    from reshuffle import KnowledgeGraph, NotExpressibleError, Reasoner

    try:
        answers = Reasoner(rules, engine=engine).on(KnowledgeGraph(sorted(facts)))
    except NotExpressibleError:
        if engine == "chase":
            raise
        return 0
    found = [(triple[0], triple[1], triple[2]) for triple in answers.triples()]
    _same(found, expected, engine)
    for fact in sorted(expected)[:_PROVED]:
        if not answers.explain(*fact):
            raise WrongAnswerError(f"{engine}: no proof of {fact}")
    return 1


def _compare_duckdb(rules: Path, facts: Path, expected: set[Fact]) -> int:
    out = rules.with_name("out.tsv")
    status, _ = ran("infer", str(rules), str(facts), "--engine", "duckdb", "-o", str(out))
    if status == 2:
        return 0
    lines = [line.split("\t") for line in out.read_text("utf-8").splitlines()]
    _same([(head, relation, tail) for head, relation, tail in lines], expected, "duckdb")
    return 1


def _same(found: Sequence[Fact], expected: set[Fact], engine: str) -> None:
    if set(found) != expected or len(found) != len(expected):
        raise WrongAnswerError(
            f"{engine}: derived {sorted(set(found) ^ expected)[:5]} wrongly or not, or twice"
        )


PARTS = (Constants(),)
