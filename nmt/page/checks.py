"""What there is to doubt of a translation, as the API answers it."""

from pydantic import BaseModel


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
