"""What may be set about the data: the corpus, and how its text becomes tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from nmt import addons
from nmt.registry import Count, PathString, Section
from nmt.text.tokenizers import TOKENIZERS
from nmt.text.vocabulary import SPECIALS

CODE = r"^\w[\w.-]{0,40}$"  # of a language: it becomes a part of file names
REGION = r"(?<=^[a-z]{2})[_-](\w{2}|\w{4})$"  # or script, as in en-US, de_DE and zh-Hant


def _code(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("YAML takes no and on for false and true: put the code in quotes, such as 'no'")
    if isinstance(value, str) and not re.match(CODE, value):
        raise ValueError(f"not a language code, such as de (here: {value!r})")
    return re.sub(REGION, "", value.lower()) if isinstance(value, str) else value


Language = Annotated[str, Field(pattern=CODE), BeforeValidator(_code)]
Weight = Annotated[int, Field(ge=1, le=100, strict=True)]  # how often pairs come in an epoch


class SideConfig(Section):
    """One language of the corpus."""

    language: Language
    """The language's ISO 639-1 code, such as `de` or `en`."""
    tokenizer: Annotated[str, TOKENIZERS] = "spacy"
    """How text is cut into tokens."""
    lowercase: bool = True
    """Lower-case text before tokenization."""
    min_frequency: Count = 1
    """Tokens seen less often in the training text become `<unk>`. Where `augment` changes text, all subwords stay."""
    train: PathString | None = None
    """With `corpus: files`: the file of training sentences, one per line, or a file of both languages, such as
    `memory.tmx` or `memory.csv#column`."""
    validation: PathString | None = None
    """With `corpus: files`: the file of validation sentences."""
    test: PathString | None = None
    """With `corpus: files`: the file of test sentences. Without one, a run is scored on the validation set."""

    if TYPE_CHECKING:
        vocabulary_size: Count | None = None

    @model_validator(mode="after")
    def _case_is_not_lost(self) -> Self:
        if self.lowercase and TOKENIZERS[self.tokenizer].keeps_case:
            raise ValueError(
                f"tokenizer: {self.tokenizer} keeps case, and lowercase: true loses it; set lowercase to false, or "
                "tokenizer to sentencepiece"
            )
        return self


TAG = r"^[^\s\x1c-\x1f]+$"


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class ExtraText(Section):
    """A file of more source sentences, whose translations `target.extra` names. A path alone is enough."""

    path: PathString
    """The file of sentences, one per line."""
    weight: Weight = 1
    """How often each of its pairs occurs in an epoch."""
    tag: Annotated[str, Field(pattern=TAG, max_length=100)] | None = None
    """A token such as `<BT>` before each of its source sentences, which marks them (Caswell et al. 2019)."""

    @model_validator(mode="after")
    def _tag_is_no_mark(self) -> Self:
        if self.tag in SPECIALS:
            raise ValueError(f"tag: {self.tag} has a meaning already; choose another word, such as <BT>")
        return self


class SourceConfig(SideConfig):
    """The language that is translated."""

    language: Language = "de"
    extra: tuple[Annotated[ExtraText, BeforeValidator(_path_alone)], ...] = ()
    """Files of more training pairs, such as back-translations: each a path, or `path`, `weight` and `tag`. Subwords and
    vocabulary are learnt without them."""


class TargetConfig(SideConfig):
    """The language that is written."""

    language: Language = "en"
    extra: tuple[PathString, ...] = ()
    """The files of translations of `source.extra`, as many and in the same order."""


class NoAugmentation(Section):
    """The section `augment` where the add-on `nmt.augment` is not installed."""

    def check(self, data: DataConfig) -> None:
        """Raise ValueError for values that do not fit the other fields of `data`."""

    @classmethod
    def unused(cls, values: Mapping[str, Any]) -> dict[str, str | None]:
        return dict.fromkeys(values, "without the add-on nmt.augment; remove it, or install that")


