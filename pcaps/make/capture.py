"""A capture in the making."""


class Capture:
    def __init__(self, name, about, link=1):
        self.name, self.about, self.link, self.frames = "made-" + name, about, link, []

    def add(self, octets, note, snap=None):
        """One frame and what is to be found in it; `snap` keeps only its first octets."""
        self.frames.append((octets[:snap], len(octets) if snap else None, note))
