"""LibreTranslate's addresses: by its client, against the translator's own translations, and with nonsense."""

import random
from urllib.error import HTTPError

import pytest
from libretranslatepy import LibreTranslateAPI
from starlette.testclient import TestClient
from support.serving import served
from support.walk.odd import altered

from nmt.page import batch_queue
from nmt.page.api import Models
from nmt.translator import Translator

TEXTS = ["Ein Hund läuft über die Wiese.", "Zwei Männer reden.", "Eine Frau mit einem roten Hut."]
HTML = '<div class="a>b"><p>Ein <b>brauner</b> Hund.</p>\n<script>var Hund = "<p>";</script><p>Zwei Männer.</p></div>'


def plain(translator: Translator, *texts: str) -> list[str]:
    return [translation.text for translation in translator.translate(texts)]


def test_its_client_is_answered(models: Models, translator: Translator) -> None:
    token = "a-token-of-the-server"
    with served(models, token=token) as address:
        client = LibreTranslateAPI(address, api_key=token)
        assert [client.translate(TEXTS[0], "de", "en")] == plain(translator, TEXTS[0])
        assert client.translate(TEXTS[0], "auto", "en") == client.translate(TEXTS[0], "de-AT", "EN")
        [german, english] = client.languages()
        assert german == {"code": "de", "name": "German", "targets": ["en"]}
        assert english == {"code": "en", "name": "English", "targets": ["de"]}
        best, *_ = client.detect("Zwei Männer reden miteinander.")
        assert best["language"] == "de"
        assert 50 < best["confidence"] <= 100
        for key, status in ((None, 400), ("another-key", 403)):
            with pytest.raises(HTTPError) as refused:
                LibreTranslateAPI(address, api_key=key).translate(TEXTS[0], "de", "en")
            assert refused.value.code == status
            refused.value.close()  # which the client does not


def test_arrays_are_translated_together(
    client: TestClient, translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch_queue, "PATIENCE", 0.2)
    sizes, translate = [], type(translator).translate

    def counted(self: Translator, sentences: list[str], **options: object) -> object:
        sizes.append(len(sentences))
        return translate(self, sentences, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(type(translator), "translate", counted)
    text = f"  {TEXTS[0]} {TEXTS[1]}\n\n{TEXTS[2]}\n"
    question = {"q": [*TEXTS, text, "A dog runs.", ""], "source": "auto", "target": "en", "alternatives": 2}
    answer = client.post("/translate", json=question).json()
    assert sizes == [6]  # three texts, and one of three sentences
    monkeypatch.undo()
    first, second, third = plain(translator, *TEXTS)
    assert answer["translatedText"] == [first, second, third, f"  {first} {second}\n\n{third}\n", "A dog runs.", ""]
    assert [one["language"] for one in answer["detectedLanguage"]][:5] == ["de"] * 4 + ["en"]
    [expected] = translator.translate(TEXTS[:1], n_best=3)
    assert answer["alternatives"][0] == [one.text for one in expected.n_best[1:]]
    assert answer["alternatives"][4:] == [[], []]
    texts = client.post("/api/translate", json={"text": TEXTS, "attention": False}).json()
    assert [one["text"] for one in texts] == [first, second, third]


def test_of_html_the_text_is_translated(client: TestClient) -> None:
    question = {"q": HTML, "source": "de", "target": "en", "format": "html"}
    text = client.post("/translate", data=question).json()["translatedText"]
    assert text.startswith('<div class="a>b"><p>A <b>brown</b> dog')
    assert '</p>\n<script>var Hund = "<p>";</script><p>Two men' in text
    assert text.endswith("</p></div>")


def test_forms_and_queries_are_read_as_json_is(client: TestClient, translator: Translator) -> None:
    fields = {"q": TEXTS[0], "source": "de", "target": "en"}
    expected = {"translatedText": plain(translator, TEXTS[0])[0]}
    for answer in (
        client.post("/translate", json=fields),
        client.post("/translate", data=fields),
        client.post("/translate", params=fields),
    ):
        assert answer.json() == expected


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, "missing q"),
        ({"q": "x"}, "missing target"),
        ({"q": "x", "target": "en"}, "missing source"),
        ({"q": [], "source": "de", "target": "en"}, "q has 0 texts"),
        ({"q": ["x", 1], "source": "de", "target": "en"}, "not a text or an array"),
        ({"q": "x", "source": "fr", "target": "en"}, "'fr' is not supported"),
        ({"q": "x", "source": "de", "target": "en", "format": "docx"}, "'docx' format is not supported"),
        ({"q": "x", "source": "de", "target": "en", "alternatives": 99}, "alternatives"),
        ({"q": "x", "source": "de", "target": "en", "model": "2"}, "does not translate from de to en"),
        ({"q": "x", "source": "de", "target": "en", "model": "7"}, "'7' is not supported"),
        ({"q": "Hund " * 900, "source": "de", "target": "en"}, "at most 500 tokens"),
        ({"q": "Ja. " * 1200, "source": "de", "target": "en"}, "more than 1000 sentences"),
    ],
)
def test_errors_are_its_own(client: TestClient, fields: dict[str, object], error: str) -> None:
    answer = client.post("/translate", json=fields)
    assert answer.status_code == 400
    assert list(answer.json()) == ["error"]
    assert error in answer.json()["error"]
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_nonsense_is_refused_in_the_form_of_each_api(client: TestClient) -> None:
    """Whatever is sent to the new addresses: never a 500, and an error as clients expect it."""
    rng = random.Random(7)
    bodies = [
        b'{"q": "Ein Hund.", "source": "de", "target": "en", "alternatives": 1}',
        b'{"q": ["\\ud800", "\\u202e"], "source": "auto", "target": "en", "format": "html"}',
        b"q=Ein%20Hund&source=de&target=en&format=html",
        b'{"model": "de-en", "messages": [{"role": "user", "content": "Hund"}], "n": 2, "stream": true}',
        b'{"model": [], "messages": [{"role": "user", "content": [{"type": "text"}]}], "n": 1e99}',
        b"[" * 5000,
    ]
    kinds = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain", ""]
    for number in range(250):
        path = rng.choice(
            ["/translate", "/detect", "/v1/chat/completions", "/suggest", "/v1/models/x%00", "/languages"]
        )
        body = altered(rng.choice(bodies), rng) if number > 60 else rng.choice(bodies)
        headers = {"content-type": rng.choice(kinds[: 1 + 4 * (number % 3 > 0)])}
        answer = client.request(rng.choice(["POST", "POST", "GET", "PUT"]), path, content=body, headers=headers)
        assert answer.status_code < 500, (path, body, answer.text)
        if answer.status_code >= 400:
            error = answer.json()["error"]
            assert isinstance(error["message"] if path.startswith("/v1/") else error, str)
