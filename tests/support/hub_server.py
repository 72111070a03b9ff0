"""A server on this machine that speaks the Hugging Face Hub's protocol, as far as nmt needs it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_test"


class Hub(ThreadingHTTPServer):
    """Repositories in memory: of each its files. `large` has what was sent ahead of a commit, by its SHA-256."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.repositories: dict[str, dict[str, bytes]] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[str] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[Hub]:
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, daemon=True)
        thread.start()
        try:
            yield hub
        finally:
            hub.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self) -> None:
        self._answer(b"")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    do_PUT = do_POST

    def _answer(self, body: bytes) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        for pattern, answer in _ANSWERS:
            if match := re.fullmatch(pattern, f"{self.command} {self.path}"):
                answer(self, body, *match.groups())
                return
        self.send(404, {"error": "unknown"})

    def send(self, status: int, content: object = None, **headers: str) -> None:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def create(self, body: bytes) -> None:
        repository = json.loads(body)
        name = f"{repository['organization']}/{repository['name']}"
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self.send(401, {"error": "Invalid credentials"})
        elif name in self.server.repositories:
            self.send(409, {"error": "there is one", "url": f"{self.server.address}/{name}"})
        else:
            self.server.repositories[name] = {}
            self.send(200, {"url": f"{self.server.address}/{name}"})

    def validate(self, body: bytes) -> None:
        self.send(200, {"warnings": [], "errors": []})

    def before_upload(self, body: bytes, name: str) -> None:
        paths = [file["path"] for file in json.loads(body)["files"]]
        modes = {path: "lfs" if path.endswith(".safetensors") else "regular" for path in paths}
        files = [{"path": path, "uploadMode": mode, "shouldIgnore": False} for path, mode in modes.items()]
        self.send(200, {"files": files})

    def large_files(self, body: bytes, name: str) -> None:
        objects = [
            {**sent, "actions": {"upload": {"href": f"{self.server.address}/large/{sent['oid']}"}}}
            for sent in json.loads(body)["objects"]
        ]
        self.send(200, {"transfer": "basic", "objects": objects}, Content_Type="application/vnd.git-lfs+json")

    def upload(self, body: bytes, digest: str) -> None:
        assert hashlib.sha256(body).hexdigest() == digest
        self.server.large[digest] = body
        self.send(200, {})

    def commit(self, body: bytes, name: str) -> None:
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                self.server.repositories[name][value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                self.server.repositories[name][value["path"]] = self.server.large[value["oid"]]
        self.send(200, {"commitUrl": f"{self.server.address}/{name}/commit/{'1' * 40}", "commitOid": "1" * 40})

    def fetch(self, body: bytes, name: str, revision: str, file: str) -> None:
        files, commit = self.server.repositories.get(name), "1" * 40
        if files is not None and revision in ("main", commit) and file in files:
            digest = hashlib.sha256(files[file]).hexdigest()
            self.send(200, files[file], ETag=f'"{digest}"', X_Repo_Commit=commit)
            return
        missing = "Repo" if files is None else "Entry" if revision in ("main", commit) else "Revision"
        self.send(404, {"error": "no"}, X_Error_Code=f"{missing}NotFound", X_Repo_Commit=commit)

    def log_message(self, *_: object) -> None:
        pass


_ANSWERS = [
    ("POST /api/repos/create", _Handler.create),
    ("POST /api/validate-yaml", _Handler.validate),
    ("POST /api/models/(.+)/preupload/main(?:[?].*)?", _Handler.before_upload),
    ("POST /(.+).git/info/lfs/objects/batch", _Handler.large_files),
    ("PUT /large/(.+)", _Handler.upload),
    ("POST /api/models/(.+)/commit/main(?:[?].*)?", _Handler.commit),
    ("(?:GET|HEAD) /([^/]+/[^/]+)/resolve/([^/]+)/(.+)", _Handler.fetch),
]
