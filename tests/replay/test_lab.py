"""A laboratory keeps its worker from one question to the next, and replaces it when it dies."""

import os
from pathlib import Path

from replay.isolation.lab import Lab
from replay.isolation.wire import Call, Done
from replay.isolation.workers import Crew, Died, Limits

HERE = Path(__file__).parent
CREW = Crew(
    environ=os.environ,
    limits=Limits(time_s=20.0, memory_bytes=1 << 30),
    paths=(HERE,),
    imports=("jobs_for_workers",),
    size=1,
)


def who(lab):
    reply = lab.ask(Call("jobs_for_workers:who", b""))
    assert isinstance(reply, Done)
    return reply.payload


def test_one_worker_answers_one_question_after_another():
    with Lab(CREW) as lab:
        assert len({who(lab) for _ in range(4)}) == 1


def test_a_worker_that_a_question_killed_is_replaced_for_the_next():
    with Lab(CREW) as lab:
        before = who(lab)
        assert isinstance(lab.ask(Call("jobs_for_workers:segfault", b"")), Died)
        after = {who(lab) for _ in range(3)}
    assert len(after) == 1
    assert before not in after
