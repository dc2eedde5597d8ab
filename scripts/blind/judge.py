#!/usr/bin/env python3
"""Judges the recordings of a plan with `heaplapse growth`, and prints the results as Markdown.

    judge.py HEAPLAPSE PLAN OUT

OUT/answers has what heaplapse said of each recording. A recording is right if a leak has the verdict `leak`, and a
control the verdict `no-leak`; `undecided` is neither. A leak is named if a line where it allocates is among the sites
that are called leaks; some leaks have no line of their own (see plan.py).
"""
import collections
import json
import pathlib
import subprocess
import sys


def answer(heaplapse, recording, kept):
    """Returns what `growth` says of a recording, or the error that it ends with."""
    done = subprocess.run([heaplapse, "growth", "-q", "--format", "json", recording], capture_output=True, text=True)
    kept.write_text(done.stdout or json.dumps({"error": done.stderr.strip()}))
    return json.loads(kept.read_text())


def called_leaks(got):
    """Returns where heaplapse sees leaks: a name, and the lines of files, for each site and cause."""
    found = []
    for site in got.get("causes", []) + got.get("sites", []):
        if site["label"].startswith("leak"):
            places = [p for p in (site.get("blame", site), site.get("blame", {}).get("own"), site.get("blame", {}).get("script")) if p]
            lines = {f"{pathlib.Path(p['file']).name}:{p['line']}" for p in places if p.get("line")}
            found.append((places[0]["function"] or "(small sites)", lines))
    return found


def judge(e, got):
    """Returns what became of an entry."""
    leaks = called_leaks(got)
    true = [leak for leak in leaks if leak[1] & set(e.get("lines", []))]
    verdict = got.get("verdict", "error")
    return {"entry": e, "verdict": verdict, "chance": got.get("leak_chance"), "why": got.get("why", got.get("error", "")), "leaks": leaks,
            "right": verdict == {"leak": "leak", "control": "no-leak"}[e["truth"]], "named": bool(true),
            "others": [leak for leak in leaks if e.get("lines") and leak not in true and leak[1]]}


def table(results, title, group):
    rows = collections.defaultdict(list)
    for r in results:
        rows[group(r["entry"])].append(r)
    lines = [f"| {title} | recordings | right | leaks called | own line named | controls accused | undecided |", "|---|---|---|---|---|---|---|"]
    for name, found in [*rows.items(), ("**all**", results)]:
        leaks = [r for r in found if r["entry"]["truth"] == "leak"]
        lined = [r for r in leaks if r["entry"]["lines"]]
        controls = [r for r in found if r["entry"]["truth"] == "control"]
        lines.append(f"| {name} | {len(found)} | {sum(r['right'] for r in found)} | {sum(r['right'] for r in leaks)} of {len(leaks)} | "
                     f"{sum(r['named'] for r in lined)} of {len(lined)} | {sum(r['verdict'] == 'leak' for r in controls)} of {len(controls)} | "
                     f"{sum(r['verdict'] == 'undecided' for r in found)} |")
    return "\n".join(lines)


def summary(results):
    """Says how far the goals are reached."""
    lined = [r for r in results if r["entry"].get("lines")]
    controls = [r for r in results if r["entry"]["truth"] == "control"]
    full = [r for r in controls if r["entry"]["full"]]
    right, named = sum(r["right"] for r in results), sum(r["named"] for r in lined)
    accused = sum(r["verdict"] == "leak" for r in full)
    settled = [r for r in results if r["entry"]["truth"] == "leak" or r["entry"]["full"]]
    return "\n".join([
        f"- right: {right} of {len(results)} ({100 * right / max(1, len(results)):.1f} %; goal: 95 %); without controls whose tables "
        f"are not full in time, {sum(r['right'] for r in settled)} of {len(settled)}",
        f"- controls with full tables that are called a leak: {accused} of {len(full)} (goal: 0); the others: "
        f"{sum(r['verdict'] == 'leak' for r in controls) - accused} of {len(controls) - len(full)}",
        f"- own line named: {named} of {len(lined)} ({100 * named / max(1, len(lined)):.1f} %; goal: 90 %); other lines called leaks "
        f"beside a leak: {sum(len(r['others']) for r in results)}",
    ])


def described(r):
    """Returns a row for a recording that is wrong, or whose line is not named."""
    e = r["entry"]
    said = "; ".join(f"{name} {', '.join(sorted(lines))}".strip() for name, lines in r["leaks"][:3])
    chance = "" if r["chance"] is None else f" {100 * r['chance']:.0f} %"
    full = "" if e["truth"] == "leak" else f", full at {e['full_at']} s"
    wanted = ", ".join(e.get("lines", []))
    return (f"| {e['name']} | {e['truth']}: {e['policy']}, {e['variant']}, load {e['curve']['shape']}{full} | {e['engine']}, {e['seconds']} s"
            f"{', busy' if e['busy'] else ''} | {r['verdict']}{chance} | {said} | {wanted} |")


def main():
    heaplapse, plan, out = (pathlib.Path(p) for p in sys.argv[1:4])
    recorded = {r["name"]: r for r in map(json.loads, (out / "recorded.jsonl").read_text().splitlines())}
    (out / "answers").mkdir(exist_ok=True)
    results = []
    for e in map(json.loads, plan.read_text().splitlines()):
        got = {"error": "not recorded"}
        if e["name"] in recorded:
            got = answer(heaplapse, out / e["name"], out / "answers" / f"{e['name']}.json")
        results.append(judge(e, got))
    missing = [r for r in results if r["verdict"] == "error"]
    print(summary(results), "", sep="\n")
    print(table(results, "kind", lambda e: e["kind"]), "", sep="\n")
    print(table(results, "engine", lambda e: e["engine"]), "", sep="\n")
    print(table(results, "behaviour", lambda e: f"{e['truth']}: {e['policy']}"), "", sep="\n")
    print(table(results, "machine", lambda e: "busy" if e["busy"] else "not busy"), "", sep="\n")
    print("| wrong, or its line not named | truth | recording | verdict | called leaks | lines that leak |\n|---|---|---|---|---|---|")
    for r in results:
        if not r["right"] or r["entry"].get("lines") and not r["named"]:
            print(described(r))
    for r in missing:
        print(f"\n{r['entry']['name']} has no answer: {r['why']}")


if __name__ == "__main__":
    main()
