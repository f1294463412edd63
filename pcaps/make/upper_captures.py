"""Captures of upper layers that the lab does not have, message by message from their specifications."""
import itertools
import struct

from capture import Capture
from octets import *

CLIENT, SERVER = 0, 1


def communication(service, numbers, psns, gids, request, reply):
    """REQ and REP of the Communication Manager (IBA 12.6.5, 12.6.8) from queue pair numbers[0] to numbers[1]."""
    primary = struct.pack("!HH", 0xFFFF, 0xFFFF) + gids[0] + gids[1] + bytes.fromhex("00000000 00400080")
    req = struct.pack("!IIQQII", 0x1001, 0, service, 0x0200000000000002, 0, 0) + \
        struct.pack("!IIII", numbers[0] << 8 | 4, 0, 0xA0, psns[0] << 8 | 0xA7) + bytes.fromhex("ffff 37f0") + primary + bytes(44) + request
    rep = struct.pack("!IIIIIIBBBBQ", 0x2002, 0x1001, 0, numbers[1] << 8, 0, psns[1] << 8, 4, 4, 0, 0xE0, 0x0200000000000001) + reply
    assert len(req) - len(request) == 140 and len(rep) - len(reply) == 36
    return req, rep


class QueuePairs:
    """Two queue pairs of RC over RoCEv2 that are connected to each other. Every frame of a capture is 10 us after its predecessor."""

    def __init__(self, capture, first_psns=(0x1000, 0x2000), mtu=1024):
        self.capture, self.mtu = capture, mtu
        self.numbers, self.addresses = (0x000011, 0x000012), (IP_B, IP_A)
        self.psns, self.messages = list(first_psns), [0, 0]

    def packet(self, side, opcode, note, extended=b"", payload=b"", psn=None, acknowledge=0):
        if psn is None:
            psn = self.psns[side]
            self.psns[side] += 1
        transport = padded((opcode, extended), payload, destination_qp=self.numbers[1 - side], psn=psn, acknowledge=acknowledge)
        self.capture.add(ethernet(0x0800, rocev2(transport, self.addresses[side], self.addresses[1 - side])), note)

    def connect(self, service, request=b"", reply=b""):
        """REQ, REP and RTU of the Communication Manager (IBA 12.6); `service` is a port of TCP or a whole service ID."""
        if service < 0x10000:
            service |= 0x0000000001060000
            request = struct.pack("!BBH", 0, 0x40, 40000) + bytes(12) + self.addresses[0] + bytes(12) + self.addresses[1] + request
        gids = [bytes(10) + b"\xff\xff" + address for address in self.addresses]
        req, rep = communication(service, self.numbers, self.psns, gids, request, reply)
        for side, attribute, message, note in ((0, 0x10, req, "REQ"), (1, 0x13, rep, "REP"), (0, 0x14, struct.pack("!II", 0x1001, 0x2002), "RTU")):
            packet = gmp(mad(0x07, 0x03, attribute, message))
            self.capture.add(ethernet(0x0800, rocev2(packet, self.addresses[side], self.addresses[1 - side])), note)

    def acknowledge(self, side):
        """What the other side has sent so far."""
        self.messages[1 - side] += 1
        self.packet(side, 0x11, "acknowledge", aeth(0x1F, self.messages[1 - side]), psn=self.psns[1 - side] - 1)

    def send(self, side, payload, note, invalidate=None):
        pieces = [payload[at:at + self.mtu] for at in range(0, len(payload), self.mtu)]
        for number, piece in enumerate(pieces):
            first, last = number == 0, number == len(pieces) - 1
            opcode = 0x04 if first and last else 0x00 if first else 0x02 if last else 0x01
            extended = b""
            if last and invalidate is not None:
                opcode, extended = 0x17 if first else 0x16, ieth(invalidate)
            self.packet(side, opcode, note if first else note + ", continued", extended, piece, acknowledge=int(last))

    def write(self, side, address, key, payload, note, immediate=None):
        pieces = [payload[at:at + self.mtu] for at in range(0, len(payload), self.mtu)] or [b""]
        for number, piece in enumerate(pieces):
            first, last = number == 0, number == len(pieces) - 1
            opcode = 0x0A if first and last else 0x06 if first else 0x08 if last else 0x07
            extended = reth(address, key, len(payload)) if first else b""
            if last and immediate is not None:
                opcode, extended = opcode + 1, extended + immdt(immediate)
            self.packet(side, opcode, note if first else note + ", continued", extended, piece, acknowledge=int(last))

    def read(self, side, address, key, payload, note):
        psn = self.psns[side]
        pieces = [payload[at:at + self.mtu] for at in range(0, len(payload), self.mtu)]
        self.packet(side, 0x0C, note, reth(address, key, len(payload)))
        self.psns[side] = psn + len(pieces)
        self.messages[side] += 1
        for number, piece in enumerate(pieces):
            first, last = number == 0, number == len(pieces) - 1
            opcode = 0x10 if first and last else 0x0D if first else 0x0F if last else 0x0E
            extended = b"" if opcode == 0x0E else aeth(0x1F, self.messages[side])
            self.packet(1 - side, opcode, note + ", response", extended, piece, psn=psn + number)


