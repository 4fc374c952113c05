"""The sections of an explanation, in order. To add one: a function, called where it belongs."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from compiler.backends import Program, open_device
from compiler.compile import compile_kernel, search_opts
from compiler.compiled import Compiled
from compiler.errors import CompilerError, DeviceError
from compiler.explain.question import Question
from compiler.ir import print_node
from compiler.kernel import (
    Access,
    Kernel,
    Opt,
    Searched,
    accesses,
    apply_all,
    buffers,
    coloured_shape,
    core_requests,
    decisions,
    format_opt,
    format_opts,
    from_ast,
    role_of,
)
from compiler.options import DEFAULT, flatten
from compiler.rules import Application


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of an explanation."""

    title: str
    lines: tuple[str, ...]

    def text(self) -> str:
        """Title and lines, as a terminal shows them."""
        return "\n".join([f"== {self.title}", *self.lines])


@dataclass(frozen=True, slots=True)
class Explained:
    """All that can be said of a question; `error` is why it ends before the source."""

    sections: tuple[Section, ...]
    error: str | None = None


def explain(question: Question) -> Explained:
    """Compile what is asked, as far as that goes, and describe every step."""
    sections: list[Section] = []
    try:
        for section in _sections(question):
            sections.append(section)
    except CompilerError as error:
        return Explained(tuple(sections), str(error))
    return Explained(tuple(sections))


def _sections(question: Question) -> Iterator[Section]:
    """The sections one by one, so that those before an error are there."""
    yield _asked(question)
    yield Section("ast", _lines(print_node(question.ast)))
    kernel = from_ast(question.ast)
    yield _buffers(kernel)
    yield _loops("loops before opts", kernel)
    opts = question.opts
    if opts is not None:
        yield _opts(kernel, question, opts)
    else:
        yield _cores(kernel, question)
        yield _choices(kernel, question)
        if question.options.search.beam > 0:
            searched = search_opts(question.ast, question.target, question.options)
            yield _search(searched, question)
            opts = searched.opts
    trace: list[Application] = []
    compiled = compile_kernel(
        question.ast,
        question.target,
        question.options,
        opts,
        trace=trace,
        rewrite_limit=question.rewrite_limit,
    )
    yield _loops("loops", apply_all(kernel, compiled.applied, question.target))
    yield from _stages(compiled)
    yield _rules(trace)
    if question.traces:
        yield _trace(trace)
    yield _launch(compiled)
    yield Section("source", _lines(compiled.program.source))
    yield Section("asm", _lines(_assembly(compiled.program)))


def _asked(question: Question) -> Section:
    default = flatten(DEFAULT)
    others = [
        f"{name}={value!r}"
        for name, value in flatten(question.options).items()
        if value != default[name]
    ]
    opts = question.opts
    lines = [
        f"target   {question.target.backend}/{question.target.profile}",
        f"options  {', '.join(others) or 'default'}",
        f"opts     {'free' if opts is None else format_opts(opts) or 'none'}",
    ]
    if question.rewrite_limit is not None:
        lines.append(f"limit    {question.rewrite_limit} applications of rules")
    return Section("question", tuple(lines))


def _buffers(kernel: Kernel) -> Section:
    """Each buffer, and by how many elements each of its accesses moves with each axis."""
    lines: list[str] = []
    for buffer in buffers(kernel):
        slot, *sizes = buffer.attr
        lines.append(f"data{slot}  {buffer.dtype} of {' x '.join(map(str, sizes))}")
        lines += [_access(each) for each in accesses(kernel) if buffer in each.node.src]
    return Section("buffers", tuple(lines))


def _access(access: Access) -> str:
    steps = access.strides.items()
    moves = " ".join([f"{axis}:{'?' if n is None else n}" for axis, n in steps if n != 0])
    masked = f"  masked by {' '.join(access.masked)}" if access.masked else ""
    return f"  {access.node.op.name:<6} {moves or 'one element'}{masked}"


def _cores(kernel: Kernel, question: Question) -> Section:
    """Each tensor core of the target, as the heuristics would use it, or why they do not."""
    schedule = question.options.schedule
    lines = [
        f"{core.name:<24} {found if isinstance(found, str) else format_opt(found)}"
        for core, found in core_requests(kernel, question.target, schedule)
    ]
    return Section("tensor cores", tuple(lines) or ("the target has none",))


