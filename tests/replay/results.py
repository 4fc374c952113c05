"""Results, artefacts and reports for tests, without a compiler."""

from corpus import Argument, ArgumentKind, Estimates, Launch, Opt
from replay.approvals import Ledger
from replay.artefact import Artefact
from replay.compare.cluster import with_clusters
from replay.gate import pass_or_fail, with_approvals
from replay.outcome import Facet, Outcome, Result
from replay.policy import DEFAULT
from replay.reports.model import Report

NO_LEDGER = Ledger({}, {})


def artefact(source="a = b - c;", **fields):
    given = {
        "name": "r_4_4",
        "source": source,
        "applied": (Opt("UPCAST", {"axis": "g0", "amount": 4}),),
        "launch": Launch((4,), ()),
        "arguments": (Argument("data0", "float32", 4, ArgumentKind.OUT),),
        "estimates": Estimates(16, 80),
        **fields,
    }
    return Artefact(**given)


def same(number):
    return Result(key=key(number), outcome=Outcome.SAME, name="r_4_4", target="opencl/opencl-1.2")


def changed(number, old="  a = b - c;", new="  a = c - b;", **fields):
    return Result(
        **{
            "key": key(number),
            "outcome": Outcome.CODE,
            "name": "r_4_4",
            "target": "opencl/opencl-1.2",
            "reason": "source",
            "facets": (Facet.SOURCE,),
            "old": artefact(old),
            "new": artefact(new),
            **fields,
        }
    )


def crashed(number, reason="signal 11 (SIGSEGV)"):
    return Result(key=key(number), outcome=Outcome.CRASH, target="llvm/cpu", reason=reason)


def key(number):
    return f"{number:064x}"


def report(results, policy=DEFAULT, ledger=NO_LEDGER, **fields):
    marked, clusters = with_clusters(with_approvals(results, ledger))
    return Report(
        corpus="corpus",
        mode="pinned",
        baseline="the recorded output",
        results=marked,
        clusters=clusters,
        gate=pass_or_fail(marked, policy),
        **fields,
    )
