"""Headlines state a reason: what the extractive writer and `pnyx argue` never quote as one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import pnyx.cases.extractive
import pnyx.search.quotable
from command import run
from pnyx.cases.case import Draft
from pnyx.cases.extractive import MIN_PREMISE, ExtractiveWriter, _Point, headline
from pnyx.core.records import Argument, Document, Premise, Question
from pnyx.models.embed.encoder import load_encoder
from pnyx.models.http.flow import run_blocking
from pnyx.search.quotable import MIN_REASON, flaw, reason_inputs, reason_probabilities

QUESTION = Question("q", "Should rents be capped?")

PASSAGES = {
    "byline": (
        "By Miriam Holt, who covers housing and transport for the Courier.",
        "Empty flats come back on the market when owners pay a levy on them.",
    ),
    "heading": (
        "Why Rent Caps Keep Families in the City\n",
        "A cap stops landlords from pushing out families whose wages grow more slowly than rents.",
    ),
    "definition": (
        "Rent control is defined as a legal limit on the rent that a landlord may ask.",
        "A limit keeps nurses and bus drivers close to work because they can plan their costs.",
    ),
    "figures": (
        "The survey covered 1,204 households in three towns between March and June.",
        "Tenants with a capped rent moved half as often, so their children stayed at one school.",
    ),
    "conceding": (
        "Nobody disputes that landlords have to earn something on their houses.",
        "Without a cap they raise rents faster than wages and the poorest lose their homes.",
    ),
    "reported": (
        "We are told that rent caps stop all building in the city.",
        "In Aldersund more flats were finished after the cap, because the city used its own land.",
    ),
    "slogan": (
        "Homes for people and not for profit!",
        "A cap lets tenants complain about damp without fear of a higher rent.",
    ),
    "advertisement": (
        "Book now and get your first month of storage for free at Lock and Leave.",
        "Tenants who are priced out lose their neighbours, their doctor and their school.",
    ),
    "markup": (
        "Rent caps keep **families** in the city and are a fair price for it.",
        "Families who can stay look after their street and their neighbours.",
    ),
}

REASON = PASSAGES["figures"][1]
PLAIN = "There are 61,000 rented flats in the city, 14,000 of them in the centre of it."


def _written(*documents: Document | Argument, premises: int = 2) -> Draft:
    return run_blocking(ExtractiveWriter(premises=premises).write(QUESTION, "pro", documents))


def _heads(*documents: Document | Argument) -> list[str]:
    written = _written(*documents).sentences
    return [s.text for s in written if s.extra["role"] == "conclusion"]


@pytest.mark.parametrize("kind", PASSAGES)
def test_only_the_sentence_with_a_reason_is_quoted(kind: str) -> None:
    other, reason = PASSAGES[kind]
    written = _written(Document("page", f"{other} {reason}"))
    assert [s.text for s in written.sentences] == [reason]


@pytest.mark.parametrize("kind", ["byline", "definition", "figures", "slogan", "markup"])
def test_a_side_is_not_argued_by_such_a_sentence_alone(kind: str) -> None:
    assert not _written(Document("page", PASSAGES[kind][0])).sentences


def test_the_command_prints_reasons_as_headlines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for kind, (other, reason) in PASSAGES.items():
        (folder / f"{kind}.txt").write_text(f"{other} {reason}", encoding="utf-8")
    assert run("index", str(folder), "--out", str(tmp_path / "index")) == 0
    out = tmp_path / "case.jsonl"
    capsys.readouterr()
    assert run("argue", str(tmp_path / "index"), QUESTION.text, "--out", str(out)) in (0, 1)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    quoted = [s["text"] for row in rows for s in row["answer"]]
    assert quoted
    assert not {other.strip() for other, _ in PASSAGES.values()} & set(quoted)


def test_a_passage_without_a_reason_is_quoted_only_if_there_is_no_other() -> None:
    plain, reason = Document("plain", PLAIN), Document("reason", REASON)
    assert _heads(plain, reason) == [REASON]
    assert _heads(plain) == [PLAIN]


def test_a_stated_conclusion_needs_no_reason() -> None:
    stated = Argument("a", "This city should say no!", (Premise(PLAIN),), "pro", QUESTION.text)
    assert set(_heads(stated, Document("reason", REASON))) == {stated.conclusion, REASON}


@pytest.mark.parametrize(("length", "quoted"), [(1000, True), (1001, False)])
def test_a_stated_conclusion_of_more_than_1000_characters_is_not_quoted(
    length: int, quoted: bool
) -> None:
    claim = "Rents should be capped, because families lose their homes and their schools"
    claim = claim + " and" * ((length - len(claim) - 1) // 4)
    claim = claim.ljust(length - 1, "s") + "."
    assert len(claim) == length
    stated = Argument("a", claim, (Premise(REASON),), "pro", QUESTION.text)
    assert (claim in _heads(stated)) is quoted


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Perhaps even when in they failed at the end.", "leaning"),
        ("Perhaps even when in most they failed at the end.", ""),
    ],
)
def test_a_pronoun_refers_back_within_the_first_five_words(sentence: str, expected: str) -> None:
    assert flaw(sentence) == expected


@pytest.mark.parametrize(("before", "quoted"), [(59, [REASON]), (60, [])])
def test_sixty_sentences_of_a_document_are_read(before: int, quoted: list[str]) -> None:
    assert _heads(Document("page", "Who pays for all of it? " * before + REASON)) == quoted


def test_the_least_probability_is_the_one_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MIN_REASON == 0.6
    chance = float(reason_probabilities([PLAIN], load_encoder().encode([PLAIN]))[0])
    documents = Document("plain", PLAIN), Document("reason", REASON)
    monkeypatch.setattr(pnyx.cases.extractive, "MIN_REASON", chance)
    assert len(_heads(*documents)) == 2
    monkeypatch.setattr(pnyx.cases.extractive, "MIN_REASON", np.nextafter(chance, 1))
    assert _heads(*documents) == [REASON]


def test_premises_that_give_reasons_come_before_closer_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    near = "The council has a list of tenants whose rents are capped."
    reason = "Families with a capped rent can afford to stay near their jobs and friends."
    document = Document("page", f"{REASON} {near} {reason}")
    monkeypatch.setattr(pnyx.cases.extractive, "MIN_PREMISE", 0.0)
    assert near not in {s.text for s in _written(document, premises=1).sentences}
    monkeypatch.setattr(pnyx.cases.extractive, "_GIVING_REASONS", 0.0)
    assert near in {s.text for s in _written(document, premises=1).sentences}


def test_a_premise_needs_some_likelihood_of_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MIN_PREMISE == 0.3
    telephone = "The councillor can be reached by telephone after two in the afternoon."
    document = Document("page", f"{REASON} {telephone}")
    assert [s.text for s in _written(document).sentences] == [REASON]
    vectors = load_encoder().encode([REASON, telephone])
    chance = float(reason_probabilities([REASON, telephone], vectors)[1])
    monkeypatch.setattr(pnyx.cases.extractive, "MIN_PREMISE", chance)
    assert len(_written(document).sentences) == 2
    monkeypatch.setattr(pnyx.cases.extractive, "MIN_PREMISE", np.nextafter(chance, 1))
    assert len(_written(document).sentences) == 1
    # Premises of an argument that states its conclusion are its own.
    stated = Argument("a", "Cap the rents!", (Premise(telephone),), "pro", QUESTION.text)
    assert telephone in {s.text for s in _written(stated).sentences}


def test_of_equal_reasons_the_one_closer_to_the_claim_is_the_headline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["Rents should be capped.", "Trams should be free."]
    vectors = load_encoder().encode(texts)
    equal = np.array([0.7, 0.7])
    monkeypatch.setattr(pnyx.cases.extractive, "reason_probabilities", lambda *_: equal)
    assert headline(texts, vectors, vectors[0]) == (0, 0.7)
    assert headline(texts, vectors, vectors[1]) == (1, 0.7)


@pytest.mark.parametrize(("second", "best"), [(2.1, 0), (2.3, 1)])
def test_a_unit_of_likeness_to_the_text_counts_as_log_odds_of_4(
    monkeypatch: pytest.MonkeyPatch, second: float, best: int
) -> None:
    # The mean is (0.5, 0.5), so both are 0.5 like the text. The first is the claim: 0.5 more. The
    # second is half the text further down: 0.05 less. 4 (0.5 + 0.05) is a log-odds of 2.2.
    vectors = np.eye(2, dtype=np.float32)
    chances = np.array([0.5, 1 / (1 + np.exp(-second))])
    monkeypatch.setattr(pnyx.cases.extractive, "reason_probabilities", lambda *_: chances)
    assert headline(["A.", "B."], vectors, vectors[0])[0] == best


@pytest.mark.parametrize(("second", "premise"), [(0.72, 1), (0.75, 2)])
def test_a_premises_probability_of_a_reason_counts_as_a_cosine_of_0_3(
    second: float, premise: int
) -> None:
    # Close to conclusion and question together: 1.0 and 0.9. 0.3 (0.4 + 1/3) makes up for 0.1.
    vectors = np.zeros((3, 4), dtype=np.float32)
    vectors[:, 0], vectors[:, 1] = (1.0, 0.5, 0.45), (0.0, 0.5, 0.45)
    vectors[1, 2], vectors[2, 3] = 0.5**0.5, 0.595**0.5
    reasons = np.array([0.9, 0.4, second])
    point = _Point(Document("d", "A. B. C."), ("A.", "B.", "C."), vectors, reasons, stated=False)
    query = np.array([0.0, 1.0, 0.0, 0.0], dtype=np.float32)
    assert ExtractiveWriter(premises=1)._premises(point, query, []) == [premise]


def test_the_inputs_are_what_they_are_said_to_be() -> None:
    texts = ["I paid half.", "Rents rose by 3 per cent in May.", "Rents rise."]
    vectors = load_encoder().encode(texts)
    inputs = reason_inputs(texts, vectors)
    assert inputs[:, 1] == pytest.approx(np.log([3, 8, 2]))
    assert inputs[:, 2].tolist() == [1, 1, 0]
    assert inputs[:, 3].tolist() == [1, 0, 0]
    assert inputs[:, 4:] == pytest.approx(vectors)
    stored = json.loads(pnyx.search.quotable.WEIGHTS.read_text("utf-8"))
    assert len(stored["weights"]) == inputs.shape[1]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("By Monday, who knows how many tenants will have left the house.", ""),
        ("Last updated on 4 May by the clerk of the council.", "byline"),
        ("Updated kitchens let landlords ask for a much higher rent.", ""),
        ("Ann Lee is a housing reporter at the Courier and rents in Corrow.", "byline"),
        ("Every reporter who rents in the city knows what a cap is worth.", ""),
        ("The word levy refers to a tax that is paid once a year.", "definition"),
        ("A cap is the term for a limit on what may be asked.", "definition"),
        ("A cap is the fairest limit because it binds all landlords alike.", ""),
        ("The study included 64 classes in thirty-one schools of the county.", "figures"),
        ("The study shows that capped tenants move half as often.", ""),
        ("No one denies that building is expensive in this city.", "conceding"),
        ("No one builds where the rent does not pay for the bricks.", ""),
        ("They tell us that the market will build enough for everybody.", "conceding"),
        ("Their usual answer is that the market builds enough for everybody.", "conceding"),
        ("Vote no on the fourth of May and keep your home.", "appeal"),
        ("Vote shares fell where rents rose by more than wages.", ""),
        ("Join us in the town hall on Friday with your neighbours.", "appeal"),
        ("Joining a union protects tenants who cannot pay for a lawyer.", ""),
        ("Please write to your member of parliament about the bill.", "appeal"),
        ("One two three four five six seven eight nine ten!", "appeal"),
        ("One two three four five six seven eight nine ten eleven!", ""),
        ("Caps keep *families* in the city at a fair price.", "markup"),
        ("Caps keep [families](page) in the city at a fair price.", "markup"),
        ("Caps keep families &amp; friends in the city at a fair price.", "markup"),
        ("Caps of 2 * 3 per cent keep families in the city.", ""),
    ],
)
def test_what_is_no_reason_says_why(sentence: str, expected: str) -> None:
    assert flaw(sentence) == expected


def test_perspectives_show_a_reason_in_place_of_the_closest_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    other, reason = PASSAGES["definition"]
    text = f"Should rents be capped is the term for what we ask. {other} {reason}"
    (folder / "page.txt").write_text(f"{text} {REASON}", encoding="utf-8")
    assert run("index", str(folder), "--out", str(tmp_path / "index")) == 0
    capsys.readouterr()
    assert run("perspectives", QUESTION.text, "--index", str(tmp_path / "index"), "--json") == 0
    printed = capsys.readouterr().out
    assert REASON in printed
    assert "is the term for" not in printed
    assert other not in printed


def test_a_report_quotes_no_advertisement(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reason = PASSAGES["advertisement"][1]
    advert = "Call us now about rents that should be capped and win a month of free rent."
    (tmp_path / "page.txt").write_text(f"{advert} {reason} {REASON}", encoding="utf-8")
    assert run("index", str(tmp_path / "page.txt"), "--out", str(tmp_path / "index")) == 0
    capsys.readouterr()
    out = tmp_path / "report.jsonl"
    request = tmp_path / "request.jsonl"
    row = {"request_id": "1", "title": "Rents", "problem_statement": QUESTION.text}
    request.write_text(json.dumps(row) + "\n", encoding="utf-8")
    options = "--requests", str(request), "--out", str(out)
    assert run("report", str(tmp_path / "index"), *options) in (0, 1)
    printed = out.read_text("utf-8")
    assert REASON in printed
    assert advert not in printed
