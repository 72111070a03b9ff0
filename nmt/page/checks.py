"""What there is to doubt of a translation, as the API answers it."""

from pydantic import BaseModel


class Checks(BaseModel):
    """`mean_log_probability`, of the tokens and in nats, is what a model's `unlike_below` is compared with."""

    mean_log_probability: float
    unlike_training: bool | None
    source_cut: bool
    translation_cut: bool
    missing_numbers: list[str]
    new_numbers: list[str]
    repetitive: bool
