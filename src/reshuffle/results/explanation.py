"""Why a triple follows, what its score is made of, or why it does not follow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from reshuffle.pictures.notebook import drawn_tree

if TYPE_CHECKING:
    from reshuffle.pictures.diagram import Diagram


class Explanation(ABC):
    """A tree of reasons for one triple. Prints as text; false where nothing supports the triple."""

    @abstractmethod
    def __str__(self) -> str:
        """In words, the verdict in the first line."""

    def __bool__(self) -> bool:
        """Does something support the triple?"""
        return True

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""

    @abstractmethod
    def diagram(self, most: int | None = None) -> Diagram:
        """As it is drawn: the triple below what it rests on, with up to `most` reasons."""

    def rule_rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The rules that speak for it, of the first `most` reasons, a row each; none where no rule does."""
        del most
        return []

    @property
    def drawn_reasons(self) -> int | None:
        """How many reasons a notebook draws; None for all."""
        return None

    def write(self, path: str) -> None:
        """Draw it as a file, or write it in words; the ending names the format (`explanation_formats.FORMATS`)."""
        from reshuffle.results.explanation_formats import (  # noqa: PLC0415 - it imports this module
            Told,
            write_explanation,
        )

        write_explanation(Told.of(self), path)

    def _repr_html_(self) -> str:
        return drawn_tree(str(self).partition("\n")[0], self.diagram(self.drawn_reasons))
