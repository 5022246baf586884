#!/usr/bin/env bash
# The demo: an orrery of the solar system with a belt of 100,000 asteroids, a thousand days long, on all cores. The
# picture is written to build/demo/orrery.png. Further options go to `mica run`.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build/demo
cd build/demo
../release/mica run ../../examples/orrery/orrery.json --plugin ../release/plugins/orrery.so --ticks 1000 --threads all --stats "$@"
echo
echo "The picture: build/demo/orrery.png"
echo "Change the scene (examples/orrery/orrery.json) or the plugin (examples/orrery/orrery.c) and run it again."
