"""All families, and how much of a walk each has: the cheap ones most."""

from __future__ import annotations

from support.walk import checkpoints, configs, texts
from support.walk.family import Family

FAMILIES = [
    Family(
        "fields", "every config field × odd values, `nmt train --check`", 0, configs.begin_fields, 25, by_chance=False
    ),
    Family("settings", "one to three `--set` with odd fields and values", 0.16, configs.begin_settings, 150),
    Family("yaml", "YAML, broken YAML and bytes as config", 0.06, configs.begin_yaml, 150),
    Family("options", "every option × odd values; odd arguments", 0.003, configs.begin_options, 40),
    Family("loaded", "every place of a checkpoint × planted values, loaded", 0.003, checkpoints.begin_loaded, 80),
    Family("resumed", "every place of a checkpoint × planted values, resumed", 0.0, checkpoints.begin_resumed, 10),
    Family("bytes", "checkpoints cut and flipped", 0.2, checkpoints.begin_bytes, 60),
    Family("checksummed", "the same with right checksums", 0.04, checkpoints.begin_checksummed, 60),
    Family("subwords", "checkpoints with a tampered sentencepiece model", 0.01, checkpoints.begin_subwords, 40),
    Family("lines", "lines to translate from Python", 0.16, texts.begin_lines, 4, texts.LINES),
    Family("piped", "lines of standard input", 0.05, texts.begin_piped, 4, texts.LINES),
    Family("corpora", "files of text, plain and gzip", 0.15, texts.begin_corpora, 60),
    Family("links", "gold links and dictionaries", 0.15, texts.begin_links, 60),
    Family("store", "stores of training pairs, damaged", 0.004, texts.begin_store, 8),
    Family("notes", "unfinished outputs and their notes, damaged", 0.02, texts.begin_notes, 30),
]
