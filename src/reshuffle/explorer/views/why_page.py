"""Why something follows or is predicted, or why not: the explanation, its text, and a picture as nodes and arrows.

The explanation has the shape of `explain --json`. The picture is the same for all kinds: boxes for facts, for what was
derived and for rules, and arrows from what is given to what is concluded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.evaluation.questions import check_side
from reshuffle.explorer.link_queues import EVIDENCE
from reshuffle.progress import SILENT
from reshuffle.reasoning.why_not import UNBOUND

if TYPE_CHECKING:
    from reshuffle.explorer.subject import World
    from reshuffle.kg import Triple
    from reshuffle.progress import Progress

MOST_NODES = 200
_MOST_PROOFS = 20


def why_page(
    world: World, triple: Triple, *, most: int = 3, side: str = "tail", progress: Progress = SILENT
) -> dict[str, Any]:
    """The explanation of a triple with its picture; unknown names raise, as everywhere.

    `side` is the end that a score is asked for: a model has one score for each of the two questions.
    """
    check_side(side)
    most = min(max(1, most), _MOST_PROOFS)
    explanation, text = world.why(triple, most=most, side=side, progress=progress)  # type: ignore[arg-type]
    return {
        "triple": list(triple),
        "known": triple in world.facts,
        "explanation": explanation,
        "text": text,
        "pictures": pictures(triple, explanation),
        "missing": missing_facts(explanation),
    }


def missing_facts(explanation: dict[str, Any]) -> list[dict[str, Any]]:
    """The partial derivations that one fact would complete, and that fact."""
    found = []
    for partial in explanation.get("nearest", ()):
        lacking = partial["missing"]
        if len(lacking) == 1 and UNBOUND not in (lacking[0][0], lacking[0][2]):
            found.append({"fact": lacking[0], "rule": partial["rule"]})
    return found


def pictures(triple: Triple, explanation: dict[str, Any]) -> list[dict[str, Any]]:
    """One picture for each proof, or one of all parts of a sum."""
    if "parts" in explanation:
        return [_of_sum(triple, explanation)]
    drawn = [_of_proof(proof) for proof in explanation.get("proofs", ())]
    if explanation.get("reasons"):
        drawn.append(_of_reasons(triple, explanation["reasons"]))
    return drawn


class _Drawing:
    """Nodes and arrows, each drawn once: an arrow says how many `times` it is used. What is too much is counted."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self._arrows: dict[tuple[int, int, str | None], int] = {}
        self.left_out = 0
        self._facts: dict[tuple[str, ...], int] = {}

    def node(self, kind: str, **told: Any) -> int | None:
        if len(self.nodes) >= MOST_NODES:
            self.left_out += 1
            return None
        self.nodes.append({"id": len(self.nodes), "kind": kind, **told})
        return len(self.nodes) - 1

    def fact(self, triple: list[str]) -> int | None:
        known = self._facts.get(tuple(triple))
        if known is None:
            known = self.node("fact", triple=triple)
            if known is not None:
                self._facts[tuple(triple)] = known
        return known

    def arrow(self, source: int | None, target: int | None, rule: str | None = None) -> None:
        if source is not None and target is not None:
            arrow = (source, target, rule)
            self._arrows[arrow] = self._arrows.get(arrow, 0) + 1

    def to_dict(self) -> dict[str, Any]:
        edges = [
            {"from": source, "to": target, "rule": rule, "times": times}
            for (source, target, rule), times in self._arrows.items()
        ]
        return {"nodes": self.nodes, "edges": edges, "left_out": self.left_out}


def _of_proof(proof: dict[str, Any]) -> dict[str, Any]:
    """The steps as they are numbered, the conclusion first, so that what is left out is far from it."""
    drawing, steps = _Drawing(), proof["steps"]
    numbers: dict[int, int | None] = {}
    waiting = [len(steps) - 1]
    for place in waiting:
        if place not in numbers:
            step = steps[place]
            kind = "fact" if step["rule"] is None else "derived"
            told = {} if step["rule"] is None else {"rule": step["rule"]}
            numbers[place] = drawing.node(kind, triple=step["triple"], **told)
            waiting.extend(step["premises"])
    for place, number in numbers.items():
        for premise in steps[place]["premises"]:
            drawing.arrow(numbers[premise], number, steps[place]["rule"])
    return drawing.to_dict()


def _of_sum(triple: Triple, explanation: dict[str, Any]) -> dict[str, Any]:
    drawing = _Drawing()
    goal = drawing.node("goal", triple=list(triple), value=explanation["score"])
    for part in explanation["parts"]:
        if part["kind"] != "rule":
            told = "distance" if part["kind"] == "distance" else "types"
            drawing.arrow(drawing.node("part", text=told, value=part["value"]), goal)
            continue
        evidence = {name: part[name] for name in EVIDENCE if name in part}
        rule = drawing.node("rule", rule=part["rule"], value=part["value"], **evidence)
        drawing.arrow(rule, goal)
        for walk in part["proofs"]:
            for fact in walk:
                drawing.arrow(drawing.fact(fact), rule)
    return drawing.to_dict()


def _of_reasons(triple: Triple, reasons: list[dict[str, Any]]) -> dict[str, Any]:
    drawing = _Drawing()
    goal = drawing.node("goal", triple=list(triple))
    for reason in reasons:
        rule = drawing.node("rule", rule=reason["rule"], share=reason["share"])
        drawing.arrow(rule, goal)
        for fact in reason["facts"]:
            drawing.arrow(drawing.fact(fact), rule)
    return drawing.to_dict()
