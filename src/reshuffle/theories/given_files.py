"""What each of the files is that a verb is given: rules, axioms, facts, or axioms and facts.

The first file has the rules. Among the files behind it, those with the ending of a rule file, and ontologies that hold
axioms, are rules as well; an ontology that also holds facts is facts, too. Where the first file holds facts alone and
another one axioms, they change places.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from reshuffle.kg.io.files import find_source
from reshuffle.rules.ontologies import rdf_axioms
from reshuffle.rules.ontologies.ontology_reading import holds_axioms_alone
from reshuffle.rules.parsing import may_hold_facts
from reshuffle.theories.kinds import kind_at

if TYPE_CHECKING:
    from collections.abc import Sequence

_RULE_ENDINGS = (".rules", ".dl", ".datalog", ".rls", ".anyburl")
# Only axioms and declarations use these words; facts in N-Triples may have the others of OWL, such as owl:sameAs.
_OF_AXIOMS = re.compile(
    rb"2002/07/owl#(?!sameAs|Thing|NamedIndividual|differentFrom)|01/rdf-schema#(?!label|comment|seeAlso|isDefinedBy)"
)
_LARGEST = 1 << 28  # bytes of a file that is looked through for axioms


@dataclass(frozen=True)
class GivenFiles:
    """What files are taken for."""

    rules: tuple[str, ...]
    """Those with rules or axioms; there is at least one."""
    facts: tuple[str, ...]

    @property
    def told(self) -> list[str]:
        """A line for each file."""
        kinds = {
            path: "axioms" if may_hold_facts(path) or _is_of_classes(path) else "rules" for path in self.rules
        }
        for path in self.facts:
            kinds[path] = f"{kinds[path]} and facts" if path in kinds else "facts"
        return [f"{path}: taken for {kind}" for path, kind in kinds.items()]


def given_files(rules: str, facts: Sequence[str]) -> GivenFiles | None:
    """What the files are; None where the first one has the rules and all others facts, as always."""
    if not _may_be_sorted(rules):
        return None
    more = [path for path in facts if _holds_rules(path)]
    swapped = bool(more) and may_hold_facts(rules) and not _holds_rules(rules)
    theories = tuple(dict.fromkeys(more if swapped else [rules, *more]))
    given = [*([rules] if swapped else ()), *facts]
    alone = len(theories) == 1 and not facts
    both = [path for path in theories if not alone and _holds_facts(path)]
    beside = bool(facts) and _is_of_classes(rules)
    if not (more or beside) and (not both or set(facts) <= {rules}):
        return None
    kept = [path for path in given if path not in theories]
    return GivenFiles(theories, tuple(dict.fromkeys([*kept, *both])))


def _may_be_sorted(path: str) -> bool:
    """Is it a file that may be sorted? Models and compiled constraints stay where they are."""
    return Path(path).is_file() and (
        may_hold_facts(path)
        or _is_of_classes(path)
        or _ending(path) in _RULE_ENDINGS
        or _ending(path) == ".txt"
    )


def _is_of_classes(path: str) -> bool:
    """Is it an ontology in a format that no reader of facts knows? Compiled constraints are in JSON, too."""
    return holds_axioms_alone(path) and Path(path).is_file() and kind_at(Path(path)) == "ontology_files"


def _ending(path: str) -> str:
    packed = Path(path).suffix.lower() == ".gz"
    return Path(Path(path).stem if packed else path).suffix.lower()


def _holds_rules(path: str) -> bool:
    """Has it rules by its ending, or axioms?"""
    if not Path(path).is_file():
        return False
    if _ending(path) in _RULE_ENDINGS or _is_of_classes(path):
        return True
    return may_hold_facts(path) and _may_hold_axioms(path) and _read(path)[0]


def _holds_facts(path: str) -> bool:
    """Does an ontology hold facts as well?"""
    return may_hold_facts(path) and Path(path).is_file() and _read(path)[1]


def _may_hold_axioms(path: str) -> bool:
    """Does it use words that axioms are made of? A file that is too large for an ontology is taken for facts."""
    if Path(path).stat().st_size > _LARGEST:
        return False
    return _OF_AXIOMS.search(find_source(path).read_text(most=_LARGEST * 4)) is not None


def _read(path: str) -> tuple[bool, bool]:
    """Does it hold axioms, and does it hold facts?"""
    written = Path(path).stat()
    return _read_as_written(path, written.st_mtime_ns, written.st_size)


@lru_cache(maxsize=100)
def _read_as_written(path: str, when: int, size: int) -> tuple[bool, bool]:
    """The same, once for a file as it is now."""
    del when, size
    found = rdf_axioms.read(find_source(path).read_text(most=_LARGEST * 4), path)
    return bool(found.axioms or found.classes or found.properties), bool(found.facts)
