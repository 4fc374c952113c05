"""Devices: buffers, builds that fail, programs kept in memory, processes that fork."""

import mmap
import multiprocessing
import subprocess
import sys
import textwrap
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.backends import BACKENDS, find_backend, open_device
from compiler.backends.llvm import open_device as open_llvm
from compiler.backends.llvm.compile import Compiler, find_host
from compiler.backends.opencl import open_device as open_opencl
from compiler.backends.opencl import probe
from compiler.errors import BuildError, DeviceError, OptionError
from compiler.ir import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT32, UINT8, Op


def doubling(runner, code, size=8, factor=2):
    index, close = runner.index(code, size)
    x = code.read(code.buffer(1, INT32, size), index)
    value = code.emit(Op.MUL, INT32, (x, code.const(INT32, factor)))
    code.write(code.buffer(0, INT32, size), index, value)
    close()
    return runner.program(code.program())


def buffers_of(runner, *arrays):
    buffers = []
    for array in arrays:
        buffers.append(runner.device.allocate(INT32, array.size))
        runner.device.upload(buffers[-1], array)
    return buffers


# --- buffers ---


@pytest.mark.parametrize("dtype", [BOOL, UINT8, INT32, FLOAT16, FLOAT32], ids=str)
def test_a_buffer_returns_what_was_put_in(runner, dtype):
    array = np.arange(10).astype(dtype.name)
    buffer = runner.device.allocate(dtype, 10)
    runner.device.upload(buffer, array.reshape(2, 5))
    result = runner.device.download(buffer)
    assert result.dtype == array.dtype
    assert (result == array).all()


def test_bfloat16_crosses_as_its_bits(runner):
    bits = np.array([0x3F80, 0x7FC0], np.uint16)
    buffer = runner.device.allocate(BFLOAT16, 2)
    runner.device.upload(buffer, bits)
    assert (runner.device.download(buffer) == bits).all()


def test_a_download_is_a_copy(runner):
    (buffer,) = buffers_of(runner, np.zeros(4, np.int32))
    runner.device.download(buffer)[:] = 7
    assert (runner.device.download(buffer) == 0).all()


def test_a_buffer_without_elements_is_allowed(runner):
    (buffer,) = buffers_of(runner, np.zeros(0, np.int32))
    assert runner.device.download(buffer).size == 0


@pytest.mark.parametrize(
    "array", [np.zeros(4, np.int64), np.zeros(5, np.int32)], ids=["int64", "five"]
)
def test_an_array_that_does_not_fit_is_refused(runner, array):
    with pytest.raises(DeviceError, match="upload of"):
        runner.device.upload(runner.device.allocate(INT32, 4), array)


def test_a_view_shares_memory_with_its_buffer(runner):
    (whole,) = buffers_of(runner, np.arange(128, dtype=np.int32))
    part = runner.device.view(whole, 64, 32)
    runner.device.upload(part, np.full(32, -1, np.int32))
    expected = np.arange(128)
    expected[64:96] = -1
    assert (runner.device.download(whole) == expected).all()


@pytest.mark.parametrize("offset", [0, 64, 128])
def test_a_view_may_be_of_nothing(runner, offset):
    (whole,) = buffers_of(runner, np.arange(128, dtype=np.int32))
    nothing = runner.device.view(whole, offset, 0)
    assert runner.device.download(nothing).shape == (0,)


@pytest.mark.parametrize(("offset", "size"), [(-1, 4), (100, 64), (0, 129)])
def test_a_view_beyond_its_buffer_is_refused(runner, offset, size):
    with pytest.raises(DeviceError, match="view of elements"):
        runner.device.view(runner.device.allocate(INT32, 128), offset, size)


def test_llvm_computes_in_the_memory_of_a_wrapped_array(llvm, code):
    source, result = np.arange(8, dtype=np.int32), np.zeros((2, 4), np.int32)
    wrapped = [llvm.device.wrap(array, INT32) for array in (result, source)]
    llvm.device.build(doubling(llvm, code))(wrapped)
    assert (result.reshape(-1) == source * 2).all()


def test_llvm_wraps_only_memory_that_kernels_can_write(llvm):
    array = np.arange(8, dtype=np.int32)
    array.flags.writeable = False
    with pytest.raises(
        DeviceError, match="wrap: the array is not contiguous, aligned and writable"
    ):
        llvm.device.wrap(array, INT32)


def test_opencl_wraps_by_copying(opencl):
    array = np.arange(8, dtype=np.int32)
    assert (opencl.device.download(opencl.device.wrap(array, INT32)) == array).all()


def test_more_than_the_memory_there_is_is_refused(runner):
    with pytest.raises(DeviceError, match="float32 do not fit"):
        runner.device.allocate(FLOAT32, 1 << 50)


def test_llvm_aligns_buffers_to_a_cache_line(llvm):
    assert [llvm.device.allocate(UINT8, size).address % 64 for size in (0, 1, 100)] == [0, 0, 0]


# --- launches ---


