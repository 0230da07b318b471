"""How often does a judge agree with my labels, and how sure is that?"""

import pnyx

pairs = [
    pnyx.Support("q1", "Fines for staying at home hit the poor.", "Compulsory voting is unfair."),
    pnyx.Support("q2", "Turnout rose by ten points.", "Compulsory voting raises turnout."),
    pnyx.Support("q3", "The zoo opened in 1828.", "Compulsory voting raises turnout."),
]
labels = {"q1": True, "q2": True, "q3": False}
answers = pnyx.ask(pnyx.PackagedJudge(), pairs)
agreement = pnyx.measure_agreement(answers, labels)
print(agreement)