# --- SMB Direct (MS-SMBD 2.2), SMB2 (MS-SMB2 2.2) -------------------------------------------------------------------

def smb_direct(data, remaining=0, requested=255, granted=1, flags=0):
    head = struct.pack("<HHHHIII", requested, granted, flags, 0, remaining, 24 if data else 0, len(data))
    return head + bytes(4) + data if data else head


def smb2(command, message_id, body, response=False, status=0, credits=10, charge=1, flags=0, next_command=0, tree=5, session=0x4400000001,
         asynchronous=None):
    flags |= int(response) | (2 if asynchronous is not None else 0)
    place = struct.pack("<II", 0xFEFF, tree) if asynchronous is None else struct.pack("<Q", asynchronous)
    return b"\xfeSMB" + struct.pack("<HHIHHIIQ", 64, charge, status, command, credits, flags, next_command, message_id) + place + \
        struct.pack("<Q", session) + bytes(16) + body


def utf16(text):
    return text.encode("utf-16-le")


FILE = bytes.fromhex("11000000000000002200000000000000")
TIME = 133000000000000000  # 100 ns since 1601: 2022-06-18


def smb_descriptors(*ranges):
    return b"".join(struct.pack("<QII", address, key, length) for address, key, length in ranges)


def smb_read_request(length, offset, channel=0, ranges=()):
    blob = smb_descriptors(*ranges)
    info = (112, len(blob)) if blob else (0, 0)
    return struct.pack("<HBBIQ16sIIIHH", 49, 0x50, 0, length, offset, FILE, 1, channel, 0, *info) + (blob or b"\0")


def smb_read_response(data=b"", moved=0):
    return struct.pack("<HBBIII", 17, 80, 0, len(data), moved, 0) + (data or b"\0")


def smb_write_request(data=b"", offset=0, channel=0, remaining=0, ranges=(), flags=0):
    blob = smb_descriptors(*ranges)
    info = (112, len(blob)) if blob else (0, 0)
    return struct.pack("<HHIQ16sIIHHI", 49, 112 if data else 0, len(data), offset, FILE, channel, remaining, *info, flags) + (blob or data)


def smb_write_response(count):
    return struct.pack("<HHIIHH", 17, 0, count, 0, 0, 0) + b"\0"


def smb_create_request(name, contexts=b""):
    octets = utf16(name)
    return struct.pack("<HBBIQQIIIIIHHII", 57, 0, 9, 2, 0, 0, 0x12019F, 0x80, 7, 3, 0x40, 120, len(octets), 0, 0) + octets


def smb_create_response():
    return struct.pack("<HBBIQQQQQQII16sII", 89, 9, 0, 1, TIME, TIME + 10, TIME + 20, TIME + 30, 1 << 20, 1 << 19, 0x20, 0, FILE, 0, 0) + b"\0"


def smb_close_request():
    return struct.pack("<HHI16s", 24, 1, 0, FILE)


def smb_close_response():
    return struct.pack("<HHIQQQQQQI", 60, 1, 0, TIME, TIME + 10, TIME + 20, TIME + 30, 1 << 20, 1 << 19, 0x20)


def smb_error(context=b"\0"):
    return struct.pack("<HBBI", 9, 0, 0, 0) + context


