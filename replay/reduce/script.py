"""The script that is handed over: it fails as the record did, and says so."""

import re

from replay.reduce.signature import Question, Signature

_TEMPLATE = '''\
"""{title}

Made by `replay reduce` from record {key}. Run it with the compiler in question first on PYTHONPATH.
It ends with 1 if the failure is there, 0 if it is not; one that ends the process ends this one.
"""

import sys

from replay.reduce import Question, Signature, signature_of

AST = """\\
{ast}"""
QUESTION = Question(ast=AST, target={target!r}, options={options!r}, opts={opts!r})
EXPECTED = {expected!r}

found = signature_of(QUESTION)
print(found)
sys.exit(found == EXPECTED)
'''


def script_of(question: Question, signature: Signature, key: str) -> str:
    """The text of the script for a question that fails with `signature`."""
    return _TEMPLATE.format(
        title=re.sub(r'["\\]', "'", str(signature)),
        key=key,
        ast=question.ast,
        target=question.target,
        options=question.options,
        opts=question.opts,
        expected=signature,
    )
