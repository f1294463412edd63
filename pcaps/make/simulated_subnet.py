#!/usr/bin/env python3
"""Writes ibsim-subnet: management datagrams of Debian's opensm, which sets up a subnet of Debian's ibsim, and of the clients that ask it,
as they pass the port of the subnet manager's host. Needs ibsim-utils, libumad2sim0, opensm, infiniband-diags, libibumad-dev and cc.

umad_recorder.c records what the programs give to libibumad and get from it. A kernel adds what is not in the recording: the headers below
the datagram, and the segments of a long answer, which are made here as its ib_mad_rmpp.c makes them. The receiver's acknowledgements are
not in the capture. The last packets are of a connection that is made by hand."""
import gzip
import hashlib
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
FOLDER = pathlib.Path(__file__).resolve().parents[1]
sys.path += [str(FOLDER / "make"), str(FOLDER.parent / "tests" / "fabric")]
os.environ.setdefault("RDMASCOPE_BINARY", "rdmascope")
import simulator
from octets import *

MANAGER, CLIENT = "sm01 mlx5_0", "node03 mlx5_0"
HOSTS = [MANAGER, *(f"node{i:02} mlx5_0" for i in range(2, 16))]
LEAVES, SPINES = 3, 2
PERMISSIVE = 0xFFFF
SUBNET, DIRECTED, ADMINISTRATION = 0x01, 0x81, 0x03


