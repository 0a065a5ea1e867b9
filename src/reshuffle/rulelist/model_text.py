r"""A rule model as a text file that a person can read and change.

Sections begin with a name in brackets. In `[rules]` each line is a rule after tab-separated numbers:

    weight  per log count  predictions  support  confidence  rule

Of these numbers none, the first, the first two, the last three (as in any file of a miner) or all five may be there,
and `-` stands for one that is not known. A rule without a weight gets the one that its confidence says. `#` begins a
comment. Numbers are written so that reading gives the same numbers, to the bit. The last line of version 2 is `[end]`,
so that a file of which a part is missing is refused; files of version 1 have none.
"""

from __future__ import annotations

import gc
import math
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reshuffle.errors import InputError, Place, did_you_mean
from reshuffle.kg import Vocabulary, inverse_name
from reshuffle.kg.io.files import BYTE_ORDER_MARK, Source, made_directory, written_whole
from reshuffle.kg.vocabulary import base_relation
from reshuffle.locks import refuse_link
from reshuffle.rulelist.constants.constant_rules import quality_of
from reshuffle.rulelist.constants.constant_text import ConstantReading, texts_of
from reshuffle.rulelist.features import MOST_STEPS, NUM_DISTANCES
from reshuffle.rulelist.files.remarks import with_remarks
from reshuffle.rulelist.fitting import NUM_SCALES
from reshuffle.rulelist.links.answer_likelihood import AnswerLikelihood
from reshuffle.rulelist.links.likelihood import Likelihood
from reshuffle.rulelist.rule_model import (
    DIGITS,
    LARGEST,
    MOST_CONFIDENT,
    UNMEASURED,
    RuleModel,
    Tables,
    WeightedRule,
    prior_of,
)
from reshuffle.rulelist.type_tables import KINDS
from reshuffle.rules import Disjointness
from reshuffle.rules.formats.native import read_line
from reshuffle.rules.formats.statement import SourceLine, meaning, relation_name
from reshuffle.rules.rule import ConstantRule, DisjointEnds, quoted

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator

    from numpy.typing import NDArray

    from reshuffle.rulelist.constants.constant_rules import ConstantRules
    from reshuffle.rules import Rule

FILE = "model.rules"
"""The file of a model directory."""
VERSION = 2
_WITHOUT_END = 1
"""Files of this version, such as those of earlier releases and short ones of people, may end anywhere."""
_LARGEST = 1 << 29  # bytes
_OF_LINKS = 4  # numbers that say how likely links are; as many say how likely answers are
SETTINGS = ("version", "scales", "loops", "both_ways", "relations")
SECTIONS = (
    *("model", "rules", "distances", "types", "roles", "likelihood"),
    *("constants", "likelihood of constants", "end"),
)

