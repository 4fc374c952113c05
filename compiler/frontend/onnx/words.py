"""Attributes that are words: those that operators know, of all opsets. Source: ONNX's Operators.md.

A word that no version has would otherwise mean the default, silently.
"""

from collections.abc import Mapping

_AUTO_PAD = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_WINDOWED = (
    "AveragePool", "Conv", "ConvInteger", "ConvTranspose", "LpPool", "MaxPool", "QLinearConv",
)  # fmt: skip
_COORDINATES = (
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
    "tf_crop_and_resize", "tf_half_pixel_for_nn",
)  # fmt: skip
_ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_COMBINED = ("none", "add", "mul", "max", "min")
_AVERAGED = ("none", "mean", "sum")

WORDS: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{(op, "auto_pad"): _AUTO_PAD for op in _WINDOWED},
    **{(op, "direction"): ("forward", "reverse", "bidirectional") for op in ("GRU", "LSTM", "RNN")},
    **{(op, "mode"): ("DCR", "CRD") for op in ("DepthToSpace", "SpaceToDepth")},
    **{(op, "reduction"): _COMBINED for op in ("ScatterElements", "ScatterND")},
    ("BitShift", "direction"): ("LEFT", "RIGHT"),
    ("Gelu", "approximate"): ("none", "tanh"),
    ("GridSample", "mode"): ("linear", "nearest", "cubic", "bilinear", "bicubic"),
    ("GridSample", "padding_mode"): ("zeros", "border", "reflection"),
    ("NegativeLogLikelihoodLoss", "reduction"): _AVERAGED,
    ("Pad", "mode"): ("constant", "edge", "reflect", "wrap"),
    ("Resize", "coordinate_transformation_mode"): _COORDINATES,
    ("Resize", "keep_aspect_ratio_policy"): ("stretch", "not_larger", "not_smaller"),
    ("Resize", "mode"): ("nearest", "linear", "cubic"),
    ("Resize", "nearest_mode"): _ROUNDINGS,
    ("RoiAlign", "coordinate_transformation_mode"): ("half_pixel", "output_half_pixel"),
    ("RoiAlign", "mode"): ("avg", "max"),
    ("SoftmaxCrossEntropyLoss", "reduction"): _AVERAGED,
    ("TensorScatter", "mode"): ("linear", "circular"),
    ("Upsample", "mode"): ("nearest", "linear", "bilinear"),
}
