import pytest

from replay.metrics import llvm_source, opencl_source
from replay.metrics.nest import Sizes
from replay.metrics.whole import kept, whole

SIZES = Sizes(8, (), ("out", "n"), {"n": 3})


@pytest.mark.parametrize(("word", "number"), [("7", 7), ("-12", -12), ("007", 7)])
def test_a_number_is_read(word, number):
    assert whole(word) == number


@pytest.mark.parametrize("word", ["", "-", "--1", "²", "٣", "1_0", "x", "9" * 21, "9" * 5000])
def test_what_no_kernel_means_as_a_number_is_none(word):
    assert whole(word) is None


def test_numbers_of_more_than_64_bits_are_not_kept():
    assert (kept(1 << 64), kept(1 + (1 << 64))) == (1 << 64, None)


def test_a_chain_of_products_takes_no_memory_and_hostile_numbers_no_traceback():
    squares = [f"  %x{n + 1} = mul i64 %x{n}, %x{n}" for n in range(99)]
    odd = ["  %y = add i64 ², --5", f"  %z = load <{'9' * 5000} x float>, ptr %out"]
    body = ["  %x0 = add i64 %n, 7", *squares, *odd, "  ret void", "}"]
    head = "define void @k(ptr %out, i64 %n, i64 %lo, i64 %hi) {"
    assert llvm_source.llvm_work("\n".join([head, "entry:", *body, ""]), SIZES) is not None
    lines = [f"  int x{n + 1} = x{n} * x{n};" for n in range(99)]
    lines += ["  int y = ² + --5;", f"  float z = vload{'9' * 5000}(0, out + 1);"]
    head = "__kernel void k(__global float *out, const int n) {"
    source = "\n".join([head, "  int x0 = n + 7;", *lines, "}", ""])
    assert opencl_source.opencl_work(source, SIZES) is not None
