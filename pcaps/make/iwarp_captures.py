"""Captures of iWARP."""
from capture import Capture
from octets import *

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


class Connection:
    """A TCP connection between A (the initiator) and B; segments go into the capture in the order they are asked for."""

    def __init__(self, capture, port_a=40000, port_b=7174, start_a=1000, start_b=5000):
        self.capture = capture
        self.ports = {"A": port_a, "B": port_b}
        self.next = {"A": start_a, "B": start_b}

    def frame(self, side, sequence, flags, payload=b""):
        other = "B" if side == "A" else "A"
        addresses = (IP_A, IP_B) if side == "A" else (IP_B, IP_A)
        acknowledged = self.next[other] if flags & ACK else 0
        segment = tcp(*addresses, self.ports[side], self.ports[other], sequence, acknowledged, flags, payload)
        return ethernet(0x0800, ipv4(6, segment, *addresses))

    def open(self):
        for side, flags, note in (("A", SYN, "SYN"), ("B", SYN | ACK, "SYN, ACK")):
            self.capture.add(self.frame(side, self.next[side], flags), note)
            self.next[side] += 1
        self.capture.add(self.frame("A", self.next["A"], ACK), "ACK")
        return self

    def send(self, side, payload, note, snap=None):
        self.capture.add(self.frame(side, self.next[side], PSH | ACK, payload), note, snap)
        self.next[side] += len(payload)

    def again(self, side, back, payload, note):
        """A segment `back` octets before what comes next."""
        self.capture.add(self.frame(side, self.next[side] - back, PSH | ACK, payload), note)

    def close(self):
        for side in "AB":
            self.capture.add(self.frame(side, self.next[side], FIN | ACK), "FIN")
            self.next[side] += 1


def started(capture, markers=0, crc=1, revision=1, request=b"", reply=b"", **fields):
    connection = Connection(capture, **fields).open()
    start = dict(markers=markers, crc=crc, revision=revision, enhanced=int(revision == 2))
    connection.send("A", mpa_start(False, request, **start), f"MPA Request, revision {revision}")
    connection.send("B", mpa_start(True, reply, **start), f"MPA Reply, revision {revision}")
    return connection


def markers():
    capture = Capture("mpa-markers", "iWARP with markers in both directions, CRC, FPDUs that span segments and share them")
    connection = started(capture, markers=1)
    a, b = MpaSender(markers=True), MpaSender(markers=True)
    connection.send("A", a.fpdu(untagged(3, 0, 1, bytes(24))), "the FPDU of RFC 5044, figure 5: a Send behind the first marker")
    connection.send("A", a.fpdu(untagged(3, 0, 2, pattern(400))), "a Send of 400 octets")
    connection.send("A", a.fpdu(untagged(3, 0, 3, pattern(600))), "a Send of 600 octets with a marker inside, perhaps two")
    connection.send("B", b.fpdu(tagged(0, 0x00ABCDEF, 0x7F1122334455, pattern(1200))), "a Write of 1200 octets with three markers")
    stream = b"".join(a.fpdu(tagged(0, 0x00ABCDEF, 0x7F1122334455 + 1000 * i, pattern(1000), last=int(i == 2))) for i in range(3))
    for at in range(0, len(stream), 700):
        connection.send("A", stream[at:at + 700], f"octets {at} to {at + len(stream[at:at + 700])} of a Write of three FPDUs")
    small = b"".join(b.fpdu(untagged(3, 0, 1 + i, pattern(i))) for i in range(40))
    connection.send("B", small, "40 Sends of 0 to 39 octets in one segment")
    # Fill up to where the next marker falls between two FPDUs: its pointer is zero and it belongs to the later one.
    room = -a.position % 512
    while room < 24 + 4:
        room += 508
    connection.send("A", a.fpdu(untagged(3, 0, 4, pattern(room - 24))), "a Send that ends where a marker is due")
    connection.send("A", a.fpdu(untagged(3, 0, 5, pattern(8))), "a Send behind a marker that points to itself")
    connection.send("A", a.fpdu(untagged(3, 0, 6, pattern(8)), damage=0x80), "a Send with a CRC bad by one bit")
    connection.close()
    return capture


