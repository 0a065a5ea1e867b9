"""What each of the files is that a verb is given: rules, axioms, facts, or axioms and facts.

The first file has the rules. Among the files behind it, those with the ending of a rule file, and ontologies that hold
axioms, are rules as well; an ontology that also holds facts is facts, too. Where the first file holds facts alone and
another one axioms, they change places.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.cli.inputs import InputFacts, InputModel

if TYPE_CHECKING:
    import argparse

    from reshuffle.cli.console import Console

_RULE_ENDINGS = (".rules", ".dl", ".datalog", ".rls", ".anyburl")
# Only axioms and declarations use these words; facts in N-Triples may have the others of OWL, such as owl:sameAs.
_OF_AXIOMS = re.compile(
    rb"2002/07/owl#(?!sameAs|Thing|NamedIndividual|differentFrom)|01/rdf-schema#(?!label|comment|seeAlso|isDefinedBy)"
)
_LARGEST = 1 << 28  # bytes of a file that is looked through for axioms


def sort_files(arguments: argparse.Namespace, console: Console) -> None:
    """Let `arguments.rules`, `more_rules` and `facts` be what the given files hold, and say what was sorted."""
    arguments.more_rules = []
    first = str(arguments.rules)
    if Path(first).is_dir() or not _is_rules_or_axioms_or_facts(first):
        return
    more = [path for path in arguments.facts if _holds_rules(path)]
    if more and not _holds_rules(first) and _is_rdf(first):
        arguments.rules = InputModel(more.pop(0))
        arguments.facts = [InputFacts(first), *arguments.facts]
    theories = [str(arguments.rules), *more]
    both = [path for path in theories if _holds_facts(path, alone=not arguments.facts and len(theories) == 1)]
    given = [str(path) for path in arguments.facts]
    if not more and first == str(arguments.rules) and (not both or set(given) <= {first}):
        return  # rules first, then facts, as always
    arguments.more_rules = [path for path in dict.fromkeys(more) if path != str(arguments.rules)]
    kept = [path for path in given if path not in theories]
    arguments.facts = [InputFacts(path) for path in dict.fromkeys([*kept, *both])]
    _tell(arguments, both, console)


def _tell(arguments: argparse.Namespace, both: list[str], console: Console) -> None:
    theories = [str(arguments.rules), *arguments.more_rules]
    for path in dict.fromkeys([*theories, *map(str, arguments.facts)]):
        kind = ("axioms" if _is_rdf(path) else "rules") if path in theories else "facts"
        console.message(f"{path}: taken for {kind}" + (" and facts" if path in both else ""))


def _is_rules_or_axioms_or_facts(path: str) -> bool:
    """Is it a file that may be sorted? Models and compiled constraints stay where they are."""
    return Path(path).is_file() and (
        _is_rdf(path) or _ending(path) in _RULE_ENDINGS or _ending(path) == ".txt"
    )


def _ending(path: str) -> str:
    packed = Path(path).suffix.lower() == ".gz"
    return Path(Path(path).stem if packed else path).suffix.lower()


def _is_rdf(path: str) -> bool:
    from reshuffle.rules.parsing import may_hold_facts

    return may_hold_facts(path)


def _holds_rules(path: str) -> bool:
    """Has it rules by its ending, or axioms?"""
    if not Path(path).is_file():
        return False
    return _ending(path) in _RULE_ENDINGS or (_is_rdf(path) and _may_hold_axioms(path) and _read(path)[0])


def _holds_facts(path: str, *, alone: bool) -> bool:
    """Does an ontology hold facts as well? One that is given alone is looked at as both elsewhere."""
    return not alone and _is_rdf(path) and Path(path).is_file() and _read(path)[1]


def _may_hold_axioms(path: str) -> bool:
    """Does it use words that axioms are made of? A file that is too large for an ontology is taken for facts."""
    from reshuffle.kg.io.files import find_source

    if Path(path).stat().st_size > _LARGEST:
        return False
    return _OF_AXIOMS.search(find_source(path).read_text(most=_LARGEST * 4)) is not None


def _read(path: str) -> tuple[bool, bool]:
    """Does it hold axioms, and does it hold facts?"""
    from reshuffle.kg.io.files import find_source
    from reshuffle.rules.ontologies import rdf_axioms

    found = rdf_axioms.read(find_source(path).read_text(most=_LARGEST * 4), path)
    return bool(found.axioms or found.classes or found.properties), bool(found.facts)