_HEADER = """\
# A rule model. The score of an answer is the sum of what rules, a distance and a type add.
# Edit it freely: strike a rule out, add one, change a weight. The next answers go by it, without any training.
# `reshuffle train FACTS -o DIR --recipe rules --refit` fits the weights of these rules again.
"""
_OF_MODEL = """
[model]
# loops: the relations of which an entity may be its own answer, or `all`.
# both_ways: the relations whose facts are read in both directions; none where the line is missing.
# scales: the weight of a rule is about this number times -log(1 - confidence): for bodies of 1, 2, and more atoms.
"""
_OF_RULES = f"""
[rules]
# weight         added to the score of each entity that the rule finds
# per log count  added for each log of the number of walks that find it
# predictions    pairs that the body joins in the training facts
# support        facts among them, none of them found by itself
# confidence     support / (predictions + 5)
# Numbers are not negative; `-` is for one that is not known. A rule may stand alone: without a weight it gets its
# scale times -log(1 - confidence), with a confidence of at most {MOST_CONFIDENT}, or of {UNMEASURED} if it has none.
# weight\tper log count\tpredictions\tsupport\tconfidence\trule
"""
_OF_DISTANCES = f"""
[distances]
# Added by the number of steps between the two entities, over any facts: for questions (h, r, ?) the line of r, for
# questions (?, r, t) the line of r^-1.
# relation\t{chr(9).join(map(str, range(MOST_STEPS + 1)))}\tmore
"""
_OF_TYPES = """
[types]
# Factors for what an answer looks like: the log of the largest share (below) over its roles, the log of one more than
# its facts in the role that is asked for, the log of one more than all its facts.
# relation\tshare\tcount\tdegree
"""
_OF_ROLES = """
[roles]
# Who has the second role: the share of them that has the first one, in the training facts. The role r is to be a tail
# of r, the role r^-1 to be a head of r.
# role asked for\trole\tshare
"""
_OF_LIKELIHOOD = """
[likelihood]
# How likely a link is that a rule leads to: log-odds = rules * log(1 + what rules add)
# + tables * what distance and types add + share * log of its share of the question + the constant of the relation.
# The first line is rules, tables, share, and the constant of relations that have no line of their own.
# Behind these, and behind each constant, is what says how likely an answer is, if its question has one that is no fact:
# log-odds = lead * log(1 + score less that of the next answer) + odds * log-odds of its share of the answers that are
# no facts + rank * log(1, 2, ...) + the other constant of the relation
# rules\ttables\tshare\tconstant\tlead\todds\trank\tother constant
# relation\tconstant\tother constant
"""
_OF_CONSTANTS = """
[constants]
# Rules about particular entities. They answer on graphs that have these, and leave all other graphs as they are.
# weight for the entity    added to the score of the entity of the head, for an entity that has the body
# weight for members       added to the score of whoever has the body, where the entity of the head is asked about
# All rules that find an answer are added; those that say much the same share out one weight.
# One weight stands for both; without one, it is -log(1 - confidence).
# weight for the entity\tweight for members\tpredictions\tsupport\tconfidence\trule
"""
_OF_LIKELY_CONSTANTS = """
[likelihood of constants]
# The same as [likelihood], for graphs that have entities of [constants].
"""
_END = """
[end]
"""
_FORMER = [
    "# relation\tconstant",
    "# scale times -log(1 - confidence), with a confidence of at most 0.999, or of 0.9 where there is none.",
]
_GENERATED = frozenset(
    [
        line
        for part in (
            *(_HEADER, _OF_MODEL, _OF_RULES, _OF_DISTANCES, _OF_TYPES, _OF_ROLES, _OF_LIKELIHOOD),
            *(_OF_CONSTANTS, _OF_LIKELY_CONSTANTS),
        )
        for line in part.split("\n")
    ]
    + _FORMER
)


def save_rule_model(model: RuleModel, directory: str | Path, *, remarks_of: str | None = None) -> Path:
    """Write the model to a directory, whole or not at all; gives the file.

    `remarks_of` is the text of another such file, whose comments and struck lines are kept.
    """
    path = made_directory(directory) / FILE
    refuse_link(path)
    text = model_text(model)
    if remarks_of is not None:
        text = with_remarks(text, remarks_of, generated=_GENERATED, key_of=_key_of)
    with written_whole(path) as aside:
        aside.write_text(text, encoding="utf-8")
    return path


def is_rule_model(path: str | Path) -> bool:
    """Is it a directory with a rule model, or the file itself?"""
    return (Path(path) / FILE).is_file() or (Path(path).name == FILE and Path(path).is_file())


def load_rule_model(path: str | Path) -> RuleModel:
    """The model of a directory, or of its file."""
    return parse_rule_model(read_model_text(path), file=str(_file_of(path)))


def _file_of(path: str | Path) -> Path:
    return Path(path) if Path(path).name == FILE else Path(path) / FILE


