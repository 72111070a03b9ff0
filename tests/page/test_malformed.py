"""Whatever is sent, the server says what is wrong with it, and goes on: `support.malformed` sends 100,000 of these."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import negative_data_rejection, positive_data_acceptance
from support.malformed import FAMILIES, bombard, status_of
from support.serving import served

from nmt.translator import Translator


@pytest.fixture(scope="module")
def address(best: str, runs: Path) -> Iterator[str]:
    with served({"1": ("one", Translator.load(best))}, runs=runs) as address:
        yield address


def test_malformed_requests_are_refused_and_good_ones_answered(address: str) -> None:
    said: Counter[tuple[str, str]] = Counter()
    for family, sent, answer, _ in bombard(address, 600):
        said[family, status_of(answer)] += 1
        assert not status_of(answer).startswith("5"), sent
    for family in FAMILIES:  # each is what its name says
        assert any(own == family and status.startswith("4") for own, status in said)
    assert said["written", "200"] > 0


@pytest.fixture
def denormal_numbers() -> Iterator[None]:
    """Hypothesis draws them, and nmt has switched them off in this process."""
    torch.set_flush_denormal(False)
    yield
    torch.set_flush_denormal(True)


@pytest.mark.long
@pytest.mark.usefixtures("denormal_numbers")
@pytest.mark.filterwarnings("ignore")  # of what Schemathesis itself uses
def test_the_server_keeps_to_its_document(address: str) -> None:
    """What the document allows is answered as it says; what it does not allow is refused; never a 500."""
    document = schemathesis.openapi.from_url(f"{address}api").exclude(path="/api/runs/events")  # which never ends
    names = set()
    for found in document.get_all_operations():
        operation = found.ok()
        names.add(operation.path)
        # Of what is only read, every address is allowed: an id is any text.
        for mode in list(schemathesis.GenerationMode)[: 2 if operation.method == "post" else 1]:

            @settings(max_examples=15, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
            @given(case=st.deferred(lambda operation=operation, mode=mode: operation.as_strategy(generation_mode=mode)))
            def ask(case: schemathesis.Case) -> None:
                answer = case.call(timeout=20)
                unfit = [positive_data_acceptance]  # no document says which positions a sentence has
                if answer.status_code == 413:  # a refusal that this check does not know
                    unfit.append(negative_data_rejection)
                case.validate_response(answer, excluded_checks=unfit)

            ask()
    assert {"/api/translate", "/api/explain", "/api/read", "/api/neighbours", "/api/models", "/api/sets/{id}"} <= names
