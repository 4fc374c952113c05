#!/usr/bin/env bash
# Make .venv and .models with everything the project needs; quick when nothing changed since the last time. Never prompts.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3}
venv=.venv
stamp=$venv/installed-for        # a checksum of what the installation depended on
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1

say() { echo "setup: $*"; }

make_venv() {
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
        say "$python is older than Python 3.11; name a newer one with PYTHON=..."
        exit 1
    }
    "$python" -m venv --clear "$venv" >/dev/null 2>&1 && return
    # Debian's python3 comes without ensurepip: let a pip from outside fill the environment.
    "$python" -m venv --clear --without-pip "$venv"
    "$python" -m pip --python "$venv/bin/python" install --quiet pip && return
    rm -rf "$venv"
    say "$python has neither ensurepip nor pip; install Debian's python3-venv"
    exit 1
}

wanted=$(cat pyproject.toml ci/setup.sh | cksum)
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || make_venv
    say "installing into $venv"
    # Commands that an old pip installs import `re` first, for over half the time of Python's own start.
    "$venv/bin/python" -m pip install --quiet --upgrade pip || say "pip stays as it is"
    "$venv/bin/python" -m pip install --quiet --editable '.[dev,onnx,cluster,prove]'
    echo "$wanted" >"$stamp"
fi

# The real models of the demo, the examples and the ONNX tests; without them all say so and go on.
fetch_models() {  # directory, package
    [ -d ".models/$1" ] && return
    say "fetching the models of $2 into .models"
    "$venv/bin/python" -m pip install --quiet --no-deps --target .models "$2" ||
        say "no models: $2 cannot be installed"
}
fetch_models speechmos speechmos==0.0.1.1
fetch_models silero_vad silero-vad==6.2.3
fetch_models rapidocr_onnxruntime rapidocr-onnxruntime==1.4.4

device=$venv/opencl-device       # names the OpenCL device that was seen to work
[ -e "$device" ] || "$venv/bin/python" ci/opencl.py "$device"

"$venv/bin/python" ci/chromium.py
