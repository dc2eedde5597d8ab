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

# The probability of a leak must not fall as these features rise, or must not rise (-). The constraint
# keeps the model from learning the opposite from noise.
MONOTONE = """
    significance late-significance tail-clarity separation leak-ratio leak-t after-knee-t knee-by-alloc-t line-t
    tail-retention cycle-line-t elsewhere-z beside residence-z secured leak-or-curve
    work-tail-clarity work-after-knee-t work-line-t work-beside
    work-leak-ratio work-leak-t work-leak-or-curve work-residence-z
    -gap -plateau-length -sampling -high-water -stop -drop -work-gap -work-plateau-length -work-stop
""".split()

PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.06,
    "num_leaves": 63,
    "min_data_in_leaf": 30,
    "lambda_l2": 3.0,
    "max_bin": 127,
    "bagging_fraction": 0.6,
    "bagging_freq": 1,
    "feature_fraction": 0.3,
    "monotone_constraints_method": "basic",
    "seed": 1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,  # on a busy machine, threads mostly wait for each other
    "verbosity": -1,
}

FIRST_FEATURE = 7  # leak large seed snapshots population recording behaviour


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
                values = numpy.array(fields[FIRST_FEATURE:], dtype=numpy.float64)
                if values[points] > 0:  # the others hardly grew: they have no features
                    rows.append(values)
                    leaks.append(fields[0] == "1")
    return names, numpy.array(rows), numpy.array(leaks, dtype=numpy.float64), digest.hexdigest()


def direction(name):
    return 1 if name in MONOTONE else -1 if "-" + name in MONOTONE else 0


def tree_text(node, names):
    """Returns a tree in preorder: a split is NAME<=NUMBER, a leaf a number."""
    if "leaf_value" in node:
        return [f"{node['leaf_value']:.4g}"]
    split = f"{names[node['split_feature']]}<={node['threshold']:.8g}"
    return [split] + tree_text(node["left_child"], names) + tree_text(node["right_child"], names)


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
    parser.add_argument("--trees", type=int, default=250)
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
        for tree in model.dump_model()["tree_info"]:
            out.write(" ".join(tree_text(tree["tree_structure"], names)) + "\n")
    if args.cases:
        write_cases(args.cases, model, names, features)
    print(f"fitted to {len(leaks)} examples in {seconds:.0f} s with {memory} MiB")


if __name__ == "__main__":
    main()
