#!/usr/bin/env bash
# Captures the seed corpora anew: the programs of seed_programs.py and the demo's model, on both targets, and a choice of the
# kernels of all models in .models.
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
for target in llvm opencl; do
    "$bin/python" -m examples.models --corpus "$work/models" --target "$target"
done
"$bin/python" ci/model_seeds.py "$work/models" "$work/chosen" 900000
"$bin/replay" corpus export --corpus "$work/chosen" --text --share corpus/seeds/models.txt
for name in seeds models; do
    "$bin/replay" corpus stat --corpus "corpus/seeds/$name.txt"
done