def smb():
    capture = Capture("smb", "SMB 3.0 over SMB Direct over RoCEv2: set-up, reads and writes by RDMA and in messages, fragments, compounds, "
                             "interim responses, errors, encrypted messages")
    pair = QueuePairs(capture)

    def client(message, note, **direct):
        pair.send(CLIENT, smb_direct(message, **direct), note)
        pair.acknowledge(SERVER)

    def server(message, note, invalidate=None, **direct):
        pair.send(SERVER, smb_direct(message, **direct), note, invalidate)
        pair.acknowledge(CLIENT)

    pair.connect(445)
    pair.send(CLIENT, struct.pack("<HHHHIII", 0x100, 0x100, 0, 255, 1364, 1364, 1048576), "negotiate request")
    pair.acknowledge(SERVER)
    pair.send(SERVER, struct.pack("<HHHHHHIIIII", 0x100, 0x100, 0x100, 0, 255, 64, 0, 8388608, 1364, 1364, 1048576), "negotiate response, 64 credits")
    pair.acknowledge(CLIENT)
    guid = bytes(range(16))
    client(smb2(0, 0, struct.pack("<HHHHI16sQ", 36, 2, 1, 0, 0x3F, guid, 0) + struct.pack("<HH", 0x0210, 0x0300), tree=0, session=0, charge=0),
           "NEGOTIATE")
    server(smb2(0, 0, struct.pack("<HHHH16sIIIIQQHHI", 65, 1, 0x0300, 0, guid[::-1], 0x2F, 8 << 20, 8 << 20, 8 << 20, TIME, 0, 128, 4, 0) +
                b"SPNG", True, credits=1, tree=0, session=0, charge=0), "NEGOTIATE response")
    client(smb2(1, 1, struct.pack("<HBBIIHHQ", 25, 0, 1, 1, 0, 88, 6, 0) + b"NTLMSS", tree=0, session=0, credits=33), "SESSION_SETUP")
    server(smb2(1, 1, struct.pack("<HHHH", 9, 1, 72, 3) + b"end", True, credits=33, tree=0), "SESSION_SETUP response, 33 credits in all")
    path = utf16("\\\\files\\work")
    client(smb2(3, 2, struct.pack("<HHHH", 9, 0, 72, len(path)) + path, tree=0), "TREE_CONNECT")
    server(smb2(3, 2, struct.pack("<HBBIII", 16, 1, 0, 0x8800, 0x10, 0x1F01FF), True, credits=1), "TREE_CONNECT response, tree 5")
    client(smb2(5, 3, smb_create_request("dir\\data.bin")), "CREATE")
    server(smb2(5, 3, smb_create_response(), True, credits=1), "CREATE response")
    # 6000 octets of memory in two ranges
    ranges = ((0x7F0000001000, 0x4F1, 4096), (0x7F0000009000, 0x4F2, 1904))
    client(smb2(8, 4, smb_read_request(6000, 65536, 2, ranges)), "READ, RDMA V1 invalidate")
    pair.write(SERVER, ranges[0][0], ranges[0][1], pattern(4096), "WRITE into the first range")
    pair.write(SERVER, ranges[1][0], ranges[1][1], pattern(1904), "WRITE into the second range")
    server(smb2(8, 4, smb_read_response(moved=6000), True, credits=1), "READ response", invalidate=0x4F1)
    client(smb2(9, 5, smb_write_request(offset=131072, channel=1, remaining=2500, ranges=((0x7F0000020000, 0x4F3, 2500),))), "WRITE, RDMA V1")
    pair.read(SERVER, 0x7F0000020000, 0x4F3, pattern(2500), "READ of the data")
    server(smb2(9, 5, smb_write_response(2500), True, credits=1), "WRITE response")
    client(smb2(8, 6, smb_read_request(300, 0)), "READ, data in the response")
    server(smb2(8, 6, smb_read_response(pattern(300)), True, credits=1), "READ response with data")
    # 64 + 48 + 3000 octets in four SENDs
    message = smb2(9, 7, smb_write_request(pattern(3000), 4096, flags=1))
    for at in range(0, len(message), 960):
        piece = message[at:at + 960]
        client(piece, f"WRITE, octets {at} to {at + len(piece)}", remaining=len(message) - at - len(piece))
    server(smb2(9, 7, smb_write_response(3000), True, credits=1), "WRITE response")
    # Compound: CREATE, READ, CLOSE of the file that CREATE opens
    parts = [smb2(5, 8, smb_create_request("one.txt"), next_command=144, credits=1), smb2(8, 9, smb_read_request(16, 0) + bytes(7), flags=4, next_command=120),
             smb2(6, 10, smb_close_request(), flags=4)]
    parts[0] += bytes(144 - len(parts[0]) % 144 if len(parts[0]) % 144 else 0)
    client(b"".join(parts), "CREATE, READ, CLOSE in one message")
    answers = [smb2(5, 8, smb_create_response() + bytes(7), True, next_command=160, credits=1),
               smb2(8, 9, smb_read_response(pattern(16)), True, next_command=96, flags=4, credits=1), smb2(6, 10, smb_close_response(), True, flags=4, credits=1)]
    server(b"".join(answers), "the three responses in one message")
    # LOCK that waits
    client(smb2(10, 11, struct.pack("<HHI16sQQII", 48, 1, 0, FILE, 0, 100, 2, 0)), "LOCK")
    server(smb2(10, 11, smb_error(), True, status=0x103, asynchronous=77), "LOCK, interim response")
    client(smb2(12, 11, struct.pack("<HH", 4, 0), asynchronous=77), "CANCEL of the LOCK")
    server(smb2(10, 11, smb_error(), True, status=0xC0000120, credits=0, asynchronous=77), "LOCK response, cancelled")
    # Errors
    client(smb2(8, 12, smb_read_request(4096, 1 << 30)), "READ behind the end")
    server(smb2(8, 12, smb_error(), True, status=0xC0000011, credits=1), "READ response, end of file")
    client(smb2(9, 13, smb_write_request(pattern(100))), "WRITE to a full disk")
    server(smb2(9, 13, smb_error(), True, status=0xC000007F, credits=1), "WRITE response, disk full")
    # Signs of life, and what no request has asked for
    client(smb2(13, 14, struct.pack("<HH", 4, 0), tree=0), "ECHO")
    server(smb2(13, 14, struct.pack("<HH", 4, 0), True, credits=1, tree=0), "ECHO response")
    server(smb2(18, 0xFFFFFFFFFFFFFFFF, struct.pack("<HBBI16s", 24, 1, 0, 0, FILE), True, credits=0, charge=0, tree=0, session=0), "oplock break")
    pair.send(CLIENT, smb_direct(b"", granted=8, flags=1), "no data: keep alive")
    pair.acknowledge(SERVER)
    pair.send(SERVER, smb_direct(b"", granted=16), "no data: 16 credits")
    pair.acknowledge(CLIENT)
    # Encrypted
    sealed = lambda size: b"\xfdSMB" + pattern(16, 0x40) + pattern(16, 0x60) + struct.pack("<IHHQ", size, 0, 1, 0x4400000001) + pattern(size)
    client(sealed(120), "encrypted message")
    server(sealed(80), "encrypted message")
    return capture


