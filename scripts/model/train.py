#!/usr/bin/env python3
"""Fits the model of diff/trend to examples of leakbench, and writes diff/trend/model.txt.

The model is a sum of decision trees, fitted by LightGBM. The result depends only on the examples, the
parameters and the versions in requirements.txt.
"""

import argparse
import hashlib
import resource
import sys
import time

import lightgbm
import numpy

# The probability of a leak must not fall as these features rise, or must not rise (-): the directions in the table of
# diff/trend, which go test ./diff/trend -update writes here.
MONOTONE = """
    significance late-significance tail-clarity separation after-knee-t knee-by-alloc-t line-t
    leak-ratio leak-t tail-retention cycle-line-t elsewhere-z residence-z secured leak-or-curve
    beside work-tail-clarity work-after-knee-t work-line-t work-beside work-leak-ratio work-leak-t
    work-leak-or-curve work-residence-z beside-load-t work-beside-load-t -gap -plateau-length
    -sampling -high-water -stop -drop -work-gap -work-plateau-length -work-stop
""".split()

PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.04,
    "num_leaves": 31,
    "min_data_in_leaf": 200,
    "lambda_l2": 10.0,
    "max_bin": 127,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "feature_fraction": 0.4,
    "monotone_constraints_method": "basic",
    "seed": 1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # on a busy machine, threads mostly wait for each other
    "verbosity": -1,
}

LEAF_UNIT = 1e-4  # log-odds
FIRST_FEATURE = 8  # leak large seed snapshots population recording behaviour process


def read(paths):
    """Returns the names of the features, the features, whether they are of leaks, and a hash of all."""
    names, rows, leaks, digest = None, [], [], hashlib.sha256()
    for path in paths:
        with open(path, encoding="ascii") as lines:
            header = next(lines).split()[FIRST_FEATURE:]
            if names not in (None, header):
                sys.exit(f"{path}: the features are not those of {paths[0]}")
            names = header
            points = names.index("points")
            for line in lines:
                digest.update(line.encode())
                fields = line.split()
                values = numpy.array(fields[FIRST_FEATURE:], dtype=numpy.float32)
                if values[points] > 0:  # the others hardly grew: they have no features
                    rows.append(values)
                    leaks.append(fields[0] == "1")
    return names, numpy.array(rows), numpy.array(leaks, dtype=numpy.float64), digest.hexdigest()


def direction(name):
    return 1 if name in MONOTONE else -1 if "-" + name in MONOTONE else 0


def nodes(node):
    """Yields the nodes of a tree in preorder."""
    yield node
    if "leaf_value" not in node:
        yield from nodes(node["left_child"])
        yield from nodes(node["right_child"])


def model_lines(trees, names):
    """Yields the lines of a model: the thresholds of each feature, then the trees (see parseModel in model.go)."""
    used = sorted({(n["split_feature"], float(f"{n['threshold']:.8g}")) for t in trees for n in nodes(t) if "threshold" in n})
    features = sorted({f for f, _ in used})
    index = {}
    for i, feature in enumerate(features):
        thresholds = [t for f, t in used if f == feature]
        index |= {(feature, t): f"{i}:{k}" for k, t in enumerate(thresholds)}
        yield " ".join(["feature", names[feature]] + [f"{t:.8g}" for t in thresholds])
    for tree in trees:
        yield " ".join(
            f"{round(n['leaf_value'] / LEAF_UNIT)}"
            if "leaf_value" in n
            else index[n["split_feature"], float(f"{n['threshold']:.8g}")]
            for n in nodes(tree)
        )


def write_cases(path, model, names, features, count=60):
    """Writes some examples with the log-odds that LightGBM computes, for a test of the Go code."""
    chosen = features[:: max(1, len(features) // count)][:count]
    with open(path, "w", encoding="ascii") as out:
        out.write("# Made by scripts/model: log-odds by LightGBM, and the features.\n")
        for row, odds in zip(chosen, model.predict(chosen, raw_score=True)):
            values = " ".join(f"{n}={v:.6g}" for n, v in zip(names, row) if v != 0)
            out.write(f"{odds:.5f} {values}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", nargs="+", help="files of leakbench -examples")
    parser.add_argument("--trees", type=int, default=900)
    parser.add_argument("--made-by", default="", help="the command that wrote the examples, for the first line of the model")
    parser.add_argument("--cases", help="write examples with their log-odds to this file")
    parser.add_argument("-o", "--output", required=True)
    for name, value in PARAMETERS.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            parser.add_argument("--" + name, type=type(value), default=value)
    args = parser.parse_args()

    parameters = PARAMETERS | {k: v for k, v in vars(args).items() if k in PARAMETERS}
    names, features, leaks, digest = read(args.examples)
    unknown = {m.lstrip("-") for m in MONOTONE} - set(names)
    if unknown:
        sys.exit(f"unknown features: {' '.join(sorted(unknown))}")
    began = time.monotonic()
    data = lightgbm.Dataset(features, leaks, feature_name=names)
    constraints = [direction(n) for n in names]
    model = lightgbm.train(parameters | {"monotone_constraints": constraints}, data, args.trees)
    seconds = time.monotonic() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    with open(args.output, "w", encoding="ascii") as out:
        if args.made_by:
            out.write(f"# Examples: {args.made_by}\n")
        out.write(f"# {len(leaks)} series that grew, of which {leaks.sum():.0f} leak; SHA-256 {digest}.\n")
        settings = " ".join(f"{k}={v}" for k, v in parameters.items() if k != "verbosity")
        out.write(f"# LightGBM {lightgbm.__version__}: {args.trees} trees, {settings}.\n")
        trees = [t["tree_structure"] for t in model.dump_model()["tree_info"]]
        out.writelines(line + "\n" for line in model_lines(trees, names))
    if args.cases:
        write_cases(args.cases, model, names, features)
    print(f"fitted to {len(leaks)} examples in {seconds:.0f} s with {memory} MiB")


if __name__ == "__main__":
    main()
