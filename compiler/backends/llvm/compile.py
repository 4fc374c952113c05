"""LLVM IR to machine code for the host: parse, verify, optimise, emit. No fast-math, no fusing."""

import re
from dataclasses import dataclass

import llvmlite.binding as llvm

from compiler.errors import BuildError

_SPEED = 3


@dataclass(frozen=True, slots=True)
class Host:
    """The CPU that code is made for, as LLVM names it."""

    cpu: str
    features: str
    triple: str

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


def find_host() -> Host:
    """The CPU this process runs on, with exactly the features it has."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return Host(llvm.get_host_cpu_name(), features, llvm.get_process_triple())


def optimized(source: str, name: str, machine: llvm.TargetMachine) -> llvm.ModuleRef:
    """The module of `source` after the optimiser. Raises BuildError with LLVM's message."""
    try:
        module = llvm.parse_assembly(source)
        module.verify()
    except RuntimeError as error:
        raise build_error(name, source, str(error)) from None
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(_SPEED)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return module


def emit_object(source: str, name: str, machine: llvm.TargetMachine) -> bytes:
    """The object file of `source`."""
    return bytes(machine.emit_object(optimized(source, name, machine)))


def emit_assembly(source: str, name: str, machine: llvm.TargetMachine) -> str:
    """The assembly of `source`, as the object file holds it."""
    return str(machine.emit_assembly(optimized(source, name, machine)))


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
