"""Making a failing record small, while it fails in the same way."""

from replay.reduce.session import Answer, Request, reduce
from replay.reduce.signature import Question, Signature, signature_of

__all__ = ["Answer", "Question", "Request", "Signature", "reduce", "signature_of"]
