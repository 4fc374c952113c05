"""The program in docs/training.md runs as it is."""

import re
from pathlib import Path

DOC = Path(__file__).parents[1] / "docs" / "training.md"


def test_the_first_program_of_the_page_runs():
    program = re.search(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)[1]
    exec(compile(program, str(DOC), "exec"), {})  # our own page
