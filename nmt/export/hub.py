"""The Hugging Face Hub: downloads checkpoints (`hf://owner/name`, `hf://owner/name@revision`), and uploads them.

A downloaded file is one like any other: its own SHA-256 is checked when it is read, and nothing in it is run.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nmt.checkpoint.address import PREFIX
from nmt.system.errors import UserError

FILE, CARD = "model.safetensors", "README.md"  # in a repository
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_ADDRESS = re.compile(rf"{PREFIX}({_REPOSITORY.pattern})(?:@([\w./-]+))?", re.ASCII)
_REASONS = {  # by errors of huggingface_hub, of which the first one that fits counts
    "GatedRepoError": ": its owner has to allow access; ask on its page, then log in (hf auth login)",
    "RepositoryNotFoundError": ": there is no such repository, or it is private: log in (hf auth login)",
    "RevisionNotFoundError": ": there is no such revision; leave @REVISION out for the newest",
    "LocalEntryNotFoundError": " cannot be fetched: check the connection, then try again",
    "EntryNotFoundError": f" has no file {FILE}: it was not written by nmt push",
}


def fetch(address: str) -> str:
    """The path of a checkpoint's file in huggingface_hub's cache, where it is downloaded to unless it is there.

    Without a connection the cache serves. Raises `UserError` if the address is invalid, there is no such file, or it
    cannot be downloaded.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise UserError(f"{address} is not an address: write hf://OWNER/NAME, or hf://OWNER/NAME@REVISION")
    hub = package()
    with explained(address):
        path: str = hub.hf_hub_download(match[1], FILE, revision=match[2], endpoint=os.environ.get("HF_ENDPOINT"))
    return path


def push(checkpoint: Path, repository: str, card: str, *, private: bool) -> str:
    """Write a checkpoint and its card into a repository, as one commit, and return its address.

    The repository is created if necessary. huggingface_hub knows who writes: `hf auth login`, or the environment
    variable HF_TOKEN. Raises `UserError` if the name is none, or the hub refuses.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UserError(f"{repository} is not the name of a repository: write OWNER/NAME")
    hub = package()
    with explained(repository):
        api = hub.HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="nmt")
        api.create_repo(repository, private=private, exist_ok=True)
        files = [(FILE, str(checkpoint)), (CARD, card.encode())]
        operations = [hub.CommitOperationAdd(path_in_repo=name, path_or_fileobj=content) for name, content in files]
        api.create_commit(repository, operations, commit_message="Model and card, by nmt push")
    return f"{PREFIX}{repository}"


def package() -> Any:
    try:
        import huggingface_hub
        from huggingface_hub.utils import logging
    except ImportError:
        install = "run pip install -e '.[hub]' in the folder of nmt"
        raise UserError(f"the hub needs the package huggingface_hub: {install}") from None
    logging.set_verbosity_error()  # it would count how often it tries again
    return huggingface_hub


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn the many errors of huggingface_hub, and of the network, into one `UserError`."""
    from huggingface_hub import errors

    try:
        yield
    except Exception as error:  # those of huggingface_hub, and of the packages that it asks through
        for name, reason in _REASONS.items():
            if isinstance(error, getattr(errors, name)):
                raise UserError(f"{what}{reason}") from None
        text = " ".join(str(error).split())[:300] or type(error).__name__
        refusals = errors.LocalTokenNotFoundError, errors.HfHubHTTPError, ValueError, OSError, RuntimeError
        if isinstance(error, refusals):
            raise UserError(f"{what}: the hub refuses ({text}): log in (hf auth login), or check the name") from None
        raise UserError(f"{what}: the hub cannot be reached ({text}): check the connection, then try again") from None