def net():
    """A tree of two levels in the simulator's language."""
    return re.sub(r'"host(\d+)"', lambda match: f'"{HOSTS[int(match[1])]}"', simulator.fat_tree(LEAVES, SPINES, len(HOSTS) // LEAVES))


def recorded(path):
    """(received, time in ns, LID of the other end, its queue pair, datagram)"""
    data, at = path.read_bytes(), 0
    while at < len(data):
        way, time_ns, lid, queue_pair, length = struct.unpack_from("=5Q", data, at)
        at += 40
        yield way == 2, time_ns, lid, queue_pair, data[at:at + length]
        at += length


def segments(datagram):
    """A datagram as the kernel sends it: a long answer of Subnet Administration in segments (IBA 13.6; Linux' ib_mad_rmpp.c)."""
    header, room = datagram[:56], 200
    if datagram[1] != ADMINISTRATION or len(datagram) <= 256:
        return [datagram]
    data = datagram[56:]
    parts = [data[i:i + room] for i in range(0, len(data), room)]
    whole = len(parts) * 220 - (-len(data) % room)
    out = []
    for number, part in enumerate(parts, 1):
        is_last = number == len(parts)
        flags = 1 | (2 if number == 1 else 0) | (4 if is_last else 0)
        length = whole if number == 1 else len(part) + 20 if is_last else 0
        rmpp = struct.pack("!BBBBII", 1, 1, header[26] & 0xF8 | flags, 0, number, length)
        out.append(header[:24] + rmpp + header[36:] + part + bytes(room - len(part)))
    return out


def packet(received, own, other, queue_pair, datagram, psn):
    """The packet around a datagram: on a directed route, and from a port without LID, with permissive LIDs."""
    is_subnet = datagram[1] in (SUBNET, DIRECTED)
    source, destination = (other, own) if received else (own, other)
    if datagram[1] == DIRECTED:
        source = destination = PERMISSIVE
    extended = deth(0 if is_subnet else GMP_QKEY, 0 if is_subnet else 1 if received is False else queue_pair)
    transport = padded((0x64, extended), datagram, destination_qp=0 if is_subnet else 1, psn=psn & 0xFFFFFF)
    return infiniband(transport, source=source, destination=destination)


def messages(client, server, begin_ns):
    """Messages of a reliable connection between two hosts, and their acknowledgements: a simulated subnet carries none, so these are made
    here."""
    for i in range(8):
        send = padded((0x04, b""), pattern(256), destination_qp=0x000012, psn=i, acknowledge=1)
        answer = padded((0x11, aeth(0x1F, i + 1)), destination_qp=0x000034, psn=i)
        yield begin_ns + i * 20_000, infiniband(send, source=client, destination=server)
        yield begin_ns + i * 20_000 + 5_000, infiniband(answer, source=server, destination=client)


def erf(octets, time_ns):
    stamp = (time_ns // 10**9 << 32) + (time_ns % 10**9 << 32) // 10**9
    return struct.pack("<Q", stamp) + struct.pack("!BBHHH", 21, 4, 16 + len(octets), 0, len(octets)) + octets


def main():
    commands = []
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(folder) / "recorder.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, FOLDER / "make" / "umad_recorder.c", "-ldl", "-libumad"], check=True)
        subnet = simulator.Simulator(net(), folder)
        plain = subnet.environment

        def environment(host=None, preload=False):
            """Programs on the manager's host are recorded."""
            made = plain(host, preload)
            if preload and host == MANAGER:
                made["LD_PRELOAD"] = f"{library} {simulator.PRELOADED}"
                made["UMAD_RECORD"] = f"{folder}/recorded"
            return made

        subnet.environment = environment
        subnet.start_manager(MANAGER)
        found = subnet.output_of("ibnetdiscover", host=CLIENT)
        lids = {name: int(lid) for name, lid in re.findall(r'# "([^"]+)" lid (\d+) ', found)}
        switches = {name: int(lid) for name, lid in re.findall(r'^Switch\s.*# "([^"]+)" .*port 0 lid (\d+)', found, re.M)}
        own_host = {name: int(lid) for lid, name in re.findall(r'^\[1\]\([0-9a-f]+\) \t"[^"]+"\[\d+\]\t\t# lid (\d+) .*?"([^"]+)"', found, re.M)}
        names = {**own_host, **lids, **switches}
        for host, command in ((CLIENT, ["saquery", "-N"]), (CLIENT, ["saquery", "-p"]), (CLIENT, ["saquery", "PIR"]),
                              (MANAGER, ["smpquery", "nodedesc", str(names.get(CLIENT, 2))]),
                              (MANAGER, ["smpquery", "nodeinfo", str(names.get(CLIENT, 2))])):
            result = subnet.run(*command, host=host)
            commands.append({"host": host, "cmd": " ".join(command), "rc": result.returncode, "output": result.stdout[:600]})
        own = int(re.search(r"sm lid (\d+)", subnet.output_of("sminfo", host=CLIENT)).group(1))
        subnet.close()
        frames, answers = [], []
        for received, time_ns, other, queue_pair, datagram in recorded(pathlib.Path(folder) / "recorded"):
            parts = segments(datagram)
            for i, part in enumerate(parts):
                frames.append((time_ns + i * 100, packet(received, own, other, queue_pair, part, len(frames))))
            if len(parts) > 1:
                answers.append({"last_frame": len(frames), "attribute": struct.unpack_from("!H", datagram, 16)[0], "segments": len(parts),
                                "records": (len(datagram) - 56) // (struct.unpack_from("!H", datagram, 44)[0] * 8)})
    frames += messages(names[CLIENT], own, frames[-1][0] + 1_000_000)
    out = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 197)
    for time_ns, octets in frames:
        record = erf(octets, time_ns)
        out += struct.pack("<IIII", time_ns // 10**9, time_ns % 10**9, len(record), len(record)) + record
    truth = {"name": "ibsim-subnet",
             "scenario": f"opensm sets up a simulated subnet of {len(HOSTS)} hosts and {LEAVES + SPINES} switches; clients ask for its nodes and paths; a connection between two hosts is added by hand",
             "origin": "ibsim", "driver": "none", "capture_point": "libibumad on the subnet manager's host; headers, CRCs and segments as a kernel makes them",
             "names": {str(lid): name for name, lid in sorted(names.items(), key=lambda item: item[1])}, "answers": answers, "commands": commands,
             "frames": len(frames), "sha256": hashlib.sha256(out).hexdigest()}
    with open(FOLDER / "ibsim-subnet.pcap.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
        packed.write(out)
    (FOLDER / "ibsim-subnet.json").write_text(json.dumps(truth, indent=1) + "\n")
    print(found if len(names) < len(HOSTS) else f"{len(frames)} frames", file=sys.stderr)


if __name__ == "__main__":
    main()
