"""iWARP traffic for the variants: a TCP connection with its handshake, MPA, and FPDUs over segments."""
from blocks import *
from roce import US, Frame, hosts, ip_frame

FIN, SYN, RST, PSH, TCP_ACK = 1, 2, 4, 8, 16
STAG, OFFSET = 0x1234, 0x7F0000000000
WRITE, READ_REQUEST, READ_RESPONSE, SEND, TERMINATE = 0, 1, 2, 3, 7


class Stream:
    """A TCP connection from `a` to `b`."""

    def __init__(self, frames, ipv6=False, port_a=40160, port_b=4420, mss=1448):
        self.frames, self.ends, self.mss = frames, hosts(ipv6), mss
        self.ports, self.next = (port_a, port_b), [1000, 5000]

    def segment(self, time_ns, side, payload=b"", flags=TCP_ACK, damage=0, options=b""):
        """`side` is 0 for `a`, 1 for `b`; `damage` is xored into the TCP checksum."""
        source, destination = self.ends[side], self.ends[1 - side]
        acknowledged = self.next[1 - side] if flags & TCP_ACK else 0
        head = struct.pack("!HHIIBBHHH", self.ports[side], self.ports[1 - side], self.next[side], acknowledged,
                           (5 + len(options) // 4) << 4, flags, 65535, 0, 0) + options
        pseudo = source.address + destination.address + struct.pack("!BBH", 0, 6, len(head) + len(payload))
        checksum = internet_checksum(pseudo + head + payload) ^ damage
        head = head[:16] + struct.pack("!H", checksum) + head[18:]
        self.frames.append(Frame(time_ns, ip_frame(source, destination, 6, head + payload, tos=0)))
        self.next[side] += len(payload) + int(flags & SYN > 0) + int(flags & FIN > 0)

    def open(self):
        """The handshake; what follows may begin at 130 us."""
        mss = struct.pack("!BBH", 2, 4, self.mss) + bytes([1, 3, 3, 7])
        self.segment(0, 0, flags=SYN, options=mss)
        self.segment(60 * US, 1, flags=SYN | TCP_ACK, options=mss)
        self.segment(80 * US, 0)
        return 130 * US

    def send(self, time_ns, side, data, damage=0):
        """Data in segments of at most the MSS, 2 us apart; the time of the last."""
        parts = [data[at:at + self.mss] for at in range(0, len(data), self.mss)]
        for place, part in enumerate(parts):
            last = place == len(parts) - 1
            self.segment(time_ns + place * 2 * US, side, part, TCP_ACK | (PSH if last else 0), damage)
        return time_ns + (len(parts) - 1) * 2 * US

    def start(self, time_ns, request, reply):
        """MPA's two start frames as they are given; FPDUs may begin at the time that is returned."""
        self.send(time_ns, 0, request)
        if reply is None:
            return time_ns + 80 * US
        self.send(time_ns + 80 * US, 1, reply)
        return time_ns + 85 * US


def started(frames, ipv6=False, mss=1448, revision=1, crc=1, **fields):
    stream = Stream(frames, ipv6, mss=mss, **fields)
    enhanced = enhanced_data(0, 0, 16, 0, 0, 16) if revision == 2 else b""
    fields = dict(crc=crc, revision=revision, enhanced=int(revision == 2))
    return stream, stream.start(stream.open(), mpa_start(False, enhanced, **fields), mpa_start(True, enhanced, **fields))


# --- traffic that descriptions name ------------------------------------------------------------------------------------

def iwarp_messages(operation="write", count=16, size=4096, fpdu=1400, mss=1448, ipv6=False, period_us=100, answer_us=60):
    """Messages of `size` bytes in FPDUs of at most `fpdu` bytes of payload; TCP acknowledges `answer_us` later."""
    frames = []
    stream, start = started(frames, ipv6, mss)
    senders = MpaSender(), MpaSender()
    for number in range(count):
        at = start + number * period_us * US
        if operation == "read":
            ask = read_request(STAG, OFFSET, size, STAG + 1, OFFSET)
            stream.send(at, 0, senders[0].fpdu(untagged(READ_REQUEST, 1, number + 1, ask)))
            side, at = 1, at + answer_us // 2 * US
        else:
            side = 0
        for offset in range(0, size, fpdu):
            data, last = pattern(min(fpdu, size - offset)), int(offset + fpdu >= size)
            if operation == "send":
                ulpdu = untagged(SEND, 0, number + 1, data, offset, last)
            else:
                ulpdu = tagged(READ_RESPONSE if operation == "read" else WRITE, STAG, OFFSET + offset, data, last)
            at = stream.send(at, side, senders[side].fpdu(ulpdu)) + 2 * US
        stream.segment(at + (1 if operation == "read" else answer_us) * US, 1 - side)
    return frames


def iwarp_bad_crc(operation="write", count=32, size=256, bad=31, checksum_bad=False, terminates=True):
    """FPDUs of one segment each, of which one has a wrong CRC, by default under a TCP checksum that is right."""
    frames = []
    stream, at = started(frames)
    senders = MpaSender(), MpaSender()
    for number in range(count):
        side, damage = 0, 0x01000000 if number == bad else 0
        if operation == "read":
            ask = read_request(STAG, OFFSET, size, STAG + 1, OFFSET)
            stream.send(at, 0, senders[0].fpdu(untagged(READ_REQUEST, 1, number + 1, ask)))
            side, at = 1, at + 20 * US
        kind = READ_RESPONSE if operation == "read" else WRITE
        ulpdu = untagged(SEND, 0, number + 1, pattern(size)) if operation == "send" else tagged(kind, STAG, OFFSET, pattern(size))
        stream.send(at, side, senders[side].fpdu(ulpdu, damage), 0x0101 if checksum_bad and damage else 0)
        stream.segment(at + 20 * US, 1 - side)
        if damage and terminates:
            message = terminate(2, 0, 0x02)
            stream.send(at + 30 * US, 1 - side, senders[1 - side].fpdu(untagged(TERMINATE, 2, 1, message)))
            break
        at += 40 * US
    return frames


def iwarp_setup(revision=1, request_private="", reply_private="", request_peer="", reply_peer=None, ird=16, ord=16, sends=1,
                terminates="", reply=True, port_b=4420):
    """A connection with MPA start frames as given. Of revision 2, `request_peer` and `reply_peer` are letters: A asks for
    peer-to-peer set-up, B, C, D offer the message of length zero by Send, Write and Read (RFC 6581, 6.1, 9.1)."""
    frames = []
    stream = Stream(frames, port_b=port_b)
    letters = lambda peer: enhanced_data("A" in peer, "B" in peer, ird, "C" in peer, "D" in peer, ord) if revision == 2 else b""
    fields = dict(revision=revision, enhanced=int(revision == 2))
    request = mpa_start(False, letters(request_peer) + bytes.fromhex(request_private), **fields)
    answer = mpa_start(True, letters(request_peer if reply_peer is None else reply_peer) + bytes.fromhex(reply_private), **fields)
    at = stream.start(stream.open(), request, answer if reply else None)
    senders = MpaSender(), MpaSender()
    if terminates:
        layer, kind, code = (int(part) for part in terminates.split("."))
        stream.send(at + 20 * US, 0, senders[0].fpdu(untagged(TERMINATE, 2, 1, terminate(layer, kind, code))))
    else:
        for number in range(sends):
            stream.send(at, 0, senders[0].fpdu(untagged(SEND, 0, number + 1, pattern(20))))
            stream.segment(at + 60 * US, 1)
            at += 100 * US
    return frames