def operations():
    capture = Capture("rdmap", "iWARP: every RDMAP opcode, RFC 7306's among them, unknown ones, odd versions")
    connection = started(capture)
    side = {"A": MpaSender(), "B": MpaSender()}
    send = lambda who, ulpdu, note: connection.send(who, side[who].fpdu(ulpdu), note)
    send("A", tagged(0, 0x00ABCDEF, 0x00007F1122334455, pattern(33)), "RDMA Write")
    send("A", untagged(1, 1, 1, read_request(0x0000AAAA, 0x1000, 48, 0x0000BBBB, 0x2000)), "RDMA Read Request")
    send("B", tagged(2, 0x0000AAAA, 0x1000, pattern(24), last=0), "RDMA Read Response, first segment")
    send("B", tagged(2, 0x0000AAAA, 0x1018, pattern(24)), "RDMA Read Response, last segment")
    send("A", untagged(3, 0, 1, pattern(40), last=0), "Send, first segment")
    send("A", untagged(3, 0, 1, pattern(5), offset=40), "Send, last segment")
    send("A", untagged(4, 0, 2, pattern(6), invalidate=0x00C0FFEE), "Send with Invalidate")
    send("A", untagged(5, 0, 3, pattern(7)), "Send with Solicited Event")
    send("A", untagged(6, 0, 4, pattern(8), invalidate=0x00C0FFEE), "Send with Solicited Event and Invalidate")
    send("A", untagged(8, 0, 5, pattern(8)), "Immediate Data")
    send("A", untagged(9, 0, 6, pattern(8)), "Immediate Data with Solicited Event")
    atomic = lambda operation, request: bits((0, 28), (operation, 4), (request, 32), (0x0000BBBB, 32), (0x2000, 64), (0x1111111122222222, 64),
                                             (0xFFFFFFFFFFFFFFFF, 64), (0x3333333344444444, 64), (0xFFFFFFFFFFFFFFFF, 64))
    send("A", untagged(10, 1, 2, atomic(0, 0xD0D0D0D0)), "Atomic Request, FetchAdd")
    send("A", untagged(10, 1, 3, atomic(1, 0xD0D0D0D1)), "Atomic Request, reserved operation")
    send("A", untagged(10, 1, 4, atomic(2, 0xD0D0D0D2)), "Atomic Request, CmpSwap")
    send("B", untagged(11, 3, 1, bits((0xD0D0D0D0, 32), (0x5555555566666666, 64))), "Atomic Response")
    send("A", tagged(0, 0, 0), "RDMA Write of no octets")
    send("A", untagged(3, 0, 7), "Send of no octets")
    send("A", untagged(12, 0, 8, pattern(4)), "an RDMAP opcode that is reserved")
    send("A", untagged(3, 0, 8, pattern(4), rdmap_version=0), "Send of RDMAP version 0")
    send("A", untagged(3, 0, 9, pattern(4), ddp_version=2), "Send of DDP version 2")
    send("A", untagged(1, 1, 5, read_request(1, 2, 3, 4, 5)[:20]), "malformed: a Read Request that is too short")
    send("A", b"\x41", "malformed: a ULPDU of one octet")
    connection.close()
    return capture


