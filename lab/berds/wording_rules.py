"""Reduce a question in people's own words to a plain yes-no question or claim."""

from __future__ import annotations

import re
from typing import Final

from clause_rules import subject_end

AUXILIARIES: Final = (
    "should|must|can|could|will|would|may|might|shall|ought"
    "|is|are|was|were|do|does|did|has|have|had"
)  # fmt: skip
_ASKS = rf"(?=(?:{AUXILIARIES})(?:n['’]t)?\b)"


def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_REWRITTEN: Final = (
    # Words before and after the question.
    (_re(rf"^(?:(?:hey|hi|so|well|ok|okay|guys|honestly|really|seriously|frankly|overall|again"
         rf"|on balance|in the end|all in all|in your (?:opinion|view))\b[,:]? )+{_ASKS}"), ""),
    (_re(r"^([^.!?]{9,}\?) (?:[^?]+|(?:and|if so)\b.+)$"), r"\1"),
    (_re(r"^(?:some|many|most|people|they|critics|experts)(?: people)? (?:say|think|argue|claim"
         r"|believe) (?:that )?([^.!?]{9,})[.!] (?:do you agree|is (?:that|it) (?:right|true|so)"
         r"|are they right|what do you think)\?$"), r"\1."),
    (_re(r"^(?:i (?:do )?(?:think|believe|feel)|in my (?:opinion|view),?) (?:that )?(.{9,}?)[.,!]?"
         r"(?: (?:am i right|is that right|right|do you agree|don['’]t you think|what do you think)"
         r"\?)$"), r"\1."),
    (_re(r"^([^,?]{9,}), (?:isn['’]t|aren['’]t|doesn['’]t|don['’]t|shouldn['’]t) "
         r"(?:it|they|he|she|we)\?$"), r"\1."),
    (_re(r"^(?:i (?:wonder|am wondering|want to know|would like to know|['’]d like to know)"
         r"|(?:(?:can|could|would) you )?(?:please )?tell me|do you know) (?:whether|if) "
         r"(.*[^.?])[.?]*$"), r"\1."),
    # Forms of motions.
    (_re(r"^(?:resolved|motion)(?: that|:) "), ""),
    (_re(r"^thbt (?:that )?"), ""),
    (_re(r"^thw (?=\w)"), "We should "),
    (_re(r"^ths (?=\w)"), "We should support "),
    (_re(r"^thr (?=\w)"), "We should regret "),
    (_re(r"^do you guys "), "Do you "),
    (_re(r"^(?:would you (?:say|agree)|do you agree) (?!with\b|to\b|on\b|about\b)(?:that )?"),
     "Do you think "),
    # "Should not every citizen ...?" and "Is it not cruel ...?" expect a yes, as "Isn't it" does.
    (_re(r"^(should|must|can|will|are|is) not (?=\w[^?]*\?$)"), r"\1 "),
    (_re(r"^(is|was) it not (?=\w[^?]*\?$)"), r"\1 it "),
    (_re(r"^why do we still (?=\w)"), "Should we still "),
    (_re(r"^why (?:is|are) (.+) still ((?:legal|allowed|illegal|banned|forbidden|a crime)"
         r"\b.*)$"), r"Should \1 still be \2"),
    (_re(r"^why (?=(?:should|must|can|ought|is|are|do|does)\b)"), ""),
    (_re(r"^why (should|must|can)n['’]t we (.*[^?])\?*$"), r"We \1 not \2."),
    (_re(r"^why not (?=\w)"), "Should we "),
    (_re(rf"^to what (?:extent|degree) {_ASKS}"), ""),
    (_re(r"^when (is it) (?=\w+ (?:to|for|that)\b)"), r"\1 ever "),
    (_re(r"^when (is|are|was|were) (.+?) (?=(?:justified|justifiable|acceptable|legitimate|right"
         r"|wrong|fair|moral|ok|okay|necessary)\?$)"), r"\1 \2 ever "),
    (_re(r"^how (?!many|much|long|often|old|far|well|can|do|does|is|are|should)(\w+) (is|are) "
         r"([\w ]{2,40}?)\??$"), r"\2 \3 \1?"),
)  # fmt: skip
_ACT: Final = _re(r"^(?:why|would you) (\w+)")
_FORBIDS: Final = _re(r"^(?:do not|don['’]t|never) (\w+)(?=[^?]*$)")
_NO_ACT: Final = frozenset("say agree be have like think feel want".split())
"""Verbs that do not name an action to discuss: "Would you be happier with less?"."""
_NAMED: Final = _re(rf"^(?!if |when )([\w ]{{3,40}}): ({_ASKS}[^?:]+?) (?:it|them)\b([^?:]*\?)$")
"""A topic followed by a question about it: "Nuclear power: should we keep it?"."""


