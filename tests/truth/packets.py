"""A second reader of the captures, in plain Python: RoCEv2 and iWARP, just enough to count. It shares nothing with the
program, and is simple where the program is quick: it keeps every packet.

The figures are named as everywhere in these tests: FIGURE[/DETAIL]/SENDER, SENDER being the node (A or B) whose packets
or requests they are.
"""
import collections
import dataclasses
import gzip
import re
import struct
import zlib

# IBTA vol. 1, table 38: operation code without its service -> (operation, first, last)
REQUESTS = {
    0: ("send", 1, 0), 1: ("send", 0, 0), 2: ("send", 0, 1), 3: ("send_immediate", 0, 1), 4: ("send", 1, 1),
    5: ("send_immediate", 1, 1), 6: ("write", 1, 0), 7: ("write", 0, 0), 8: ("write", 0, 1),
    9: ("write_immediate", 0, 1), 10: ("write", 1, 1), 11: ("write_immediate", 1, 1), 12: ("read", 1, 1),
    19: ("compare_swap", 1, 1), 20: ("fetch_add", 1, 1), 22: ("send_invalidate", 0, 1), 23: ("send_invalidate", 1, 1)}
RESPONSES = {13, 14, 15, 16}
ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE = 17, 18
SERVICES = {0: "RC", 1: "UC", 2: "RD", 3: "UD", 5: "XRC"}
NAKS = {0: "psn_sequence_error", 1: "invalid_request", 2: "remote_access_error", 3: "remote_operational_error",
        4: "invalid_rd_request"}
# RFC 5040, figure 3
RDMAP = {0: "write", 3: "send", 4: "send_invalidate", 5: "send", 6: "send_invalidate"}
READ_REQUEST, READ_RESPONSE, TERMINATE = 1, 2, 7
PSNS = 1 << 24


