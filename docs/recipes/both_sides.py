"""What do my own documents say on either side of a question?"""

import pnyx

documents = pnyx.open("example/arguments.jsonl")  # or a folder of files, a data frame, texts
case = documents.argue("Should voting be compulsory?")
for side in case.sides:
    print(side.side, *(sentence.text for sentence in side.response.sentences), sep="\n  ")
with open("report.html", "w", encoding="utf-8") as page:
    page.write(pnyx.render_html(case))
