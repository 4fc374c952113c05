"""A source on its way to canonical form, whatever its language."""

from dataclasses import dataclass, field
from hashlib import blake2b


class UnsureError(Exception):
    """A source may mean another thing than its lines, one by one, seem to say."""


@dataclass(slots=True)
class Text:
    """One source on its way to canonical form. Owned by the function that makes it."""

    names: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    floating: list[str] = field(default_factory=list)  # independent statements of the current block
    scopes: list[list[str]] = field(default_factory=lambda: [[]])  # names of each, outermost first
    effects: int = 0
    places: int = 0

    def place(self, name: str, prefix: str) -> None:
        """Name by place."""
        self.define(name, f"{prefix}{self.places}")
        self.places += 1

    def value(self, name: str, text: str) -> None:
        """Name by what is computed."""
        digest = blake2b(text.encode(), digest_size=12).hexdigest()
        self.define(name, f"v.{digest}")
        self.floating.append(digest)

    def define(self, name: str, text: str) -> None:
        """Give a name that means nothing yet its canonical form, until its scope is closed."""
        if name in self.names:
            raise UnsureError(f"{name} is defined twice")
        self.names[name] = text
        self.scopes[-1].append(name)

    def open_scope(self) -> None:
        """Begin a scope: what is defined from here on is gone when it is closed."""
        self.scopes.append([])

    def close_scope(self) -> None:
        """End a scope; its names mean nothing any more."""
        if len(self.scopes) == 1:
            raise UnsureError("more is closed than was opened")
        for name in self.scopes.pop():
            del self.names[name]

    def effect(self, text: str) -> None:
        """A line that stays where it is."""
        self.lines.append(text)
        self.effects += 1

    def end_block(self) -> None:
        """No statement moves over this."""
        self.lines.extend(sorted(self.floating))
        self.floating.clear()

    def known(self, name: str) -> str:
        """The canonical form of a name that must have been defined."""
        found = self.names.get(name)
        if found is None:
            raise UnsureError(f"{name} is used above its definition")
        return found
