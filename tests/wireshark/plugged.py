"""tshark with the plugin: run as a user who may load it, with a home of its own, so that nothing of the system changes."""
import atexit
import collections
import concurrent.futures
import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ.get("RDMASCOPE_BINARY", "rdmascope")
PLUGIN = os.environ.get("RDMASCOPE_WIRESHARK_PLUGIN", "")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PCAPS = ROOT / "pcaps"
NOBODY = 65534

for reason, missing in (("tshark is not installed", not shutil.which("tshark")),
                        ("the plugin was not built: wireshark-dev is not installed", not PLUGIN)):
    if missing:
        print(f"skipped: {reason}", file=sys.stderr)
        raise SystemExit(77)


# Wireshark 4.0's reader of pcap files does not know link type 247.
UNREADABLE = {"made-infiniband.pcap"}
# Wireshark takes the times of ERF records from their own headers, we those of the file.
OTHER_TIMES = {"made-erf.pcap", "made-erf-infiniband.pcap"}


def captures():
    names = (p for p in PCAPS.iterdir() if p.name.endswith((".pcap", ".pcap.gz", ".pcapng", ".pcapng.gz")))
    return sorted(p for p in names if p.name not in UNREADABLE)


def capture(name):
    return next(p for p in (PCAPS / f"{name}.pcap", PCAPS / f"{name}.pcap.gz") if p.exists())


