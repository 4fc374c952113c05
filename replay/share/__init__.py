"""A corpus for strangers: the same kernels without names, constants and origins."""

from replay.share.session import LeftOut, Shared, share_corpus

__all__ = ["LeftOut", "Shared", "share_corpus"]
