"""Compares the answers about simulated hosts with the truth.

usage: hosts.py DIR HOSTS LABELLED      DIR is that of hosts.sh

A function leaks if it does on 34 % of the hosts or more. One that leaks on fewer, or less than can be seen, is neither
right nor wrong.
"""
import json
import pathlib
import sys

folder, hosts, labelled = pathlib.Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
truth = json.loads((folder / "hosts/truth.json").read_text())
SHARE = 0.34
# What is required. The judgement of a host has errors; these are far below what is measured (docs/fleet.md).
PRECISION, RECALL = 0.85, 0.7
failed = []


def rows(question):
    return json.loads((folder / f"answers/{question}.json").read_text())["rows"]


def check(question, found, true, either):
    hit, false = found & true, found - true - either
    precision = len(hit) / max(1, len(hit) + len(false))
    recall = len(hit) / max(1, len(true))
    print(f"{question:16} planted {len(true)}, found {len(hit)}, false {len(false)}: precision {precision:.3f}, recall {recall:.3f}")
    if not true or precision < PRECISION or recall < RECALL:
        failed.append(question)


leak = {f for f, t in truth.items() if t["leaks"] >= SHARE * hosts}
some = {f for f, t in truth.items() if t["leaks"] + t["excluded"] > 0}
check("leaks", {r["function_name"] for r in rows("leaks")}, leak, some)
only = {f for f, t in truth.items() if t["labelled"] >= SHARE * labelled and t["leaks"] == t["labelled"] and t["excluded"] == 0}
found = {r["function_name"] for r in rows("only-with") if (r["label_name"], r["label_value"]) == ("canary", "yes")}
check("only-with", found, only, some)
new = {r["function_name"] for r in rows("new-known-fixed") if r["state"] == "new"}
check("new-known-fixed", new, leak, some)

coverage = rows("coverage")
facts = {"hosts_tonight": hosts, "hosts_missing": 0, "runs_tonight": hosts, "builds": 1, "formats": 1, "periods": 1, "models": 1}
for name, want in facts.items():
    if [int(r[name]) for r in coverage] != [want]:
        failed.append("coverage")
        print(f"coverage: {name} is {[r[name] for r in coverage]}, want {want}")
for path in sorted((folder / "answers").glob("*.json")):
    print(f"{path.stem:23} {len(json.loads(path.read_text())['rows']):5} rows")
sys.exit(1 if failed else 0)
