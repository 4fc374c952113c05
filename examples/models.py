"""Capture the kernels of published ONNX models, one corpus for all.

python -m examples.models --list                    what there is in .models (fetched by make setup)
python -m examples.models silero --corpus kernels   run what matches, capture its kernels
python -m examples.models --compare                 all of them, held against ONNX's evaluator

Each line is a command that can be run by hand: the model, with sizes for the dimensions it leaves
open and numbers for the inputs that are settings.
"""

import argparse
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parents[1]
MODELS = HERE / ".models"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a model needs to run: sizes of open dimensions, numbers for settings."""

    path: str  # below .models
    dims: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)

    def arguments(self, target: str) -> list[str]:
        """The command line of `python -m compiler.onnx`."""
        found = [str(MODELS / self.path), "--target", target]
        for name, size in self.dims.items():
            found += ["--dim", f"{name}={size}"]
        for name, number in self.values.items():
            found += ["--value", f"{name}={number}"]
        return found


_SILERO = {"batch": 1, "sequence": 576}
_AEC = {"batch_size": 1, "frames": 30}
_OCR = "p2o.DynamicDimension."
RATE = {"sr": 16000}

RECIPES = (
    Recipe("speechmos/dnsmos_models/model_v8.onnx", {"N": 1}),
    Recipe("speechmos/dnsmos_models/sig.onnx", {"N": 1}),
    Recipe("speechmos/dnsmos_models/bak_ovr.onnx", {"N": 1}),
    Recipe("speechmos/dnsmos_models/sig_bak_ovr.onnx", {"N": 1}),
    Recipe("speechmos/pdnsmos_models/sig_bak_ovr.onnx", {"N": 1}),
    Recipe("speechmos/aecmos_models/Run_1663829550_Stage_0.onnx", _AEC),
    Recipe("speechmos/aecmos_models/Run_1663915512_Stage_0.onnx", _AEC),
    Recipe("speechmos/aecmos_models/Run_1668423760_Stage_0.onnx", _AEC),
    Recipe("speechmos/plcmos_models/plcmos_v2.onnx", {"batch_size": 1, "frames": 40}),
    Recipe("silero_vad/data/silero_vad.onnx", {"input_0": 1, "input_1": 576, "state_1": 1}, RATE),
    Recipe("silero_vad/data/silero_vad_16k_op15.onnx", _SILERO, RATE),
    Recipe("silero_vad/data/silero_vad_16k_sequence.onnx", {"sequence_length": 3}),
    Recipe("silero_vad/data/silero_vad_half.onnx", _SILERO),
    Recipe("silero_vad/data/silero_vad_op18_ifless.onnx", _SILERO, RATE),
    Recipe("silero_vad/data/silero_vad_openvino_16k.onnx"),
    Recipe(
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        {f"{_OCR}0": 1, f"{_OCR}1": 64, f"{_OCR}2": 64},
    ),
    Recipe(
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        {f"{_OCR}0": 1, "?": 48, f"{_OCR}1": 64},
    ),
    Recipe("rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", {"x_0": 1, "?": 48}),
)


def matching(words: Sequence[str]) -> Iterator[Recipe]:
    """The recipes whose path holds one of the words, or all of them; those that are there."""
    for recipe in RECIPES:
        is_meant = not words or any(word in recipe.path for word in words)
        if is_meant and (MODELS / recipe.path).is_file():
            yield recipe


def main(arguments: Sequence[str]) -> int:
    """0 if every model ran (and was right), 1 if one did not, 3 if there is none."""
    parser = argparse.ArgumentParser(description="Capture the kernels of published ONNX models.")
    parser.add_argument("words", nargs="*", help="parts of paths; none: all models")
    parser.add_argument("--corpus", type=Path, default=HERE / "out" / "models")
    parser.add_argument("--target", default="llvm", choices=("llvm", "opencl", "reference"))
    parser.add_argument("--compare", action="store_true", help="with ONNX's reference evaluator")
    parser.add_argument("--list", action="store_true", help="print the commands alone")
    given = parser.parse_args(arguments)
    recipes = list(matching(given.words))
    if not recipes:
        print(f"no such model in {MODELS}: `make setup` fetches them")
        return 3
    failed = 0
    for recipe in recipes:
        command = ["-m", "compiler.onnx", *recipe.arguments(given.target)]
        command += ["--compare"] if given.compare else []
        print(shlex.join(["python", *command]), flush=True)
        if not given.list:
            capture = [sys.executable, "-m", "replay.cli", "capture", "--corpus", str(given.corpus)]
            whole = [*capture, "--", sys.executable, *command]
            failed += subprocess.run(whole, check=False).returncode != 0
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
