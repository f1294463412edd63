"""Captures of upper layers that the lab does not have, message by message from their specifications."""
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


def captures():
    return [smb()]