def _loops(title: str, kernel: Kernel) -> Section:
    """The loops, outermost first, then what has been padded and staged."""
    lines = [coloured_shape(kernel)]
    lines += [f"{axis}  ({role_of(kernel, axis).value})" for axis in kernel.axes]
    lines += [f"padded {pad}" for pad in kernel.pads]
    lines += [f"staged data{slot}" for slot in kernel.staged]
    lines += [f"kept terms of {axis}" for axis in kernel.kept]
    return Section(title, tuple(lines))


def _choices(kernel: Kernel, question: Question) -> Section:
    """What each heuristic chose; one that is not named was not asked any more."""
    lines = [
        f"{decision.heuristic:<14} {format_opts(decision.opts) or 'nothing'}"
        for decision in decisions(kernel, question.target, question.options)
    ]
    return Section("heuristics", tuple(lines) or ("off",))


def _search(searched: Searched, question: Question) -> Section:
    """The schedules that were left at the end, with their costs, and what became of the others."""
    unit = "s" if question.options.search.is_measured else "cycles"
    lines = [
        f"{searched.rounds} rounds, {searched.lowered} schedules lowered, {searched.judged} judged"
    ]
    dropped = [f"{count} dropped: {reason}" for reason, count in searched.dropped]
    lines += [f"{searched.duplicates} duplicates", *dropped]
    for finalist in searched.finalists:
        mark = "*" if finalist.opts == searched.opts else " "
        own = "  (the heuristics' choice)" if finalist.opts == searched.by_heuristics else ""
        lines.append(
            f"{mark} {finalist.cost:.4g} {unit}  {format_opts(finalist.opts) or 'none'}{own}"
        )
    return Section("search", tuple(lines))


def _opts(kernel: Kernel, question: Question, opts: tuple[Opt, ...]) -> Section:
    """Each opt and the shape it leads to, down to the first that is illegal."""
    lines: list[str] = []
    for opt in opts:
        reason = opt.why_illegal(kernel, question.target)
        if reason is not None:
            lines.append(f"{format_opt(opt):<18} illegal: {reason}")
            break
        kernel = apply_all(kernel, (opt,), question.target)  # a TC only a target can resolve
        named = format_opt(kernel.applied[-1])
        name = "" if named == format_opt(opt) else f" as {named}"
        lines.append(f"{format_opt(opt):<18} legal{name}: {coloured_shape(kernel, is_dense=True)}")
    return Section("opts", tuple(lines) or ("none",))


def _stages(compiled: Compiled) -> Iterator[Section]:
    """The text after each pass, once where passes left it as it was."""
    before = None
    for stage in compiled.stages:
        is_same = stage.node is before
        lines = ("(unchanged)",) if is_same else _lines(stage.text())
        yield Section(f"stage {stage.name}", lines)
        before = stage.node


def _rules(trace: list[Application]) -> Section:
    """How often each rule was applied, the most frequent first."""
    counts = Counter(application.rule for application in trace)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    lines = [f"{count:>6}  {rule}" for rule, count in ordered]
    return Section(f"rules: {len(trace)} applications", tuple(lines) or ("none",))


def _trace(trace: list[Application]) -> Section:
    """Every application, numbered as --rewrite-limit counts: N stops after application N."""
    lines: list[str] = []
    for number, application in enumerate(trace, 1):
        lines.append(f"{number}  {application.rule}")
        for sign, node in (("-", application.before), ("+", application.after)):
            lines += [f"    {sign} {line}" for line in _lines(print_node(node))[1:]]
    return Section("trace", tuple(lines))


def _launch(compiled: Compiled) -> Section:
    program = compiled.program
    launch, work = program.launch, program.estimates
    arguments = [
        f"argument   {each.name} {each.dtype} {each.role.value}" for each in program.arguments
    ]
    lines = [
        f"name       {program.name}",
        f"applied    {format_opts(compiled.applied) or 'none'}",
        f"launch     global {launch.global_size} local {launch.local_size}",
        *arguments,
        f"estimates  {work.flops} flops, {work.bytes} bytes",
    ]
    return Section("program", tuple(lines))


def _assembly(program: Program) -> str:
    """The machine code of a program for what its target describes, or why there is none."""
    try:
        device = open_device(program.target.backend)
    except DeviceError as error:
        return f"none: {error}"
    if device.target != program.target:
        elsewhere = getattr(device, "assembly_elsewhere", None)
        text: str | None = None if elsewhere is None else elsewhere(program)
        why = device.why_unlike(program.target)
        if text is not None or why is not None:
            return text or f"none: {why}"
    assembly: Callable[[Program], str] | None = getattr(device, "assembly", None)
    if assembly is None:
        return f"none: {program.target.backend} shows no machine code"
    return assembly(program)


def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.rstrip("\n").split("\n"))
