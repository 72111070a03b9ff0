"""Whatever is sent, the server says what is wrong with it, and goes on. NMT_REQUESTS=100000 sends so many."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import negative_data_rejection, positive_data_acceptance
from support.malformed import FAMILIES, bombard, status_of
from support.serving import served

from nmt.page.neighbours import index
from nmt.translator import Translator


@pytest.fixture(scope="module")
def address(best: str, runs: Path) -> Iterator[str]:
    translator = Translator.load(best)
    indexes = {"1": index.build(translator, [("der Hund", "the dog"), ("Katze", "cat")])}
    with served({"1": ("one", translator)}, runs=runs, indexes=indexes) as address:
        yield address


def test_malformed_requests_are_refused_and_good_ones_answered(address: str) -> None:
    count = int(os.environ.get("NMT_REQUESTS", 600))
    statuses = {(family, status_of(answer)) for family, _, answer in bombard(address, count)}
    assert not [status for _, status in statuses if status.startswith("5")]
    assert {family for family, status in statuses if status.startswith("4")} == FAMILIES.keys()  # as their names say
    assert ("written", "200") in statuses


@pytest.mark.long
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
