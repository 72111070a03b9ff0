"""Who may use the server, and how much: checks of every request, and the headers of every answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import ipaddress
from collections.abc import Awaitable, Callable, Collection, MutableMapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, urlencode

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import JSONResponse

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


class Refusal(HTTPException):
    """An answer other than the one that was hoped for: status, what is wrong, further headers."""


def refused(error: HTTPException) -> JSONResponse:
    return JSONResponse({"error": error.detail}, error.status_code, error.headers)


class SecurityMiddleware:
    """An ASGI application around another one. `hosts` are the names by which it may be called, beside addresses.

    Another name is refused, because a page elsewhere can have its own name point here (DNS rebinding); it cannot do so
    with an address. With a `token` each request has to bring it, as `Authorization: Bearer TOKEN` or once as
    `?token=TOKEN`, which a cookie then remembers. An add-on may set `admits`, which gets the scope and the body of a
    request and says whether it is let in without the token, and `forms`: the addresses that accept bodies of any type.
    """

    admits: Callable[[Message, bytes], bool] = staticmethod(lambda *_: False)
    forms: Collection[str] = ()

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
            headers = Headers(scope=scope)
            self._check_origin(headers, scope["method"])
            body = await _body(headers, Request(scope, receive), scope["path"] in self.forms)
            if not self.admits(scope, body):
                self._check_token(headers, scope)
        except HTTPException as refusal:
            await refused(refusal)(scope, receive, sending)
            return
        await self.application(scope, _replayed(body, receive), sending)

    def _check_origin(self, headers: Headers, method: str) -> None:
        host = headers.get("host", "").lower()
        name = host[1:].partition("]")[0] if host.startswith("[") else host.rpartition(":")[0] or host
        if name not in self.hosts and not _is_address(name):
            raise Refusal(
                421, f"this server is not called {name[:100]!r}: open it by its address, or start it with --name"
            )
        origin = headers.get("origin")
        is_foreign = origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")
        if is_foreign or (headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and method != "GET"):
            raise Refusal(403, "a page of another origin may not use this server")

    def _check_token(self, headers: Headers, scope: Message) -> None:
        if self.token is None:
            return
        query = QueryParams(scope["query_string"])
        if self._is_right(query.get("token", "")):
            rest = urlencode([(name, value) for name, value in query.multi_items() if name != "token"])
            path = "/" + quote(scope["path"]).lstrip("/")  # "//elsewhere" would be another server
            cookie = f"{self._cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"
            location = f"{path}?{rest}" if rest else path
            raise Refusal(303, "the token is right", {"location": location, "set-cookie": cookie})
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        cookie = cookie_parser(headers.get("cookie", "")).get(self._cookie, "")
        if not (self._is_right(cookie) or (scheme.lower() == "bearer" and self._is_right(bearer))):
            text = "a token is needed: open the address that nmt serve printed"
            raise Refusal(401, text, {"www-authenticate": "Bearer"})

    def _is_right(self, token: str) -> bool:
        return hmac.compare_digest(token.encode("utf-8", "replace"), (self.token or "").encode())


def _is_address(name: str) -> bool:
    with suppress(ValueError):
        return bool(ipaddress.ip_address(name))
    return False


async def _body(headers: Headers, request: Request, is_form: bool) -> bytes:
    """All of a request's body. Raises `Refusal` if it is neither JSON nor `is_form`, too long, or does not arrive."""
    too_long = Refusal(413, f"a request has at most {LARGEST_BODY} bytes: send one sentence")
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 15:
        raise Refusal(400, "Content-Length is not a number")
    if int(length) > LARGEST_BODY:
        raise too_long
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if request.method == "POST" and kind != "application/json" and not is_form:
        raise Refusal(415, "send JSON, with Content-Type: application/json")
    body = b""
    try:
        async with asyncio.timeout(PATIENCE):
            async for piece in request.stream():
                body += piece
                if len(body) > LARGEST_BODY:
                    raise too_long
    except ClientDisconnect:
        raise Refusal(400, "the request ended before its body") from None
    except TimeoutError:
        raise Refusal(408, f"the request's body did not arrive within {PATIENCE:g} seconds") from None
    return body


def _replayed(body: bytes, receive: Receive) -> Receive:
    """What receives a body that has arrived, and then what else arrives."""
    messages = iter([{"type": "http.request", "body": body, "more_body": False}])

    async def receive_next() -> Message:
        return next(messages, None) or await receive()

    return receive_next


def _with_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
