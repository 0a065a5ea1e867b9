"""A stored model as a module again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reshuffle.errors import InputError
from reshuffle.learning.training.examples import numbers_of
from reshuffle.model.reshuffle import ReshuffleModel

if TYPE_CHECKING:
    from torch import Tensor

    from reshuffle.errors import Place
    from reshuffle.learning.model_files import StoredModel


def restored_model(stored: StoredModel, parameters: dict[str, Tensor], place: Place) -> ReshuffleModel:
    """With the shape that the settings ask for, and the parameters of the arrays."""
    architecture = stored.settings.architecture
    model = ReshuffleModel(
        len(stored.relations),
        architecture,
        symmetric=numbers_of(architecture.symmetric, stored.relations),
        num_identities=len(stored.identities),
        injected=None if stored.injection is None else stored.injection.block(stored.relations),
    )
    if stored.keeps_path_matrices:
        model.keep_path_matrices()
    try:
        model.load_state_dict(parameters)
    except RuntimeError as error:
        raise InputError(
            "the arrays do not have the shapes that the settings ask for",
            place=place,
            hint="the settings were changed after they were written; train the model again",
        ) from error
    return model
