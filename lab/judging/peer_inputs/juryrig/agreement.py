import csv

from juryrig import cohen_kappa, expected_calibration_error, position_bias

rows = list(csv.DictReader(open("results.csv", encoding="utf-8")))
pairs = {row["pair"]: row for row in csv.DictReader(open("pairs.csv", encoding="utf-8"))}
print("kappa", cohen_kappa([row["verdict"] for row in rows], [row["label"] for row in rows]))
probabilities = [float(row["probability"]) for row in rows]
print("ece", expected_calibration_error(probabilities, [row["label"] == "pass" for row in rows]))


class Replay:
    name = "mine"

    def compare(self, *, prompt, a, b, rubric):
        winner = pairs[prompt]["forward" if a == "A" else "backward"]
        return "A" if winner == a else "B"


report = position_bias(Replay(), [(pair, "A", "B") for pair in pairs], "")
print("flips", report.flip_rate)
print("first", report.first_slot_wins)
