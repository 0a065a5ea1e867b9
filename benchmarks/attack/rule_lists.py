"""Random edits of a rule model's text: refused with its line, or read, written and asked without a strange number."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from benchmarks.attack.part import Case, Counts, Part, WrongAnswerError, without_pieces

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from random import Random

FACTS = [
    ("ada", "bornIn", "london"), ("bob", "bornIn", "london"), ("cleo", "bornIn", "paris"), ("london", "cityIn", "uk"),
    ("paris", "cityIn", "france"), ("ada", "citizenOf", "uk"), ("uk", "speaks", "english"), ("ada", "likes", "bob"),
    ("bob", "likes", "cleo"), ("bob", "likes", "ada"),
]  # fmt: skip
_RELATIONS = ("bornIn", "cityIn", "citizenOf", "speaks", "likes")
_LINES = [
    "[model]", "version\t1", "scales\t1\t2.1532\t2.1532", "loops\tspeaks", "both_ways\tlikes",
    "\t".join(["relations", *_RELATIONS]),
    "[rules]", "0.7253\t0.25\t2\t2\t0.2857\tbornIn(X, Y) & cityIn(Y, Z) -> citizenOf(X, Z)",
    "0.5\t0.1\tlikes(X, Y) & citizenOf(Y, Z) -> citizenOf(X, Z)", "0.4\tlikes(X, Y) -> likes(Y, X)",
    "citizenOf(X, Y) & cityIn(Z, Y) -> bornIn(X, Z)",
    "[distances]", *(f"{name}\t-0.5\t-0.6\t0.7\t-0.3\t0\t0\t0\t0" for name in ("bornIn", "citizenOf", "likes^-1")),
    "[types]", *(f"{name}\t0.8\t0.5\t-0.08" for name in ("bornIn", "citizenOf", "citizenOf^-1")),
    "[roles]", "bornIn\tcityIn^-1\t0.5", "citizenOf\tbornIn\t0.25", "likes\tlikes^-1\t1",
]  # fmt: skip
_CELLS = [
    "1e308", "-1e308", "1e999", "nan", "inf", "-inf", "-0.5", "-0", "0", "1e-320", "9" * 400, "x", "", "1_000", "0x10",
    " 1", "\u0661", "-", "true", "1,5", "1e", "likes", "bornIn^-1", "unknown", '"', "\ufeff", "~subclass", "\x00",
    "1" * 30,
]  # fmt: skip
_LINES_PUT_IN = [
    "[model]", "[rules", "[nothing]", "# a comment", "\ufeff[model]", "likes(X, Y) -> likes(X, Y)", "->", "\t\t\t",
    "1\t1\t1\t1\t2\tbornIn(X, Y) -> likes(X, Y)", "1e308\t1e308\tlikes(X, Y) & likes(Y, Z) -> likes(X, Z)",
    "1e308\tbornIn(X, Y) -> citizenOf(X, Y)", "likes(X, Y) -> ", "likes(X, X) -> bornIn(X, X)", "version\t2",
    "loops\tall",
    "likes(X, Y) & likes(X, Y) -> bornIn(X, Y)", "a(X, Y) & b(Y, Z) & c(Z, U) & d(U, V) & e(V, W) -> f(X, W)",
]  # fmt: skip
_MISSPELT = ["version", "scales", "loops", "both_ways", "relations"]


class RuleLists(Part):
    """Cells, lines and sections changed, doubled, moved and cut."""

    name = "rule-lists"

    def made(self, random: Random) -> Case:
        edits = [_edit(random) for _ in range(random.choice([1, 1, 2, 3, 5]))]
        return {
            "edits": edits,
            "mark": random.random() < 0.05,
            "asked": random.choice(["ada", "bob", "cleo"]),
        }

    def run(self, case: Case, folder: Path) -> Counts:
        from reshuffle import KnowledgeGraph, ReshuffleError
        from reshuffle.rulelist.model_text import load_rule_model

        text = edited(case)
        (folder / "model.rules").write_text(text, "utf-8", newline="")
        try:
            model = load_rule_model(folder)
        except ReshuffleError as error:
            if "model.rules" not in str(error):
                raise WrongAnswerError(f"an error without the name of the file: {error}") from error
            return {"refused": 1}
        if wrong := [
            edit for edit in case["edits"] if edit["kind"] == "misspell" and len(case["edits"]) == 1
        ]:
            raise WrongAnswerError(f"read in spite of {wrong}")
        _compare_written(model)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return {"read": 1, "links": _compare_links(model.on(KnowledgeGraph(FACTS)), case["asked"])}
            except ReshuffleError:
                return {"read": 1}  # a model of no relation of these facts

    def smaller(self, case: Case) -> Iterator[Case]:
        for edits in without_pieces(case["edits"]):
            yield {**case, "edits": edits}
        if case["mark"]:
            yield {**case, "mark": False}


def _edit(random: Random) -> dict[str, Any]:
    kind = random.choice(["cell"] * 8 + ["drop", "double", "move", "cut", "put", "put", "misspell", "swap"])
    more = {
        "cell": [random.randrange(9), random.choice(_CELLS)],
        "move": [random.randrange(len(_LINES))],
        "cut": [random.randrange(40)],
        "put": [random.choice(_LINES_PUT_IN)],
        "misspell": [random.choice(_MISSPELT), random.choice(["s", "x", "_", "S"])],
        "swap": [random.randrange(9), random.randrange(9)],
    }.get(kind, [])
    return {"kind": kind, "line": random.randrange(len(_LINES)), "more": more}


def edited(case: Case) -> str:
    """The text after all edits."""
    lines = list(_LINES)
    for edit in case["edits"]:
        _change(lines, edit["kind"], edit["line"] % max(1, len(lines)), edit["more"])
    return ("\ufeff" if case["mark"] else "") + "\n".join(lines) + "\n"


def _change(lines: list[str], kind: str, at: int, more: Sequence[Any]) -> None:
    if not lines:
        return
    cells = lines[at].split("\t")
    if kind == "cell":
        cells[more[0] % len(cells)] = more[1]
        lines[at] = "\t".join(cells)
    elif kind == "swap":
        one, other = more[0] % len(cells), more[1] % len(cells)
        cells[one], cells[other] = cells[other], cells[one]
        lines[at] = "\t".join(cells)
    elif kind == "double":
        lines.insert(at, lines[at])
    elif kind == "put":
        lines.insert(at, more[0])
    elif kind == "cut":
        lines[at:] = [lines[at][: more[0]]]
    elif kind == "misspell":
        lines[:] = [
            more[0] + more[1] + line.removeprefix(more[0]) if line.startswith(more[0]) else line
            for line in lines
        ]
    else:
        line = lines.pop(at)
        if kind == "move":
            lines.insert(more[0], line)


def _compare_written(model: Any) -> None:
    """Is the model, written and read again, the same?"""
    from reshuffle.rulelist.model_text import model_text, parse_rule_model

    again = parse_rule_model(model_text(model))
    if again != model:
        raise WrongAnswerError("what was read is another model when it is written and read again")


def _compare_links(answers: Any, asked: str) -> int:
    """Scores are numbers, predictions stand in their order, and an explanation has the score that was predicted."""
    count = 0
    for question in (
        {"head": asked, "relation": "citizenOf"},
        {"head": asked},
        {"relation": "likes", "tail": asked},
    ):
        found = answers.predict(**question, top=10)
        scores = [one.score for one in found]
        if not all(math.isfinite(score) for score in scores):
            raise WrongAnswerError(f"{question}: the scores {scores[:5]}")
        if scores != sorted(scores, reverse=True) and "relation" in question:
            raise WrongAnswerError(f"{question}: predictions are not in the order of their scores: {scores}")
        count += len(scores)
    return count


PARTS = (RuleLists(),)
