"""jit(function): the first call records what it launches, later calls launch it again."""

import gc
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, ParamSpec, TypeVar, overload
from weakref import ref

from compiler.errors import JitError
from compiler.frontend.assumptions import Assumed, assuming
from compiler.frontend.graph import Kind, Shape, Value, source
from compiler.frontend.jit.limits import limits_of
from compiler.frontend.jit.plan import Plan, Ready, Variables, plan
from compiler.frontend.jit.trees import Tree, difference, put_together, take_apart
from compiler.frontend.realize import realize
from compiler.frontend.recording import Launched, is_recording, recording
from compiler.frontend.storage import Storage, as_source, storage_of
from compiler.frontend.symbolic import formulas, merged, numbers, rebound
from compiler.frontend.tensor import Tensor, wrap
from compiler.ir import DType
from compiler.observe import (
    CompileEvent,
    CompileReused,
    CompileStarted,
    Observer,
    is_observed,
    notify,
    observing,
)

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Signature:
    """What a value must be like: its elements may differ, nothing else."""

    dtype: DType
    shape: Shape
    device: str

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)} on {self.device}"

    def fits(self, value: Value) -> bool:
        """Whether a value is like that, whatever its variables are."""
        if value.dtype is not self.dtype or value.device != self.device:
            return False
        return value.shape == self.shape or formulas(value.shape) == formulas(self.shape)

    def at(self, variables: Variables) -> "Signature":
        """The same for other values of its variables."""
        shape = tuple([rebound(size, variables) for size in self.shape])
        return replace(self, shape=shape)


@dataclass(frozen=True, slots=True)
class Run:
    """What is known of a program for some values of its variables."""

    ready: Ready
    results: tuple[Signature, ...]


Runs = OrderedDict[tuple[int, ...], Run]  # by the values of the variables
MAX_RUNS = 64


@dataclass(frozen=True, slots=True)
class Recorded:
    """A program: what it is given, what it gives, and the launches between them."""

    given: Tree
    signatures: tuple[Signature, ...]  # arguments, then state
    plan: Plan
    result: Tree
    results: tuple[Signature, ...]  # what is returned, then state
    questions: tuple[CompileReused, ...]  # that it asked the compiler
    variables: Variables  # their values when it was recorded
    assumptions: tuple[Assumed, ...]  # what its Python code decided by these values
    runs: Runs = field(default_factory=Runs)


@dataclass(slots=True, eq=False)
class Jit(Generic[P, R]):
    """A function of tensors that runs its Python code once. `state` are tensors that it changes."""

    function: Callable[P, R]
    state: tuple[Tensor, ...] = ()
    recorded: Recorded | None = None  # set by the first call
    _lock: threading.Lock = field(default_factory=threading.Lock)  # scratch is shared by all calls

    def __call__(self, *args: P.args, **options: P.kwargs) -> R:
        """Record, or run what was recorded. Raises JitError for anything unlike the first call."""
        if is_recording():  # part of a larger program
            return self.function(*args, **options)
        tree, tensors = take_apart([list(args), dict(options)], "arguments")
        with self._lock:
            if self.recorded is None:
                self.recorded, result = _record(self.function, tree, tensors, self.state)
                return result  # type: ignore[no-any-return]  # as the function gave it
            return _replay(self.recorded, tree, tensors, self.state)  # type: ignore[no-any-return]  # likewise


@overload
def jit(function: Callable[P, R], *, state: Sequence[Tensor] = ()) -> Jit[P, R]: ...


@overload
def jit(*, state: Sequence[Tensor] = ()) -> Callable[[Callable[P, R]], Jit[P, R]]: ...