def read_model_text(path: str | Path) -> str:
    """What stands in the file of a directory, or in the file itself."""
    file = _file_of(path)
    try:
        return Source.at(file).read_text(most=_LARGEST).decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(
            f"not a rule model: there is no {FILE}",
            place=Place(str(path)),
            hint="`reshuffle train FACTS -o DIR --recipe rules` writes one",
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read: {error}", place=Place(str(file))) from None


# --- writing ----------------------------------------------------------------------------------------------------------


def model_text(model: RuleModel) -> str:
    """The text of a model."""
    return "".join(f"{line}\n" if not line.endswith("\n") else line for line in _lines(model))


def _lines(model: RuleModel) -> Iterator[str]:
    yield _HEADER
    yield _OF_MODEL
    yield f"version\t{VERSION}"
    yield "\t".join(["scales", *map(_number, model.scales)])
    yield "\t".join(["loops", *(["all"] if model.loops is None else map(quoted, sorted(model.loops)))])
    if model.both_ways:
        yield "\t".join(["both_ways", *map(quoted, sorted(model.both_ways))])
    yield "\t".join(["relations", *map(quoted, model.relations)])
    yield _OF_RULES
    for one in model.rules:
        yield f"{_columns(one)}\t{one.rule}"
    names = _directed(model.relations)
    yield _OF_DISTANCES
    yield from _table(names, model.tables.distances)
    yield _OF_TYPES
    yield from _table(names, model.tables.types)
    yield _OF_ROLES
    for asked, role in zip(*np.nonzero(model.tables.shares), strict=True):
        yield f"{quoted(names[asked])}\t{quoted(names[role])}\t{_number(model.tables.shares[asked, role])}"
    if model.likelihood is not None:
        yield _OF_LIKELIHOOD
        yield from _likelihood_lines(model.likelihood)
    if model.constants:
        yield from _constant_lines(model.constants)
    yield _END


def _likelihood_lines(likely: Likelihood) -> Iterator[str]:
    numbers, own = (
        [likely.by_rules, likely.by_tables, likely.by_share, likely.constant],
        dict(likely.constants),
    )
    if (answers := likely.answers) is None:
        rows = {name: [constant] for name, constant in own.items()}
    else:
        numbers += [answers.by_lead, answers.by_odds, answers.by_rank, answers.constant]
        others = dict(answers.constants)
        rows = {
            name: [own.get(name, likely.constant), others.get(name, answers.constant)]
            for name in {**own, **others}
        }
    yield "\t".join(map(_number, numbers))
    yield from ("\t".join([quoted(name), *map(_number, row)]) for name, row in rows.items())


def _constant_lines(rules: ConstantRules) -> Iterator[str]:
    yield _OF_CONSTANTS
    numbers = zip(rules.weights.tolist(), rules.counts.tolist(), texts_of(rules), strict=True)
    for weights, (predictions, support), text in numbers:
        quality = quality_of(predictions, support)
        counts = ("-", "-", "-") if quality is None else map(_number, vars(quality).values())
        yield "\t".join([*map(_number, weights), *counts, text])
    if rules.likelihood is not None:
        yield _OF_LIKELY_CONSTANTS
        yield from _likelihood_lines(rules.likelihood)


def _columns(one: WeightedRule) -> str:
    quality = one.rule.quality
    counts = () if quality is None else vars(quality).values()
    return "\t".join(
        "-" if value is None else _number(value) for value in (one.weight, one.count_weight, *counts)
    )


def _number(value: float) -> str:
    """The shortest text that is read as the same number."""
    return repr(value) if isinstance(value, int) else repr(float(value)).removesuffix(".0")


def _directed(relations: tuple[str, ...]) -> list[str]:
    return [*relations, *map(inverse_name, relations)]


def _table(names: list[str], rows: NDArray[np.float64]) -> Iterator[str]:
    """A line for each relation that has a number other than 0."""
    for name, row in zip(names, rows, strict=True):
        if row.any():
            yield "\t".join([quoted(name), *map(_number, row)])


# --- reading ----------------------------------------------------------------------------------------------------------


def parse_rule_model(text: str, *, file: str = "<text>") -> RuleModel:
    """The model of a text; what cannot be read is one error with its line."""
    with _no_garbage():
        return _parsed(text, file)


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Millions of objects are made that stay: looking through them for garbage takes a sixth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parsed(text: str, file: str) -> RuleModel:
    sections: dict[str, list[SourceLine]] = {}
    current: list[SourceLine] | None = None
    for number, written in enumerate(text.removeprefix(BYTE_ORDER_MARK).split("\n"), start=1):
        if not (begin := written.lstrip()[:1]) or begin == "#":
            continue
        line = SourceLine(file, number, written)
        if written[0] == "[":
            current = sections[_section(line, sections)] = []
        elif current is None:
            raise line.error(
                "found a line before the first section", at=0, hint=f"begin with [{SECTIONS[0]}]"
            )
        elif "end" in sections:
            raise line.error(
                "found a line below [end]", at=0, hint="put it into the section that it belongs to"
            )
        else:
            current.append(line)
    return _Reading(file, sections).model()


def _section(line: SourceLine, before: dict[str, list[SourceLine]]) -> str:
    name = line.text.strip().removeprefix("[").removesuffix("]")
    if name not in SECTIONS or not line.text.rstrip().endswith("]"):
        meant = did_you_mean(name, SECTIONS)
        known = ", ".join(f"[{section}]" for section in SECTIONS)
        raise line.error(
            f"there is no section '{line.text.strip()}'{meant}", at=0, hint=f"the sections are {known}"
        )
    if name in before:
        raise line.error(f"a second section [{name}]", at=0, hint="put its lines below the first one")
    return name


def _check_setting(line: SourceLine, name: str, before: Collection[str]) -> None:
    """Refuse a line of [model] that nothing would read: a misspelt one, and a second one of its name."""
    if name not in SETTINGS:
        hint = f"the lines below [model] are {', '.join(SETTINGS)}, each with a tab behind its name"
        raise line.error(f"there is no setting '{name}'{did_you_mean(name, SETTINGS)}", at=0, hint=hint)
    if name in before:
        raise line.error(f"a second line `{name}`", at=0, hint="delete one of the two")


class _Reading:
    def __init__(self, file: str, sections: dict[str, list[SourceLine]]) -> None:
        self.file, self.sections = file, sections
        self.values: dict[str, tuple[SourceLine, list[str]]] = {}
        for line in sections.get("model", ()):
            name, *cells = _cells(line)
            _check_setting(line, name, self.values)
            self.values[name] = (line, cells)

    def model(self) -> RuleModel:
        self._check_version()
        listed = self._relations()
        relations = Vocabulary(dict.fromkeys(listed), kind="relation") if listed else None
        names = _directed(tuple(relations or ()))
        self.codes = {name: code for code, name in enumerate(names)}
        tables = Tables.zero(tuple(relations or ()))
        self._fill("distances", tables.distances, NUM_DISTANCES)
        self._fill("types", tables.types, len(KINDS))
        for line in self.sections.get("roles", ()):
            cells = _cells(line)
            if len(cells) != 3:
                raise line.error(
                    f"found {len(cells)} columns", at=0, hint="a line is: requested role, role, share"
                )
            asked, role = (self._code(line, cell) for cell in cells[:2])
            tables.shares[asked, role] = _read_number(line, cells[2], least=0.0, most=1.0)
        likely = self._likelihood("likelihood")
        bare = RuleModel((), tables, self._loops(), self._scales(), self._both_ways(), likely)
        return self._with_constants(self._with_rules(bare))

    def _with_constants(self, model: RuleModel) -> RuleModel:
        reading = ConstantReading()
        for line in self.sections.get("constants", ()):
            if not reading.take_usual(line):
                start = _rule_at(line.text)
                reading.take(line, start, *_constant_numbers(line, start))
        found = replace(reading.rules(), likelihood=self._likelihood("likelihood of constants"))
        return replace(model, constants=found).knowing(found.relations)

    def _relations(self) -> list[str]:
        line, cells = self.values.get("relations", (None, []))
        if line is not None and not all(cells):
            hint = "write the name, or take the tab before it out"
            raise line.error("found a relation without a name", at=len(line.text), hint=hint)
        return [relation_name(cell) for cell in cells]

    def _value(self, name: str, default: list[str]) -> list[str]:
        return self.values[name][1] if name in self.values else default

    def _check_version(self) -> None:
        found = self._value("version", [])
        if found == [str(VERSION)] and "end" not in self.sections:
            raise InputError(
                "the file ends early: its last line should be [end]",
                place=Place(self.file),
                hint="copy it again; if you are sure that it is whole, write [end] as its last line",
            )
        if found not in ([str(VERSION)], [str(_WITHOUT_END)]):
            told = f"the version {' '.join(found)}" if found else "no version"
            raise InputError(
                f"found {told} of a rule model, expected {VERSION}",
                place=Place(self.file),
                hint="a newer version of this library may have written it; else write `version<TAB>1` below [model]",
            )

    def _loops(self) -> frozenset[str] | None:
        if self._value("loops", ["all"]) == ["all"]:
            return None
        line, cells = self.values["loops"]
        return frozenset(list(self.codes)[self._code(line, cell)] for cell in cells if cell)

    def _both_ways(self) -> frozenset[str]:
        if "both_ways" not in self.values:
            return frozenset()
        line, cells = self.values["both_ways"]
        codes = [self._code(line, cell) for cell in cells]
        names = list(self.codes)
        return frozenset(base_relation(names[code]) for code in codes)

    def _scales(self) -> tuple[float, ...]:
        if "scales" not in self.values:
            return (1.0,) * NUM_SCALES
        line, cells = self.values["scales"]
        if len(cells) != NUM_SCALES:
            hint = "one for bodies of 1 atom, of 2, and of more"
            raise line.error(f"found {len(cells)} scales, expected {NUM_SCALES}", at=0, hint=hint)
        return tuple(_read_number(line, cell, least=0.0) for cell in cells)

    def _likelihood(self, section: str) -> Likelihood | None:
        lines = list(self.sections.get(section, ()))
        if not lines:
            return None
        tells_answers = len(_cells(lines[0])) == 2 * _OF_LINKS
        first = self._numbers(lines[0], 2 * _OF_LINKS if tells_answers else _OF_LINKS, names=0)
        by_rules, by_tables, by_share, constant = first[:_OF_LINKS]
        if by_share < 0:
            hint = "give 0 or more: a link with a larger share of its question is no less likely"
            raise lines[0].error(f"found '{by_share:g}' for the share", at=0, hint=hint)
        names, own = list(self.codes), dict[str, list[float]]()
        for line in lines[1:]:
            name = names[self._code(line, _cells(line)[0])]
            if name in own:
                raise line.error(f"a second line of {name}", at=0, hint="strike one of the two out")
            own[name] = self._numbers(line, 3 if tells_answers else 2, names=1)
        columns = [tuple((name, row[at]) for name, row in own.items()) for at in range(1 + tells_answers)]
        answers = None
        if tells_answers:
            by_lead, by_odds, by_rank, other = first[_OF_LINKS:]
            answers = AnswerLikelihood(by_lead, by_odds, by_rank, other, columns[1])
        return Likelihood(by_rules, by_tables, by_share, constant, columns[0], answers)

    def _numbers(self, line: SourceLine, width: int, *, names: int) -> list[float]:
        """The numbers of a line of the likelihood, behind its names."""
        cells = _cells(line)
        if len(cells) != width:
            hint = (
                f"the first line has {_OF_LINKS} numbers, and each other one a relation and its constant; or "
                f"{2 * _OF_LINKS}, and two constants"
            )
            raise line.error(f"found {len(cells)} columns, expected {width}", at=0, hint=hint)
        return [_read_number(line, cell) for cell in cells[names:]]

    def _code(self, line: SourceLine, cell: str) -> int:
        name = relation_name(cell)
        if name not in self.codes:
            meant = did_you_mean(name, self.codes)
            hint = "add it to the line `relations` below [model]"
            raise line.error(f"the model has no relation '{name}'{meant}", at=0, hint=hint)
        return self.codes[name]

    def _fill(self, section: str, table: NDArray[np.float64], width: int) -> None:
        for line in self.sections.get(section, ()):
            name, *numbers = _cells(line)
            if len(numbers) != width:
                hint = "the comment above the table names its columns; tabs stand between them"
                raise line.error(f"found {len(numbers)} numbers, expected {width}", at=0, hint=hint)
            table[self._code(line, name)] = [_read_number(line, number) for number in numbers]

    def _with_rules(self, bare: RuleModel) -> RuleModel:
        found: dict[Rule, SourceLine] = {}
        rules = []
        for line in self.sections.get("rules", ()):
            one = _weighted(line, bare)
            if one.rule in found:
                raise line.error(
                    f"the same rule stands in line {found[one.rule].number}",
                    at=0,
                    hint="delete one of the two",
                )
            found[one.rule] = line
            rules.append(one)
        used = (name for one in rules for name in (one.rule.head, *one.rule.body))
        known = bare.knowing(dict.fromkeys(relation_name(name).removesuffix("^-1") for name in used))
        return replace(known, rules=tuple(rules))


def _constant_numbers(line: SourceLine, start: int) -> tuple[tuple[float, float], tuple[int, int]]:
    """The weights of a rule about a particular entity, and its predictions and support."""
    cells = line.text[:start].split("\t")[:-1]
    own = {0: 0, 1: 1, 2: 2, 3: 0, 5: 2}.get(len(cells))
    if own is None:
        hint = "write two weights, predictions, support and confidence before it, or fewer of them"
        raise line.error(f"found {len(cells)} numbers before the rule", at=0, hint=hint)
    counts = [0.0 if cell.strip() == "-" else _read_number(line, cell, least=0.0) for cell in cells[own:]]
    predictions, support = (int(counts[0]), int(counts[1])) if counts else (0, 0)
    written = [None if cell.strip() == "-" else _read_number(line, cell, least=0.0) for cell in cells[:own]]
    usual = round(prior_of(quality_of(predictions, support)), DIGITS)
    one, other = (usual if weight is None else weight for weight in (*written, *written, None, None)[:2])
    return (one, other), (predictions, support)


def _weighted(line: SourceLine, model: RuleModel) -> WeightedRule:
    """The rule of a line with the numbers before it."""
    start = _rule_at(line.text)
    numbers = line.text[:start].split("\t")[:-1]
    own = {0: 0, 1: 1, 2: 2, 3: 0, 5: 2}.get(len(numbers))
    if own is None:
        hint = "write weight, per log count, predictions, support and confidence before it, or fewer of them"
        raise line.error(f"found {len(numbers)} numbers before the rule", at=0, hint=hint)
    weights = [None if cell.strip() == "-" else _read_number(line, cell) for cell in numbers[:own]]
    skipped = sum(len(cell) + 1 for cell in numbers[:own])
    # Blanks in place of what is read already leave the columns of an error as they are.
    read = meaning(read_line(SourceLine(line.file, line.number, " " * skipped + line.text[skipped:])))
    if isinstance(read, ConstantRule):
        raise line.error("a rule about particular entities", at=start, hint="write it below [constants]")
    if isinstance(read, Disjointness | DisjointEnds) or read.is_tautology:
        raise line.error("this is not a rule", at=start, hint="a rule is written body -> head")
    weight, count = (*weights, None, None)[:2]
    try:
        given = model.weighted(read)
        return WeightedRule(given.rule, given.weight if weight is None else weight, count or 0.0)
    except InputError as error:
        raise line.error(str(error.message), at=0, hint=error.hint) from None


def _key_of(section: str, text: str) -> Hashable:
    """What a line is about: a rule, a setting, a relation, or two roles."""
    line = SourceLine("<text>", 1, text)
    if section == "[rules]":
        return _weighted(line, _BARE).rule
    if section == "[constants]":
        return text[_rule_at(text) :].strip()
    cells = _cells(line)
    return tuple(relation_name(cell) for cell in cells[: 2 if section == "[roles]" else 1])


_BARE = RuleModel((), Tables.zero(()))


def _rule_at(text: str) -> int:
    """Where the rule begins: behind the last tab before its first parenthesis or quote."""
    ends = [at for at in (text.find(mark) for mark in '("<') if at >= 0]
    return text.rfind("\t", 0, min(ends, default=len(text))) + 1


def _cells(line: SourceLine) -> list[str]:
    return [cell.strip() for cell in line.text.split("\t")]


def _read_number(line: SourceLine, cell: str, *, least: float = -LARGEST, most: float = LARGEST) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if math.isnan(value) or not least <= value <= most:
        at = max(0, line.text.find(cell))
        between = "" if math.isnan(value) else f" from {least:g} to {most:g}"
        raise line.error(f"found '{cell.strip()}', expected a number{between}", at=at, hint="such as 0.25")
    return value
