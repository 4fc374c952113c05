"""LLVM IR to machine code: parse, verify, optimise, emit. No fast-math, no fusing."""

import re
from dataclasses import dataclass

import llvmlite.binding as llvm
from llvmlite.binding.newpassmanagers import NewPassManager

from compiler.errors import BuildError

_SPEED = 3
_VECTOR = re.compile(r"<\d+ x ")

_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
LEVELS = {  # profile -> features of every such CPU; those of the host's are its own
    "cpu": (),
    "tiles": (),
    "x86-64-v3": _V3,
    "x86-64-v4": _V4,
    "x86-64-v4-bf16": _V4,
}
_X86, _ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
_MACHINES = {  # profile -> LLVM's names of a CPU and of a system
    "x86-64-v3": ("x86-64-v3", _X86),
    "x86-64-v4": ("x86-64-v4", _X86),
    "x86-64-v4-bf16": ("x86-64-v4", _X86),
    "aarch64": ("generic", _ARM),
}


def find_elsewhere(profile: str, features: tuple[str, ...]) -> "Host | None":
    """The least CPU of a profile, whichever machine this is; None where LLVM has none for it."""
    if profile not in _MACHINES:
        return None
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    cpu, triple = _MACHINES[profile]
    return Host(cpu, ",".join([f"+{name}" for name in features]), triple)


def find_host() -> "Host":
    """The CPU this process runs on, with exactly the features it has."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return Host(llvm.get_host_cpu_name(), features, llvm.get_process_triple())


@dataclass(frozen=True, slots=True)
class Host:
    """The CPU that code is made for, as LLVM names it."""

    cpu: str
    features: str
    triple: str

    def why_unlike(self, profile: str, features: tuple[str, ...]) -> str | None:
        """What this CPU lacks of those that `profile` stands for; None where it lacks nothing."""
        if profile == "aarch64":
            return None if self.triple.startswith("aarch64") else f"this is {self.triple}"
        if profile not in LEVELS:
            return f"this is {self.cpu} ({self.triple})"
        have = self.features.split(",")
        missing = [name for name in (*LEVELS[profile], *features) if f"+{name}" not in have]
        return f"{self.cpu} has no {missing[0]}" if missing else None

    def machine(self) -> llvm.TargetMachine:
        """A new target machine; it may be used by one thread at a time."""
        target = llvm.Target.from_triple(self.triple)
        return target.create_target_machine(
            cpu=self.cpu,
            features=self.features,
            opt=_SPEED,
            reloc="pic",
            codemodel="default",  # "jitdefault" makes assembly that llvm-mca does not read
            jit=True,
        )


class Compiler:
    """LLVM's optimiser and code generator for one CPU. One thread at a time."""

    def __init__(self, host: Host) -> None:
        self.machine = host.machine()
        self._layout = str(self.machine.target_data)
        self._builder = self._new_builder()
        self._simplify = self._builder.getFunctionPassManager()

    def _new_builder(self) -> llvm.PassBuilder:
        options = llvm.create_pipeline_tuning_options(_SPEED)
        return llvm.create_pass_builder(self.machine, options)

    def object_file(self, source: str, name: str) -> bytes:
        """The object file of `source`. Raises BuildError with LLVM's message."""
        return bytes(self.machine.emit_object(self._optimized(source, name)))

    def assembly(self, source: str, name: str) -> str:
        """The assembly of `source`: what its object file holds, as text."""
        return str(self.machine.emit_assembly(self._optimized(source, name)))

    def _optimized(self, source: str, name: str) -> llvm.ModuleRef:
        try:
            module = llvm.parse_assembly(source)
            module.verify()
        except RuntimeError as error:
            raise build_error(name, source, str(error)) from None
        module.triple = self.machine.triple
        module.data_layout = self._layout
        if _VECTOR.search(source):
            # Its loops are vectorised: the first half of O3 makes the same code in half the time.
            for function in module.functions:
                if not function.is_declaration:
                    self._simplify.run(function, self._builder)
        else:
            builder = self._new_builder()
            passes = builder.getModulePassManager()
            passes.run(module, builder)
            _free(passes)
        return module


def _free(passes: llvm.ModulePassManager) -> None:
    """Give back 80 KB: llvmlite 0.50 finds an empty `_dispose` before the one that frees."""
    if llvm.ModulePassManager._dispose is not NewPassManager._dispose:  # noqa: SLF001  # its bug
        NewPassManager._dispose(passes)  # noqa: SLF001  # its bug
    passes.close()


def link_log(source: str, message: str) -> str:
    """What the linker misses: its own message names only a library that it counts up."""
    declared = [f.name for f in llvm.parse_assembly(source).functions if f.is_declaration]
    missing = [
        name
        for name in declared
        if not name.startswith("llvm.") and llvm.address_of_symbol(name) is None
    ]
    if missing:
        return f"error: undefined function {', '.join(missing)}"
    return f"error: {_COUNTED.sub('library', message)}"


_COUNTED = re.compile(r"\blibrary\d+")


def build_error(name: str, source: str, log: str) -> BuildError:
    """LLVM's complaint about a source, its first informative line in the message."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    why = next((line for line in lines if "error:" in line), lines[0] if lines else "no message")
    return BuildError(f"llvm: kernel {name}: {why}", kernel=name, source=source, log=log)
