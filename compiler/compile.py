"""The whole compiler on one screen: an AST in, a program that a device can build out."""

import re
from pathlib import Path

from compiler.backends import Backend, Launch, Program, arguments_of, find_backend, launch_of
from compiler.compiled import Compiled
from compiler.errors import (
    CompilerError,
    DTypeError,
    IllegalOptError,
    IRError,
    NodeLimitError,
    OptionError,
    RewriteError,
)
from compiler.estimates import estimates
from compiler.ir import CORES, FLOAT64, Node, Spec, find_core, toposort, verify
from compiler.kernel import (
    Kernel,
    Lowered,
    Opt,
    Searched,
    apply_all,
    beam_search,
    cycles,
    format_opt,
    from_ast,
    kernel_name,
    largest_lanes,
    scheduled,
    to_nodes,
)
from compiler.observe import CompileFailed, CompileFinished, CompileStarted, notify
from compiler.options import ANY_CORE, DEFAULT, CompileOptions
from compiler.passes import run_pipeline
from compiler.rules import Application, Builder
from compiler.target import Target
from compiler.tuning import ByModel, search_by_time


def compile_kernel(
    ast: Node,
    target: Target,
    options: CompileOptions = DEFAULT,
    opts: tuple[Opt, ...] | None = None,
    *,
    trace: list[Application] | None = None,
    rewrite_limit: int | None = None,
    search_cache: Path | None = None,
) -> Compiled:
    """Compile the kernel `ast`, with these opts, or with chosen ones where `opts` is None.

    A search by timings first looks in the directory `search_cache`, and leaves there what it finds.

    `trace` collects every application of a rule, as many as `Compiled.rewrites` counts. With a
    `rewrite_limit` no rule is applied after that many: what comes out is still right, but no
    answer to record, and so no observer sees it. Raises a CompilerError that names what is wrong:
    the AST, an opt, an option or a pass.
    """
    _check_types(ast, target, options, opts)
    builder = Builder(rewrite_limit, trace)
    if rewrite_limit is not None:
        return _compile(ast, target, options, opts, builder, search_cache)
    started = CompileStarted(ast, target, options, opts)
    notify(started)
    try:
        compiled = _compile(ast, target, options, opts, builder, search_cache)
    except CompilerError as error:
        notify(CompileFailed(started, str(error)))
        raise
    notify(CompileFinished(started, compiled))
    return compiled


def _check_types(ast: object, target: object, options: object, opts: object) -> None:
    """Refuse what is no question at all, before it is one for an observer."""
    if not isinstance(ast, Node):
        raise IRError(f"ast is {ast!r:.60}: use a Node, parse_node makes one of its text")
    if not isinstance(target, Target):
        raise OptionError(f"target is {target!r:.60}: use a Target, find_target knows them by name")
    if not isinstance(options, CompileOptions):
        raise OptionError(f"options are {options!r:.60}: use CompileOptions")
    core = options.schedule.core
    if core != ANY_CORE and find_core(core) is None:
        known = " ".join([each.name for each in CORES])
        raise OptionError(f"option schedule.core is {core!r}: use {ANY_CORE} or one of {known}")
    if opts is not None and not isinstance(opts, tuple):
        raise IllegalOptError(f"opts are {opts!r:.60}: use a tuple of opts, or None for a choice")


def _compile(
    ast: Node,
    target: Target,
    options: CompileOptions,
    opts: tuple[Opt, ...] | None,
    builder: Builder,
    search_cache: Path | None = None,
) -> Compiled:
    backend = find_backend(target.backend)
    verify(ast, Spec.KERNEL)
    _check_dtypes(ast, target)
    if backend.takes_ast:
        return _uncompiled(ast, target, options, opts, backend)
    kernel = _scheduled(ast, target, options, opts, search_cache)
    nodes = to_nodes(kernel, builder, target.capabilities)
    try:
        stages = run_pipeline(nodes, target, options, builder)
    except NodeLimitError as error:
        raise RewriteError(f"{error}: {_remedy(error, kernel)}") from error
    program = stages[-1].node
    name, arguments = _function_name(kernel, options), arguments_of(ast)
    source = backend.render(program, name, arguments, target)
    launch = launch_of(program)
    result = Program(name, source, target, arguments, launch, estimates(ast))
    return Compiled(ast, target, options, opts, kernel.applied, result, stages, builder.rewrites)


def _remedy(error: NodeLimitError, kernel: Kernel) -> str:
    """What would make a kernel of too many nodes smaller."""
    opts = largest_lanes(kernel.applied) if error.by_lanes else ()
    if not opts:
        return "split the kernel"
    named = ", ".join(map(format_opt, opts))
    return f"the largest lanes are {named}; use smaller amounts or fewer opts"


def _scheduled(
    ast: Node,
    target: Target,
    options: CompileOptions,
    opts: tuple[Opt, ...] | None,
    search_cache: Path | None,
) -> Kernel:
    """The kernel with these opts, or with chosen ones."""
    kernel = from_ast(ast)
    if opts is None and options.search.beam == 0:
        return scheduled(kernel, target, options)
    if opts is None:
        opts = search_opts(ast, target, options, search_cache).opts
    return apply_all(kernel, opts, target)


def search_opts(
    ast: Node, target: Target, options: CompileOptions, cache: Path | None = None
) -> Searched:
    """The opts of `compile_kernel` where `options.search` asks for a search, and how it went.

    No observer sees what is compiled only to be compared.
    """

    def lower(opts: tuple[Opt, ...]) -> Lowered[Program]:
        compiled = _compile(ast, target, options, opts, Builder())
        program = compiled.program
        text = program.source.replace(program.name, "kernel")
        return Lowered(program, text, cycles(compiled.stages[-1].node, target.capabilities))

    kernel = from_ast(ast)
    if options.search.is_measured:
        return search_by_time(kernel, target, options, lower, cache)
    return beam_search(kernel, target, options, lower, ByModel())


def _uncompiled(
    ast: Node,
    target: Target,
    options: CompileOptions,
    opts: tuple[Opt, ...] | None,
    backend: Backend,
) -> Compiled:
    """The answer of a backend that runs the AST as it is."""
    name, arguments = _function_name(from_ast(ast), options), arguments_of(ast)
    source = backend.render(ast, name, arguments, target)
    result = Program(name, source, target, arguments, Launch(), estimates(ast))
    return Compiled(ast, target, options, opts, (), result, (), 0)


def _check_dtypes(ast: Node, target: Target) -> None:
    if target.capabilities.float64:
        return
    for node in toposort(ast):
        if node.dtype is FLOAT64:
            raise DTypeError(f"{node!r}: target {target.profile} has no float64, use float32")


def _function_name(kernel: Kernel, options: CompileOptions) -> str:
    """The derived name; the user's, where there is one, goes before it, made harmless."""
    derived = kernel_name(kernel)
    if options.name is None:
        return derived
    harmless = re.sub(r"[^A-Za-z0-9]", "_", options.name)[:40]
    return f"{'_' if harmless[:1].isdigit() else ''}{harmless}_{derived}"


__all__ = ["Compiled", "compile_kernel", "search_opts"]
