"""Making what a compiler answers now the baseline of a corpus: for people to decide and review."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from corpus import Form, KernelRecord, Status, export_corpus, key_of, open_reader, open_writer
from replay.alone import alone_in
from replay.artefact import Artefact
from replay.outcome import Outcome, Result


def with_answer(record: KernelRecord, result: Result) -> KernelRecord | None:
    """`record` with what the compiler answered in `result`; None where that is no baseline."""
    if result.new is not None and result.outcome is not Outcome.NONDETERMINISTIC:
        return with_numerics(answered(record, result.new), result)
    if result.outcome is Outcome.ERROR:
        return msgspec.structs.replace(
            record,
            status=Status.FAILED,
            error=result.reason,
            applied=None,
            name=None,
            source=None,
            stages=(),
            launch=None,
            arguments=(),
            estimates=None,
            rewrites=None,
            numerics=None,
        )
    return None


def with_numerics(record: KernelRecord, result: Result) -> KernelRecord:
    """`record` with what running its kernel showed, where it ran: a digest of all that it wrote."""
    if result.numerics is None or result.digest is None:
        return record
    numerics = {"digest": result.digest, "verdict": result.numerics.value}
    return msgspec.structs.replace(record, numerics=numerics)


def update_corpus(path: Path, new: Mapping[str, KernelRecord]) -> None:
    """Put new baselines into a corpus; an archive or text form is written anew, whole."""
    if path.is_dir():
        with open_writer(path) as writer:
            for key in sorted(new):
                writer.replace(new[key])
        return
    with alone_in(path.resolve().parent), open_reader(path) as reader, path.open("rb") as file:
        is_text = file.read(2) != b"KR" and path.suffix == ".txt"
        export_corpus(
            reader,
            path,
            form=Form.TEXT if is_text else Form.BINARY,
            change=lambda record: new.get(key_of(record), record),
        )


def answered(record: KernelRecord, answer: Artefact) -> KernelRecord:
    """`record` with `answer` as what its compiler answered."""
    return msgspec.structs.replace(
        record,
        status=Status.FINISHED,
        error=None,
        applied=answer.applied,
        name=answer.name,
        source=answer.source,
        stages=answer.stages,
        launch=answer.launch,
        arguments=answer.arguments,
        estimates=answer.estimates,
        rewrites=answer.rewrites,
        numerics=None,  # of the old answer
    )
