"""Frames as the tests of capturing send them, and as a pcap has them."""
import gzip
import struct

ADDRESSES = bytes.fromhex("020000000002020000000001")


def frames_of(file):
    """(octets, length on the wire) of a pcap."""
    octets = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    order = "<" if octets[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    at, frames = 24, []
    while at + 16 <= len(octets):
        captured, length = struct.unpack_from(order + "II", octets, at + 8)
        frames.append((octets[at + 16:at + 16 + captured], length))
        at += 16 + captured
    return frames


def ethernet(kind, payload):
    return ADDRESSES + kind.to_bytes(2, "big") + payload


def ipv4(protocol, payload):
    return struct.pack("!BBHHHBBHII", 0x45, 0, 20 + len(payload), 0, 0, 64, protocol, 0, 0x0a000001, 0x0a000002) + payload


def udp(port, payload=bytes(20)):
    return ethernet(0x0800, ipv4(17, struct.pack("!HHHH", 49152, port, 8 + len(payload), 0) + payload))


def tcp(source, destination, payload=b"", flags=0x18, sequence=1):
    return ethernet(0x0800, ipv4(6, struct.pack("!HHIIBBHHH", source, destination, sequence, 1, 0x50, flags, 512, 0, 0) + payload))


def with_tags(frame, *tags):
    return frame[:12] + b"".join(struct.pack("!HH", *tag) for tag in tags) + frame[12:]
