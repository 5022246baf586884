#!/usr/bin/env python3
"""Every test that docs/field-cases.md names is there."""
import os
import re
import sys
from pathlib import Path

ROOT = Path(os.environ.get("MICA_SOURCE_DIR", Path(__file__).resolve().parents[2]))
document = (ROOT / "docs/field-cases.md").read_text(encoding="utf-8")
rows = [row for row in re.findall(r"^\| (.+) \|$", document, re.MULTILINE) if not row.startswith("situation")]
failed = len(rows) < 50
for row in rows:
    named = re.search(r"`([a-z_/]+\.c)`: ([a-z0-9_]+)$", row)
    source = ROOT / "tests" / named[1] if named else None
    if source is None or not source.exists() or not re.search(rf"\b{named[2]}\b", source.read_text(encoding="utf-8")):
        print(f"no such test: {row}")
        failed = True
print(f"{len(rows)} situations")
sys.exit(1 if failed else 0)
