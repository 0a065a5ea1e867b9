"""Save the user's rules, rule model or facts under a new name; inputs are never overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.kg.io.folders import folder_aside, publish
from reshuffle.kg.io.writing import write_graph
from reshuffle.rulelist import save_rule_model
from reshuffle.rulelist.constants.constant_edits import place_of
from reshuffle.rules import RuleBase
from reshuffle.rules.rule import ConstantRule
from reshuffle.rules.writing import format_rules, write_rules

if TYPE_CHECKING:
    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import World

_FORBIDDEN = set('/\\:*?"<>|')
_LONGEST_NAME = 200  # bytes


class TakenName(InputError):  # noqa: N818 - a state of the folder
    """There is something of that name already."""


def save_as(world: World, edits: Edits, what: str, name: str, folder: Path) -> dict[str, Any]:
    """Write it into the folder; a name that is taken is refused, and what cannot be finished leaves nothing.

    It is written aside and gets its name at the end, so that of several savings of one name a single one succeeds.
    """
    if what not in ("rules", "model", "facts"):
        raise InputError(f"found {what!r} to save", hint="give rules, model or facts")
    path = _new_path(folder, name)
    with folder_aside(path, may_go=_is_saving) as aside:
        told = _saved(world, edits, what, aside / name)
        try:
            publish(aside / name, path)
        except FileExistsError:
            raise _taken(path) from None
        return told


def _is_saving(left: Path) -> bool:
    """Is all in it what a saving that was killed has written?"""
    name = left.name[1:].rpartition(".part")[0].rpartition(".")[0]
    try:
        return all(Path(name).stem in entry.name for entry in left.iterdir())
    except FileNotFoundError:  # another saving has just ended
        return False


def _saved(world: World, edits: Edits, what: str, path: Path) -> dict[str, Any]:
    name = path.name
    if what == "facts":
        write_graph(world.facts, path)
        return {"file": name, "triples": len(world.facts)}
    if what == "rules":
        rules = chosen_rules(world, edits)
        write_rules(rules, path)
        return {"file": name, "rules": len(rules)}
    model = world.weighted()
    save_rule_model(model, path)
    return {"file": name, "rules": len(model) + len(model.constants)}


def chosen_rules(world: World, edits: Edits, *, accepted: bool = False) -> RuleBase:
    """The rules that are left, or those alone that somebody accepted or wrote."""
    apart = world.about_entities
    if not accepted:
        about = () if apart is None else tuple(map(apart.rule, range(len(apart))))
        return RuleBase((*world.rules.given, *about), world.rules.disjointness) if about else world.rules
    wanted = edits.accepted | set(edits.written)
    kept = [rule for rule in world.rules.given if rule in wanted]
    if apart is not None:
        named = (rule for rule in wanted if isinstance(rule, ConstantRule))
        kept += sorted((rule for rule in named if place_of(apart, rule) is not None), key=str)
    return RuleBase(tuple(kept), world.rules.disjointness)


def rule_text(world: World, edits: Edits, format: str, *, accepted: bool = False) -> str:
    """The rules as a file of a format."""
    return format_rules(chosen_rules(world, edits, accepted=accepted), format, skip_unsupported=True)


def _new_path(folder: Path, name: str) -> Path:
    """A name in the folder that nothing has yet."""
    if (
        not name
        or name.startswith(".")
        or _FORBIDDEN & set(name)
        or not name.isprintable()
        or len(name.encode()) > _LONGEST_NAME
    ):
        raise InputError(
            f"found the name {name!r}",
            hint="give a plain file name, without folders; it is saved in the directory where serve was started",
        )
    path = folder / name
    if path.exists() or path.is_symlink():
        raise _taken(path)
    return path


def _taken(path: Path) -> TakenName:
    hint = "nothing is replaced: give another name"
    return TakenName(f"there is a file '{path.name}' already", hint=hint)
