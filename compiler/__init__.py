"""A tensor compiler: lazy tensors to kernels to LLVM IR or OpenCL C to running code."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from compiler.backends import open_device
    from compiler.compile import compile_kernel
    from compiler.compiled import Compiled
    from compiler.errors import (
        CompilerError,
        DeviceError,
        DTypeError,
        IllegalOptError,
        JitError,
        OptionError,
        ParseError,
    )
    from compiler.frontend import (
        Tensor,
        Variable,
        array_api,
        compiling,
        jit,
        nn,
        optim,
        same_opts,
    )
    from compiler.ir import Node, parse_node, print_node
    from compiler.observe import (
        CompileEvent,
        CompileFailed,
        CompileFinished,
        CompileReused,
        CompileStarted,
        observing,
        subscribe,
        unsubscribe,
    )
    from compiler.options import (
        CompileOptions,
        Cost,
        SearchOptions,
        Transcendental,
        flatten,
        unflatten,
    )
    from compiler.target import Target, find_target

# A name is imported when it is first asked for: parts of the compiler start without the whole.
_HOMES = {
    "CompileEvent": "observe",
    "CompileFailed": "observe",
    "CompileFinished": "observe",
    "CompileOptions": "options",
    "CompileReused": "observe",
    "CompileStarted": "observe",
    "Compiled": "compiled",
    "Cost": "options",
    "CompilerError": "errors",
    "DTypeError": "errors",
    "DeviceError": "errors",
    "IllegalOptError": "errors",
    "JitError": "errors",
    "Node": "ir",
    "OptionError": "errors",
    "ParseError": "errors",
    "SearchOptions": "options",
    "Target": "target",
    "Transcendental": "options",
    "Tensor": "frontend",
    "Variable": "frontend",
    "array_api": "frontend",
    "compile_kernel": "compile",
    "compiling": "frontend",
    "find_target": "target",
    "flatten": "options",
    "jit": "frontend",
    "nn": "frontend",
    "observing": "observe",
    "open_device": "backends",
    "optim": "frontend",
    "parse_node": "ir",
    "print_node": "ir",
    "same_opts": "frontend",
    "subscribe": "observe",
    "unflatten": "options",
    "unsubscribe": "observe",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'compiler' has no attribute {name!r}")
    return getattr(import_module(f"compiler.{_HOMES[name]}"), name)


__all__ = [
    "CompileEvent", "CompileFailed", "CompileFinished", "CompileOptions", "CompileReused",
    "CompileStarted", "Compiled", "CompilerError", "Cost", "DTypeError", "DeviceError",
    "IllegalOptError", "JitError", "Node", "OptionError", "ParseError", "SearchOptions", "Target",
    "Tensor", "Transcendental", "Variable", "array_api", "compile_kernel", "compiling",
    "find_target", "flatten", "jit", "nn", "observing", "open_device", "optim", "parse_node",
    "print_node", "same_opts", "subscribe", "unflatten", "unsubscribe",
]  # fmt: skip
