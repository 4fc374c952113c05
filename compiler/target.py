"""What a device can do, without a device. To add one: a line in PROFILES.

A profile is frozen data: kernels for it are compiled, captured and compared on any machine. Its
name is part of a record's key, so what it can do does not change: another device gets another name.
"""

from dataclasses import dataclass, replace

from compiler.errors import OptionError


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What decides the code that is generated; sizes in bytes, work-group sizes in work items."""

    has_local: bool = False  # work-groups, with barriers
    has_threads: bool = False  # ranges of the outermost GLOBAL axis may run in parallel
    shared_bytes: int = 0  # local memory: a group's; without groups, what a cache holds at once
    max_group_items: int = 1
    max_grid_dims: int = 3
    vector_widths: tuple[int, ...] = (16, 8, 4, 2)  # lanes, widest first; others split
    vector_registers: int = 32  # of the widest: what a register tile may take
    merged_upcasts: tuple[int, ...] = ()  # for buffers that repeat; empty: register tiles instead
    wave: int = 32  # work items that run in step
    bool_vectors: bool = True  # comparisons and selects of vectors
    float16: bool = True  # halves convert in registers; else they move as uint16
    float16_math: bool = False  # and are added, multiplied and compared there
    float64: bool = True
    fma: bool = True
    max_upcast: int = 16
    streamed_bytes: int = 0  # results of so many bytes go past the caches, where a store can
    images: bool = False  # float and half images are read and written by pixel
    tensor_cores: tuple[str, ...] = ()  # names of compiler.ir.CORES, the best first
    cpu_features: tuple[str, ...] = ()  # of LLVM: what code may use that not every CPU has


@dataclass(frozen=True, slots=True)
class Target:
    """A backend and a named, frozen set of capabilities; the name is part of a record's key."""

    backend: str
    profile: str
    capabilities: Capabilities

    @property
    def name(self) -> str:
        """What `find_target` knows it by, e.g. opencl/adreno."""
        return f"{self.backend}/{self.profile}"


_WORK_GROUPS = Capabilities(  # of OpenCL C 1.2, less than which no device has
    has_local=True,
    shared_bytes=32768,
    max_group_items=1024,
    merged_upcasts=(3, 4),
    bool_vectors=False,
    float16=False,
)
_DISCRETE = replace(_WORK_GROUPS, vector_widths=(4, 2), images=True)
_CPU = Capabilities(has_threads=True, max_upcast=64, shared_bytes=1 << 20, streamed_bytes=1 << 23)

LLVM = Target("llvm", "cpu", _CPU)
OPENCL = Target("opencl", "opencl-1.2", _WORK_GROUPS)
REFERENCE = Target("reference", "reference", Capabilities())
PROFILES: tuple[Target, ...] = (
    # what is opened without a choice: the first profile of a backend
    LLVM,
    OPENCL,
    REFERENCE,
    # CPUs: x86-64 psABI levels 3 (AVX2, F16C, FMA) and 4 (AVX-512), Armv8.0-A with its 128-bit NEON
    Target(
        "llvm",
        "x86-64-v3",
        replace(_CPU, vector_widths=(8, 4, 2), vector_registers=16, shared_bytes=1 << 18),
    ),
    Target("llvm", "x86-64-v4", _CPU),
    Target("llvm", "aarch64", replace(_CPU, vector_widths=(4, 2), shared_bytes=1 << 19)),
    # the host's CPU with its tensor cores: register tiles, and dot products that not all CPUs have
    Target("llvm", "tiles", replace(_CPU, tensor_cores=("cpu.outer16x16.f32",))),
    Target(
        "llvm",
        "x86-64-v4-bf16",
        replace(
            _CPU,
            tensor_cores=("cpu.dpbf16ps", "cpu.vpdpbusd", "cpu.outer16x16.f32"),
            cpu_features=("avx512bf16", "avx512vnni"),
        ),
    ),
    # a DSP with vectors of 128 bytes
    Target(
        "llvm",
        "dsp",
        Capabilities(
            vector_widths=(128, 64, 32, 16, 8, 4, 2),
            merged_upcasts=(128,),
            max_upcast=128,
            float64=False,
        ),
    ),
    # PoCL: a CPU as an OpenCL device, with images
    Target("opencl", "pocl", replace(_WORK_GROUPS, shared_bytes=1 << 19, images=True)),
    # GPUs by what their drivers report at least
    Target("opencl", "nvidia", replace(_DISCRETE, shared_bytes=49152)),
    Target(
        "opencl",
        "amd",
        replace(_DISCRETE, shared_bytes=65536, wave=64, float16=True, float16_math=True),
    ),
    # and those with tensor cores
    Target(
        "opencl",
        "nvidia-sm80",
        replace(
            _DISCRETE,
            shared_bytes=49152,
            tensor_cores=("nvidia.m16n8k16.f16", "nvidia.m16n8k16.bf16", "nvidia.m16n8k8.tf32"),
        ),
    ),
    Target(
        "opencl",
        "amd-gfx1100",
        replace(
            _DISCRETE,
            shared_bytes=65536,
            float16=True,
            float16_math=True,
            tensor_cores=("amd.wmma16x16x16.f16", "amd.wmma16x16x16.bf16"),
        ),
    ),
    Target(
        "opencl",
        "amd-gfx90a",
        replace(
            _DISCRETE,
            shared_bytes=65536,
            wave=64,
            float16=True,
            float16_math=True,
            tensor_cores=("amd.mfma16x16x16.f16", "amd.mfma16x16x16.bf16"),
        ),
    ),
    Target(
        "opencl",
        "intel-xmx",
        replace(
            _DISCRETE,
            shared_bytes=65536,
            wave=8,
            float16=True,
            float16_math=True,
            tensor_cores=("intel.dpas8x8x16.f16", "intel.dpas8x8x16.bf16"),
        ),
    ),
    Target(
        "opencl",
        "adreno",
        replace(_DISCRETE, wave=64, float16=True, float16_math=True, float64=False),
    ),
    # Apple's GPUs from the family 7 on, which no driver here reaches
    Target(
        "metal",
        "apple7",
        replace(
            _WORK_GROUPS,
            vector_widths=(4, 2),
            float16=True,
            float16_math=True,
            float64=False,
            tensor_cores=("apple.simdgroup8x8.f16", "apple.simdgroup8x8.f32"),
        ),
    ),
)


def find_target(name: str, profile: str | None = None) -> Target:
    """The target of a backend and profile, or of both as `backend/profile`.

    Of a backend alone it is the first profile.
    """
    backend, _, inside = str(name).partition("/")
    wanted = inside or profile
    for target in PROFILES:
        if target.backend == backend and wanted in (None, target.profile):
            return target
    known = ", ".join([target.name for target in PROFILES])
    asked = backend if wanted is None else f"{backend}/{wanted}"
    raise OptionError(f"target {asked!r} is unknown: use one of {known}")
