"""What the oracle's parts share: running tshark and rdmascope the same way, and reading what they print."""
import concurrent.futures
import fnmatch
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PCAPS = ROOT / "pcaps"

# Separators that no value contains, and that both programs take.
SEPARATOR, AGGREGATOR = "\x1f", "\x1e"

# What tshark guesses on top of RDMA, in this machine's words or in those of the protocol below: where a guess is wrong
# the frame is "Malformed" and its fields are lost, and where it is right tshark shows fields of layers that are none of
# ours. Without guesses the comparison is strict.
GUESSES = ["rpcordma", "nvme-rdma", "nvme-tcp", "smb_direct", "iser", "lnet", "infiniband_sdp", "infiniband.eoib", "fcoib", "smc", "drbd",
           "gryphon"]
# iWARP is looked for on ports that belong to others (4420, 5445) too. A Send of several segments is shown segment by
# segment, as we do, not as one block of data with its last one.
TSHARK_OPTIONS = ["-n", "-o", "tcp.reassemble_out_of_order:TRUE", "-o", "tcp.try_heuristic_first:TRUE",
                  "-o", "iwarp_ddp_rdmap.reassemble_iwarp_rdma_send:FALSE"]
for guess in GUESSES:
    TSHARK_OPTIONS += ["--disable-protocol", guess]
TSHARK_OPTIONS += ["--disable-heuristic", "eth_over_ib"]
# A receiver drops a segment with a wrong checksum; tshark passes its octets on unless it is told to look.
OPTIONS_OF = {"siw-corrupt-send-bw": ["-o", "tcp.check_checksum:TRUE"]}


class Failure(Exception):
    """One of the programs did not do what it was asked; the test cannot go on."""


def run(command, accepted=(0,)):
    result = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=900,
                            env={**os.environ, "TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"})
    if result.returncode not in accepted:
        shown = " ".join(command)
        shown = shown if len(shown) < 300 else shown[:300] + "..."
        raise Failure(f"{shown}\nexit status {result.returncode}: {result.stderr.decode(errors='replace')[-1000:]}")
    return result.stdout


def name_of(path):
    return re.sub(r"\.pcap(ng)?(\.gz)?$", "", path.name)


def captures(only="*"):
    """Names and paths of captures."""
    found = {}
    for path in sorted(PCAPS.glob("*.pcap*")):
        name = name_of(path)
        if fnmatch.fnmatch(name, only):
            found[name] = path
    return found


def tshark_reads(name):
    """Wiretap knows InfiniBand in ERF records only; the same frames are in made-erf-infiniband."""
    return name != "made-infiniband"


def tshark_fields():
    """Every field tshark knows: name to type. A name can stand for several."""
    found = {}
    for line in run(["tshark", "-G", "fields"]).decode().splitlines():
        columns = line.split("\t")
        if columns[0] == "F":
            found[columns[2]] = columns[3]
        elif columns[0] == "P":
            found.setdefault(columns[2], "FT_PROTOCOL")
    return found


def our_fields(binary):
    found = []
    for line in run([binary, "dump", "-G", "fields"]).decode().splitlines():
        columns = line.split("\t")
        if columns[0] in "FP":
            found.append(columns[2])
    return list(dict.fromkeys(found))


def parse_records(output, fields):
    """Per frame: field to the list of its occurrences, for those that occur."""
    records = []
    for line in output.decode("utf-8", "surrogateescape").split("\n")[:-1]:
        columns = line.split(SEPARATOR)
        if len(columns) != len(fields):
            raise Failure(f"{len(columns)} columns for {len(fields)} fields in frame {len(records) + 1}")
        records.append({field: value.split(AGGREGATOR) for field, value in zip(fields, columns) if value})
    return records


def fields_command(fields):
    command = ["-T", "fields", "-E", f"separator={SEPARATOR}", "-E", f"aggregator={AGGREGATOR}", "-E", "occurrence=a"]
    for field in fields:
        command += ["-e", field]
    return command


class Cache:
    """tshark's answers, kept in a folder: they change only with its version, the options and the capture."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) if folder else None
        if self.folder:
            self.folder.mkdir(parents=True, exist_ok=True)
        self.version = run(["tshark", "--version"]).split(b"\n")[0]

    def tshark(self, path, arguments):
        options = TSHARK_OPTIONS + OPTIONS_OF.get(name_of(path), [])
        command = ["tshark", "-r", str(path), *options, *arguments]
        if not self.folder:
            return run(command)
        key = hashlib.sha256(repr((self.version, path.read_bytes(), arguments, options)).encode()).hexdigest()
        kept = self.folder / key
        if kept.exists():
            return zlib.decompress(kept.read_bytes())
        output = run(command)
        fresh = kept.with_suffix(f".{os.getpid()}")
        fresh.write_bytes(zlib.compress(output, 1))
        fresh.rename(kept)
        return output


def shard_of(paths, index, count):
    """A share of the captures, of about the same size for each."""
    shares, sizes = [[] for _ in range(count)], [0] * count
    for name, path in sorted(paths.items(), key=lambda item: (-item[1].stat().st_size, item[0])):
        least = sizes.index(min(sizes))
        shares[least].append(name)
        sizes[least] += path.stat().st_size + 50_000
    return sorted(shares[index])


def in_order(part, whole):
    """Whether `part` is `whole` with some elements left out."""
    rest = iter(whole)
    return all(any(value == other for other in rest) for value in part)


def both(first, second):
    """Two calls at once: while tshark works, so does rdmascope."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        one, two = pool.submit(first), pool.submit(second)
        return one.result(), two.result()


def fail(message):
    print(message, file=sys.stderr)
    sys.exit(1)
