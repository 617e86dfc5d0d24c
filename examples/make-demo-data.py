#!/usr/bin/env python3
"""Makes the demo tables clinic.csv (500 rows to learn from) and clinic-new.csv (300 unseen rows).

Nothing here is real: the patients come from a small model and a seed.

  latent factors   each patient has three, standard normal: `frailty` (long standing and harmless in itself), `strain`
                   (acute, on the heart; higher in smokers) and `infection`
  measurements     thirteen numbers, each a mean plus a linear function of the factors plus its own noise, rounded as
                   a laboratory would: low rank plus noise. Skewed quantities are the exponentials of that.
                   Frailty moves all of them. Strain moves the cardiac and blood panels fully, the vital signs by half
                   and the chemistry not at all.
  categories       sex by chance, smoker, admission by strain and infection, ward by which of the two stands out
  outcome          readmitted or recovered, by strain and infection
  holes            what was not ordered is a hole. Vital signs are taken from nearly everyone; a laboratory panel is
                   ordered as a whole or not at all, by the habits of the ward, the urgency of the admission and how
                   ill the patient looks. On top, one cell in twelve is lost by chance.

So what a number means depends on which others are there: a fast heart alone is a sign of strain, but
together with the cardiac panel it measures the frailty that has to be subtracted. Filling in a constant hides this.

The only source of randomness is random.Random(seed): its uniform draws are the same in every Python 3, and the normal
ones are made from them here. All draws are made row by row, training rows first, so the two tables are one sample.

  make-demo-data.py                 writes both files beside this script
  make-demo-data.py --check         exits with 1 if they differ from what would be written
  make-demo-data.py --seed N DIR    writes another sample into DIR
"""
import argparse
import csv
import io
import math
import os
import random
import sys

SEED = 6  # picked from 1 to 6: its accuracies lie near the means over many seeds
TRAIN_ROWS, NEW_ROWS = 500, 300

# name: panel, mean, unit, loadings on (frailty, strain, infection) and noise in units, digits, exponential?
MEASUREMENTS = {
    "age":               ("always",    62.0, 12.0, (0.3, 0.0, 0.0),    0.95, 0, False),
    "systolic_pressure": ("vitals",    134.0, 14.0, (1.0, 0.5, 0.0),   0.3, 0, False),
    "heart_rate":        ("vitals",    82.0, 9.0, (1.0, 0.5, 0.2),     0.3, 0, False),
    "respiratory_rate":  ("vitals",    17.0, 2.2, (1.0, 0.5, 0.2),     0.3, 0, False),
    "troponin":          ("cardiac",   2.6, 0.7, (1.0, 1.0, 0.0),      0.3, 0, True),
    "bnp":               ("cardiac",   5.3, 0.6, (1.0, 1.0, 0.0),      0.3, 0, True),
    "lactate":           ("cardiac",   0.5, 0.35, (0.9, 1.0, 0.2),     0.3, 1, True),
    "haemoglobin":       ("blood",     13.2, 1.2, (-0.75, -0.75, -0.4), 0.3, 1, False),
    "white_cells":       ("blood",     2.15, 0.25, (0.75, 0.75, 0.6),  0.3, 1, True),
    "crp":               ("blood",     2.6, 0.8, (0.7, 0.75, 0.6),     0.3, 0, True),
    "creatinine":        ("chemistry", 4.5, 0.25, (1.0, 0.0, 0.0),     0.3, 0, True),
    "potassium":         ("chemistry", 4.3, 0.35, (1.0, 0.0, 0.0),     0.3, 1, False),
    "urea":              ("chemistry", 1.9, 0.3, (1.0, 0.0, 0.2),      0.3, 1, True),
}
CATEGORIES = ("sex", "smoker", "admission", "ward")
COLUMNS = ("patient", *MEASUREMENTS, *CATEGORIES, "outcome")

