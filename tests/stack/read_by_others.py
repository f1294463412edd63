#!/usr/bin/env python3
"""The stack's traffic, read by tshark and by rdmascope's own analysis.

    read_by_others.py --binary rdmascope --maker stack_traffic [--keep FOLDER]

The maker writes captures, one a setting of CRC and markers, and next to each what the programs at both ends did. tshark finds
nothing malformed and every CRC good; both dissectors agree on every field of every frame; `flows` counts the messages that
the programs asked for. tshark cannot take apart what has markers: there, only the latter two words count, ours and the
programs'.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "oracle"))
from tools import (TSHARK_OPTIONS, Failure, both, fields_command, our_fields, parse_records, run, tshark_fields)  # noqa: E402

SERVER_PORT = "7174"
ALWAYS = ["tcp.srcport", "tcp.dstport", "tcp.len"]
GROUPS = ("iwarp_", "tcp.", "ip.", "eth.", "frame.protocols", "data.")
OF_IMMEDIATE = ("send_immediate", "write_immediate")
IMMEDIATE_OCTETS = 8


class Complaints:
    def __init__(self):
        self.found = []

    def equal(self, what, found, expected):
        if found != expected:
            self.found.append(f"{what}: {found}, not {expected}")

    def none(self, what, found):
        if found:
            self.found.append(f"{what}: {found[:5]} ({len(found)} in all)")


def way_of(record):
    """(client's port, direction) of a frame."""
    source, destination = record["tcp.srcport"][0], record["tcp.dstport"][0]
    return (int(source), "there") if destination == SERVER_PORT else (int(destination), "back")


def terminates_of(record):
    """What the Terminates of a frame say, whatever their layer."""
    values = {}
    for part, names in {"layer": ["layer"], "type": ["etype_rdma", "etype_ddp", "etype_llp", "etype"],
                        "code": ["errcode_rdma", "errcode_ddp_tagged", "errcode_ddp_untagged", "errcode_llp", "errcode"]}.items():
        values[part] = [int(value, 0) for name in names for value in record.get(f"iwarp_rdma.term_{name}", [])]
    return [dict(zip(values, one)) for one in zip(*values.values())]


class Reading:
    """One capture, in three words: the programs', tshark's and ours."""

    def __init__(self, binary, path, shared):
        self.path, self.name = path, path.stem
        self.truth = {one["client_port"]: one for one in json.loads(path.with_suffix(".json").read_text())["connections"]}
        self.markers = {way: any(one["markers"][way] for one in self.truth.values()) for way in ("there", "back")}
        self.crc = all(one["crc"] for one in self.truth.values())
        self.shared = shared
        ours_only = ["rdma.mpa_crc.status", "rdma.immediate.data", "iwarp_mpa.marker_fpduptr"]
        our_list = [*shared, *ours_only]
        command = ["tshark", "-r", str(path), *TSHARK_OPTIONS]
        self.theirs, self.ours = both(
            lambda: parse_records(run([*command, *fields_command(shared)]), shared),
            lambda: parse_records(run([binary, "dump", "-n", "-r", str(path), *fields_command(our_list)]), our_list))
        words, figures = both(
            lambda: run([*command, "-O", "iwarp_mpa,iwarp_ddp_rdmap"]).decode(errors="replace"),
            lambda: run([binary, "flows", "-n", "-r", str(path), "--json"]))
        self.words, self.figures = words, json.loads(figures)
        self.complaints = Complaints()

    def check(self):
        self.tshark_is_content()
        self.fields_agree()
        self.figures_agree()
        self.octets_agree()
        self.segments_are_aligned()
        return self.complaints.found

    def tshark_is_content(self):
        """In tshark's words: nothing malformed, no CRC bad; and it found as many FPDUs as left, where it can."""
        self.complaints.none("malformed to tshark", re.findall(r".*(?:Malformed|Exception occurred|Dissector bug).*", self.words))
        self.complaints.none("bad to tshark", re.findall(r".*Bad CRC.*", self.words))
        if self.crc and not any(self.markers.values()):
            self.complaints.equal("FPDUs that tshark calls good", len(re.findall(r"\(Good CRC32\)", self.words)), self.fpdus())

    def fpdus(self):
        return sum(one[way]["fpdus"] for one in self.truth.values() for way in ("there", "back"))

    def comparable(self, record):
        """Whether tshark can be asked about the frame. Where one direction of a connection has markers it expects FPDUs to lie
        in one segment, in both."""
        return not any(self.markers.values()) or "iwarp_mpa.rev" in record

    def fields_agree(self):
        self.complaints.equal("records", len(self.ours), len(self.theirs))
        differences, self.compared = collections.defaultdict(list), 0
        for number, (theirs, ours) in enumerate(zip(self.theirs, self.ours), 1):
            if not self.comparable(theirs):
                continue
            excused = set()
            if len(theirs.get("iwarp_ddp.dv", [])) > 1:
                excused.add("frame.protocols")  # tshark names iwarp_mpa once for all FPDUs of a segment
            if "0x00" in ours.get("iwarp_rdma.term_layer", []):
                excused |= {"iwarp_rdma.term_ddp_h", "iwarp_rdma.term_rdma_h"}  # tshark takes the 18 octets of an untagged header for 14
            for field in self.shared:
                if field in excused:
                    continue
                if field in theirs or field in ours:
                    self.compared += len(theirs.get(field, []))
                    if theirs.get(field) != ours.get(field):
                        differences[field].append((number, theirs.get(field), ours.get(field)))
        for field, cases in differences.items():
            self.complaints.none(f"{field} differs (frame, tshark, rdmascope)", cases)

    def figures_agree(self):
        """`flows` counts what the programs did."""
        capture = self.figures["capture"]
        for what in ("truncated", "malformed", "unsorted", "seen_twice", "stream_octets_lost", "stream_octets_skipped"):
            self.complaints.equal(what, capture[what], 0)
        flows = {}
        for flow in self.figures["flows"]:
            ports = (flow["source"]["port"], flow["destination"]["port"])
            there = ports[1] == int(SERVER_PORT)
            flows[(ports[0] if there else ports[1], "there" if there else "back")] = flow
        rejected = {attempt["client"]["port"] for attempt in self.figures["attempts"] if attempt["outcome"] == "rejected"}
        self.complaints.equal("rejected", rejected, {port for port, one in self.truth.items() if one["outcome"] == "rejected"})
        for port, one in self.truth.items():
            if one["outcome"] == "rejected":
                continue
            for way in ("there", "back"):
                self.flow_agrees(f"{one['name']}, {way}", flows[port, way], one[way])

    def flow_agrees(self, name, flow, told):
        counted = {operation: figures for operation, figures in flow["messages"].items() if figures["count"]}
        self.complaints.equal(f"{name}: messages", counted, told["messages"])
        self.complaints.equal(f"{name}: Terminates", flow["terminates"], int(told["terminate"] is not None))
        for what in ("crc_bad", "retransmitted_packets", "reordered_packets", "missing_packets", "unseen_acknowledged_packets"):
            self.complaints.equal(f"{name}: {what}", flow[what] or 0, 0)
        # Immediate Data are payload to the stack, and no bytes of a message.
        immediate = IMMEDIATE_OCTETS * sum(told["messages"].get(operation, {"count": 0})["count"] for operation in OF_IMMEDIATE)
        self.complaints.equal(f"{name}: payload", flow["payload_bytes"] + immediate, told["payload_bytes"])

    def octets_agree(self):
        """Our dissection, FPDU by FPDU, against the stack's own counters and Terminates."""
        fpdus, ends, statuses = collections.Counter(), collections.defaultdict(list), collections.Counter()
        immediates = collections.Counter()
        pointers = 0
        for record in self.ours:
            way = way_of(record)
            fpdus[way] += len(record.get("iwarp_mpa.ulpdulength", []))
            immediates[way] += len(record.get("rdma.immediate.data", []))
            self.complaints.equal("Immediate Data", set(record.get("rdma.immediate.data", [])) - {"0x0123456789abcdef"}, set())
            pointers += len(record.get("iwarp_mpa.marker_fpduptr", []))
            statuses.update(record.get("rdma.mpa_crc.status", []))
            ends[way] += terminates_of(record)
        for port, one in self.truth.items():
            for way in ("there", "back"):
                name, told = f"{one['name']}, {way}", one[way]
                self.complaints.equal(f"{name}: FPDUs", fpdus[port, way], told["fpdus"])
                self.complaints.equal(f"{name}: Terminates", ends[port, way], [told["terminate"]] if told["terminate"] else [])
                self.complaints.equal(f"{name}: Immediate Data", immediates[port, way],
                                      sum(told["messages"].get(operation, {"count": 0})["count"] for operation in OF_IMMEDIATE))
        self.complaints.equal("markers are there", pointers > 0, any(self.markers.values()))
        self.complaints.equal("kinds of CRC status", len(statuses), 1)
        self.statuses = statuses

    def segments_are_aligned(self):
        """Where it was asked for, a segment is whole FPDUs. RFC 5044 section 5.1."""
        octets, at, walked = self.path.read_bytes(), 24, 0
        while at < len(octets):
            size = struct.unpack_from("<I", octets, at + 8)[0]
            tcp = at + 16 + 14 + 20
            begin, end = tcp + (octets[tcp + 12] >> 4) * 4, at + 16 + size
            at += 16 + size
            source, destination = struct.unpack_from("!HH", octets, tcp)
            port, way = (source, "there") if destination == int(SERVER_PORT) else (destination, "back")
            if not self.truth[port]["align"] or self.markers[way] or octets[begin:begin + 7] == b"MPA ID ":
                continue
            while begin < end:
                begin += (2 + struct.unpack_from("!H", octets, begin)[0] + 3) // 4 * 4 + 4
                walked += 1
            self.complaints.equal("end of an aligned segment", begin, end)
        self.complaints.equal("aligned segments are there", walked > 100, not all(self.markers.values()))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--maker", required=True)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    if not shutil.which("tshark"):
        print("tshark is not installed: nobody else reads what the stack sends")
        sys.exit(77)
    theirs = tshark_fields()
    shared = [field for field in our_fields(arguments.binary)
              if field.startswith(GROUPS) and theirs.get(field, "FT_NONE") not in ("FT_NONE", "FT_PROTOCOL")]
    if not set(ALWAYS) <= set(shared):
        raise Failure(f"one of {ALWAYS} is not known to both")
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(arguments.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        run([arguments.maker, str(folder)])
        paths = sorted(folder.glob("*.pcap"))
        if len(paths) != 8:
            raise Failure(f"{len(paths)} captures were made")
        for path in paths:
            reading = Reading(arguments.binary, path, shared)
            found = reading.check()
            print(f"{reading.name}: {len(reading.truth)} connections, {len(reading.ours)} frames, {reading.fpdus()} FPDUs, "
                  f"{reading.compared} values compared with tshark, CRC status {dict(reading.statuses)}, {len(found)} complaints")
            for complaint in found[:20]:
                print(f"    {complaint}"[:600])
            wrong += len(found)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"read_by_others: {failure}")
