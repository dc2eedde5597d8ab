"""Tests of the plan; nothing is recorded. The plans are those of short recordings, which are drawn quickly."""
import collections
import json
import unittest

import load
import plan

SCALE = 0.2
DRAWN = plan.draw(5, SCALE)


class Plan(unittest.TestCase):
    def test_follows_from_the_seed(self):
        self.assertEqual(json.dumps(plan.draw(5, SCALE)), json.dumps(DRAWN))
        self.assertNotEqual(json.dumps(plan.draw(6, SCALE)), json.dumps(DRAWN))

    def test_requests_follow_from_the_entry(self):
        for e in DRAWN[::10]:
            again = json.loads(json.dumps(e))
            self.assertEqual(list(load.requests(e)), list(load.requests(again)), e["name"])

    def test_has_the_promised_mix(self):
        count = lambda key: collections.Counter(e[key] for e in DRAWN)
        self.assertGreaterEqual(len(DRAWN), 120)
        self.assertGreaterEqual(len(count("kind")), 12)
        self.assertEqual(set(count("engine")), {"builtin", "attach", "jemalloc", "tcmalloc"})
        self.assertGreater(min(count("engine").values()), 8)
        self.assertEqual(set(count("policy")), set(load.POLICIES))
        self.assertGreater(min(count("policy").values()), 5)
        self.assertAlmostEqual(count("truth")["leak"] / len(DRAWN), 0.5, delta=0.03)
        self.assertAlmostEqual(count("busy")[True] / len(DRAWN), 0.5, delta=0.03)
        for kind in set(count("kind")) - {"nginx"}:
            truths = collections.Counter(e["truth"] for e in DRAWN if e["kind"] == kind)
            self.assertEqual(truths["leak"], truths["control"], kind)
        for e in DRAWN:
            self.assertTrue(60 * SCALE <= e["seconds"] <= 150 * SCALE + 1, e)
            self.assertIn(e["policy"], plan.LEAKS if e["truth"] == "leak" else plan.CONTROLS)

    def test_every_kind_of_memory_has_lines(self):
        for kind, (_, variants, _, source) in plan.KINDS.items():
            for variant in variants:
                lines = plan.lines_of({"variant": variant, "engine": "builtin"}, source)
                self.assertEqual(bool(lines), bool(source) and variant != "objects", (kind, variant))

    def test_tables_are_full_when_they_have_all_entries(self):
        """Counts the entries of caches, which full_at derives from all requests."""
        caches = [e for seed in range(3) for e in plan.draw(seed, SCALE) if e["policy"] == "cache"]
        for e in caches:
            step = e["workers"] if e.get("one_worker") else 1
            made, reached = 0, None
            for second, found in enumerate(load.requests(e)):
                if second >= load.begin(e):
                    made += sum(letter == "k" for letter, _, _ in found)
                if reached is None and made >= 0.95 * e["cap"] / step:
                    reached = second - load.begin(e)
            if reached is None or reached > 2 / 3 * load.span(e):
                self.assertFalse(e["full"], e)
            else:
                self.assertGreaterEqual(e["full_at"], reached, e)
        self.assertGreater(sum(e["full"] for e in caches), 3)


if __name__ == "__main__":
    unittest.main()