# How readily a panel is ordered: logits by ward, then added ones by admission.
HABITS = {
    "cardiology": {"cardiac": 1.7, "blood": -1.0, "chemistry": 0.2},
    "medicine":   {"cardiac": -0.8, "blood": 1.5, "chemistry": 0.5},
    "surgery":    {"cardiac": -1.0, "blood": 0.0, "chemistry": 0.8},
}
URGENCY = {"emergency": 0.6, "transfer": 0.0, "planned": -0.8}
LOST = 1 / 12


class Draws:
    """Draws built from uniform ones alone."""

    def __init__(self, seed):
        self.uniform = random.Random(seed).random

    def normal(self):
        return math.sqrt(-2.0 * math.log(1.0 - self.uniform())) * math.cos(2.0 * math.pi * self.uniform())

    def chance(self, logit):
        """True with this log-odds."""
        return self.uniform() < 1.0 / (1.0 + math.exp(-logit))

    def pick(self, logits):
        """One of the keys, by a softmax of the values."""
        weights = {key: math.exp(value) for key, value in logits.items()}
        point = self.uniform() * sum(weights.values())
        for key, weight in weights.items():
            point -= weight
            if point < 0.0:
                break
        return key


def measure(draws, factors):
    cells = {}
    for name, (_, mean, unit, loadings, noise, digits, exponential) in MEASUREMENTS.items():
        value = mean + unit * (sum(a * z for a, z in zip(loadings, factors)) + noise * draws.normal())
        value = math.exp(value) if exponential else value
        if name == "age":
            value = min(max(value, 18.0), 99.0)
        cells[name] = f"{value:.{digits}f}"
    return cells


def panels_ordered(draws, ward, admission, factors):
    ordered = {"always": True, "vitals": draws.chance(2.5)}
    for (panel, habit), looks in zip(HABITS[ward].items(), (factors[1], factors[2], factors[0])):
        ordered[panel] = draws.chance(habit + URGENCY[admission] + looks)
    return ordered


def make_patient(draws, number):
    smoker = draws.chance(-1.0)
    frailty, strain, infection = draws.normal(), draws.normal() + 0.6 * smoker, draws.normal()
    factors = (frailty, strain, infection)
    row = {"patient": f"P{number:04d}", "sex": "female" if draws.chance(0.0) else "male",
           "smoker": "yes" if smoker else "no"}
    row["admission"] = draws.pick({"emergency": 0.5 * (strain + infection), "planned": 0.3, "transfer": -0.7})
    row["ward"] = draws.pick({"cardiology": 0.8 * strain, "medicine": 0.8 * infection + 0.2, "surgery": 0.0})
    cells = measure(draws, factors)
    row["outcome"] = "readmitted" if draws.chance(10.0 * strain + 4.0 * infection - 3.0) else "recovered"
    ordered = panels_ordered(draws, row["ward"], row["admission"], factors)
    for name, (panel, *_) in MEASUREMENTS.items():
        row[name] = cells[name] if ordered[panel] and draws.uniform() >= LOST else ""
    for name in CATEGORIES:
        if draws.uniform() < LOST:
            row[name] = ""
    return row


def table_text(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def make_tables(seed):
    draws = Draws(seed)
    rows = [make_patient(draws, number) for number in range(1, TRAIN_ROWS + NEW_ROWS + 1)]
    return {"clinic.csv": table_text(rows[:TRAIN_ROWS]), "clinic-new.csv": table_text(rows[TRAIN_ROWS:])}


def main():
    parser = argparse.ArgumentParser(description="Makes the demo tables.")
    parser.add_argument("directory", nargs="?", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    arguments = parser.parse_args()
    differing = []
    for name, text in make_tables(arguments.seed).items():
        path = os.path.join(arguments.directory, name)
        if not arguments.check:
            with open(path, "w", encoding="utf-8", newline="") as stream:
                stream.write(text)
            continue
        try:
            with open(path, encoding="utf-8", newline="") as stream:
                same = stream.read() == text
        except OSError:
            same = False
        if not same:
            differing.append(path)
    for path in differing:
        print(f"{path} is not what this script makes", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
