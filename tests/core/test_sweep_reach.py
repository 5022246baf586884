#!/usr/bin/env python3
"""Every function that the shared library exports stands in one of the tables of test_allocation_sweep.c."""
import os
import re
import subprocess
import sys

library = os.path.join(os.environ["MICA_BINARY_DIR"], "libmica.so")
source = os.path.join(os.environ["MICA_SOURCE_DIR"], "tests", "core", "test_allocation_sweep.c")
if not os.path.exists(library):
    print(f"{library} is not built")
    sys.exit(77)

symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
exported = {fields[2] for fields in map(str.split, symbols.splitlines())
            if len(fields) == 3 and fields[1] == "T" and fields[2].startswith("mica_")}
with open(source, encoding="utf-8") as file:
    tables = [set(re.findall(r'^\s*\{"(mica_\w+)",', table, re.MULTILINE))
              for table in file.read().split("needs_nothing[] = {")]

missing = sorted(exported - tables[0] - tables[1])
unknown = sorted((tables[0] | tables[1]) - exported)
both = sorted(tables[0] & tables[1])
for names, fault in ((missing, "is exported and not swept"), (unknown, "is swept and not exported"),
                     (both, "stands in both tables")):
    for name in names:
        print(f"{name} {fault}")
if len(exported) < 100:
    print(f"only {len(exported)} functions were found in {library}")
    sys.exit(1)
print(f"{len(exported)} exported functions, {len(exported) - len(missing)} swept")
sys.exit(1 if missing or unknown or both else 0)