def jit(
    function: Callable[P, R] | None = None, *, state: Sequence[Tensor] = ()
) -> Jit[P, R] | Callable[[Callable[P, R]], Jit[P, R]]:
    """`function`, run without scheduling from its second call on.

    Arguments and results are tensors, also in tuples, lists and dicts; shapes, dtypes, devices and
    everything that is no tensor must be the same in every call. The first call records every kernel
    that the function needs; its Python code does not run again, nor does a block of `compiling`
    around a later call change the kernels. Tensors that the function assigns (weights, say) are its
    `state`; all others that it reads beside its arguments are constants.
    """
    if function is None:
        return lambda decorated: jit(decorated, state=state)
    is_state = isinstance(state, Sequence) and all(isinstance(item, Tensor) for item in state)
    if not callable(function) or not is_state:
        raise JitError(f"jit of {function!r:.40}: needs a function, and tensors as its state")
    return Jit(function, tuple(state))


# --- the first call -------------------------------------------------------------------------------


def _record(
    function: Callable[..., Any], tree: Tree, tensors: Sequence[Tensor], state: Sequence[Tensor]
) -> tuple[Recorded, Any]:
    """Run the function and note its launches; if it fails, the state is as it was."""
    before = _in_memory([*tensors, *state])
    try:
        recorded, outcome, rest = _trace(function, tree, before, state)
        returned = len(outcome) - len(state)
        _assign(state, outcome[returned:])
        _refuse_what_stays(rest)
    except BaseException:
        _assign(state, before[len(tensors) :])
        raise
    return recorded, put_together(recorded.result, map(wrap, outcome[:returned]))


def _trace(
    function: Callable[..., Any], tree: Tree, before: Sequence[Value], state: Sequence[Tensor]
) -> tuple[Recorded, list[Value], list["ref[Storage]"]]:
    """The program; what it returned, and its state afterwards; and memory nobody should know."""
    stand_ins = [_stand_in(value) for value in before]
    count = len(before) - len(state)
    handles = [wrap(value) for value in stand_ins[:count]]
    _assign(state, stand_ins[count:])
    args, options = put_together(tree, iter(handles))
    asked: list[CompileReused] = []
    with recording() as launches, observing(_noting_questions(asked)), assuming() as assumed:
        result, returned = take_apart(function(*args, **options), "result")
        after = realize([tensor.value for tensor in (*returned, *state)])
    for place, (handle, value) in enumerate(zip(handles, stand_ins, strict=False)):
        if handle.value is not value:
            raise JitError(f"argument {place}: the function assigns it, make it part of the state")
    steps = plan(launches, [_storage(v) for v in stand_ins], [_storage(v) for v in after])
    recorded = Recorded(
        tree,
        tuple([signature(value) for value in before]),
        steps,
        result,
        tuple([signature(value) for value in after]),
        tuple(asked),
        _variables(before, launches),
        (*assumed, *steps.assumptions, *_limits(asked)),
    )
    _check_state(recorded, len(state))
    own = {_storage(new): _storage(old) for new, old in zip(stand_ins, before, strict=True)}
    found = [_storage(value) for value in after]
    outcome = [as_source(v, own.get(s, s)) for v, s in zip(after, found, strict=True)]
    rest = [
        ref(s)
        for s in (*own, *[s for one in launches for s in one.outputs])
        if s not in found or s in own
    ]
    return recorded, outcome, rest


def _limits(asked: Iterable[CompileReused]) -> dict[Assumed, None]:
    """What the sizes of kernels need, also of sizes and tensors that were made before."""
    kernels = dict.fromkeys([question.ast for question in asked])
    return dict.fromkeys([limit for kernel in kernels for limit in limits_of(kernel)])


def _variables(given: Sequence[Value], launches: Sequence[Launched]) -> Variables:
    """The values of what arguments are bound to, and of what the function binds by itself."""
    found = numbers(merged([value.bindings for value in given]))
    for launched in launches:
        found.update(launched.variables)
    return found


def _noting_questions(found: list[CompileReused]) -> Observer:
    """Puts the questions of this thread there; other threads may compile at the same time."""
    thread = threading.get_ident()

    def note(event: CompileEvent) -> None:
        if threading.get_ident() == thread and isinstance(event, CompileStarted | CompileReused):
            found.append(CompileReused(event.ast, event.target, event.options, event.opts))

    return note


