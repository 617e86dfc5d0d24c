#!/usr/bin/python3
"""Peers in Python: bench/run starts one process per comparison and reads the JSON that it prints.

    peers.py batch  ENGINE CSV C REPEATS          SVC(kernel="precomputed") and its Gram matrix, beside karma_fit
    peers.py sparse ENGINE DIR ROWS REPEATS THREADS   scipy's sparse product, beside the library's sparse block
    peers.py subspace ROWS PEER_ROWS              a round of IterativeImputer on PEER_ROWS, passes of ppca on ROWS
    peers.py search CSV FITS THREADS              GridSearchCV over IterativeImputer + SVC, FITS of its 180 fits
    peers.py forest DIR ROWS TREES PEER_TREES LEAVES THREADS BENCH_FOREST   scikit-learn's forests beside ours

Each repetition times the peer and then starts ENGINE, if there is one, to time the library.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

GAMMA = 3
SPARSE_DIM, SPARSE_SHARE, SPARSE_BLOCK = 50_000, 0.002, 1000
# LIBSVM's stopping rule, from loose to tight; the first whose objective is good enough is timed.
TOLERANCES = [0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4]


def engine(*arguments):
    done = subprocess.run([str(a) for a in arguments], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def peak_bytes():
    """Since exec, and of this process only: ru_maxrss would count the parent and the children."""
    with open("/proc/self/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


# ---- batch ----

def read_rows(path):
    """Observed cells standardised as the library does it, 0 where missing; the mask; labels -1 and 1."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        header = next(reader)
        target = header.index("target")
        labels, cells = [], []
        for row in reader:
            labels.append(row[target])
            cells.append([float(text) if text else np.nan for j, text in enumerate(row) if j != target])
    x = np.array(cells)
    mask = ~np.isnan(x)
    x = np.where(mask, (x - np.nanmean(x, 0)) / np.nanstd(x, 0), 0.0)
    names = sorted(set(labels))
    return x, mask, np.where(np.array(labels) == names[1], 1.0, -1.0)


def gram(x, mask, scale, dtype):
    """(X Xᵀ + 1) · w(c + 1), the bias of 1 counted as an attribute; in place, by Horner's rule."""
    x, mask = x.astype(dtype), mask.astype(dtype)
    ratio = mask @ mask.T
    ratio += 1
    ratio /= dtype(scale)
    weight = ratio.copy()
    weight += 1
    for _ in range(GAMMA - 2):
        weight *= ratio
        weight += 1
    kernel = x @ x.T
    kernel += 1
    kernel *= weight
    return kernel


def fit_svc(kernel, y, c, tolerance):
    from sklearn.svm import SVC
    return SVC(C=c, kernel="precomputed", tol=tolerance, cache_size=1000).fit(kernel, y)


def primal(model, kernel, y, c):
    """½|v|² + c Σ hinge, the objective of both. SVC also has an intercept b outside the norm, as if the row had one
    more attribute that costs nothing; its score is v·φ + b and its minimum is at most ours. So SVC is asked for no more
    than our value (within 0.1%): it may do better by what b is worth, and both numbers are printed."""
    alpha = np.zeros(len(y))
    alpha[model.support_] = model.dual_coef_[0]
    score = kernel @ alpha
    return 0.5 * alpha @ score + c * np.maximum(0.0, 1.0 - y * (score + model.intercept_[0])).sum()


def batch(program, path, C, repeats):
    x, mask, y = read_rows(path)
    m = len(y)
    options = [f"gamma={GAMMA}", "loss=hinge", "solver=batch", "tolerance=1e-3", *([f"C={C}"] if C != "auto" else [])]
    ours = engine(program, "fit", path, 1, *options)
    c = ours["C"] / m
    kinds = {np.float32: None, np.float64: None}
    for dtype in kinds:  # the faster one is used; SVC wants double precision, so the conversion belongs to it
        gram(x, mask, ours["scale"], dtype)
        kinds[dtype], _ = timed(lambda: np.asarray(gram(x, mask, ours["scale"], dtype), dtype=np.float64))
    dtype = min(kinds, key=kinds.get)
    kernel = gram(x, mask, ours["scale"], dtype).astype(np.float64)
    for tolerance in TOLERANCES:
        seconds, model = timed(fit_svc, kernel, y, c, tolerance)
        objective = primal(model, kernel, y, c)
        if objective <= 1.001 * ours["primal"]:
            break
    result = {"ours": [], "gram": [], "svc": [], "whole": []}
    if seconds > 20:
        repeats = 1
    for _ in range(repeats):
        t_gram, kernel = timed(lambda: np.asarray(gram(x, mask, ours["scale"], dtype), dtype=np.float64))
        t_svc, model = timed(fit_svc, kernel, y, c, tolerance)
        result["gram"].append(t_gram)
        result["svc"].append(t_svc)
        result["whole"].append(t_gram + t_svc)
        result["ours"] += engine(program, "fit", path, 3 if ours["fit"][0] < 2 else 1, *options)["fit"]
    return {**result, "objective": primal(model, kernel, y, c), "objective_ours": ours["primal"], "gap_ours": ours["gap"],
            "C": ours["C"], "tolerance": tolerance, "support": len(model.support_), "support_ours": ours["support"],
            "gram_type": np.dtype(dtype).name, "peak_ours": ours["peak_bytes"], "peak_bytes": peak_bytes()}