def plain(line: str, verbs: frozenset[str]) -> str:
    """Return a question or claim without the words around it.

    "Honestly, is college worth it?" gives "is college worth it?", "Why not ban X?" gives "Should we
    ban X?", "THW ban X" gives "We should ban X". Plain lines are not changed; `verbs` are those in
    the list.
    """
    for pattern, replacement in _REWRITTEN:
        line = pattern.sub(replacement, line, count=1)
    if (forbids := _FORBIDS.match(line)) and forbids[1].lower() in verbs:
        return f"We should not {line[forbids.start(1) :]}"
    if (acts := _ACT.match(line)) and acts[1].lower() in verbs - _NO_ACT:
        return re.sub(r"\byour\b", "our", f"Should we {line[acts.start(1) :]}")
    if named := _NAMED.match(line):
        return f"{named[2]} {_small(named[1])}{named[3]}"
    return line


def _small(phrase: str) -> str:
    """Start a phrase in lower case if its second word shows that it is not a name."""
    words = phrase.split(" ")
    return phrase[:1].lower() + phrase[1:] if words[1:] and words[1].islower() else phrase


_MAIN = r"(?:the )?(?:(?:main|best|strongest) )?"
_BOTH = r"for (?:and|or) against|in favou?r of (?:and|or) against"
_BOTH_SIDES: Final = (
    _re(rf"^(?:what are )?{_MAIN}(?:(?:arguments|reasons|case) (?:{_BOTH})|pros and cons "
        r"(?:of|about|on)|(?:advantages|benefits) and (?:disadvantages|drawbacks|harms|risks) of) "
        r"(?P<matter>.{3,})$"),
    _re(rf"^what (?:speaks|do people say|can be said|is (?:there )?to be said) (?:{_BOTH}) "
        r"(?P<matter>.{3,})$"),
    _re(rf"^(?:{_BOTH}|pros and cons): (?P<matter>.{{3,}})$"),
    _re(rf"^(?P<matter>[\w ]{{3,40}}?)(?:[:,]? (?:yes or no|good or bad)|: (?:{_BOTH}|pros and "
        r"cons))$"),
    _re(rf"^what (?:are {_MAIN}(?:(?:benefits|advantages|merits) of|(?:arguments|reasons) for)"
        r"|speaks (?:for|in favou?r of)|is (?:so )?good about) (?P<matter>.{3,})$"),
)  # fmt: skip
_WRONG = _re(
    rf"^what (?:are {_MAIN}(?:(?:disadvantages|drawbacks|dangers|harms) of|(?:arguments|reasons)"
    r" against)|speaks against|is (?:so )?(?:wrong with|bad about)) (?P<matter>.{3,})$"
)
_ANY = re.compile(rf"\b(?:{AUXILIARIES})(?:n['’]t)?\b", re.IGNORECASE)


def matter(core: str) -> tuple[str, bool] | None:
    """Return the topic of an open question, and whether yes means that it is a good thing."""
    for pattern in (*_BOTH_SIDES, _WRONG):
        match = pattern.match(core)
        if match and not _ANY.search(match["matter"]):
            return match["matter"], pattern is not _WRONG
    return None


_RIVALS: Final = (
    # "Is it better to rent or to buy?"
    (_re(r"^((?:is|was) it \w+) (to .+?) or (to .+)$"), r"\1 \2", r"\1 \3"),
    # "Do cats or dogs make better pets?"
    (_re(r"^(do|does|are|is) (\w+) or (\w+) (.*\b(?:better|worse|more|less)\b.*)$"),
     r"\1 \2 \4", r"\1 \3 \4"),
    # "Is graffiti art or vandalism?"
    (_re(r"^(is|are) (\w+) (\w+) or (\w+)$"), r"\2 \1 \3.", r"\2 \1 \4."),
    # "Who should pay for university, students or the state?"
    (_re(r"^who (should|must|can|ought|has|may) ([^,:?]+)[,:] (.+?),? or (.+)$"),
     r"\3 \1 \2.", r"\4 \1 \2."),
    # "Are we better off with or without the euro?"
    (_re(r"^(.+) with or without (.+)$"), r"\1 with \2", r"\1 without \2"),
    # "Should buses be free for everyone, or only for the poor?"
    (_re(r"^(.{1,200}?) (for|in|to|by|with|at|on|from) ([^,]{1,200}?),? or "
         r"((?:just|only|merely) \2 .+)$"),
     r"\1 \2 \3", r"\1 \4"),
    # "Do cameras make us safer or just less free?"
    (_re(r"^(.+? )((?:an? |the )?[\w-]+),? or ((?:just|only|merely|simply) .+)$"),
     r"\1\2", r"\1\3"),
)  # fmt: skip
_WHICH = _re(r"^([^,:]{1,200}?) or ([^,:]{1,200})[,:] (?:which|what)(?: one)? "
             r"(should|must|can|would) (we|i|they|you|people) (.+)$")  # fmt: skip