@functools.cache
def home(plugged=True):
    """A home with the plugin in its personal folder; root's is ignored by tshark, and so are root's plugins."""
    folder = tempfile.mkdtemp(prefix="rdmascope-wireshark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.chmod(folder, 0o755)
    if plugged:
        listed = subprocess.run(["tshark", "-G", "folders"], text=True, capture_output=True, check=True,
                                env={**os.environ, "HOME": folder}).stdout
        version = re.search(r"^Personal Plugins:\s+(.*)$", listed, re.M)[1].strip()
        place = pathlib.Path(version) / "epan"
        place.mkdir(parents=True)
        shutil.copy(PLUGIN, place / "rdmascope.so")
    for path in [folder, *pathlib.Path(folder).rglob("*")]:
        os.chmod(path, 0o755)
    return folder


@functools.cache
def sanitizer():
    """The runtime that a sanitized plugin needs in a tshark that is not."""
    symbols = subprocess.run(["nm", "-D", "--undefined-only", PLUGIN], text=True, capture_output=True).stdout
    if "__asan_init" not in symbols:
        return {}
    compiler = next(c for c in ("clang++-14", "clang++", "g++") if shutil.which(c))
    for library in ("libclang_rt.asan-x86_64.so", "libasan.so"):
        found = subprocess.run([compiler, f"-print-file-name={library}"], text=True, capture_output=True).stdout.strip()
        if "/" in found:
            return {"LD_PRELOAD": found, "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1"}
    return {}


def tshark(*arguments, plugged=True, under=(), **options):
    """`under`: a command that runs it."""
    environment = {**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": home(plugged)}
    if plugged:
        environment.update(sanitizer())
    if os.getuid() == 0:
        options = {"user": NOBODY, "group": NOBODY, "extra_groups": [], **options}
    options = {"capture_output": True, "timeout": 600, "env": environment, "cwd": "/", **options}
    result = subprocess.run([*under, "tshark", *map(str, arguments)], **options)
    if options["capture_output"]:
        result.stdout = result.stdout.decode("utf-8", "replace")
        result.stderr = result.stderr.decode("utf-8", "replace")
    return result


def run_rdmascope(*arguments):
    result = subprocess.run([BINARY, *map(str, arguments)], text=True, capture_output=True, timeout=600,
                            env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8"})
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return result


def rdmascope(*arguments):
    return run_rdmascope(*arguments).stdout


def flows_text(path):
    """The table of `flows`; without flows, the sentence that the plugin prints in its place."""
    result = run_rdmascope("flows", "-n", "-r", path)
    unread = re.search(r"no RDMA found in [^:]*: (.*)", result.stderr)
    return result.stdout or (f"No RDMA was found, and {unread[1]}.\n" if unread else "The capture holds no RDMA.\n")


def said(text):
    """The lines of a standard error that the plugin is to blame for: an exception, a sanitizer, a dissector bug in its name."""
    return [line for line in text.splitlines()
            if re.search(r"rdmascope(:|\.so)|Sanitizer|runtime error:|[Dd]issector bug, protocol RDMA\b", line)]


def faults(result):
    """What the plugin is to blame for in a run: a crash, or what it said."""
    found = said(result.stderr)
    if result.returncode < 0 or result.returncode > 2:
        found.append(f"exit status {result.returncode}: {result.stderr[-2000:]}")
    return found


# What the plugin reads and Wireshark does not, by the preference that switches it off.
LAYERS = {
    "dissect_cnp": ["rdma.cnp.reserved"],
    "dissect_xrc": ["rdma.xrceth.xrcsrq"],
    "dissect_immediate": ["rdma.immediate.data"],
    "dissect_terminate": ["rdma.terminate.opcode", "rdma.terminate.stag", "rdma.terminate.qn", "rdma.terminate.msn",
                          "rdma.terminate.srcstag"],
    "dissect_mpa_parameters": ["iwarp_mpa.enhanced.ird", "iwarp_mpa.enhanced.ord", "iwarp_mpa.enhanced.a"],
    "dissect_upper": ["rdma.srp.type", "rdma.srp.lun"],
}

# Known when the frame is read for the first time. What a later frame adds is forward: answers, the pairing and what
# follows from it.
BACKWARD = ["rdma.flow", "rdma.flow.destination", "rdma.message.number", "rdma.message.operation", "rdma.message.bytes",
            "rdma.message.first_frame", "rdma.request_in", "rdma.response_time", "rdma.retransmission",
            "rdma.retransmission_of", "rdma.gap.state", "rdma.gap.time", "rdma.outstanding.messages",
            "rdma.outstanding.bytes", "rdma.nak", "rdma.rnr_nak", "rdma.cnp", "rdma.ce", "rdma.icrc_bad", "rdma.operation"]
FORWARD = ["rdma.response_in", "rdma.message.latency"]


def fields_of(printed, names):
    """Lines of `-T fields` as {frame: {name: [values]}}; the frame's number is the first column. What `dump` finds when
    the file ends has a line of its own, with the last frame's number."""
    frames = {}
    as_number = {"True": "1", "False": "0"}  # booleans, as Wireshark prints them since 4.2
    for line in printed.splitlines():
        number, *columns = line.split("\t")
        fields = frames.setdefault(int(number), {})
        for name, column in zip(names, columns):
            if column:
                fields.setdefault(name, []).extend(as_number.get(value, value) for value in column.split("|"))
    return frames


def plugin_says(path, names, *arguments):
    """The fields as above, and the texts that follow them: those of the statistics in `arguments`."""
    chosen = [word for name in names for word in ("-e", name)]
    result = tshark("-n", "-r", path, "-T", "fields", "-E", "aggregator=|", "-e", "frame.number", *chosen, *arguments)
    if result.returncode != 0 or faults(result):
        raise AssertionError(f"{path.name}: {faults(result)} {result.stderr[-2000:]}")
    rows, texts = [], []
    for line in result.stdout.splitlines(keepends=True):
        (rows if not texts and re.match(r"\d+(\t|$)", line) else texts).append(line)
    return fields_of("".join(rows), names), "".join(texts)


def plugin_fields(path, names, *arguments):
    return plugin_says(path, names, *arguments)[0]


def dump_fields(path, names):
    chosen = [word for name in names for word in ("-e", name)]
    return fields_of(rdmascope("dump", "-r", path, "-T", "fields", "-E", "aggregator=|", "-e", "frame.number", *chosen), names)


def side_by_side(work, items):
    """(item, call) of each, in order: call() gives work(item), or raises what that raised. As many run at once as there are
    processors, since tshark uses one and most of its time goes into starting."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        pending = collections.deque()
        rest = iter(items)
        while True:
            # Few are ahead of who takes them: what tshark prints of all captures would fill the memory.
            while len(pending) < 2 * os.cpu_count() and (item := next(rest, None)) is not None:
                pending.append((item, pool.submit(work, item)))
            if not pending:
                return
            item, future = pending.popleft()
            yield item, future.result


def counted(frames, name):
    return collections.Counter(value for fields in frames.values() for value in fields.get(name, []))


class TestCase(unittest.TestCase):
    longMessage = True
    maxDiff = 2000


if __name__ == "__main__":
    raise SystemExit("this is no test by itself")
