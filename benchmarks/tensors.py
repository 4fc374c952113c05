"""`python -m benchmarks.tensors` computes every value of every program."""

from benchmarks.programs import PROGRAMS
from compiler import Tensor


def main() -> None:
    """Compute them, one after the other."""
    for program in PROGRAMS:
        for value in program(Tensor):
            value.numpy()


if __name__ == "__main__":
    main()
