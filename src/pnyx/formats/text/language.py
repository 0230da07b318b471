"""The language of a text, by its script and its most frequent words; "" if unclear.

Twelve languages written in Latin letters and nine scripts are known. A short question has few
words, so two different words of one language, and more than of any other, are required.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import Final

_READ: Final = 3_000
"""Number of characters read from a text."""
_LEAST_WORDS = 2
_WORD: Final = re.compile(r"[^\W\d_]+")
_ASCII_LETTERS, _OTHERS = re.compile("[A-Za-z]+"), re.compile(r"[^\x00-\x7f]")
_FREQUENT: Final = {
    "English": "the of and to is are be that it for with as this was were should would does do did"
    " can not have has we they from by or which their there because people our if than",
    "German": "der die das und ist nicht ein eine einen dem den des zu von mit auf für sich werden"
    " wird sollte sollten soll sollen kann muss darf wir sie es auch als bei sind haben oder aber"
    " im am wie dass man mehr noch",
    "French": "le la les des un une et est que qui dans pour pas sur au aux du ne ce cette il elle"
    " nous vous faut doit doivent sont avec par plus mais ou être faire est-ce devrait devraient",
    "Spanish": "el la los las de que y en un una es por con para no se del al lo su más pero debe"
    " deben debería deberían son está como o hay ser si sus",
    "Italian": "il lo la gli le di che e è un una per non con del della dei delle nel sono si come"
    " più ma dovrebbe dovrebbero deve devono anche essere o al dal questo",
    "Portuguese": "o os as um uma de que e é em para não com do da dos das no na se por mais mas"
    " deve devem deveria deveriam são ser como ao ou pelo seu sua",
    "Dutch": "de het een en van is dat niet zijn op te met voor aan er ook als maar moet moeten"
    " wordt worden kunnen kan zou wij we bij naar of deze door hebben",
    "Swedish": "och det att en ett är som på för med av den inte till vi har om bör ska borde kan"
    " men eller från var de sig så skulle",
    "Danish or Norwegian": "og det at en et er som på for med af av den ikke til vi har om bør skal"
    " burde kan men eller fra de sig seg så ville",
    "Polish": "i w na nie się że to jest do z czy powinien powinna powinno powinny być są jak ale"
    " po od za przez lub dla o",
    "Turkish": "ve bir bu için mi mı mu mü da de ile olarak daha çok değil gibi olmalı ama veya"
    " kadar sonra",
    "Finnish": "ja on ei se että oli ovat olla kuin mutta tai pitäisi pitää voi onko myös sen joka"
    " mitä tulisi",
}
_PROFILES: Final = {name: frozenset(words.split()) for name, words in _FREQUENT.items()}
_SCRIPTS: Final = {
    "CYRILLIC": "a language in Cyrillic letters",
    "GREEK": "Greek",
    "ARABIC": "a language in Arabic letters",
    "HEBREW": "Hebrew",
    "DEVANAGARI": "a language in Devanagari",
    "THAI": "Thai",
    "HANGUL": "Korean",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "CJK": "Chinese",
}


def language_of(text: str) -> str:
    """Return the English name of a text's language, "" if unclear; by script if not Latin."""
    read = text[:_READ]
    if not read.isascii():  # to look up each letter takes ten times as long as what follows
        letters = Counter(_script(c) for c in _OTHERS.findall(read) if c.isalpha())
        letters["LATIN"] += len(read) - len(_ASCII_LETTERS.sub("", read))
        script = max(letters, key=letters.__getitem__, default="")
        if script != "LATIN":
            kana = [s for s in ("HIRAGANA", "KATAKANA") if letters[s]] if script == "CJK" else []
            language = _SCRIPTS.get((kana or [script])[0], "")
            return language if letters[script] * 2 > letters.total() else ""
    words = set(_WORD.findall(unicodedata.normalize("NFC", read).casefold()))
    hits = sorted(((len(words & common), name) for name, common in _PROFILES.items()), reverse=True)
    (most, name), (second, _) = hits[:2]
    enough = most >= _LEAST_WORDS and most * 8 >= min(len(words), 40)
    return name if enough and most > second + second // 2 else ""


@functools.lru_cache(maxsize=4096)
def _script(character: str) -> str:
    return unicodedata.name(character, "").split(" ", 1)[0]


def other_language(question: str, documents: Iterable[str]) -> str:
    """Return a warning if no document is in the question's language, else ""."""
    question_language = language_of(question)
    counts = Counter[str]()
    for document in documents if question_language else ():
        if (language := language_of(document)) == question_language:
            return ""
        counts[language] += 1
    recognised = counts.total() - counts.pop("", 0)
    if not recognised:
        return ""
    ((name, count),) = counts.most_common(1)
    if count * 2 <= recognised:
        return ""
    return (
        f"The question seems to be in {question_language}, the documents in {name}: "
        f"results are better for a question in {name}."
    )
