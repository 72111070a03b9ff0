"""nmt serve: a page that shows models translating, live."""

from __future__ import annotations

import argparse
import ipaddress
import re
import secrets
import signal
import socket
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path

from nmt import addons
from nmt.commands.options import Parser, positive, share_threads
from nmt.system import bundled
from nmt.system.errors import UserError


def parser() -> Parser:
    parser = Parser(
        prog="nmt serve",
        description="Serve a web page that shows models translating: attention, steps, beam; and an HTTP API. Only "
        "this machine can open it, unless --host is set.",
    )
    add = parser.add_argument
    add("checkpoints", nargs="*", metavar="CHECKPOINT", help="up to eight models (default: the bundled ones)")
    add("--port", type=_port, default=8000, metavar="N", help="port (default: 8000)")
    add("--host", default="127.0.0.1", help="address to listen at (default: 127.0.0.1, this machine)")
    add("--name", action="append", default=[], help="another host name of the server; may be repeated")
    token = "refuse requests without this token; without TOKEN, one is generated and printed with the address"
    add("--token", nargs="?", const="", metavar="TOKEN", help=token)
    add("--open", action="store_true", help="accept requests from the network without a token")
    add("--workers", type=positive, default=1, metavar="N", help="processes, each with its own models")
    runs = "the folder of the training runs that the page shows (default: checkpoints)"
    add("--runs", type=Path, default=Path("checkpoints"), metavar="DIR", help=runs)
    sentences = (
        "two files whose sentences the page shows, with the scores of the first model and of others for the same "
        "languages; may be repeated"
    )
    add("--test-set", nargs=2, action="append", default=[], metavar=("SOURCE", "REFERENCE"), help=sentences)
    links = "gold word links (such as 0-0 1?2) of a test set; repeated in the order of --test-set"
    add("--alignment", action="append", default=[], metavar="FILE", help=links)
    add("--alignment-words", choices=("spacy", "whitespace"), default="spacy", help="the links' words (default: spacy)")
    add("--device", default="auto", help="device: auto, cpu, cuda, cuda:1, mps, … (default: auto)")
    add("--threads", type=positive, metavar="N", help="CPU threads of each process")
    if (service := addons.offered("service_options")) is not None:
        service.add_to(parser)
    return parser


def run(options: argparse.Namespace) -> int:
    """Serve until stopped."""
    if (service := addons.offered("service_options")) is not None:
        service.prepare(options)
    _check(options)
    try:
        from uvicorn.supervisors import Multiprocess

        service = addons.offered("service")
        from nmt.page.app import load_app
        from nmt.page.connections import InterruptibleServer, server_config
    except ModuleNotFoundError as error:
        raise UserError(f"nmt serve needs {error.name}: run pip install -e '.[serve]' in the folder of nmt") from None
    options.checkpoints = options.checkpoints or [str(path) for path in bundled.checkpoints()]
    if not options.checkpoints:
        raise bundled.missing()
    share_threads(options)
    options.token = secrets.token_urlsafe(24) if options.token == "" else options.token
    application = load_app(options)  # what is wrong with the files is said before there is a server
    listening = _listening(options.host, options.port)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # uvicorn hands on what stopped it
    _say_where(options.host, listening.getsockname()[1], options.token)
    if options.workers == 1:
        InterruptibleServer(server_config(application)).run([listening])
        return 0
    del application
    supervisor = Multiprocess if service is None else service.Supervisor
    supervisor(server_config(partial(load_app, options), options.workers), [listening]).run()
    raise KeyboardInterrupt


def _check(options: argparse.Namespace) -> None:
    """Raise `UserError` for options that do not fit, before anything is loaded."""
    if len(options.checkpoints) > 8:
        raise UserError(f"{len(options.checkpoints)} checkpoints: the page shows up to eight")
    for name in options.name:
        if not re.fullmatch(r"[\w.-]+", name):
            raise UserError(f"--name {name}: give only a host name, such as translate.example.org")
    if len(options.alignment) > len(options.test_set):
        raise UserError("--alignment belongs to a --test-set: give a test set for each")
    if options.runs != Path("checkpoints") and not options.runs.is_dir():
        raise UserError(f"--runs {options.runs}: there is no such folder: give that of your runs (output_dir)")
    if options.token is not None and not (options.token == "" or _is_token(options.token)):
        raise UserError("--token: give 16 to 200 letters, digits, '-' and '_'; without a TOKEN one is generated")
    if not (_is_local(options.host) or options.token is not None or options.open):
        raise UserError(
            f"--host {options.host} lets everybody who can reach this machine use the models: add --token, or --open"
        )


def _port(text: str) -> int:
    if not (text.isdecimal() and len(text) < 6 and int(text) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 65535 (0: any that is free)")
    return int(text)


def _is_token(token: str) -> bool:
    return 16 <= len(token) <= 200 and token.isascii() and token.replace("-", "").replace("_", "").isalnum()


def _is_local(host: str) -> bool:
    with suppress(ValueError):
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def _listening(host: str, port: int) -> socket.socket:
    """The socket, where requests wait until the server is ready."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listening = socket.create_server(address, family=family, backlog=1024, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:
        why = (getattr(error, "strerror", None) or "not a host name").partition(" (while")[0]
        raise UserError(f"cannot listen at {host}, port {port} ({why}): choose another --port or --host") from None
    listening.set_inheritable(True)
    return listening


def _say_where(host: str, port: int, token: str | None) -> None:
    shown = f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={token}"
    print(f"Open http://{shown}:{port}/{query} in a browser. Ctrl-C stops.", flush=True)
    if not _is_local(host) and token is None:
        print("Warning: the server accepts unauthenticated requests from the network.", file=sys.stderr)
