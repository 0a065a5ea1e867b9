"""The rule list that counts beside a soft model, where the setting `rules_weight` asks for one.

It is mined and fitted on its own, to the same facts. Trained together, the model leans on weights that were fitted to
the very facts it is trained on, and is less accurate on other graphs (docs/explanation/accuracy.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.progress import SILENT, UNHEARD
from reshuffle.rulelist.fit_checkpoints import FILE
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
    directory: Path | None = None,
    resume: bool = False,
    progress: Progress = SILENT,
    notes: Notes = UNHEARD,
) -> RuleModel | None:
    """The list, or None where the settings ask for none. With a directory it is learned in steps that resume."""
    if not settings.architecture.rules_weight:
        return None
    folder = None if directory is None else directory / _FOLDER
    listed = learn_rules(
        facts,
        settings=RuleSettings(seed=settings.training.seed),
        directory=folder,
        resume=resume,
        progress=progress,
        notes=notes,
    )
    if folder is not None:
        (folder / FILE).unlink(missing_ok=True)
        folder.rmdir()
    return listed
