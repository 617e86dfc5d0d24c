#!/usr/bin/python3
"""karma_fit beside SVC on a real table: bench/run starts one process per table and kernel and reads its JSON.

    solver_peer.py ENGINE CSV DIR KERNEL FACTOR...

CSV has a label `target` with two classes. KERNEL is linear, rank or rank-rbf. For every multiple FACTOR of the automatic
C it measures, with one thread, the processor time of karma_fit (gap 1e-3, the solver that it chooses) and that of numpy's
Gram matrix followed by SVC(kernel="precomputed"), with the loosest tolerance of LIBSVM for which the objective is at most
0.1% above ours. SVC is given the Gram matrix of the library; that of numpy is timed and compared with it.
"""
import json
import os
import subprocess
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy reads it when it is loaded
os.environ["OMP_WAIT_POLICY"] = "passive"  # as the tool: threads that read the table must not spin during the fit

import numpy as np
import pandas as pd
from sklearn.svm import SVC

OPTIONS = {"linear": ["kernel=linear", "gamma=2"], "rank": ["kernel=rank"], "rank-rbf": ["kernel=rank", "outer=rbf"]}
TOLERANCES = [0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4]


def engine(*arguments):
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def timed(function, *arguments):
    start = time.process_time()
    result = function(*arguments)
    return time.process_time() - start, result


def encode(rows, is_rank):
    """Features whose inner products are those of numbers (unless ranked) and categories; ranks; one mask column each."""
    features, ranks, masks = [], [], []
    for name in rows:
        column = rows[name]
        observed = column.notna().to_numpy()
        masks.append(observed)
        if column.dtype.kind in "fi" and is_rank:
            cells = column[observed]
            share = (cells.rank(method="average") - 0.5) / len(cells)
            u = np.zeros(len(column))
            u[observed] = np.floor(254 * share + 0.5) / 254
            ranks.append(u)
        elif column.dtype.kind in "fi":
            features.append(np.where(observed, (column - column.mean()) / (column.std(ddof=0) or 1), 0)[:, None])
        else:
            levels = pd.get_dummies(column).to_numpy(float)
            features.append(np.where(observed[:, None], levels - levels[observed].mean(0), 0))
    n = len(rows)
    return (np.hstack([np.zeros((n, 0)), *features]).astype(np.float32), np.array(ranks, np.float32),
            np.array(masks, np.float32).T, np.array([rows[c].dtype.kind in "fi" for c in rows]))


def gram(encoded, scale, width):
    """(Σ κ + 1) (1 + c/scale), c the common attributes and the bias; through exp(-distance²/width) if there is one."""
    features, ranks, masks, is_number = encoded
    kernel = features @ features.T
    kernel += 1
    for u, observed in zip(ranks, masks[:, is_number].T if len(ranks) else ()):
        part = np.abs(u[:, None] - u)
        part *= -2
        part += 1
        part *= observed[:, None]
        part *= observed
        kernel += part
    weight = masks @ masks.T
    weight += 1
    weight /= np.float32(scale)
    weight += 1
    kernel *= weight
    if width:
        square = kernel.diagonal().copy()
        kernel *= 2
        kernel -= square
        kernel -= square[:, None]
        kernel /= np.float32(width)
        np.exp(kernel, out=kernel)
    return kernel.astype(np.float64)


def find_width(encoded, scale, ours):
    bare = gram(encoded, scale, 0)[:1]
    square = np.array([gram([e if i == 3 else e[j:j + 1] if i != 1 else e[:, j:j + 1] for i, e in enumerate(encoded)],
                            scale, 0)[0, 0] for j in range(2)])
    return (square[0] + square[1] - 2 * bare[0, 1]) / -np.log(ours[0, 1])


def fit(kernel, y, c, tolerance):
    return SVC(C=c, kernel="precomputed", tol=tolerance, cache_size=1000).fit(kernel, y)


def primal(model, kernel, y, c):
    """½|v|² + c Σ hinge. SVC has an intercept outside the norm besides, so its minimum is at most ours."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    score = kernel @ alpha
    return 0.5 * alpha @ score + c * np.maximum(0.0, 1.0 - y * (score + model.intercept_[0])).sum()


def main(program, path, directory, kernel_name, *factors):
    rows = pd.read_csv(path)
    label = rows.pop("target").astype(str)
    y = np.where(label == sorted(set(label))[1], 1.0, -1.0)
    out = os.path.join(directory, "gram")
    options = [*OPTIONS[kernel_name], "loss=hinge", "tolerance=1e-3", "threads=1"]
    facts = engine(program, "kernel", path, out, *options)
    ours = np.fromfile(out, np.float32).reshape(len(y), len(y)).astype(np.float64)
    os.remove(out)
    encoded = encode(rows, kernel_name != "linear")
    width = find_width(encoded, facts["scale"], ours) if kernel_name == "rank-rbf" else 0
    difference = np.abs(gram(encoded, facts["scale"], width) - ours).max() / np.abs(ours).max()
    result = {"rows": len(y), "difference": difference, "path": facts["path"], "cells": {}}
    if not difference < 2e-3:
        raise SystemExit(f"{path}, {kernel_name}: numpy's Gram matrix differs by {difference:g}")
    auto = len(y) ** 2 / np.trace(ours)
    for factor in map(float, factors):
        C = factor * auto
        first = engine(program, "fit", path, 1, f"C={C!r}", *options)
        for tolerance in TOLERANCES:
            svc, model = timed(fit, ours, y, C / len(y), tolerance)
            objective = primal(model, ours, y, C / len(y))
            if objective <= 1.001 * first["primal"]:
                break
        again = engine(program, "fit", path, 1, f"C={C!r}", *options)
        seconds, _ = timed(gram, encoded, facts["scale"], width)
        result["cells"][factor] = {"ours": first["processor"] + again["processor"], "gram": seconds, "svc": svc,
                                   "peer": [seconds + svc], "objective": objective, "objective_ours": first["primal"],
                                   "gap": first["gap"], "stop": first["stop"], "tolerance": tolerance}
    return result


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
