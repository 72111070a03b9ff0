"""How many sentences a second `nmt serve` translates for many clients at once, and how long each of them waits.

    python benchmarks/load.py                                   # 1, 8, 64 and 256 clients, 2 minutes each
    python benchmarks/load.py --clients 256 --minutes 30        # at saturation: does memory grow?
    python benchmarks/load.py --address /translate              # as clients of LibreTranslate

Locust's clients (pip install -e '.[load]') send the sentences of Multi30k's test set 2016, each the next one as soon as
it has its answer. The server is `nmt serve` with the bundled model, without attention weights; beside it stands
`nmt translate` on the same sentences with as many threads. Clients share the machine with the server.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from itertools import count
from pathlib import Path

SENTENCES = "NMT_LOAD_SENTENCES"  # the environment variable that names the file of sentences
ADDRESS = "NMT_LOAD_ADDRESS"  # and the one with what is asked
OWN, LIBRETRANSLATE = "/api/translate", "/translate"

if SENTENCES in os.environ:  # locust reads this file
    import gevent
    from locust import FastHttpUser, task

    lines = Path(os.environ[SENTENCES]).read_text(encoding="utf-8").splitlines()
    numbers = count()

    class Client(FastHttpUser):  # type: ignore[misc]
        @task
        def translate(self) -> None:
            text, address = lines[next(numbers) % len(lines)], os.environ[ADDRESS]
            own, other = {"text": text, "attention": False}, {"q": text, "source": "de", "target": "en"}
            question, field = (own, "tokens") if address == OWN else (other, "translatedText")
            with self.client.post(address, json=question, catch_response=True) as answer:
                if answer.status_code == 503:
                    gevent.sleep(float(answer.headers.get("retry-after", 1)))
                    answer.failure("503")
                elif answer.status_code != 200 or field not in answer.json():
                    answer.failure(str(answer.status_code))


def sentences(folder: Path) -> Path:
    """A file with the test set's sources."""
    from nmt.checkpoint import contents
    from nmt.data.splits import load_split
    from nmt.system import bundled
    from nmt.system.device import choose_device

    config = contents.load(bundled.MODEL, choose_device("cpu")).config
    text = load_split(config.data.model_copy(update={"folder": "data", "mirror": None}), "test")
    path = folder / "sentences.txt"
    path.write_text("".join(f"{line}\n" for line in text.source), encoding="utf-8")
    return path


def translated(path: Path, threads: int, rounds: int = 3) -> float:
    """Sentences a second of `nmt translate` on a file, without its start-up: the best of some rounds."""
    command = [sys.executable, "-m", "nmt", "translate", "--device", "cpu", "--threads", str(threads), "--input"]
    long = path.with_name("long.txt")
    lines = path.read_text(encoding="utf-8")
    long.write_text(lines * 4, encoding="utf-8")

    def seconds(file: Path) -> float:
        begun = time.monotonic()
        output = file.with_suffix(".out")
        output.unlink(missing_ok=True)
        subprocess.run([*command, str(file), "--output", str(output)], check=True, stderr=subprocess.DEVNULL)
        return time.monotonic() - begun

    more = 3 * lines.count("\n")
    return max(more / (seconds(long) - seconds(path)) for _ in range(rounds))


def memory(process: int) -> float:
    """MiB that a process and its children hold; what they share counts in parts."""
    children = [
        child for task in Path(f"/proc/{process}/task").glob("*/children") for child in task.read_text().split()
    ]
    pages = Path(f"/proc/{process}/smaps_rollup").read_text()
    [found] = re.findall(r"^Pss:\s+(\d+) kB", pages, flags=re.MULTILINE)
    return int(found) / 1024 + sum(memory(int(child)) for child in children)


def load(address: str, asked: str, path: Path, clients: int, seconds: float) -> dict[str, float]:
    """What locust measures with so many clients that ask at one address of the server."""
    options = [
        "--headless",
        "--json",
        "--only-summary",
        "--users",
        str(clients),
        "--spawn-rate",
        str(clients),
        "--host",
        address,
    ]
    command = [sys.executable, "-m", "locust", "--locustfile", __file__, *options, "--run-time", f"{seconds:.0f}s"]
    command += ["--stop-timeout", "10", "--loglevel", "ERROR"]
    environment = os.environ | {SENTENCES: str(path), ADDRESS: asked}
    found = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    [stats] = json.loads(found.stdout)
    times = sorted((float(ms), n) for ms, n in stats["response_times"].items())
    total = sum(n for _, n in times)

    def percentile(share: float) -> float:
        seen = 0
        for ms, n in times:
            seen += n
            if seen >= share * total:
                return ms
        return float("nan")

    lasted = stats["last_request_timestamp"] - stats["start_time"]
    done = stats["num_requests"] - stats["num_failures"]
    return {
        "sentences": done / lasted,
        "p50": percentile(0.5),
        "p95": percentile(0.95),
        "p99": percentile(0.99),
        "failures": stats["num_failures"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 64, 256])
    parser.add_argument("--minutes", type=float, default=2)
    parser.add_argument("--address", choices=(OWN, LIBRETRANSLATE), default=OWN, help="where clients ask")
    parser.add_argument("--threads", type=int, default=1, help="of the server, and of nmt translate")
    options = parser.parse_args()
    if find_spec("locust") is None:
        sys.exit("error: the clients are Locust's: run pip install -e '.[load]'")
    with tempfile.TemporaryDirectory() as folder:
        path = sentences(Path(folder))
        alone = translated(path, options.threads)
        print(f"nmt translate on a file, {options.threads} thread(s): {alone:.1f} sentences/s", flush=True)
        command = [sys.executable, "-u", "-m", "nmt", "serve", "--port", "0", "--threads", str(options.threads)]
        with subprocess.Popen([*command, "--device", "cpu"], stdout=subprocess.PIPE, text=True) as server:
            try:
                assert server.stdout is not None
                address = server.stdout.readline().removeprefix("Open ").partition("/ ")[0]
                load(address, options.address, path, 8, 5)  # warm
                for clients in options.clients:
                    before = memory(server.pid)
                    result = load(address, options.address, path, clients, 60 * options.minutes)
                    share = result["sentences"] / alone
                    print(
                        f"{clients:4} clients: {result['sentences']:6.1f} sentences/s ({share:.2f} of the file's), "
                        f"p50 {result['p50']:.0f} ms, p95 {result['p95']:.0f} ms, p99 {result['p99']:.0f} ms, "
                        f"{result['failures']:.0f} failures, memory {before:.0f} → {memory(server.pid):.0f} MiB",
                        flush=True,
                    )
            finally:
                server.terminate()


if __name__ == "__main__":
    main()
