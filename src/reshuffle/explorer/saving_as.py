"""Writing what somebody made: a rule file, a rule model or facts, under a new name, never over what was read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reshuffle.errors import InputError
from reshuffle.explorer.rule_lists import RuleListWorld
from reshuffle.kg.io.writing import write_graph
from reshuffle.rulelist import RuleModel, save_rule_model
from reshuffle.rules import RuleBase
from reshuffle.rules.writing import format_rules, write_rules

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.explorer.changes import Edits
    from reshuffle.explorer.subject import World

_FORBIDDEN = set('/\\:*?"<>|')


def save_as(world: World, edits: Edits, what: str, name: str, folder: Path) -> dict[str, Any]:
    """Write it into the folder; a name that is taken is refused, and what cannot be finished leaves nothing."""
    path = _new_path(folder, name)
    if what == "facts":
        write_graph(world.facts, path)
        return {"file": name, "triples": len(world.facts)}
    if what == "rules":
        rules = chosen_rules(world, edits)
        write_rules(rules, path)
        return {"file": name, "rules": len(rules)}
    if what == "model":
        model = world.model if isinstance(world, RuleListWorld) else RuleModel.from_rules(world.rules)
        save_rule_model(model, path)
        return {"file": name, "rules": len(model)}
    raise InputError(f"found {what!r} to save", hint="give rules, model or facts")


def chosen_rules(world: World, edits: Edits, *, accepted: bool = False) -> RuleBase:
    """The rules that are left, or those alone that somebody accepted or wrote."""
    if not accepted:
        return world.rules
    wanted = edits.accepted | set(edits.written)
    return RuleBase(tuple(rule for rule in world.rules.given if rule in wanted), world.rules.disjointness)


def rule_text(world: World, edits: Edits, format: str, *, accepted: bool = False) -> str:
    """The rules as a file of a format."""
    return format_rules(chosen_rules(world, edits, accepted=accepted), format, skip_unsupported=True)


def _new_path(folder: Path, name: str) -> Path:
    """A name in the folder that nothing has yet."""
    if (
        not name
        or len(name) > 200
        or name.startswith(".")
        or _FORBIDDEN & set(name)
        or not name.isprintable()
    ):
        raise InputError(
            f"found the name {name!r}",
            hint="give a plain file name, without folders; it goes where serve was started",
        )
    path = folder / name
    if path.exists() or path.is_symlink():
        raise InputError(f"there is a file '{name}' already", hint="nothing is replaced: give another name")
    return path
