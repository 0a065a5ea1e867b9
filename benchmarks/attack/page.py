"""Write the counts of the stored attack into the page: `python -m benchmarks.attack.page`."""

from __future__ import annotations

from typing import Any

from benchmarks.attack.registry import PARTS
from benchmarks.pages import markdown_table, rewrite
from benchmarks.result_files import RESULTS, ROOT, read_document

PAGE = ROOT / "docs" / "explanation" / "reliability.md"
RESULT = RESULTS / "attack.json"
WHAT = {
    "readers": "files of facts, rules, compiled constraints and settings, with bytes changed, cut or put in",
    "directories": "model directories with files that were changed, swapped, emptied or left out",
    "rules": "random rule bases and facts; every engine beside the definition of entailment, with proofs",
    "peers": "the same beside clingo",
    "updates": "facts that come and go between questions, in every engine",
    "ontologies": "random ontologies in every engine, beside a naive fixpoint after the tables of RDFS and OWL 2 RL",
    "constants": "rules that name entities, in four syntaxes, beside a naive evaluation",
    "what-if": "changes in the explorer, one after the other, beside a world without a history",
    "requests": "methods, addresses, cookies, names of programs, origins and bodies; chunked, cut and half-sent",
    "slow-connections": "connections that send slowly, half or nothing, up to more than the server takes",
    "links": "links and folders of somebody else at the names of work folders",
    "bombs": "small files that are deep or large inside, in a process with limits of time and memory",
    "rule-lists": "edits of a rule model's text: cells, lines, sections",
    "copies": "answers that are pickled and copied, and then change",
    "kills": "trainings and writers that are killed at a random moment",
}


def made_tables() -> dict[str, str]:
    """The tables of the page by name."""
    return {"attack": "\n\n".join([_table(), _how(read_document(RESULT)["about"])])}


def _table() -> str:
    parts = read_document(RESULT)["parts"]
    rows = [[part, WHAT[part], *_counts(parts.get(part))] for part in PARTS]
    return markdown_table(["kind", "cases", "run", "failures", "counted"], rows, right=("run", "failures"))


def _counts(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return ["-", "-", "not run: a package was not installed"]
    counted = ", ".join(f"{count:,} {what}" for what, count in found["counts"].items())
    return [f"{found['cases']:,}", str(found["failures"]), counted]


def _how(about: dict[str, Any]) -> str:
    machine = about["hardware"]
    return (
        f"`{about['command']}`, {about['date']}, {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gigabytes']} GB, Python {about['versions']['python']}."
    )


if __name__ == "__main__":
    rewrite(PAGE, made_tables())
