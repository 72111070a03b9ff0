"""The files of `deploy/`: their commands and addresses are real, and the programs that read them accept them.

A program that is not installed checks nothing; what can be read without it is checked always.
"""

import configparser
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import yaml
from support.serving import running

from nmt.page.app import make_app
from nmt.page.commands import serve
from nmt.page.security import LARGEST_BODY

DEPLOY = Path(__file__).parents[2] / "deploy"
GUIDE = (DEPLOY.parent / "docs" / "how-to" / "deploy.md").read_text(encoding="utf-8")


def checked(*command: str | Path) -> None:
    """Run a program if it is installed; it has to accept what it gets."""
    if shutil.which(str(command[0])):
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert result.returncode == 0, result.stdout + result.stderr


def test_every_file_is_in_the_guide() -> None:
    for path in DEPLOY.iterdir():
        assert f"deploy/{path.name})" in GUIDE, path
        assert "docs/how-to/deploy.md" in path.read_text(encoding="utf-8").splitlines()[0]


def test_the_unit_starts_and_reloads_the_server(tmp_path: Path) -> None:
    text = (DEPLOY / "nmt.service").read_text(encoding="utf-8")
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text)
    program, command, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert (program, command) == ("/opt/nmt/bin/nmt", "serve")
    assert f"{program[:-4]}/pip install '.[serve]'" in GUIDE
    serve.parser().parse_args(arguments)
    assert unit["Service"]["ExecReload"].split()[1:] == ["-HUP", "$MAINPID"]
    copy = tmp_path / "nmt.service"  # with a program that exists
    copy.write_text(text.replace(program, "/bin/true"), encoding="utf-8")
    checked("systemd-analyze", "verify", copy)


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[[str], str]:
    """What puts a certificate of a test in the place of a configuration's."""
    key, chain = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    options = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=translate.example.org", "-days", "2"]
    checked("openssl", "req", "-x509", *options, "-keyout", key, "-out", chain)
    return lambda text: re.sub(r"/etc/letsencrypt/live/[^/]+/", f"{tmp_path}/", text)


def test_nginx_passes_requests_on(certificate: Callable[[str], str], tmp_path: Path) -> None:
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert text.count("{") == text.count("}") == 4
    assert f"client_max_body_size {LARGEST_BODY // 1024}k;" in text
    if shutil.which("nginx") is None or shutil.which("openssl") is None:
        return
    with running(make_app({}, names=["translate.example.org"])) as address:
        port = int(address.rstrip("/").rpartition(":")[2])
        socket = tmp_path / "nginx.socket"
        site = certificate(text).replace("listen 443 ssl", f"listen unix:{socket} ssl").replace(":8000", f":{port}")
        paths = "\n".join(f"{kind}_temp_path {tmp_path};" for kind in ("client_body", "proxy", "fastcgi"))
        others = "\n".join(f"{kind}_temp_path {tmp_path};" for kind in ("uwsgi", "scgi"))
        config, pid = tmp_path / "nginx.conf", tmp_path / "nginx.pid"
        events = f"daemon off; pid {pid}; error_log {tmp_path}/errors; events {{}}"
        config.write_text(f"{events}\nhttp {{ access_log off; {paths} {others}\n{site}}}\n", encoding="utf-8")
        checked("nginx", "-t", "-c", config)
        with subprocess.Popen(["nginx", "-c", config], stderr=subprocess.DEVNULL) as nginx:
            try:
                while not socket.exists():
                    assert nginx.poll() is None
                    time.sleep(0.05)
                transport = httpx.HTTPTransport(uds=str(socket), verify=False)
                with httpx.Client(transport=transport, base_url="https://translate.example.org") as client:
                    answer = client.get("/health")
                    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
                    assert re.fullmatch("[0-9a-f]{32}", answer.headers["x-request-id"])  # nginx's
                    assert client.get("/metrics").status_code == 404
                    assert client.post("/detect", data={"q": "x" * LARGEST_BODY}).status_code == 413
            finally:
                nginx.terminate()


def test_caddy_and_prometheus_accept_their_files(tmp_path: Path) -> None:
    checked("caddy", "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile")
    text = (DEPLOY / "prometheus.yml").read_text(encoding="utf-8")
    [job] = yaml.safe_load(text)["scrape_configs"]
    assert job["static_configs"] == [{"targets": ["127.0.0.1:8000"]}]
    copy, key = tmp_path / "prometheus.yml", tmp_path / "nmt.key"
    key.write_text("a-key-of-a-program\n", encoding="utf-8")
    copy.write_text(text.replace(job["authorization"]["credentials_file"], str(key)), encoding="utf-8")
    checked("promtool", "check", "config", copy)