def _in_memory(tensors: Sequence[Tensor]) -> tuple[Value, ...]:
    values = tuple([tensor.value for tensor in tensors])
    if any(value.kind is not Kind.SOURCE for value in values):
        values = realize(values)
        _assign(tensors, values)
    return values


def _assign(tensors: Sequence[Tensor], values: Sequence[Value]) -> None:
    for tensor, value in zip(tensors, values, strict=True):
        tensor.value = value


def _storage(value: Value) -> Storage:
    storage = storage_of(value)
    assert storage is not None, "it was realized"
    return storage


def _stand_in(value: Value) -> Value:
    """The same elements under an identity of their own: arguments may be one tensor twice."""
    old = _storage(value)
    new = Storage(old.device, old.dtype, old.size, old.host)
    if old.size:
        new.host, new.buffer = None, old.on_device()
    return as_source(value, new)


def _check_state(recorded: Recorded, count: int) -> None:
    if not count:
        return
    pairs = zip(recorded.signatures[-count:], recorded.results[-count:], strict=True)
    for place, (old, new) in enumerate(pairs):
        if old != new:
            raise JitError(f"state {place} becomes {new}, it was {old}: it must stay like that")


def _refuse_what_stays(memory: "list[ref[Storage]]") -> None:
    """Memory of the recording that is still alive is known to a tensor that no replay changes."""
    if any(storage() is not None for storage in memory):
        gc.collect()  # what is only in a cycle of garbage is known to nobody
    for storage in memory:
        found = storage()
        if found is not None:
            raise JitError(
                f"a tensor with {found.size} {found.dtype} outlives the recording: the function "
                "assigned or kept it, make it part of the state or return it"
            )


# --- later calls ----------------------------------------------------------------------------------


def signature(value: Value) -> Signature:
    """What another value must be like to take its place."""
    return Signature(value.dtype, value.shape, value.device)


def _run_for(recorded: Recorded, given: Variables) -> Run:
    """Launch sizes and shapes for these variables. Raises JitError where the program would differ.

    The caller holds the lock of the program.
    """
    variables = {**recorded.variables, **given}
    key = tuple(variables.values())
    found = recorded.runs.get(key)
    if found is not None:
        recorded.runs.move_to_end(key)
        return found
    for assumption in recorded.assumptions:
        if not assumption.holds(variables):
            raise JitError(_why_other(assumption, recorded.variables, variables))
    results = tuple([signature.at(variables) for signature in recorded.results])
    found = recorded.runs[key] = Run(recorded.plan.at(variables), results)
    if len(recorded.runs) > MAX_RUNS:
        recorded.runs.popitem(last=False)
    return found


def _why_other(assumption: Assumed, old: Variables, new: Variables) -> str:
    changed = [name for name in new if old.get(name) != new[name]]
    was, now = [", ".join([f"{n} = {at[n]}" for n in changed if n in at]) for at in (old, new)]
    return f"the program was recorded with {was} and is right where {assumption}, now {now}"


def _replay(
    recorded: Recorded, tree: Tree, tensors: Sequence[Tensor], state: Sequence[Tensor]
) -> Any:  # noqa: ANN401  # as the function gave it
    unlike = difference(recorded.given, tree, "arguments")
    if unlike is not None:
        raise JitError(unlike)
    given = _in_memory([*tensors, *state])
    for place, (value, wanted) in enumerate(zip(given, recorded.signatures, strict=True)):
        if not wanted.fits(value):
            place, what = (
                (place, "argument") if place < len(tensors) else (place - len(tensors), "state")
            )
            raise JitError(
                f"{what} {place} is {signature(value)}, the program was recorded with {wanted}"
            )
    if is_observed():  # whoever came after the recording learns of its kernels, too
        for question in recorded.questions:
            notify(question)
    run = _run_for(recorded, numbers(merged([value.bindings for value in given])))
    storages = run.ready.run([_storage(value) for value in given])
    results = [
        source(storage, like.dtype, like.shape, like.device)
        for storage, like in zip(storages, run.results, strict=True)
    ]
    returned = len(results) - len(state)
    _assign(state, results[returned:])
    return put_together(recorded.result, map(wrap, results[:returned]))
