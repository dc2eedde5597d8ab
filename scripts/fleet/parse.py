"""Parses the text of all questions for each engine. It finds mistakes of syntax, and nothing else.

usage: parse.py HEAPLAPSE
"""
import logging
import subprocess
import sys

import sqlglot
from compare import QUESTIONS

logging.disable(logging.WARNING)  # of statements that sqlglot keeps as text, such as CALL
failed = 0
for engine in ["duckdb", "spark", "clickhouse", "trino", "bigquery"]:
    for question in QUESTIONS:
        command = [sys.argv[1], "fleet", "query", question, "s3://bucket/tables", "--print", engine]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        try:
            statements = sqlglot.parse(text, dialect=engine, error_level=sqlglot.ErrorLevel.RAISE)
        except sqlglot.errors.SqlglotError as e:
            failed += 1
            print(f"{question} for {engine}: {e}")
            continue
        if statements[-1] is None or statements[-1].key not in ("select", "union"):
            failed += 1
            print(f"{question} for {engine}: the last statement is no query")
print(f"parsed {len(QUESTIONS)} questions for 5 engines: {failed} mistakes")
sys.exit(1 if failed else 0)