def mean_filled(path, out):
    """The same rows in LIBSVM's format: a missing cell is the mean, which standardising has made 0."""
    x, _, y = read_rows(path)
    with open(out, "w", encoding="ascii") as file:
        for row, label in zip(x, y):
            cells = " ".join(f"{j + 1}:{row[j]:.6g}" for j in np.flatnonzero(row))
            file.write(f"{label:+.0f} {cells}\n")
    return {"mean_square": float((x * x).sum(1).mean())}


# ---- sparse ----

def draw_sparse(n_rows, directory):
    """Every cell observed with the same chance, values normal; also as files for the engine."""
    from scipy.sparse import csr_matrix
    rng = np.random.default_rng(3)
    flat = np.unique(rng.integers(0, n_rows * SPARSE_DIM, int(n_rows * SPARSE_DIM * SPARSE_SHARE)))
    attribute = (flat % SPARSE_DIM).astype(np.int32)
    start = np.searchsorted(flat, np.arange(n_rows + 1, dtype=np.int64) * SPARSE_DIM)
    value = rng.standard_normal(len(flat), dtype=np.float32)
    value[value == 0] = 1
    start.astype(np.uint64).tofile(os.path.join(directory, "start"))
    attribute.astype(np.uint32).tofile(os.path.join(directory, "attribute"))
    value.tofile(os.path.join(directory, "value"))
    return csr_matrix((value, attribute, start), shape=(n_rows, SPARSE_DIM))


def first_row_sum(a, ones):
    """Σ_j k(a_0, a_j) in double precision, to check that both sides have the same rows."""
    sums = (a[:1].astype(np.float64) @ a.T).toarray()[0]
    counts = (ones[:1] @ ones.T).toarray()[0].astype(np.float64)
    ratio = (counts + 1) / (ones.nnz / ones.shape[0] + 1)
    return ((sums + 1) * (1 + ratio + ratio * ratio)).sum()


def sparse(program, directory, n_rows, repeats, threads):
    a = draw_sparse(n_rows, directory)
    ones = a.copy()
    ones.data[:] = 1
    transposed, transposed_ones = a.T.tocsr(), ones.T.tocsr()
    result = {"ours": [], "ours_one_thread": [], "product": [], "ready": [], "both": []}
    for repeat in range(repeats + 1):
        product, _ = timed(lambda: a[:SPARSE_BLOCK] @ a.T)
        ready, _ = timed(lambda: a[:SPARSE_BLOCK] @ transposed)
        counts, _ = timed(lambda: ones[:SPARSE_BLOCK] @ transposed_ones)
        arguments = [program, "sparse", directory, n_rows, SPARSE_BLOCK, SPARSE_DIM, 1]
        ours, one_thread = engine(*arguments, threads), engine(*arguments, 1)
        if repeat == 0:
            continue
        result["product"].append(product)
        result["ready"].append(ready)
        result["both"].append(ready + counts)
        result["ours"] += ours["block"]
        result["ours_one_thread"] += one_thread["block"]
    return {**result, "sum": first_row_sum(a, ones), "sum_ours": ours["first_row_sum"], "cells": ours["cells"],
            "peak_ours": ours["peak_bytes"], "peak_bytes": peak_bytes()}


# ---- subspace ----

def draw_low_rank(n_rows):
    """As bench_subspace.c draws them: rank 10, noise 0.3, half of the cells NaN."""
    rng = np.random.default_rng(3)
    basis = rng.standard_normal((100, 10)) / np.sqrt(10)
    x = rng.standard_normal((n_rows, 10)) @ basis.T + 0.3 * rng.standard_normal((n_rows, 100))
    x[rng.random(x.shape) < 0.5] = np.nan
    return x


def ppca_passes(x, rank, n_passes, *, one_thread):
    """Seconds of a pass of ppca in R's pcaMethods, several times (ppca.R), of processor time if with one thread; None
    without R or the package."""
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1") if one_thread else None
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        x.T.tofile(file.name)  # column by column
        try:
            run = subprocess.run(["Rscript", os.path.join(os.path.dirname(os.path.abspath(__file__)), "ppca.R"), file.name,
                                  *map(str, (*x.shape, rank, n_passes)), *["processor"] * one_thread],
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True,
                                 env=environment)
        except (OSError, subprocess.CalledProcessError):
            return None
    return json.loads(run.stdout)