def test_a_kernel_needs_all_its_buffers(runner, code):
    executable = runner.device.build(doubling(runner, code))
    with pytest.raises(DeviceError, match="k: 1 buffers given, it takes 2"):
        executable(buffers_of(runner, np.zeros(8, np.int32)))


def test_a_buffer_that_is_too_small_is_refused(runner, code):
    executable = runner.device.build(doubling(runner, code))
    with pytest.raises(DeviceError, match="k: argument data1 is 7 int32, expected 8 int32"):
        executable(buffers_of(runner, np.zeros(8, np.int32), np.zeros(7, np.int32)))


def test_a_buffer_of_another_dtype_is_refused(runner, code):
    executable = runner.device.build(doubling(runner, code))
    buffers = [runner.device.allocate(dtype, 8) for dtype in (INT32, FLOAT32)]
    with pytest.raises(DeviceError, match="argument data1 is 8 float32"):
        executable(buffers)


def test_an_output_that_shares_memory_with_an_input_is_refused(runner, code):
    executable = runner.device.build(doubling(runner, code))
    (whole,) = buffers_of(runner, np.zeros(64, np.int32))
    both = runner.device.view(whole, 0, 8)
    with pytest.raises(DeviceError, match="buffer 0, which it writes, shares memory with 1"):
        executable([both, whole])


def test_a_buffer_of_another_device_is_refused(llvm, opencl, code):
    executable = llvm.device.build(doubling(llvm, code))
    with pytest.raises(DeviceError, match="not on the llvm device"):
        executable(buffers_of(opencl, np.zeros(8, np.int32), np.zeros(8, np.int32)))


def test_threads_and_one_thread_give_the_same(llvm, code):
    size = 1 << 18
    data = np.arange(size, dtype=np.int32)
    results = []
    for threads in (1, 2, 3):
        device = open_llvm(threads)
        runner = type(llvm)(device)
        buffers = buffers_of(runner, np.zeros_like(data), data)
        program = doubling(runner, type(code)(), size)
        heavy = replace(program, estimates=replace(program.estimates, flops=1 << 40))
        device.build(heavy)(buffers)
        results.append(device.download(buffers[0]))
    assert all((result == data * 2).all() for result in results)


def test_kernels_are_built_and_run_from_many_threads(runner, code):
    program = doubling(runner, code)
    failures = []

    def work(number):
        data = np.full(8, number, np.int32)
        for _ in range(20):
            buffers = buffers_of(runner, np.zeros(8, np.int32), data)
            runner.device.build(program)(buffers)
            if (runner.device.download(buffers[0]) != data * 2).any():
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


# --- builds ---

BROKEN = {
    "llvm": "define void @k(ptr %a) {\n  store i32 %undeclared, ptr %a\n  ret void\n}\n",
    "opencl": "__kernel void k(__global int *a) {\n  a[0] = undeclared;\n}\n",
}


def test_a_failed_build_carries_name_source_and_log(runner, code):
    program = replace(doubling(runner, code), source=BROKEN[runner.name])
    with pytest.raises(BuildError) as caught:
        runner.device.build(program)
    assert caught.value.kernel == "k"
    assert caught.value.source == program.source
    assert "undeclared" in caught.value.log
    assert ":2:" in caught.value.log
    assert "undeclared" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_failed_build_fails_again_with_the_same_words(runner, code):
    said, program = [], doubling(runner, code)
    for _ in range(2):
        with pytest.raises(BuildError) as caught:
            runner.device.build(replace(program, source=BROKEN[runner.name]))
        said.append((str(caught.value), caught.value.log))
    assert said[0] == said[1]


def test_after_a_failed_build_the_next_one_works(runner, code):
    good = doubling(runner, code)
    with pytest.raises(BuildError):
        runner.device.build(replace(good, source=BROKEN[runner.name]))
    data = np.arange(8, dtype=np.int32)
    buffers = buffers_of(runner, np.zeros(8, np.int32), data)
    runner.device.build(good)(buffers)
    assert (runner.device.download(buffers[0]) == data * 2).all()


def test_a_source_without_the_kernel_is_a_build_error(runner, code):
    with pytest.raises(BuildError, match="kernel other"):
        runner.device.build(replace(doubling(runner, code), name="other"))


def test_llvm_names_a_function_that_nothing_defines(llvm, code):
    source = doubling(llvm, code).source.replace("define", "declare void @missing()\ndefine", 1)
    source = source.replace("  ret void", "  call void @missing()\n  ret void")
    with pytest.raises(BuildError, match="missing"):
        llvm.device.build(replace(doubling(llvm, type(code)()), source=source))


def test_the_same_name_with_another_source_is_another_kernel(runner, code):
    data = np.arange(8, dtype=np.int32)
    results = []
    for factor in (2, 3, 2):
        program = doubling(runner, type(code)(), factor=factor)
        buffers = buffers_of(runner, np.zeros(8, np.int32), data)
        runner.device.build(program)(buffers)
        results.append(runner.device.download(buffers[0])[1])
    assert results == [2, 3, 2]


