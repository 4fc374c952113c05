#!/usr/bin/env bash
# Captures the seed corpus anew: the programs of seed_programs.py and the demo's model, on both targets.
# Review `git diff corpus/seeds` afterwards: it shows each kernel whose code changed.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in llvm opencl; do
    "$bin/replay" capture --corpus "$work/corpus" -- "$bin/python" ci/seed_programs.py "$target"
    "$bin/replay" capture --corpus "$work/corpus" -- \
        "$bin/python" -m compiler.onnx .models/speechmos/dnsmos_models/model_v8.onnx --target "$target"
done
"$bin/replay" corpus export --corpus "$work/corpus" --text --share corpus/seeds/seeds.txt
"$bin/replay" corpus stat --corpus corpus/seeds/seeds.txt
