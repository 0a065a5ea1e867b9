"""The rule list whose score is added to that of a soft model (setting `rules_weight`).

It is mined and fitted separately, on the same facts. If both are trained together, the model relies on rule weights
that were fitted to its own training facts, and is less accurate on other graphs (docs/explanation/accuracy.md).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.files.fit_checkpoints import remove_checkpoint
from reshuffle.rulelist.learner import RuleSettings, learn_rules

if TYPE_CHECKING:
    from pathlib import Path

    from reshuffle.kg import KnowledgeGraph
    from reshuffle.learning.settings import Settings
    from reshuffle.progress import Notes, Progress
    from reshuffle.rulelist.rule_model import RuleModel

_FOLDER = "rule-list"  # of the checkpoint, below the model's directory


def rule_list_of(
    facts: KnowledgeGraph,
    settings: Settings,
    *,
    minutes: float | None = None,
    directory: Path | None = None,
    resume: bool = False,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> RuleModel | None:
    """The list, or None where the settings ask for none. With a directory it is learned in steps that resume."""
    if not settings.architecture.rules_weight:
        return None
    folder = None if directory is None else directory / _FOLDER
    of_list = RuleSettings(seed=settings.training.seed)
    listed = learn_rules(
        facts,
        settings=of_list if settings.training.rules_constants else replace(of_list, constants=None),
        minutes=minutes,
        directory=folder,
        resume=resume,
        progress=progress,
        notes=notes,
    )
    if folder is not None:
        remove_checkpoint(folder)
        folder.rmdir()
    return listed
