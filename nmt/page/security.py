"""Who may ask, and how much: checks of every request before anything reads it, and the headers of every answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

LARGEST_BODY = 64 * 1024  # bytes
PATIENCE = 10.0  # seconds in which a body has to arrive
COOKIE = "nmt-token"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


@dataclass(frozen=True)
class Refusal(Exception):
    """An answer other than the one that was hoped for: status, what is wrong, further headers."""

    status: int
    text: str
    headers: tuple[tuple[str, str], ...] = ()


class SecurityMiddleware:
    """An ASGI application around another one. `hosts` are the names by which it may be called, beside addresses.

    A name that is not known is refused, because a page elsewhere can have its own name point here (DNS rebinding); it
    cannot do so with an address. With a `token` each request has to bring it, as `Authorization: Bearer TOKEN` or once
    as `?token=TOKEN`, which a cookie then remembers.
    """

    def __init__(self, application: Application, hosts: frozenset[str], token: str | None) -> None:
        self.application = application
        self.hosts = hosts
        self.token = token
        # Browsers send cookies to all ports of a host, where other servers may run.
        self._cookie = f"{COOKIE}-{hashlib.sha256((token or '').encode()).hexdigest()[:8]}"

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.application(scope, receive, send)
            return
        sending = _with_headers(send)
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            self._check_origin(headers, scope)
            self._check_token(headers, scope)
            body = await _body(headers, receive)
        except Refusal as refusal:
            await answer(sending, refusal)
            return
        await self.application(scope, _given(body, receive), sending)

    def _check_origin(self, headers: dict[str, str], scope: Message) -> None:
        host = headers.get("host", "")
        if not self._known(host):
            name = _name_of(host)[:100]
            raise Refusal(421, f"this server is not called {name!r}: open it by its address, or start it with --name")
        origin = headers.get("origin")
        if origin is not None and _place_of(origin) != host.lower():
            raise Refusal(403, "a page of another origin may not use this server")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none") and scope["method"] != "GET":
            raise Refusal(403, "a page of another origin may not use this server")

    def _known(self, host: str) -> bool:
        name = _name_of(host)
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self.hosts
        return True

    def _check_token(self, headers: dict[str, str], scope: Message) -> None:
        if self.token is None:
            return
        query = parse_qs(scope["query_string"].decode("latin-1"))
        if "token" in query and self._right(query.pop("token")[0]):
            place = quote(scope["path"]) + (f"?{urlencode(query, doseq=True)}" if query else "")
            place = "/" + place.lstrip("/")  # "//elsewhere" would be another server
            cookie = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            raise Refusal(303, "the token is right", (("location", place), ("set-cookie", cookie)))
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        tokens = bearer if scheme.lower() == "bearer" else "", _cookie(headers.get("cookie", ""), self._cookie)
        if not any(map(self._right, tokens)):
            raise Refusal(401, "a token is needed: open the address that nmt serve printed", _BEARER)

    def _right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), (self.token or "").encode())


_BEARER = (("www-authenticate", "Bearer"),)


async def answer(send: Send, refusal: Refusal) -> None:
    """Send a refusal, as JSON."""
    body = json.dumps({"error": refusal.text}).encode()
    headers = [("content-type", "application/json"), ("content-length", str(len(body))), *refusal.headers]
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _place_of(origin: str) -> str | None:
    """Host and port of an origin, if it has any."""
    try:
        parts = urlsplit(origin.lower())
    except ValueError:
        return None
    return parts.netloc if parts.scheme in ("http", "https") else None


def _name_of(host: str) -> str:
    """A Host header without its port."""
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0].lower() if ":" in host else host.lower()


def _cookie(header: str, name: str) -> str:
    """The value of a cookie, whatever stands in those beside it."""
    pairs = (pair.strip().partition("=") for pair in header.split(";"))
    return next((value for key, _, value in pairs if key == name), "")


async def _body(headers: dict[str, str], receive: Receive) -> bytes:
    """All of a request's body. Raises `Refusal` if it is too long, or does not arrive."""
    too_long = Refusal(413, f"a request has at most {LARGEST_BODY} bytes: send one sentence")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 15:
        raise Refusal(400, "Content-Length is not a number")
    if int(length) > LARGEST_BODY:
        raise too_long
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise Refusal(400, "the request ended before its body")
                body += message.get("body", b"")
                if len(body) > LARGEST_BODY:
                    raise too_long
                if not message.get("more_body"):
                    return body
    except TimeoutError:
        raise Refusal(408, f"the request's body did not arrive within {PATIENCE:g} seconds") from None


def _given(body: bytes, receive: Receive) -> Receive:
    """What receives a body that has arrived, and then what else arrives."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive_it() -> Message:
        for message in messages:
            return message
        return await receive()

    return receive_it


def _with_headers(send: Send) -> Send:
    encoded = [(name.encode(), value.encode()) for name, value in HEADERS.items()]

    async def send_it(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", [])}
            message["headers"] = [*message.get("headers", []), *(h for h in encoded if h[0] not in there)]
        await send(message)

    return send_it
