"""What Windows lacks is not used: its modules, calls and signals are taken away, as far as another system can."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from support.cli import ROOT
from support.texts import write_part_of_sample

LESSONS = ROOT / "docs" / "course" / "lessons"
WINDOWS = """
import asyncio, ctypes, io, multiprocessing.spawn, os, select, signal, subprocess, sys, types
import matplotlib.backends.backend_agg, pydantic, sacrebleu, sacremoses, sentencepiece, spacy, torch, torchtext, tqdm
import fastapi, torch.nn.parallel, torch.optim, torch.utils.tensorboard, uvicorn.loops.auto
fcntl = __import__("fcntl")
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for place, names in (
    (os, "fork forkpty sysconf sched_getaffinity memfd_create getuid geteuid getpgid killpg mkfifo O_DIRECTORY"),
    (signal, "SIGHUP SIGKILL SIGUSR1 SIGUSR2 SIGALRM SIGSTOP"),
    (select, "poll epoll"),
):
    for name in names.split():
        delattr(place, name)
msvcrt = sys.modules["msvcrt"] = types.ModuleType("msvcrt")
msvcrt.LK_NBLCK = 2

def locking(descriptor, mode, count):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise PermissionError from None

msvcrt.locking = locking
select.select = lambda *_: sys.exit("select knows sockets alone")
real_open = io.open

def open_no_proc(file, *arguments, **more):
    if str(file).startswith(("/proc", "/dev/shm")):
        raise FileNotFoundError(2, "No such file or directory", file)
    return real_open(file, *arguments, **more)

io.open = open_no_proc
real_os_open = os.open

def open_no_folder(path, *arguments, **more):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return real_os_open(path, *arguments, **more)

os.open = open_no_folder

class Kernel:
    def GetPhysicallyInstalledSystemMemory(self, result):
        result._obj.value = 8 * 2**20

ctypes.windll = types.SimpleNamespace(kernel32=Kernel())
asyncio.ProactorEventLoop = asyncio.SelectorEventLoop  # of Windows alone
sys.platform = "win32"
"""
COMMAND = """
import json
from nmt.cli import main
for arguments, code in json.loads(sys.argv[1]):
    assert main(arguments) == code, arguments
"""


@pytest.fixture
def windows(tmp_path: Path):
    def run(*commands: tuple[Sequence[object], int], text: str = "") -> str:
        """What commands print, one after the other in one process; each comes with its exit code."""
        listed = json.dumps([(list(map(str, arguments)), code) for arguments, code in commands])
        process = [sys.executable, "-c", WINDOWS + COMMAND, listed]
        done = subprocess.run(process, cwd=tmp_path, input=text, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    return run


def test_training_evaluating_translating_and_checking_work_without_posix(windows, tmp_path: Path) -> None:
    sizes = {"model.embedding_size": 8, "model.encoder.hidden_size": 8, "model.decoder.hidden_size": 16}
    small: dict[str, object] = sizes | {"training.max_updates": 2, "training.device": "cpu"}
    small |= {"search.beam_size": 1, "search.max_length": 5}
    part = write_part_of_sample(tmp_path, train=100, validation=100, test=100)
    for side, ending in (("source", "de"), ("target", "en")):
        small |= {f"data.{side}.{split}": part / f"{split}.{ending}" for split in ("train", "validation", "test")}
    options = [word for field, value in small.items() for word in ("--set", f"{field}={value}")]
    config = [ROOT / "configs" / "quickstart.yaml", "--set", "data.corpus=files", *options]
    best = "checkpoints/quickstart/best.safetensors"
    printed = windows(
        (["train", *config, "--check"], 0),
        (["train", *config], 0),
        (["evaluate", best, "--split", "validation", "--output", "scores"], 0),
        (["translate", best, "--input", part / "test.de", "--output", "test.out"], 0),
        (["train", *config], 2),
    )
    parts = "Everything checked out", "Scores on test", "Scores on validation", "already holds a run"
    assert [part for part in parts if part not in printed] == []
    assert len((tmp_path / "test.out").read_text(encoding="utf-8").split("\n")) == 101


def test_the_bundled_model_translates_standard_input_and_draws(windows, tmp_path: Path) -> None:
    commands = (["translate"], 0), (["translate", "Ein Hund läuft.", "--attention", "picture.png"], 0)
    printed = windows(*commands, text="Ein Hund läuft über die Wiese.\n")
    assert printed.startswith("A dog runs through the grass.\nA dog")
    assert (tmp_path / "picture.png").stat().st_size > 1000


def test_the_page_is_served(tmp_path: Path) -> None:
    pytest.importorskip("nmt.page")
    command = [sys.executable, "-c", WINDOWS + COMMAND, json.dumps([(["serve", "--port", "0"], 0)])]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().split()[1]
            request = Request(f"{address}api/translate", b'{"text": "Ein Hund."}', {"Content-Type": "application/json"})
            assert b"dog" in urlopen(request, timeout=60).read()
        finally:
            server.terminate()


@pytest.mark.long
@pytest.mark.parametrize("name", ["tutorial", *(path.stem for path in sorted(LESSONS.glob("*.py")))])
def test_the_tutorial_and_the_lessons_run_without_posix(windows, tmp_path: Path, name: str) -> None:
    if name == "tutorial":
        cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        code = code.replace('"..")', f"{str(ROOT)!r})").replace("in range(epochs)", "in range(1)")  # it need not learn
    else:
        windows((["course", "start", tmp_path], 0), (["course", "check", name[-1], LESSONS / f"{name}.py"], 0))
        code = (LESSONS / f"{name}.py").read_text(encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(f"{WINDOWS}import matplotlib; matplotlib.use('agg')\n{code}", encoding="utf-8")
    environment = os.environ | {"NMT_COURSE_QUICK": "1"}
    done = subprocess.run([sys.executable, script], cwd=tmp_path, env=environment, capture_output=True, timeout=1800)
    assert done.returncode == 0, done.stderr.decode()
