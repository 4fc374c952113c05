"""The main job shown end to end on a real model, with public commands alone."""

from replay.demo.scenario import Setting, find_model, prepare
from replay.demo.scene import Voice, play

__all__ = ["Setting", "Voice", "find_model", "play", "prepare"]