"""A choice between two things: "Wind or nuclear power: which should we build?"."""
_TWO_ACTS = _re(r"^((?:should|must|shall|can) we) ([a-z]+ .+?) or ([a-z]+)\b(.*)$")
_STAYS = _re(r"^(should|must|shall|can|will) (.+?),? or (?:should (?:it|they) )?"
             r"((?:stay|remain|keep|continue) .+)$")  # fmt: skip
_WAYS: Final = (
    "legal|illegal|banned|forbidden|allowed|permitted|abolished|scrapped|kept|closed|open|reformed"
    "|independent|part of [\\w ]{1,60}|regulated|compulsory|voluntary|optional|private|public|free"
    "|paid for"
)
_OPPOSED: Final = _re(rf"^(.{{1,200}} (?:be|is|are|stay|remain)) ({_WAYS}),? or ({_WAYS})$")
_TWO_THINGS = _re(r"^([\w-]+|[\w-]+ [\w-]+) or ([\w-]+|[\w-]+ [\w-]+)$")
_TWO_SORTS = _re(r"^([\w' -]+): ((?:an? )?[\w-]+) or ((?:an? )?[\w-]+)$")
_BETTER = _re(r"^(?:which|what) (?:is|are) ((?:better|worse|more|less)\b[^,:]*)[,:] "
              r"(.+?),? or (.+)$")  # fmt: skip


def rivals(core: str, verbs: frozenset[str]) -> tuple[str, str] | None:
    """Return the two questions or claims between which a question offers a choice, or None."""
    for pattern, first, second in _RIVALS:
        if match := pattern.match(core):
            return _expanded(match, first), _expanded(match, second)
    if opposed := _OPPOSED.match(core):
        return f"{opposed[1]} {opposed[2]}", f"{opposed[1]} {opposed[3]}"
    return _two_acts(core, verbs) or _two_things(core, verbs)


def _two_acts(core: str, verbs: frozenset[str]) -> tuple[str, str] | None:
    acts = _TWO_ACTS.match(core)
    if acts and acts[3] in verbs and acts[2].split()[0].lower() in verbs:
        return f"{acts[1]} {acts[2]}", f"{acts[1]} {acts[3]}{acts[4]}"
    if stays := _STAYS.match(core):
        rest = stays[2].split(" ")
        if end := subject_end(stays[1].lower(), rest):
            subject = " ".join(rest[:end])
            return f"{stays[1]} {stays[2]}", f"{stays[1]} {subject} {stays[3]}"
    return None


def _two_things(core: str, verbs: frozenset[str]) -> tuple[str, str] | None:
    if which := _WHICH.match(core):
        head = f"{which[4]} {which[3]} {which[5]}"
        return f"{head} {_as_small(which[1], which[2])}.", f"{head} {which[2]}."
    if better := _BETTER.match(core):
        claims = [f"{thing} {'are' if _PLURAL.search(thing) else 'is'} {better[1]}."
                for thing in better.groups()[1:]]  # fmt: skip
        return claims[0], claims[1]
    if sorts := _TWO_SORTS.match(core):
        verb = "are" if _PLURAL.search(sorts[1]) else "is"
        return f"{sorts[1]} {verb} {sorts[2]}.", f"{sorts[1]} {verb} {sorts[3]}."
    things = _TWO_THINGS.match(core)
    if things and not _ANY.search(core) and not verbs.intersection(core.lower().split()):
        first, other = _as_small(things[1], things[2]), things[2]
        return f"{first} is better than {other}.", f"{other} is better than {first}."
    return None


def _as_small(phrase: str, other: str) -> str:
    """Start the first phrase of a question in lower case if the other phrase is in lower case."""
    return phrase[:1].lower() + phrase[1:] if other.islower() else phrase


_PLURAL = re.compile(r"[^su]s$")


def _expanded(match: re.Match[str], template: str) -> str:
    text = match.expand(template)
    return re.sub(r"(?<= )(Is|Are)(?= )", lambda verb: verb[0].lower(), text)
