"""What questions to the API share, and what there is to doubt of a translation, as it answers."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Text = Annotated[str, Field(max_length=20_000)]


class Checks(BaseModel):
    """A model's `unlike_below` and `unlike_above` are compared with `mean_log_probability`, of the tokens and in nats,
    and with `source_rarity`, the sum of the source tokens' log frequency ranks per character.
    """

    mean_log_probability: float
    source_rarity: float
    unlike_training: bool | None
    source_cut: bool
    translation_cut: bool
    missing_numbers: list[str]
    new_numbers: list[str]
    repetitive: bool


class Question(BaseModel):
    """What all questions name: the model, by the id that `/api/models` lists, and the sentence."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: Annotated[str, Field(max_length=20)] = "1"
    text: Text
