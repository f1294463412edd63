"""The list of differences that have a reason: exceptions.txt."""
import dataclasses
import fnmatch

from tools import HERE, Failure, fields_command, parse_records

KINDS = {"more", "fewer", "other"}


@dataclasses.dataclass
class Reason:
    line: int
    captures: str
    fields: list
    kinds: set
    frames: str
    reason: str
    used: int = 0

    def covers(self, capture, field, kind):
        return kind in self.kinds and fnmatch.fnmatch(capture, self.captures) \
            and any(fnmatch.fnmatch(field, pattern) for pattern in self.fields)

    def __str__(self):
        return f"exceptions.txt:{self.line}: {self.captures} {' '.join(self.fields)} {','.join(sorted(self.kinds))} [{self.frames}]: {self.reason}"


def read(name="exceptions.txt"):
    """Lines of five columns with tabs between: captures, fields, kinds, frames, reason. Blank lines and `#` are skipped."""
    found = []
    for number, line in enumerate((HERE / name).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        columns = [column.strip() for column in line.split("\t") if column.strip()]
        if len(columns) != 5 or not set(columns[2].split(",")) <= KINDS:
            raise Failure(f"{name}:{number}: five columns with tabs between, the third of {', '.join(sorted(KINDS))}")
        found.append(Reason(number, columns[0], columns[1].split(), set(columns[2].split(",")), columns[3], columns[4]))
    return found


class Frames:
    """Which frames of one capture a condition of exceptions.txt names; tshark's display filter decides, or `*`."""

    def __init__(self, cache, path):
        self.cache, self.path, self.known = cache, path, {}

    def contain(self, condition, frame):
        if condition == "*":
            return True
        if condition not in self.known:
            fields = ["frame.number"]
            output = self.cache.tshark(self.path, ["-Y", condition, *fields_command(fields)])
            self.known[condition] = {int(record["frame.number"][0]) for record in parse_records(output, fields)}
        return frame in self.known[condition]