def terminates():
    capture = Capture("terminate", "iWARP: Terminate messages with the headers they carry; rejections; revision 2; byte-swapped as siw writes it")
    write = tagged(0, 0x00ABCDEF, 0x7F1122334455)
    send = untagged(3, 0, 2)
    request = untagged(1, 1, 1)
    read = read_request(0x0000AAAA, 0x1000, 48, 0x0000BBBB, 0x2000)
    cases = [
        (terminate(0, 0, 0), "RDMAP, local catastrophic"),
        (terminate(0, 1, 0, len(request) + 28, request, read), "RDMAP, protection, invalid STag, of a Read Request"),
        (terminate(0, 1, 2, len(request) + 28, request, read), "RDMAP, protection, access violation, of a Read Request"),
        (terminate(0, 2, 6, len(send) + 30, send), "RDMAP, operation, unexpected opcode, of a Send"),
        (terminate(1, 0, 0), "DDP, local catastrophic"),
        (terminate(1, 1, 0, len(write) + 33, write), "DDP, tagged buffer, invalid STag, of a Write"),
        (terminate(1, 1, 1, len(write) + 33, write), "DDP, tagged buffer, out of bounds, of a Write"),
        (terminate(1, 2, 2, len(send) + 30, send), "DDP, untagged buffer, no buffer for this MSN"),
        (terminate(1, 2, 5, len(send) + 30, send), "DDP, untagged buffer, message too long"),
        (terminate(2, 0, 2), "MPA, CRC error"),
        (terminate(2, 0, 7), "MPA, no matching ready-to-receive message"),
        (terminate(3, 5, 0x77), "reserved layer, type and code"),
        (bytes.fromhex("11000300") + b"\x00\x21" + write, "as siw writes it: the flags of headers in the wrong place"),
        (terminate(1, 1, 0, 47, write)[:10], "malformed: it ends in the DDP header that it promises"),
    ]
    for number, (body, note) in enumerate(cases):
        connection = started(capture, port_a=41000 + number)
        connection.send("A", MpaSender().fpdu(tagged(0, 0x00ABCDEF, 0x7F1122334455, pattern(33))), "RDMA Write")
        connection.send("B", MpaSender().fpdu(untagged(7, 2, 1, body)), f"Terminate: {note}")
    both = enhanced_data(1, 1, 8, 1, 1, 16)
    connection = started(capture, port_a=42000, revision=2, request=both + pattern(20), reply=enhanced_data(1, 0, 16, 1, 0, 8), crc=0)
    connection.send("A", MpaSender(crc=False).fpdu(tagged(0, 0, 0)), "the ready-to-receive message: a Write of no octets, CRC off")
    rejected = Connection(capture, port_a=42001).open()
    rejected.send("A", mpa_start(False, b"hello", crc=1), "MPA Request, revision 1, private data")
    rejected.send("B", mpa_start(True, b"no", crc=1, reject=1), "MPA Reply that rejects")
    rejected.close()
    odd = Connection(capture, port_a=42002).open()
    odd.send("A", mpa_start(False, revision=3, crc=1), "MPA Request, revision 3: unsupported")
    long = Connection(capture, port_a=42003).open()
    long.send("A", mpa_start(False, bytes(600), crc=1), "malformed: MPA Request with 600 octets of private data")
    split = Connection(capture, port_a=42004).open()
    start = mpa_start(False, b"in two parts", crc=1)
    split.send("A", start[:18], "the first 18 octets of an MPA Request")
    split.send("A", start[18:], "the rest of it")
    return capture


def streams():
    capture = Capture("iwarp-streams", "iWARP over a TCP that reorders, repeats, overlaps, loses and wraps; connections first seen in the middle")
    connection = started(capture, start_a=0xFFFFFE00, start_b=0x7FFFFF00)
    a = MpaSender()
    sends = [a.fpdu(untagged(3, 0, 1 + i, pattern(100, i))) for i in range(12)]
    size = len(sends[0])
    for i in range(3):
        connection.send("A", sends[i], f"Send {1 + i}" + (", across the wrap of the sequence number" if i == 2 else ""))
    connection.next["A"] += size
    connection.again("A", 0, sends[4], "Send 5, before Send 4: out of order")
    connection.next["A"] += size
    connection.again("A", 2 * size, sends[3], "Send 4, late: both are complete now")
    connection.again("A", size, sends[4], "Send 5 again: a retransmission")
    connection.again("A", size, sends[4] + sends[5][:50], "Send 5 again, and the first 50 octets of Send 6: an overlap")
    connection.next["A"] += 50
    connection.send("A", sends[5][50:] + sends[6] + sends[7][:1], "the rest of Send 6, Send 7, one octet of Send 8")
    connection.send("A", sends[7][1:], "the rest of Send 8")
    connection.next["A"] += size
    for i in (9, 10, 11):
        connection.send("A", sends[i], f"Send {1 + i}" + (", Send 9 was lost and never comes" if i == 9 else ""))
    connection.close()

    middle = Connection(capture, port_a=43000, start_a=123456, start_b=654321)
    a, b = MpaSender(), MpaSender()
    flow = b"".join(a.fpdu(tagged(0, 0x00ABCDEF, 0x7F1122330000 + 900 * i, pattern(900), last=int(i % 4 == 3))) for i in range(8))
    for at in range(300, len(flow), 1000):
        middle.send("A", flow[at:at + 1000], f"in the middle of a connection: octets {at} to {at + len(flow[at:at + 1000])} of eight FPDUs")
    for i in range(4):
        middle.send("B", b.fpdu(untagged(3, 0, 77 + i, pattern(30))), "in the middle of a connection: a Send, aligned with its segment")
    other = Connection(capture, port_a=43001, port_b=80)
    other.send("A", b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n", "a connection that is not iWARP")
    snapped = started(capture, port_a=43002)
    a = MpaSender()
    for i in range(4):
        snapped.send("A", a.fpdu(tagged(0, 0x00ABCDEF, 0x7F1122330000 + 1000 * i, pattern(1000), last=int(i == 3))),
                     "a Write, snapped: its headers are all that is there", snap=96)
    return capture


def captures():
    return [markers(), operations(), terminates(), streams()]
