"""A process: bundled files, imports that Ctrl-C stops, and the cores, devices, memory and threads that it uses."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from support.texts import write_part_of_sample

import nmt
from nmt.config.reading import load_config
from nmt.system import bundled
from nmt.system.process_pool import cores


def test_the_bundled_files_exist() -> None:
    models = bundled.checkpoints()
    assert bundled.MODEL in models
    assert all(path.is_file() and path.with_name("README.md").is_file() for path in models)
    assert sum(path.stat().st_size for path in models) <= 16_000_000  # bytes, in each clone, wheel and image
    mechanisms = {path.stem for path in bundled.CONFIGS.glob("ablation/*.yaml")}
    assert {"none", "luong_dot", "bahdanau_additive"} <= mechanisms


def test_a_bundled_config_is_used_where_there_is_none_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quickstart").mkdir()  # a folder is not a config
    paths = ("quickstart", "quickstart.yaml", "configs/quickstart.yaml", "configs/quickstart", Path("quickstart"))
    for name, file in {**dict.fromkeys(paths, "quickstart.yaml"), "ablation/none": "ablation/none.yaml"}.items():
        path = bundled.find_config(name)
        assert path == bundled.CONFIGS / file
        assert capsys.readouterr().err == f"Using the bundled config {path}\n"
    assert load_config(bundled.find_config("quickstart")).name == "quickstart"
    capsys.readouterr()
    (tmp_path / "quickstart.yaml").write_text("name: mine\n", encoding="utf-8")  # a file of one's own comes first
    outside = ["../configs/quickstart", "a/../quickstart", "/quickstart", "quickstart.yml"]
    for name in ("quickstart.yaml", "", ".", "configs", "missing", *outside):
        assert bundled.find_config(name) == Path(name)
        assert capsys.readouterr().err == ""


IMPORTED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except BaseException:
    pass  # as some modules do
"""
IMPORTING = """
import os, signal, sys, time
from nmt.system.startup import stop_imports_on_ctrl_c

signal.signal(signal.SIGINT, signal.default_int_handler)
stop_imports_on_ctrl_c()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    print("raised")
if "import" in sys.argv:
    import dropping
    print("dropped")
"""


@pytest.mark.parametrize(("argument", "code"), [("import", 130), ("nothing", 0)])
def test_ctrl_c_during_an_import_is_not_dropped(tmp_path: Path, argument: str, code: int) -> None:
    (tmp_path / "dropping.py").write_text(IMPORTED, encoding="utf-8")
    (tmp_path / "importing.py").write_text(IMPORTING, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "importing.py"), argument]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=50, check=False)
    assert (run.returncode, run.stdout) == (code, "raised\n")
    assert run.stderr == ("\nStopped.\n" if code else "")


def printed_by(program: str, **variables: str) -> str:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=True).stdout


def test_cores_are_those_that_the_process_may_use() -> None:
    allowed = os.sched_getaffinity(0)
    assert cores() == len(allowed)
    program = "import os; from nmt.system.process_pool import cores; os.sched_setaffinity(0, {%d}); print(cores())"
    assert printed_by(program % min(allowed)) == "1\n"


CONFIGURED = """
import threading
import torch
from nmt.system.device import configure_process, flush_denormals

def print_whether_denormals_are_left():
    torch.set_num_threads(3)
    smallest = torch.ones(3 * 2**16, dtype=torch.int32).view(torch.float32)  # 1e-45; each thread gets 2**15 or more
    print(bool((smallest * 1).view(torch.int32).any()))

torch.set_num_threads(1)
configure_process()
with flush_denormals():
    print_whether_denormals_are_left()
    thread = threading.Thread(target=print_whether_denormals_are_left)
    thread.start()
    thread.join()
print_whether_denormals_are_left()
"""


def test_a_configured_process_flushes_denormals_in_every_thread() -> None:
    assert printed_by(CONFIGURED).split() == ["False", "False", "True"]


HOST = """
import nmt
from nmt.config.run import Config
from nmt.decoding import batches
from nmt.training import loop
from nmt.training.interruption import StopSignals
from nmt.training.run import run

states = set()

def state(place):
    states.add((place, float("1e-310") == 0.0))

def inside(module, name):
    function = getattr(module, name)
    setattr(module, name, lambda *arguments: (state("inside"), function(*arguments))[1])

inside(batches, "_step")
inside(loop, "collate")
translator = nmt.Translator.load(device="cpu")
state("host")
told = {"found": lambda *_: state("host"), "watch": lambda _: state("host")}
translator.translate(["Ein Hund.", "Zwei Hunde."], batch_size=1, **told)
next(batches.decode(translator.model, [[5], [6]], translator.search))
state("host")
translator.score(["Ein Hund."], ["A dog."])
state("host")
small = {"embedding_size": 8, "encoder": {"hidden_size": 8}, "decoder": {"hidden_size": 8}}
training = {"max_updates": 1, "max_epochs": None, "fast": False, "threads": 1}
data = {"corpus": "sample", "folder": OUTPUT}
run(Config(name="x", output_dir=OUTPUT, data=data, model=small, training=training), StopSignals(), resume=False)
state("host")
print(sorted(states))
"""


def test_denormals_are_flushed_inside_the_computation_alone(tmp_path: Path) -> None:
    write_part_of_sample(tmp_path, train=100, validation=30)
    printed = printed_by(HOST.replace("OUTPUT", repr(str(tmp_path))))
    assert printed.splitlines()[-1] == "[('host', False), ('inside', True)]"


def test_threads_wait_briefly_unless_the_user_sets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for set_before, expected in (({}, "3000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "active"}, None)):
        for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
            monkeypatch.delenv(name, raising=False)
        for name, value in set_before.items():
            monkeypatch.setenv(name, value)
        runpy.run_path(nmt.__file__)
        assert os.environ.get("GOMP_SPINCOUNT") == expected
