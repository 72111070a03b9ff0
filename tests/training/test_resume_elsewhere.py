"""A run that goes on in another process, as after a crash, with every option that draws random numbers."""

from support.crashes import begin, folder_of
from support.runs import ConfigMaker, assert_same_run

DRAWING = [
    *(
        f"data.{side}.{field}"
        for side, kind in (("source", "unigram"), ("target", "bpe"))
        for field in ("tokenizer=sentencepiece", "vocabulary_size=24", "subword_sampling=0.3", f"subword_model={kind}")
    ),
    "model.word_dropout=0.2",
    "model.embedding_dropout=0.2",
    "model.encoder={hidden_size: 5, layers: 2, dropout: 0.2}",
    "model.decoder={hidden_size: 7, layers: 2, dropout: 0.2}",
    "training.teacher_forcing={ratio: 0.5, granularity: token}",
    "training.validate_every=4",
]


def test_the_bits_are_the_same_in_other_processes(make_config: ConfigMaker) -> None:
    config = {
        name: make_config(*DRAWING, f"name={name}", "training.max_updates=10") for name in ("straight", "stopped")
    }
    cut_short = make_config(*DRAWING, "name=stopped", "training.max_updates=4")
    processes = [begin(config["straight"]), begin(cut_short)]
    processes[1].join()
    processes[1] = begin(config["stopped"])
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert_same_run(folder_of(config["stopped"]), folder_of(config["straight"]))
