"""What a capture must hold, by three witnesses: the applications' reports, the kernels' counters, the second reader."""
import dataclasses
import pathlib
import re
import json

import counters
import packets
import reports

PCAPS = pathlib.Path(__file__).resolve().parent.parent.parent / "pcaps"
NOT_READ = ("depth", "latency_min")  # the second reader keeps no time
OPERATIONS = ["send", "send_immediate", "send_invalidate", "write", "write_immediate", "read", "fetch_add", "compare_swap"]


@dataclasses.dataclass
class Word:
    """What one witness says of one figure."""
    witness: str  # report, counter, reader
    least: int
    most: int
    source: str

    def agrees(self, value):
        return self.least <= value <= self.most

    def __str__(self):
        value = f"{self.least} to {self.most}" if self.most < 1 << 62 else f"at least {self.least}"
        value = str(self.least) if self.least == self.most else value
        return f"{value} ({self.source})"


def captures():
    """Name -> (file, truth) of all captures of the lab: those made by hand have no witness but their maker."""
    found = {}
    for path in sorted(PCAPS.glob("*.pcap*")):
        name = re.sub(r"\.pcap(ng)?(\.gz)?$", "", path.name)
        truth = json.loads((PCAPS / f"{name}.json").read_text())
        if "counters_delta" in truth:
            found[name] = path, truth
    return found


def reading(path, truth):
    """The second reader's figures, in the program's terms."""
    figures = packets.count(path, truth)
    kind = counters.kind_of(truth)
    for node in "AB":
        of = lambda figure: figures.get(f"{figure}/{node}", 0)
        late = of("requests_late") + of("responses_late") + of("late_segments")
        again = of("requests_again") + of("responses_again") + of("segments_again")
        # A packet after others was sent again, unless the network is known to reorder or to double: then, what was seen
        # already was sent again, or it was doubled.
        figures[f"retransmitted/{node}"] = {"reorder": again, "duplicate": 0}.get(kind, late)
        figures[f"request_repeats/{node}"] = {"reorder": of("requests_again"), "duplicate": 0}.get(kind, of("requests_late"))
        figures[f"duplicates/{node}"] = of("doubled") if kind == "duplicate" else 0
        figures[f"packets_undoubled/{node}"] = of("packets") + of("segments") - of("doubled")
        sends = sum(of(f"messages/{name}") for name in ("send", "send_immediate", "send_invalidate", "management"))
        figures[f"sends/{node}"] = sends
        figures[f"consumed/{node}"] = sends + of("messages/write_immediate")
        figures[f"damaged/{node}"] = of("icrc_bad") + of("bad_checksum")
        figures[f"icrc/{node}"] = of("icrc_bad")
        # Only what is lost before the tap is missing there.
        figures[f"missing/{node}"] = of("missing") + of("gaps") if kind == "loss" else 0
    return figures


def words(path, truth):
    """figure -> what the witnesses say of it, the best first."""
    found = {}
    for witness, figures in (("report", reports.expected(truth)), ("counter", counters.expected(truth))):
        for figure, (least, most, source) in figures.items():
            found.setdefault(figure, []).append(Word(witness, least, most, source))
    read = reading(path, truth)
    for figure in found.keys() | read.keys():
        if figure.split("/")[0] in NOT_READ:
            continue
        value = read.get(figure, 0)
        found.setdefault(figure, []).append(Word("reader", value, value, "the second reader"))
    return found
