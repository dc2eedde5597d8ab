#!/usr/bin/env python3
"""Fits a model of diff/trend to examples of leakbench, and writes diff/trend/model.txt or, with --births, births.txt.

A model is a sum of decision trees, fitted by LightGBM. That of births corrects the log-odds of the other one. The
result depends only on the examples, the parameters and the versions in requirements.txt.
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

# The same of the births. Memory that is old makes a leak likelier, and memory that dies when it is old does not.
MONOTONE_BIRTHS = """
    born-quarter born-half born-three-quarters born-least born-second
    settled settled-later settled-early settled-middle
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

# Of the births, where they differ: there are fewer examples, and the trees only correct a model.
PARAMETERS_BIRTHS = {"learning_rate": 0.05, "num_leaves": 15, "min_data_in_leaf": 100, "feature_fraction": 0.5}

LEAF_UNIT = 1e-4  # log-odds
FIRST_FEATURE = 8  # leak large seed snapshots population recording behaviour process
ODDS = "odds"  # the column between the features of series and those of births


class Examples:
    """The series that grew: the names of their features, the features, whether they leak, and a hash of all.

    Examples of births have the log-odds without births as well.
    """

    def __init__(self, paths, births):
        names, rows, leaks, odds, digest = None, [], [], [], hashlib.sha256()
        for path in paths:
            with open(path, encoding="ascii") as lines:
                header = next(lines).split()[FIRST_FEATURE:]
                if names not in (None, header):
                    sys.exit(f"{path}: the features are not those of {paths[0]}")
                names = header
                if births and ODDS not in names:
                    sys.exit(f"{path} has no births: use leakbench -births")
                split = names.index(ODDS) if ODDS in names else len(names)
                points = names.index("points")
                for line in lines:
                    digest.update(line.encode())
                    fields = line.split()
                    values = numpy.array(fields[FIRST_FEATURE:], dtype=numpy.float32)
                    # Series that hardly grew have no features.
                    if values[split + 1:].any() if births else values[points] > 0:
                        rows.append(values[split + 1:] if births else values[:split])
                        leaks.append(fields[0] == "1")
                        odds.append(values[split] if births else 0)
        self.names = names[split + 1:] if births else names[:split]
        self.features, self.leaks = numpy.array(rows), numpy.array(leaks, dtype=numpy.float64)
        self.odds = numpy.array(odds, dtype=numpy.float64) if births else None
        self.digest = digest.hexdigest()


def direction(name, monotone):
    return 1 if name in monotone else -1 if "-" + name in monotone else 0


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
    parser.add_argument("--births", action="store_true", help="fit the model of births, to examples that have them")
    parser.add_argument("--trees", type=int, help="number of trees: 900, or 200 of births")
    parser.add_argument("--made-by", default="", help="the command that wrote the examples, for the first line of the model")
    parser.add_argument("--cases", help="write examples with their log-odds to this file")
    parser.add_argument("-o", "--output", required=True)
    for name, value in PARAMETERS.items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            parser.add_argument("--" + name, type=type(value))
    args = parser.parse_args()

    parameters = PARAMETERS | (PARAMETERS_BIRTHS if args.births else {})
    parameters |= {k: v for k, v in vars(args).items() if k in PARAMETERS and v is not None}
    monotone = MONOTONE_BIRTHS if args.births else MONOTONE
    trees = args.trees or (200 if args.births else 900)
    examples = Examples(args.examples, args.births)
    unknown = {m.lstrip("-") for m in monotone} - set(examples.names)
    if unknown:
        sys.exit(f"unknown features: {' '.join(sorted(unknown))}")
    began = time.monotonic()
    data = lightgbm.Dataset(examples.features, examples.leaks, init_score=examples.odds, feature_name=examples.names)
    constraints = [direction(n, monotone) for n in examples.names]
    model = lightgbm.train(parameters | {"monotone_constraints": constraints}, data, trees)
    seconds = time.monotonic() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

    with open(args.output, "w", encoding="ascii") as out:
        if args.made_by:
            out.write(f"# Examples: {args.made_by}\n")
        leaks = examples.leaks
        out.write(f"# {len(leaks)} series that grew, of which {leaks.sum():.0f} leak; SHA-256 {examples.digest}.\n")
        settings = " ".join(f"{k}={v}" for k, v in parameters.items() if k != "verbosity")
        out.write(f"# LightGBM {lightgbm.__version__}: {trees} trees, {settings}.\n")
        fitted = [t["tree_structure"] for t in model.dump_model()["tree_info"]]
        out.writelines(line + "\n" for line in model_lines(fitted, examples.names))
    if args.cases:
        write_cases(args.cases, model, examples.names, examples.features)
    print(f"fitted to {len(leaks)} examples in {seconds:.0f} s with {memory} MiB")


if __name__ == "__main__":
    main()