def subspace(n_rows, peer_rows):
    import warnings
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401  # pylint: disable=unused-import
    from sklearn.impute import IterativeImputer
    warnings.simplefilter("ignore")  # one round does not converge
    seconds, _ = timed(IterativeImputer(max_iter=1, random_state=0).fit_transform, draw_low_rank(peer_rows))
    x = draw_low_rank(n_rows)
    return {"round": [seconds * n_rows / peer_rows], "pass": ppca_passes(x, 10, 3, one_thread=False),
            "pass of one thread": ppca_passes(x, 10, 6, one_thread=True)}


# ---- search ----

GRID = {"svc__C": [.1, 1, 10, 100, 1000, 10000], "svc__gamma": ["scale", .001, .003, .01, .03, .1]}
FOLDS = 5


def search(path, n_fits, threads):
    """Seconds of the grid search, and of how many fits they were measured: whole candidates, all folds of each."""
    import warnings

    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.svm import SVC

    warnings.simplefilter("ignore")
    rows = pd.read_csv(path)
    y = rows.pop("target")
    numbers = [c for c in rows if rows[c].dtype.kind == "f"]
    categories = [c for c in rows if c not in numbers]
    prepare = ColumnTransformer([
        ("numbers", make_pipeline(StandardScaler(), IterativeImputer(random_state=0)), numbers),
        ("categories", OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories)])
    n_all = len(GRID["svc__C"]) * len(GRID["svc__gamma"])
    n_candidates = max(1, min(n_all, n_fits // FOLDS))
    points = [{"svc__C": [c], "svc__gamma": [g]} for c in GRID["svc__C"] for g in GRID["svc__gamma"]]
    grid = points[::max(1, n_all // n_candidates)][:n_candidates]  # small and large C
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    search_cv = GridSearchCV(make_pipeline(prepare, SVC()), grid, cv=folds, n_jobs=threads, refit=False)
    seconds, _ = timed(search_cv.fit, rows, y)
    return {"seconds": seconds * n_all / n_candidates, "fits": n_candidates * FOLDS, "all_fits": n_all * FOLDS,
            "score": float(search_cv.cv_results_["mean_test_score"].max())}


# ---- forests ----

FOREST_COLUMNS = 50


def forest_rows(n_rows):
    """Numbers with a fifth of the cells missing, and two classes that depend on four of the columns."""
    random = np.random.default_rng(0)
    x = random.normal(size=(n_rows, FOREST_COLUMNS))
    y = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3] + random.normal(size=n_rows) / 2 > 0
    x[random.random(x.shape) < 0.2] = np.nan
    return x, y


def write_ranks(path, x, y):
    """Bytes of mid-ranks, column by column, and the classes: what bench_forest reads."""
    with open(path, "wb") as file:
        for column in x.T:
            observed = np.flatnonzero(~np.isnan(column))
            ranks = np.zeros(len(column), np.uint8)
            place = np.argsort(np.argsort(column[observed]))  # no two cells are equal
            ranks[observed] = 1 + np.floor(254 * (place + 0.5) / len(observed) + 0.5)
            file.write(ranks.tobytes())
        file.write(y.astype(np.uint8).tobytes())


def forest(directory, n_rows, n_trees, peer_trees, leaves, threads, program):
    """Seconds for all trees; those of the peers are measured with peer_trees and scaled."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

    x, y = forest_rows(n_rows)
    path = os.path.join(directory, "ranks")
    write_ranks(path, x, y)
    result = {growth: engine(program, path, n_rows, FOREST_COLUMNS, growth, n_trees, leaves, 1, threads)
              for growth in ("boosted", "bagged")}
    filled = np.where(np.isnan(x), np.nanmean(x, 0), x)
    seconds, _ = timed(RandomForestClassifier(peer_trees, max_leaf_nodes=leaves, n_jobs=threads).fit, filled, y)
    result["random_forest"] = [seconds * n_trees / peer_trees]
    peer = HistGradientBoostingClassifier(max_iter=peer_trees, max_leaf_nodes=leaves, early_stopping=False)
    seconds, _ = timed(peer.fit, x, y)
    result["hist_gradient_boosting"] = [seconds * n_trees / peer_trees]
    return result


def main(kind, *arguments):
    if kind == "forest":
        directory, n_rows, n_trees, peer_trees, leaves, threads, program = arguments
        return forest(directory, int(n_rows), int(n_trees), int(peer_trees), int(leaves), int(threads), program)
    if kind == "search":
        path, n_fits, threads = arguments
        return search(path, int(n_fits), int(threads))
    if kind == "batch":
        program, path, C, repeats = arguments
        return batch(program, path, C, int(repeats))
    if kind == "mean-filled":
        return mean_filled(*arguments)
    if kind == "subspace":
        return subspace(*map(int, arguments))
    program, directory, n_rows, repeats, threads = arguments
    return sparse(program, directory, int(n_rows), int(repeats), threads)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