# --- IP over InfiniBand (RFC 4391, RFC 4755) -------------------------------------------------------------------------

IPOIB_A, IPOIB_B = bytes([10, 10, 0, 1]), bytes([10, 10, 0, 2])
IPOIB6_A = bytes.fromhex("fe80000000000000020002c903000001")
IPOIB6_B = bytes.fromhex("fe80000000000000020002c903000002")
BROADCAST_GID = bytes.fromhex("ff12401bffff000000000000ffffffff")
BROADCAST_QKEY = 0x0B1B


def ipoib_packet(ether_type, payload):
    return struct.pack("!HH", ether_type, 0) + payload


def ipoib_hardware(flags, qpn, gid):
    return bytes([flags]) + qpn.to_bytes(3, "big") + gid


def ipoib_arp(operation, sender, sender_ip, target, target_ip):
    return ipoib_packet(0x0806, struct.pack("!HHBBH", 32, 0x0800, 20, 4, operation) + sender + sender_ip + target + target_ip)


def icmp_echo(kind, data):
    head = struct.pack("!BBHHH", kind, 0, 0, 0x1234, 1)
    return head[:2] + struct.pack("!H", internet_checksum(head + data)) + head[4:] + data


def erf_infiniband(octets, number):
    """An ERF record of type 21 (Endace's ERF types), 10 us after its predecessor."""
    return struct.pack("<Q", (1700000000 << 32) + -(-number * 10 * 2**32 // 10**6)) + struct.pack("!BBHHH", 21, 4, 16 + len(octets), 0, len(octets)) + octets


def ipoib():
    capture = Capture("erf-ipoib", "IP over InfiniBand in packets of InfiniBand: datagrams (ARP, IPv4, IPv6) and connected mode, whose queue "
                                       "pairs the Communication Manager connects; in ERF records", link=197)
    psns = [itertools.count(0x100), itertools.count(0x300)]
    qpns, gids = (0x0048, 0x0049), (GID_A, GID_B)
    hardware = [ipoib_hardware(0x80, qpns[side], gids[side]) for side in (0, 1)]

    def datagram(side, payload, note, broadcast=False):
        qp = 0xFFFFFF if broadcast else qpns[1 - side]
        transport = padded((0x64, deth(BROADCAST_QKEY, qpns[side])), payload, destination_qp=qp, psn=next(psns[side]))
        head = grh(transport, source=gids[side], destination=BROADCAST_GID) if broadcast else b""
        local = lrh(head + transport + bytes(4), 3 if broadcast else 2, destination=0xC000 if broadcast else 4 - side, source=3 + side)
        masked = b"\xff" * 8 + masked_grh(head) if head else bytes([local[0] | 0xF0]) + local[1:]
        packet = local + head + transport + icrc_of(masked + masked_transport(transport))
        capture.add(erf_infiniband(packet + vcrc(packet), len(capture.frames)), note)

    a, b = IPOIB_A, IPOIB_B
    datagram(0, ipoib_arp(1, hardware[0], a, bytes(20), b), "ARP request to the broadcast group", broadcast=True)
    datagram(1, ipoib_arp(2, hardware[1], b, hardware[0], a), "ARP reply, QP 0x49, connected mode is possible")
    datagram(0, ipoib_packet(0x0800, ipv4(1, icmp_echo(8, pattern(56)), a, b)), "IPv4, ICMP echo request")
    datagram(1, ipoib_packet(0x0800, ipv4(1, icmp_echo(0, pattern(56)), b, a)), "IPv4, ICMP echo reply")
    datagram(0, ipoib_packet(0x86DD, ipv6(17, udp(5001, pattern(100), 40001, checksum=0x1234), IPOIB6_A, IPOIB6_B)), "IPv6, UDP")
    datagram(0, ipoib_packet(0x0800, ipv4(6, tcp(a, b, 40002, 22, 1, 0, 0x02), a, b)), "IPv4, TCP SYN")
    datagram(1, struct.pack("!HH", 0x0800, 0) + pattern(60), "looks like IPoIB, and what follows is no IP")
    # Connected mode: the service ID is that of the IETF with the queue pair of the interface
    rc, starts = (0x0151, 0x0152), [0x4000, 0x5000]

    def native(side, transport, note):
        local = lrh(transport + bytes(4), 2, destination=4 - side, source=3 + side)
        packet = local + transport + icrc_of(bytes([local[0] | 0xF0]) + local[1:] + masked_transport(transport))
        capture.add(erf_infiniband(packet + vcrc(packet), len(capture.frames)), note)

    connected = lambda qpn, mtu: struct.pack("!II", qpn, mtu)
    req, rep = communication(0x1000000000000000 | qpns[1], rc, starts, gids, connected(qpns[0], 65520), connected(qpns[1], 65520))
    for side, attribute, message, note in ((0, 0x10, req, "REQ, IPoIB, receives up to 65520"), (1, 0x13, rep, "REP, IPoIB"),
                                           (0, 0x14, struct.pack("!II", 0x1001, 0x2002), "RTU")):
        native(side, gmp(mad(0x07, 0x03, attribute, message)), note)
    big = ipoib_packet(0x0800, ipv4(17, udp(5001, pattern(3000), 40003), a, b))
    for number, at in enumerate(range(0, len(big), 2048)):
        piece, last = big[at:at + 2048], at + 2048 >= len(big)
        native(0, padded((0x02 if last else 0x00, b""), piece, destination_qp=rc[1], psn=starts[0] + number, acknowledge=int(last)),
               "IPv4, UDP of 3000 octets" + (", continued" if last else ""))
    native(1, padded((0x11, aeth(0x1F, 1)), destination_qp=rc[0], psn=starts[0] + 1), "acknowledge")
    native(1, padded((0x04, b""), ipoib_packet(0x86DD, ipv6(6, tcp(IPOIB6_B, IPOIB6_A, 22, 40002, 7, 2, 0x12), IPOIB6_B, IPOIB6_A)),
                     destination_qp=rc[0], psn=starts[1]), "IPv6, TCP SYN ACK")
    return capture


# --- RDS (Linux, include/net/rds.h; the header is in front of every fragment) ------------------------------------------

def rds_header(sequence, acknowledged, length, source=0, destination=0, flags=0, credits=0, extensions=b""):
    head = struct.pack("!QQIHHBB4x2x", sequence, acknowledged, length, source, destination, flags, credits) + extensions
    head += bytes(48 - len(head))
    return head[:30] + struct.pack("!H", internet_checksum(head)) + head[32:]


def rds():
    capture = Capture("rds", "RDS 3.1 over RoCEv2: fragments, acknowledgements, pings, RDMA with its extension headers, a congestion map")
    pair = QueuePairs(capture)
    private = lambda one, other: one + other + struct.pack("!BBHBBHQI", 3, 1, 3, 0, 0, 0, 0, 0)
    pair.connect(18634, private(IP_B, IP_A), private(IP_A, IP_B))

    def send(side, head, data, note):
        pair.send(side, head + data, note)
        pair.acknowledge(1 - side)

    data = pattern(5000)
    send(0, rds_header(1, 0, 5000, 4001, 4000, 2), data[:4096], "datagram of 5000, first fragment")
    send(0, rds_header(1, 0, 5000, 4001, 4000, 2), data[4096:], "datagram of 5000, second fragment")
    send(1, rds_header(0, 1, 0), b"", "acknowledges 1")
    send(0, rds_header(2, 0, 12, 4001, 0), pattern(12), "ping")
    send(1, rds_header(1, 2, 4, 0, 4001, credits=3), pattern(4), "pong, acknowledges 2, 3 credits")
    destination = struct.pack("!BII", 3, 0x7700, 4096)
    send(0, rds_header(3, 1, 100, 4001, 4000, 0x20, extensions=destination), pattern(100), "datagram with the destination of RDMA")
    send(0, rds_header(4, 1, 50, 4001, 4000), pattern(50), "datagram")
    pair.write(1, 4096, 0x7700, pattern(2000), "RDMA WRITE")
    send(1, rds_header(2, 4, 20, 4000, 4001, extensions=struct.pack("!BI", 2, 0x7700)), pattern(20), "datagram after RDMA, acknowledges 3 and 4")
    send(0, rds_header(0, 2, 0), b"", "acknowledges 2")
    congestion = bytearray(8192)
    congestion[4000 // 8] = 1 << 4000 % 8
    send(1, rds_header(0, 4, 8192, flags=1), bytes(congestion[:4096]), "congestion map, port 4000")
    send(1, rds_header(0, 4, 8192, flags=1), bytes(congestion[4096:]), "congestion map, rest")
    send(0, rds_header(5, 2, 8, 4001, 4000, 4), pattern(8), "datagram that RDS retransmits, never acknowledged")
    return capture


# --- rsockets (librdmacm, rsocket.c) ---------------------------------------------------------------------------------

def rsocket_private(grants_address, grants_key, buffer_address, buffer_key, length, flags=2):
    return struct.pack("!BBH3xBQIIQII", 1, flags, 0x180, 0, grants_address, grants_key, 2, buffer_address, buffer_key, length)


def rsocket_word(operation, value):
    return operation << 29 | value


CLIENT_GRANTS, CLIENT_BUFFER = (0x560000001000, 0x51), (0x7F0000100000, 0x52)
SERVER_GRANTS, SERVER_BUFFER = (0x560000002000, 0x61), (0x7F0000200000, 0x62)


def rsocket():
    capture = Capture("rsocket", "rsockets: streams over RoCEv2 and, with SENDs in place of immediate data, over iWARP; datagrams")
    requests = rsocket_private(*CLIENT_GRANTS, *CLIENT_BUFFER, 4096)
    replies = rsocket_private(*SERVER_GRANTS, *SERVER_BUFFER, 4096)
    pair = QueuePairs(capture)
    pair.connect(7471, requests, replies)
    grant = lambda address, key, length: struct.pack("<QII", address, key, length)

    def write(side, at, key, data, word, note):
        pair.write(side, at, key, data, note, word)
        pair.acknowledge(1 - side)

    data = lambda size: rsocket_word(0, size)
    write(0, SERVER_BUFFER[0], SERVER_BUFFER[1], pattern(3000), data(3000), "data of the client, 1096 of 4096 are left")
    write(0, SERVER_BUFFER[0] + 3000, SERVER_BUFFER[1], pattern(1096), data(1096), "data of the client, no room is left")
    write(1, CLIENT_GRANTS[0], CLIENT_GRANTS[1], grant(SERVER_BUFFER[0] + 4096, SERVER_BUFFER[1], 4096), rsocket_word(4, 384),
          "the server grants 4096 more, 384 credits")
    write(1, CLIENT_BUFFER[0], CLIENT_BUFFER[1], pattern(100), data(100), "data of the server")
    write(0, SERVER_BUFFER[0] + 4096, SERVER_BUFFER[1], pattern(200), data(200), "data of the client")
    write(1, 0, 0, b"", rsocket_word(4, 400), "the server grants credits alone")
    write(0, 0, 0, b"", rsocket_word(7, 1), "keep alive")
    write(0, 0, 0, b"", rsocket_word(7, 2), "shutdown")
    write(1, 0, 0, b"", rsocket_word(7, 0), "disconnect")

    # iWARP
    ports, sequences, addresses, senders = (40000, 7471), [1, 1], (IP_B, IP_A), (MpaSender(), MpaSender())
    messages = [0, 0]

    def segment(side, flags, payload, note):
        packet = tcp(addresses[side], addresses[1 - side], ports[side], ports[1 - side], sequences[side], sequences[1 - side], flags, payload)
        capture.add(ethernet(0x0800, ipv4(6, packet, addresses[side], addresses[1 - side])), note)
        sequences[side] += len(payload) + (flags >> 1 & 1)

    segment(0, 0x02, b"", "SYN")
    segment(1, 0x12, b"", "SYN ACK")
    segment(0, 0x18, mpa_start(False, requests), "MPA Request")
    segment(1, 0x18, mpa_start(True, replies), "MPA Reply")

    def message(side, at, key, payload, word, note):
        segment(side, 0x18, senders[side].fpdu(tagged(0, key, at, payload)), note)
        messages[side] += 1
        segment(side, 0x18, senders[side].fpdu(untagged(3, 0, messages[side], struct.pack("<I", word))), note + ", announced")

    message(0, SERVER_BUFFER[0], SERVER_BUFFER[1], pattern(1000), data(1000), "data of the client")
    message(1, CLIENT_GRANTS[0], CLIENT_GRANTS[1], grant(SERVER_BUFFER[0] + 4096, SERVER_BUFFER[1], 4096), rsocket_word(4, 384), "the server grants 4096")
    for size in (200, 300, 400):
        message(1, CLIENT_BUFFER[0], CLIENT_BUFFER[1], pattern(size), data(size), "data of the server")

    # Datagrams
    def datagram(side, head, note):
        transport = padded((0x64, deth(0x0189ABCD, 0x30 + side)), head + pattern(64), destination_qp=0x31 - side, psn=len(capture.frames))
        capture.add(ethernet(0x0800, rocev2(transport, addresses[side], addresses[1 - side])), note)

    datagram(0, struct.pack("!BBH", 4, 8, 5000) + IP_B, "datagram of the client's port 5000")
    datagram(1, struct.pack("!BBH", 4, 8, 7471) + IP_B, "names another source: no datagram of rsockets")
    return capture


def captures():
    return [smb(), ipoib(), rds(), rsocket()]
