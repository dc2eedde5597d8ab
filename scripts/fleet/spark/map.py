"""Exports many recordings with Spark: one task per directory or bundle. killed.sh tests it.

usage: spark-submit map.py HEAPLAPSE LIST OUT [PARTITIONS]

LIST is a file with a line per recording: PATH, service, host, and any labels (KEY=VALUE), separated by tabs. PATH and
OUT are on a file system that all executors see. A task that fails, or that runs twice, writes the same files again. The driver
prints the recordings that could not be exported, and exits with status 1 if there are any.
"""
import subprocess
import sys

from pyspark.sql import SparkSession

heaplapse, listing, out = sys.argv[1:4]
spark = SparkSession.builder.getOrCreate()
with open(listing, encoding="utf-8") as f:
    recordings = [(*line.rstrip("\n").split("\t", 3), "")[:4] for line in f if line.strip()]
partitions = int(sys.argv[4]) if len(sys.argv) > 4 else max(1, len(recordings) // 4)


def export(frames):
    import pandas
    for frame in frames:
        done = []
        for path, service, host, labels in zip(frame["path"], frame["service"], frame["host"], frame["labels"]):
            command = [heaplapse, "fleet", "export", "-q", path, "-o", out, "--service", service, "--host", host]
            for label in labels.split("\t") if labels else []:
                command += ["--label", label]
            result = subprocess.run(command, capture_output=True, text=True)
            done.append((path, result.returncode, result.stdout.strip() or result.stderr.strip()))
        yield pandas.DataFrame(done, columns=["path", "status", "message"])


frame = spark.createDataFrame(recordings, ["path", "service", "host", "labels"]).repartition(partitions)
results = frame.mapInPandas(export, "path string, status int, message string").collect()
failed = [r for r in results if r.status != 0]
for r in failed:
    print(f"{r.path}: {r.message}", file=sys.stderr)
print(f"{len(results) - len(failed)} of {len(results)} recordings exported")
spark.stop()
sys.exit(1 if failed else 0)
