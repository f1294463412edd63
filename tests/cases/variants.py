"""Makes captures from small descriptions: traffic between two hosts, steps that change its frames, a file format.

    [capture]
    traffic = "messages"            a function of roce.py or iwarp.py, or `file`
    operations = ["read"]           its arguments
    steps = [{ step = "sampled", one_in = 64 }]          functions of steps.py, in their order
    format = "pcap"                 or `pcap_microseconds`, `pcap_big_endian`, `erf`
    link = 1                        the link type; `nflog` and `linux_cooked` among the steps set theirs

The same description gives the same file on every run.

usage: variants.py [FOLDER [NAME…]]      write the captures of the descriptions of these names, or of all
"""
import gzip
import pathlib
import struct
import sys
import tomllib

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))
import iwarp
import roce
import steps as changes
from roce import Frame

PCAPS = FOLDER.parents[1] / "pcaps"
START_S = 1_700_000_000
LINKS = {"nflog": 239, "linux_cooked": 113}


def frames_of_file(name, first=None):
    """The frames of a capture in pcaps/, their times from 0 on."""
    data = (PCAPS / name).read_bytes()
    data = gzip.decompress(data) if name.endswith(".gz") else data
    magic = data[:4]
    order = "<" if magic in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    unit = 1 if magic in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1000
    at, frames = 24, []
    while at + 16 <= len(data) and (first is None or len(frames) < first):
        seconds, fraction, captured, length = struct.unpack_from(order + "IIII", data, at)
        frames.append(Frame(seconds * 1_000_000_000 + fraction * unit, data[at + 16:at + 16 + captured], length))
        at += 16 + captured
    start = frames[0].time_ns
    for frame in frames:
        frame.time_ns -= start
    return frames


def traffic_of(name):
    if name == "file":
        return frames_of_file
    return getattr(roce, name, None) or getattr(iwarp, name)


def frames_of(description):
    description = dict(description)
    steps = description.pop("steps", [])
    for key in ("format", "link"):
        description.pop(key, None)
    frames = changes.by_time(traffic_of(description.pop("traffic"))(**description))
    for step in steps:
        step = dict(step)
        frames = getattr(changes, step.pop("step"))(frames, **step)
    return frames


def link_of(description):
    named = [LINKS[step["step"]] for step in description.get("steps", []) if step["step"] in LINKS]
    return description.get("link", named[-1] if named else 1)


def pcap(frames, link, order="<", nanoseconds=True, version=(2, 4), version_order=None):
    unit = 1 if nanoseconds else 1000
    out = struct.pack(order + "I", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4)
    out += struct.pack((version_order or order) + "HH", *version) + struct.pack(order + "iIII", 0, 0, 262144, link)
    for frame in frames:
        seconds, rest = divmod(frame.time_ns, 1_000_000_000)
        out += struct.pack(order + "IIII", START_S + seconds, rest // unit, len(frame.data), frame.length) + frame.data
    return out


def pcapng(frames, link, offset_s):
    """Section, interface with nanoseconds and if_tsoffset, enhanced packet blocks with the time after that offset."""

    def block(kind, body):
        body += bytes(-len(body) % 4)
        size = struct.pack("<I", 12 + len(body))
        return struct.pack("<I", kind) + size + body + size

    out = block(0x0A0D0D0A, struct.pack("<IHHq", 0x1A2B3C4D, 1, 0, -1))
    options = struct.pack("<HHB3x", 9, 1, 9) + struct.pack("<HHq", 14, 8, offset_s) + bytes(4)
    out += block(1, struct.pack("<HHI", link, 0, 262144) + options)
    for frame in frames:
        head = struct.pack("<IIIII", 0, frame.time_ns >> 32, frame.time_ns & 0xFFFFFFFF, len(frame.data), frame.length)
        out += block(6, head + frame.data)
    return out


def erf(frames, _):
    """Endace's records of Ethernet (type 2): time as 32.32 bits little endian, flags, lengths, two bytes of offset and pad."""
    out = b""
    for frame in frames:
        seconds, rest = divmod(frame.time_ns, 1_000_000_000)
        record = 16 + 2 + len(frame.data)
        pad = -record % 8
        stamp = START_S + seconds << 32 | (rest << 32) // 1_000_000_000
        out += struct.pack("<Q", stamp) + struct.pack("!BBHHH", 2, 4, record + pad, 0, frame.length) + bytes(2)
        out += frame.data + bytes(pad)
    return out


FORMATS = {
    "pcap": (pcap, ".pcap"),
    "pcap_microseconds": (lambda frames, link: pcap(frames, link, nanoseconds=False), ".pcap"),
    "pcap_big_endian": (lambda frames, link: pcap(frames, link, order=">"), ".pcap"),
    "pcap_swapped_version": (lambda frames, link: pcap(frames, link, version_order=">"), ".pcap"),
    "pcap_swapped_big_endian": (lambda frames, link: pcap(frames, link, order=">", version_order="<"), ".pcap"),
    "pcap_version_3": (lambda frames, link: pcap(frames, link, version=(3, 7)), ".pcap"),
    "pcapng_last_times": (lambda frames, link: pcapng(frames, link, 9_223_372_036), ".pcapng"),
    "pcapng_first_times": (lambda frames, link: pcapng(frames, link, -9_223_372_037), ".pcapng"),
    "erf": (erf, ".erf"),
    "erf_cut": (lambda frames, link: erf(frames, link)[:-20], ".erf"),
    "zeros": (lambda frames, link: bytes(len(erf(frames, link))), ".erf"),
}


def content(description):
    writer, suffix = FORMATS[description.get("format", "pcap")]
    return writer(frames_of(description), link_of(description)), suffix


def write(description, stem):
    """The capture of a description, next to `stem`, which gets the format's suffix; its path."""
    data, suffix = content(description)
    path = stem.with_name(stem.name + suffix)
    path.write_bytes(data)
    return path


def descriptions():
    found = {}
    for path in sorted(FOLDER.glob("variants/*.toml")):
        with path.open("rb") as file:
            found[path.stem] = tomllib.load(file)["capture"]
    return found


if __name__ == "__main__":
    target = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    target.mkdir(parents=True, exist_ok=True)
    for name, description in descriptions().items():
        if not sys.argv[2:] or name in sys.argv[2:]:
            print(write(description, target / name))