def test_a_toolchain_names_versions(runner):
    toolchain = runner.device.toolchain()
    assert all(isinstance(value, str) and value for value in toolchain.values())
    assert {"llvm": "llvm", "opencl": "platform_version"}[runner.name] in toolchain


def test_assembly_of_a_kernel_can_be_read(llvm, code):
    text = llvm.device.assembly(doubling(llvm, code))
    assert "k:" in text
    assert "ret" in text


# --- processes ---


def fork_and(work):
    """What `work` returns, or the message of its error, in a forked child."""
    receive, send = multiprocessing.Pipe(duplex=False)

    def child():
        try:
            send.send(work())
        except DeviceError as error:
            send.send(str(error))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    answer = receive.recv() if receive.poll(60) else "hangs"
    process.kill()
    process.join()
    return answer


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_gets_an_error_instead_of_a_hang(opencl):
    (buffer,) = buffers_of(opencl, np.zeros(8, np.int32))
    for work in (
        lambda: opencl.device.download(buffer),
        lambda: opencl.device.allocate(INT32, 8),
        find_backend("opencl").open,
    ):
        assert "this process was forked from one that had OpenCL open" in fork_and(work)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_runs_llvm_kernels_with_threads_of_its_own(llvm, code):
    runner = type(llvm)(open_llvm(2))
    data = np.arange(1 << 12, dtype=np.int32)
    program = doubling(runner, code, data.size)
    heavy = replace(program, estimates=replace(program.estimates, flops=1 << 40))
    executable = runner.device.build(heavy)

    def work():
        buffers = buffers_of(runner, np.zeros_like(data), data)
        executable(buffers)
        return bool((runner.device.download(buffers[0]) == data * 2).all())

    assert work()
    assert fork_and(work) is True


def test_importing_the_backends_loads_neither_llvmlite_nor_pyopencl():
    code = "import sys, compiler.backends; print({'llvmlite', 'pyopencl'} & set(sys.modules))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "set()"


# --- finding devices ---


def test_every_backend_is_found_by_its_name():
    assert all(find_backend(backend.name) is backend for backend in BACKENDS)


def test_an_unknown_backend_is_refused():
    with pytest.raises(OptionError, match="backend 'cuda' is unknown: use one of llvm, opencl"):
        open_device("cuda")


def test_a_device_is_opened_once():
    assert open_device("llvm") is open_device("llvm")


FAKE_DEVICES = """
import json, os, signal, sys
names = dict(platform="P", platform_version="1", driver="d")
print(json.dumps(dict(devices=[dict(names, device=d) for d in ("kills", "lies", "works", "too")])))
for position in range(int(sys.argv[1]), 4):
    print(json.dumps(dict(trying=position)), flush=True)
    if position == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    print(json.dumps(dict(tried=position, why="computes 5" if position == 1 else None)), flush=True)
    if position > 1 and sys.argv[2] == "first":
        break
"""


@pytest.fixture
def fake_devices(tmp_path, monkeypatch):
    script = tmp_path / "devices.py"
    script.write_text(textwrap.dedent(FAKE_DEVICES), encoding="utf-8")
    monkeypatch.setattr(probe, "_CHILD", script)
    probe.working_device.cache_clear()
    yield script
    probe.working_device.cache_clear()


def test_the_first_device_that_works_is_chosen(fake_devices):
    assert probe.working_device().device == "works"


def test_a_device_that_kills_its_process_is_listed_with_the_signal(fake_devices):
    listed = [(candidate.id.device, candidate.why_not) for candidate in probe.list_devices()]
    assert listed == [
        ("kills", "kills its process (SIGSEGV)"),
        ("lies", "computes 5"),
        ("works", None),
        ("too", None),
    ]


def test_no_device_at_all_is_an_error_that_says_what_to_install(fake_devices):
    fake_devices.write_text("print('{\"devices\": []}')", encoding="utf-8")
    with pytest.raises(DeviceError, match=r"no device works \(there is none\), install pocl"):
        probe.working_device()


def test_a_child_that_cannot_even_list_is_an_error_with_its_last_words(fake_devices):
    fake_devices.write_text("raise ImportError('no module named pyopencl')", encoding="utf-8")
    with pytest.raises(DeviceError, match=r"cannot be listed: .*no module named pyopencl"):
        probe.working_device()


def test_a_device_known_from_before_is_opened_without_a_probe(opencl, fake_devices):
    fake_devices.write_text("raise SystemExit(9)", encoding="utf-8")
    again = open_opencl(opencl.device.id)
    assert again.toolchain() == opencl.device.toolchain()


def test_building_many_kernels_does_not_grow_the_process(llvm, code):
    """llvmlite loses 80 KB for each use of a pass manager that it does not free."""
    program = doubling(llvm, code)
    compiler = Compiler(find_host())

    def grown_by(builds):
        before = resident_kib()
        for _ in range(builds):
            compiler.object_file(program.source, "k")
        return resident_kib() - before

    grown_by(10)
    assert grown_by(30) < 30 * 30


def resident_kib():
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * mmap.PAGESIZE // 1024