if TYPE_CHECKING:
    AugmentConfig = NoAugmentation
    Protect = bool | tuple[str, ...] | None
else:
    Protect = getattr(addons.offered("protection"), "Protect", None)
    AugmentConfig = getattr(addons.offered("augment_config"), "AugmentConfig", NoAugmentation)


class DataConfig(Section):
    """Which text to learn from, and how it becomes tokens."""

    corpus: Literal["sample", "multi30k", "files"] = "sample"
    """`sample`: the synthetic sample corpus. `multi30k`: Multi30k in German, English, French or Czech, fetched on first
    use. `files`: your own text, named in `source` and `target`."""
    corpus_weight: Weight = 1
    """How often each pair of the corpus occurs in an epoch, in addition to those of `extra`."""
    folder: PathString = "data"
    """The folder of the sample corpus, Multi30k's files and (`cache/`) tokenized text."""
    mirror: PathString | None = None
    """With `corpus: multi30k` or `multi30k_descriptions`: a folder or URL with Multi30k's files; the descriptions are
    beside it, in `multi30k_descriptions`. The environment variable `NMT_MULTI30K_MIRROR` overrides it."""
    source: SourceConfig = Field(default_factory=SourceConfig)
    """The source language."""
    target: TargetConfig = Field(default_factory=TargetConfig)
    """The target language."""
    joint_vocabulary: bool = False
    """One vocabulary (and one sentencepiece model) for both languages."""
    normalize: bool = True
    """Normalise all text to Unicode's NFC, and remove soft hyphens and other invisible characters."""
    max_length: Count = 100
    """Training pairs with more tokens on either side are skipped and counted."""
    protect: Protect = None
    """Spans that are copied, and masked for the model (an add-on): `true` for placeholders, URLs, e-mail addresses,
    paths and numbers with units, or a list of `all`, `placeholders`, `urls`, `emails`, `paths`, `numbers`, and regular
    expressions."""
    augment: AugmentConfig = Field(default_factory=AugmentConfig)
    """Augmentation of the training data (an add-on)."""

    @property
    def sides(self) -> tuple[tuple[str, SideConfig], tuple[str, SideConfig]]:
        """The names and settings of source and target."""
        return ("source", self.source), ("target", self.target)

    @model_validator(mode="after")
    def _sides_fit(self) -> Self:
        if self.corpus == "multi30k" and self.source.language == self.target.language:
            raise ValueError(
                f"source.language and target.language are both {self.source.language}; set one of them to another "
                "language of Multi30k"
            )
        if self.joint_vocabulary:
            self._require_equal_sides()
        self.augment.check(self)
        for field in (f"{name}.{split}" for name, _ in self.sides for split in ("train", "validation", "test")):
            name, _, split = field.partition(".")
            is_set = getattr(getattr(self, name), split) is not None
            if is_set and self.corpus != "files":
                raise ValueError(f"{field} is a file but corpus is {self.corpus}; set corpus to files, or remove it")
            if self.corpus == "files" and not is_set and split != "test":
                raise ValueError(
                    f"corpus: files needs {field}; set it to the path of a text file (nmt split makes training, "
                    "validation and test sets from one pair of files)"
                )
        if (self.source.test is None) != (self.target.test is None):
            raise ValueError("source.test and target.test go together; set both, or none")
        if len(self.source.extra) != len(self.target.extra):
            raise ValueError(
                f"source.extra has {len(self.source.extra)} files and target.extra {len(self.target.extra)}; "
                "set both to the same number of files, whose lines translate each other"
            )
        return self

    def _require_equal_sides(self) -> None:
        for field in ("tokenizer", "lowercase", "min_frequency", *self.source.options("tokenizer")):
            source, target = getattr(self.source, field), getattr(self.target, field)
            if source != target:
                raise ValueError(
                    f"joint_vocabulary: true needs the same source.{field} ({source}) and target.{field} ({target}); "
                    "set both to one value, or joint_vocabulary to false"
                )
