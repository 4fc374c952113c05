"""Layers: objects that hold tensors and are called with tensors.

A model is any object that holds layers, also in lists and dicts; `parameters` and `tensors` find
what is in it. To add a layer: a class in the file of its topic, and its name here.
"""

from compiler.frontend.nn.contents import load, parameters, save, tensors
from compiler.frontend.nn.conv import Conv
from compiler.frontend.nn.dense import Embedding, Linear
from compiler.frontend.nn.dropout import Dropout
from compiler.frontend.nn.initial import Initial
from compiler.frontend.nn.losses import accuracy, cross_entropy, mean_squared_error
from compiler.frontend.nn.norm import BatchNorm, GroupNorm, LayerNorm
from compiler.frontend.nn.recurrent import GRUCell, LSTMCell

__all__ = [
    "BatchNorm", "Conv", "Dropout", "Embedding", "GRUCell", "GroupNorm", "Initial", "LSTMCell",
    "LayerNorm", "Linear", "accuracy", "cross_entropy", "load", "mean_squared_error", "parameters",
    "save", "tensors",
]  # fmt: skip