def frames(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        data = file.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at = 24
    while at + 16 <= len(data):
        captured, = struct.unpack_from(order + "I", data, at + 8)
        yield data[at + 16:at + 16 + captured]
        at += 16 + captured


def ones_complement(octets):
    octets += b"\0" * (len(octets) % 2)
    total = sum(struct.unpack(f">{len(octets) // 2}H", octets))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


@dataclasses.dataclass
class Packet:
    source: str
    destination: str
    protocol: int
    ecn: int
    octets: bytes  # from the UDP or TCP header on
    checked: bool  # the IP header's and TCP's checksums are right, or there was none
    header: bytes  # of IP


def packet(frame):
    """The IP packet of an Ethernet frame, or None."""
    kind, = struct.unpack_from(">H", frame, 12)
    ip = frame[14:]
    if kind == 0x0800:
        header = (ip[0] & 15) * 4
        length, = struct.unpack_from(">H", ip, 2)
        checked = ones_complement(ip[:header]) == 0xFFFF
        pseudo = ip[12:20]
        found = Packet(".".join(map(str, ip[12:16])), ".".join(map(str, ip[16:20])), ip[9], ip[1] & 3,
                       ip[header:length or None], checked, ip[:header])
    elif kind == 0x86DD:
        length, = struct.unpack_from(">H", ip, 4)
        pseudo = ip[8:40]
        found = Packet(ip[8:24].hex(), ip[24:40].hex(), ip[6], ip[1] >> 4 & 3, ip[40:40 + length], True, ip[:40])
    else:
        return None
    if found.protocol == 6:
        pseudo += struct.pack(">HH", 6, len(found.octets))
        found.checked = found.checked and ones_complement(pseudo + found.octets) == 0xFFFF
    return found


def icrc_right(ip):
    """IBTA annex A17.3.3: CRC-32 after 64 one bits, what routers change masked out; no options or extension headers."""
    header, udp = bytearray(ip.header), bytearray(ip.octets[:struct.unpack_from(">H", ip.octets, 4)[0]])
    masked = (1, 8, 10, 11) if header[0] >> 4 == 4 else (1, 2, 3, 7)
    for at in masked:
        header[at] = 0xFF
    if header[0] >> 4 == 6:
        header[0] |= 0x0F
    udp[6:8] = b"\xFF\xFF"
    udp[12] = 0xFF
    return zlib.crc32(b"\xFF" * 8 + header + udp[:-4]) == struct.unpack_from("<I", udp, len(udp) - 4)[0]


class Sequence:
    """Numbers of one direction, each once: what is new, what fills a hole, what comes again."""

    def __init__(self):
        self.seen, self.next = set(), None
        self.missing = 0

    def late(self, number):
        return self.next is not None and (number - self.next) % PSNS >= PSNS // 2

    def take(self, number, count=1):
        """True where something of it was not seen before."""
        if self.next is None:
            self.next = number
        ahead = (number - self.next) % PSNS
        numbers = [(number + i) % PSNS for i in range(count)]
        fresh = [n for n in numbers if n not in self.seen]
        self.seen.update(numbers)
        if ahead < PSNS // 2:
            self.missing += ahead
            self.next = (number + count) % PSNS
            return True
        past = (number + count - self.next) % PSNS
        if 0 < past < PSNS // 2:
            self.next = (number + count) % PSNS
        return bool(fresh)


class Roce:
    def __init__(self, figures, node_of, mtu):
        self.figures, self.node_of, self.mtu = figures, node_of, mtu
        self.requests, self.responses = {}, {}
        self.asked = collections.defaultdict(set)  # hosts -> PSNs of responses that READs between them have asked for
        self.begun = {}  # flow -> PSNs of its request packets
        self.payload = {}  # flow and operation -> {PSN: octets}
        self.flows = {}

    def take(self, ip):
        udp = ip.octets
        bth = udp[8:struct.unpack_from(">H", udp, 4)[0]]
        opcode, pad = bth[0], bth[1] >> 4 & 3
        qpn, psn = struct.unpack_from(">I", bth, 4)[0] & 0xFFFFFF, struct.unpack_from(">I", bth, 8)[0] & 0xFFFFFF
        service, operation = SERVICES.get(opcode >> 5), opcode & 31
        node = self.node_of(ip.source)
        peer = self.node_of(ip.destination)
        flow = (ip.source, ip.destination, qpn, service)
        figures = self.figures
        figures[f"packets/{node}"] += 1
        figures[f"icrc_bad/{node}"] += not icrc_right(ip)
        figures[f"ce/{node}"] += ip.ecn == 3
        figures[f"ect/{node}"] += ip.ecn != 0
        if opcode == 0x81:
            figures[f"cnp/{node}"] += 1
            return
        self.flows.setdefault(flow, node)
        body = bth[12:len(bth) - 4]
        if service == "UD":
            body = body[8:]
        if service in ("RC", "XRC") and operation in (ACKNOWLEDGE, ATOMIC_ACKNOWLEDGE) or operation in (13, 15, 16):
            syndrome = body[0]
            if syndrome >> 5 == 1:
                figures[f"rnr_naks/{peer}"] += 1
            elif syndrome >> 5 == 3:
                figures[f"naks/{NAKS.get(syndrome & 31, 'other')}/{peer}"] += 1
        if operation in RESPONSES or operation == ATOMIC_ACKNOWLEDGE:
            sequence = self.responses.setdefault(flow, Sequence())
            # PSNs between two READs may belong to other requests: a hole is what a READ has asked for.
            if sequence.next is not None and (ahead := (psn - sequence.next) % PSNS) < PSNS // 2:
                asked = self.asked[ip.destination, ip.source]
                figures[f"missing/{node}"] += sum((number - sequence.next) % PSNS < ahead for number in asked)
            figures[f"responses_late/{node}"] += sequence.late(psn)
            figures[f"responses_again/{node}"] += not sequence.take(psn)
        if operation not in REQUESTS:
            return
        name, first, last = REQUESTS[operation]
        count = 1
        if name == "read":
            size, = struct.unpack_from(">I", body, 12)
            count = max(1, -(-size // self.mtu))
            self.asked[ip.source, ip.destination].update((psn + i) % PSNS for i in range(count))
        elif name in ("compare_swap", "fetch_add"):
            size = 8
        else:
            size = len(body) - pad - (16 if first and name.startswith("write") else 0)
            size -= 4 if name.endswith(("immediate", "invalidate")) else 0
        if service in ("UD", "UC"):
            kind = "management" if service == "UD" and qpn == 1 else name
            figures[f"bytes/{kind}/{node}"] += size
            figures[f"messages/{kind}/{node}"] += last
            return
        sequence = self.requests.setdefault(flow, Sequence())
        figures[f"requests_late/{node}"] += sequence.late(psn)
        before = sequence.missing
        new = sequence.take(psn, count)
        figures[f"missing/{node}"] += sequence.missing - before
        figures[f"request_packets/{node}"] += 1
        figures[f"requests_again/{node}"] += not new
        # A READ may go on in its middle (IBTA 9.4.4): all its PSNs were asked for, but no request began there.
        begun = self.begun.setdefault(flow, set())
        figures[f"requests_restarted/{node}"] += not new and psn not in begun
        begun.add(psn)
        if new:
            figures[f"request_packets_once/{node}"] += 1
            # Middle packets carry the first one's name: a Send or a Write that ends otherwise takes its octets along.
            key = (flow, name.split("_")[0])
            if name == "read":
                figures[f"bytes/{name}/{node}"] += size
            elif name in ("compare_swap", "fetch_add"):
                figures[f"bytes/{name}/{node}"] += size
            else:
                self.payload.setdefault(key, {})[psn] = (size, name if last else None)
            figures[f"messages/{name}/{node}"] += last

    def finish(self):
        for (flow, _), parts in self.payload.items():
            node = self.flows[flow]
            start = min(parts, key=lambda psn: (psn - min(parts)) % PSNS)
            if max(parts) - min(parts) > PSNS // 2:
                start = min(psn for psn in parts if psn > PSNS // 2)
            pending = 0
            for psn in sorted(parts, key=lambda psn: (psn - start) % PSNS):
                size, name = parts[psn]
                pending += size
                if name:
                    self.figures[f"bytes/{name}/{node}"] += pending
                    pending = 0
        for flow, node in self.flows.items():
            if flow[2] > 1:
                self.figures[f"queue_pairs/{flow[3]}/{node}"] += 1


class Stream:
    """One direction of a TCP connection."""

    def __init__(self):
        self.next, self.waiting, self.octets, self.top = None, {}, bytearray(), None
        self.node, self.first, self.seen = None, None, set()


class Iwarp:
    def __init__(self, figures, node_of, offloaded):
        self.figures, self.node_of, self.streams, self.offloaded = figures, node_of, {}, offloaded
        self.connections = collections.defaultdict(collections.Counter)

    def take(self, ip):
        tcp = ip.octets
        source, destination, number = struct.unpack_from(">HHI", tcp)
        flags, header = tcp[13], (tcp[12] >> 4) * 4
        node = self.node_of(ip.source)
        self.figures[f"segments/{node}"] += 1
        figures = self.connections[frozenset([(ip.source, source), (ip.destination, destination)])]
        # RDMA begins with the first octets, the MPA request: what opens the TCP connection is none of it.
        begun = figures["begun"] = figures["begun"] or len(tcp) > header
        figures[f"mpa_segments/{node}"] += begun
        figures[f"ce/{node}"] += ip.ecn == 3
        figures[f"ect/{node}"] += ip.ecn != 0
        if not ip.checked and not self.offloaded:
            figures[f"bad_checksum/{node}"] += 1
            return
        figures[f"ece/{node}"] += bool(flags & 0x40) and not flags & 2
        figures[f"resets/{node}"] += bool(flags & 4)
        key = (ip.source, source, ip.destination, destination)
        stream = self.streams.setdefault(key, Stream())
        data = tcp[header:]
        if flags & 2:
            figures[f"syn/{node}"] += not flags & 0x10
            stream.next = stream.top = stream.first = (number + 1) % (1 << 32)
            stream.node = node
            return
        if not data:
            return
        if stream.next is None:
            stream.next = stream.top = stream.first = number
            stream.node = node
        ahead = (number - stream.top) % (1 << 32)
        figures[f"data_segments/{node}"] += 1
        # Every octet in a set: slow, and not to be mistaken.
        octets_ahead = range((number - stream.first) % (1 << 32), (number - stream.first) % (1 << 32) + len(data))
        figures[f"segments_again/{node}"] += stream.seen.issuperset(octets_ahead)
        stream.seen.update(octets_ahead)
        end = (number + len(data)) % (1 << 32)
        if ahead >= 1 << 31:
            figures[f"late_segments/{node}"] += 1
        elif ahead:
            figures[f"gaps/{node}"] += 1  # each one segment: there are no two losses in a row in these captures
        if (end - stream.top) % (1 << 32) < 1 << 31:
            stream.top = end
        stream.waiting.setdefault(number, b"")
        if len(data) > len(stream.waiting[number]):
            stream.waiting[number] = data
        moved = True
        while moved:
            moved = False
            for start in list(stream.waiting):
                behind = (stream.next - start) % (1 << 32)
                piece = stream.waiting[start]
                if behind < 1 << 31:
                    del stream.waiting[start]
                    if behind < len(piece):
                        stream.octets += piece[behind:]
                        stream.next = (stream.next + len(piece) - behind) % (1 << 32)
                        moved = True

    def finish(self):
        for (source, port, destination, peer_port), stream in self.streams.items():
            octets = bytes(stream.octets)
            node, figures = stream.node, self.figures
            if octets[:16] not in (b"MPA ID Req Frame", b"MPA ID Rep Frame"):
                continue
            # Of other connections nothing but the segments is counted. Both directions of this one are, at the first.
            if counted := self.connections.pop(frozenset([(source, port), (destination, peer_port)]), None):
                figures.update(counted)
                for end in (source, destination):
                    figures[f"queue_pairs/RC/{self.node_of(end)}"] += 1
            figures[f"mpa/{'request' if octets[9:10] == b'q' else 'reply'}/{node}"] += 1
            rejected = octets[16] & 0x20
            figures[f"rejected/{node}"] += bool(rejected)
            at = 20 + struct.unpack_from(">H", octets, 18)[0]
            pending = collections.Counter()
            while at + 2 <= len(octets):
                length, = struct.unpack_from(">H", octets, at)
                ulpdu = octets[at + 2:at + 2 + length]
                if len(ulpdu) < length or length < 14:
                    break
                at += 2 + length + -(2 + length) % 4 + 4
                tagged, last, operation = ulpdu[0] & 0x80, ulpdu[0] >> 6 & 1, ulpdu[1] & 15
                payload = length - (14 if tagged else 18)
                figures[f"fpdus/{node}"] += 1
                if operation in RDMAP:
                    pending[operation] += payload
                    if last:
                        name = RDMAP[operation]
                        figures[f"messages/{name}/{node}"] += 1
                        figures[f"bytes/{name}/{node}"] += pending.pop(operation)
                elif operation == READ_REQUEST:
                    figures[f"messages/read/{node}"] += 1
                    figures[f"bytes/read/{node}"] += struct.unpack_from(">I", ulpdu, 18 + 12)[0]
                elif operation == READ_RESPONSE:
                    figures[f"responses/{node}"] += last
                    figures[f"response_bytes/{node}"] += payload
                elif operation == TERMINATE:
                    figures[f"terminates/{node}"] += 1


def count(path, truth):
    """Every figure of one capture, named by the nodes in its JSON."""
    addresses = {}
    for node, about in truth["nodes"].items():
        addresses[about["ip"]] = node
        words = about["ip6"].split("::")
        addresses["".join(w.zfill(4) for w in words[0].split(":")).ljust(28, "0") + words[1].zfill(4)] = node
    figures = collections.Counter()
    node_of = lambda address: addresses.get(address, "?")
    doubled = set()
    mtus = re.findall(r"^ Mtu\s*: (\d+)\[B\]", str([c["output"] for c in truth["commands"]]).replace("\\n", "\n"), re.M)
    roce = Roce(figures, node_of, int(mtus[0]) if mtus else 1024)
    # Inside a sender's machine the checksums are not there yet.
    iwarp = Iwarp(figures, node_of, truth["capture_point"].startswith("tcpdump"))
    for frame in frames(path):
        found = packet(frame)
        if found is None:
            continue
        # The network doubles a frame with all its octets; whoever sends again gives it another IP identification.
        if found.protocol in (6, 17):
            figures["doubled/" + node_of(found.source)] += frame in doubled
            doubled.add(frame)
        if found.protocol == 17 and struct.unpack_from(">H", found.octets, 2)[0] == 4791:
            roce.take(found)
        elif found.protocol == 6:
            iwarp.take(found)
        figures["ip_ce/" + node_of(found.source)] += found.ecn == 3
    roce.finish()
    iwarp.finish()
    return figures
