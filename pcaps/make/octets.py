"""Building blocks of the captures made by hand: each function returns the octets of one header, built from its
specification, or of a whole packet with its checksums. Nothing here is taken from rdmascope, so that the two can disagree.
"""
import functools
import struct
import zlib


def bits(*fields):
    """Octets of (value, width in bits) pairs, most significant first."""
    number = width = 0
    for value, size in fields:
        assert 0 <= value < 1 << size, (value, size)
        number, width = number << size | value, width + size
    assert width % 8 == 0, width
    return number.to_bytes(width // 8, "big")


def pattern(length, start=0):
    """Payload that is easy to recognise: octets that count up."""
    return bytes((start + i) & 0xFF for i in range(length))


# --- checksums ---------------------------------------------------------------------------------------------------

def internet_checksum(data):
    """RFC 1071."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


@functools.lru_cache(maxsize=None)
def crc_table(polynomial):
    """The remainders of the 256 octets."""
    table = []
    for register in range(256):
        for _ in range(8):
            register = register >> 1 ^ (polynomial if register & 1 else 0)
        table.append(register)
    return table


def reflected_crc(data, polynomial, width):
    table, register = crc_table(polynomial), (1 << width) - 1
    for octet in data:
        register = register >> 8 ^ table[(register ^ octet) & 0xFF]
    return register ^ (1 << width) - 1


def crc32c(data):
    """RFC 3720, appendix B.4: as MPA sends it, low octet first."""
    return struct.pack("<I", reflected_crc(data, 0x82F63B78, 32))


def vcrc(data):
    """IBA 7.8.2: x^16 + x^12 + x^3 + x + 1 over everything from the LRH to the ICRC."""
    return struct.pack("<H", reflected_crc(data, 0xD008, 16))


def icrc_of(masked):
    """IBA 7.8.1, over a packet whose variant fields are ones already."""
    return struct.pack("<I", zlib.crc32(masked))


# --- Ethernet and what it carries --------------------------------------------------------------------------------

MAC_A, MAC_B = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
IP_A, IP_B = bytes([192, 0, 2, 1]), bytes([192, 0, 2, 2])
IP6_A = bytes.fromhex("20010db8000000000000000000000001")
IP6_B = bytes.fromhex("20010db8000000000000000000000002")


def ethernet(ether_type, payload, source=MAC_A, destination=MAC_B):
    return destination + source + struct.pack("!H", ether_type) + payload


def vlan(tags, ether_type, payload):
    """Ethernet with tags: (tag protocol, priority, drop eligible, VLAN)."""
    head = b""
    for protocol, priority, drop, identifier in tags:
        head += struct.pack("!H", protocol) + bits((priority, 3), (drop, 1), (identifier, 12))
    return MAC_B + MAC_A + head + struct.pack("!H", ether_type) + payload


def ipv4(protocol, payload, source=IP_A, destination=IP_B, tos=0, ttl=64, identifier=0, fragment=0x4000, options=b"",
         total=None):
    assert len(options) % 4 == 0
    length = 20 + len(options) + len(payload) if total is None else total
    head = struct.pack("!BBHHHBBH", 0x45 + len(options) // 4, tos, length, identifier, fragment, ttl, protocol, 0)
    head += source + destination + options
    return head[:10] + struct.pack("!H", internet_checksum(head)) + head[12:] + payload


def ipv6(next_header, payload, source=IP6_A, destination=IP6_B, traffic_class=0, flow=0x12345, hops=64):
    return bits((6, 4), (traffic_class, 8), (flow, 20), (len(payload), 16), (next_header, 8), (hops, 8)) \
        + source + destination + payload


def udp(destination_port, payload, source_port=49152, length=None, checksum=0):
    return struct.pack("!HHHH", source_port, destination_port, 8 + len(payload) if length is None else length, checksum) + payload


def tcp(source, destination, source_port, destination_port, sequence, acknowledgement, flags, payload=b"", window=8192):
    head = struct.pack("!HHIIBBHHH", source_port, destination_port, sequence & 0xFFFFFFFF, acknowledgement & 0xFFFFFFFF,
                       0x50, flags, window, 0, 0)
    pseudo = source + destination + struct.pack("!BBH", 0, 6, len(head) + len(payload))
    return head[:16] + struct.pack("!H", internet_checksum(pseudo + head + payload)) + head[18:] + payload


# --- InfiniBand transport (IBA 9.2, 9.3; annexes A14, A17, A19) -----------------------------------------------------

def bth(opcode, destination_qp=0x000012, psn=0x000100, acknowledge=0, pad=0, solicited=0, migrated=1, version=0,
        p_key=0xFFFF, fecn=0, becn=0):
    return bits((opcode, 8), (solicited, 1), (migrated, 1), (pad, 2), (version, 4), (p_key, 16), (fecn, 1), (becn, 1), (0, 6),
                (destination_qp, 24), (acknowledge, 1), (0, 7), (psn & 0xFFFFFF, 24))


def rdeth(context):
    return bits((0, 8), (context, 24))


def deth(q_key, source_qp):
    return bits((q_key, 32), (0, 8), (source_qp, 24))


def xrceth(srq):
    return bits((0, 8), (srq, 24))


def reth(address, key, length):
    return struct.pack("!QII", address, key, length)


def atomiceth(address, key, swap_or_add, compare):
    return struct.pack("!QIQQ", address, key, swap_or_add, compare)


def aeth(syndrome, msn):
    return bits((syndrome, 8), (msn, 24))


def atomicacketh(original):
    return struct.pack("!Q", original)


def immdt(value):
    return struct.pack("!I", value)


def ieth(key):
    return struct.pack("!I", key)


def feth(placement, selectivity):
    return bits((0, 26), (selectivity, 2), (placement, 4))


def lrh(payload, next_header, service_level=0, virtual_lane=0, destination=4, source=3):
    """IBA 7.7; payload is everything behind it up to the ICRC, which the length counts in words of four octets."""
    words = (8 + len(payload)) // 4
    return bits((virtual_lane, 4), (0, 4), (service_level, 4), (0, 2), (next_header, 2), (destination, 16), (0, 5), (words, 11),
                (source, 16))


GID_A = bytes.fromhex("fe800000000000000002c90300000001")
GID_B = bytes.fromhex("fe800000000000000002c90300000002")


def grh(payload, next_header=0x1B, traffic_class=0, flow=0, hops=1, source=GID_A, destination=GID_B, icrc=True):
    return bits((6, 4), (traffic_class, 8), (flow, 20), (len(payload) + (4 if icrc else 0), 16), (next_header, 8), (hops, 8)) \
        + source + destination


def masked_transport(transport):
    """BTH with its variant octet (FECN, BECN, reserved) as ones."""
    return transport[:4] + b"\xff" + transport[5:]


def masked_grh(head):
    return bytes([head[0] | 0x0F, 0xFF, 0xFF, 0xFF]) + head[4:7] + b"\xff" + head[8:]


def padded(head, payload=b"", **fields):
    """(opcode, extended headers) and payload with its pad: a transport packet without ICRC."""
    opcode, extended = head
    pad = -len(payload) % 4
    return bth(opcode, pad=pad, **fields) + extended + payload + bytes(pad)


def rocev2(transport, source=IP_A, destination=IP_B, tos=0, ttl=64, options=b"", source_port=49152, damage=0, identifier=0,
           fragment=0x4000):
    """IPv4 packet of RoCEv2 with its ICRC (annex A17.3.3); `damage` is xored into the ICRC."""
    packet = ipv4(17, udp(4791, transport + bytes(4), source_port), source, destination, tos, ttl, identifier, fragment, options)
    size = (packet[0] & 0xF) * 4
    masked = b"\xff" * 8 + packet[:1] + b"\xff" + packet[2:8] + b"\xff" + packet[9:10] + b"\xff\xff" + packet[12:size]
    masked += packet[size:size + 6] + b"\xff\xff" + masked_transport(transport)
    icrc = struct.unpack("<I", icrc_of(masked))[0] ^ damage
    return packet[:-4] + struct.pack("<I", icrc)


def rocev2_ipv6(transport, source=IP6_A, destination=IP6_B, traffic_class=0, extension=None, source_port=49152):
    """`extension` is (type, octets with their first left to be filled)."""
    datagram = udp(4791, transport + bytes(4), source_port)
    pseudo = source + destination + struct.pack("!II", len(datagram), 17)
    # The ICRC does not depend on the checksum, which covers the ICRC.
    next_header, between = (17, b"") if extension is None else (extension[0], b"\x11" + extension[1])
    head = ipv6(next_header, between + datagram, source, destination, traffic_class)[:40]
    masked = b"\xff" * 8 + masked_grh(head) + between + datagram[:6] + b"\xff\xff" + masked_transport(transport)
    datagram = datagram[:-4] + icrc_of(masked)
    checksum = internet_checksum(pseudo + datagram) or 0xFFFF
    return head + between + datagram[:6] + struct.pack("!H", checksum) + datagram[8:]


def rocev1(transport, **fields):
    head = grh(transport, **fields)
    return head + transport + icrc_of(b"\xff" * 8 + masked_grh(head) + masked_transport(transport))


def infiniband(transport, with_grh=False, **fields):
    """A native packet: LRH, perhaps GRH, transport, ICRC, VCRC."""
    head = grh(transport) if with_grh else b""
    local = lrh(head + transport + bytes(4), 3 if with_grh else 2, **fields)
    # A packet that leaves its subnet gets a new LRH: all of it is variant then.
    masked = b"\xff" * 8 + masked_grh(head) if head else bytes([local[0] | 0xF0]) + local[1:]
    masked += masked_transport(transport)
    packet = local + head + transport + icrc_of(masked)
    return packet + vcrc(packet)


# --- MADs (IBA 13.4, 12.6) ---------------------------------------------------------------------------------------

GMP_QKEY = 0x80010000


def mad(management_class, method, attribute, data, version=2, transaction=0x1122334455667788, status=0, modifier=0):
    head = struct.pack("!BBBBHHQHHI", 1, management_class, version, method, status, 0, transaction, attribute, 0, modifier)
    assert len(data) <= 232
    return head + data + bytes(232 - len(data))


def cm(attribute, *fields, private=b""):
    return mad(0x07, 0x03, attribute, bits(*fields) + private)


def gmp(datagram, psn=1):
    """A MAD in a UD packet to QP 1."""
    return padded((0x64, deth(GMP_QKEY, 1)), datagram, destination_qp=1, psn=psn)


# --- iWARP (RFC 5040, 5041, 5044, 6581, 7306) --------------------------------------------------------------------

def mpa_start(reply, private=b"", markers=0, crc=1, reject=0, enhanced=0, revision=1):
    key = b"MPA ID Rep Frame" if reply else b"MPA ID Req Frame"
    return key + bits((markers, 1), (crc, 1), (reject, 1), (enhanced, 1), (0, 4), (revision, 8), (len(private), 16)) + private


def enhanced_data(a, b, ird, c, d, ord_):
    return bits((a, 1), (b, 1), (ird, 14), (c, 1), (d, 1), (ord_, 14))


def tagged(opcode, stag, offset, payload=b"", last=1, rdmap_version=1, ddp_version=1):
    return bits((1, 1), (last, 1), (0, 4), (ddp_version, 2), (rdmap_version, 2), (0, 2), (opcode, 4), (stag, 32), (offset, 64)) + payload


def untagged(opcode, queue, msn, payload=b"", offset=0, last=1, invalidate=0, rdmap_version=1, ddp_version=1):
    return bits((0, 1), (last, 1), (0, 4), (ddp_version, 2), (rdmap_version, 2), (0, 2), (opcode, 4), (invalidate, 32), (queue, 32),
                (msn, 32), (offset, 32)) + payload


def read_request(sink_stag, sink_offset, size, source_stag, source_offset):
    return struct.pack("!IQIIQ", sink_stag, sink_offset, size, source_stag, source_offset)


def terminate(layer, kind, code, segment_length=None, ddp=b"", rdma=b""):
    m, d, r = int(segment_length is not None), int(bool(ddp)), int(bool(rdma))
    head = bits((layer, 4), (kind, 4), (code, 8), (m, 1), (d, 1), (r, 1), (0, 13))
    return head + (struct.pack("!H", segment_length) if m else b"") + ddp + rdma


class MpaSender:
    """One direction of a connection in full operation: ULPDUs become FPDUs, with markers where they are asked for."""

    def __init__(self, markers=False, crc=True):
        self.markers, self.crc, self.position = markers, crc, 0

    def fpdu(self, ulpdu, damage=0):
        body = struct.pack("!H", len(ulpdu)) + ulpdu
        body += bytes(-len(body) % 4)
        out, start = b"", None
        for at in range(0, len(body) + 4, 4):
            if self.markers and self.position % 512 == 0:
                out += struct.pack("!HH", 0, 0 if start is None else self.position - start)
                self.position += 4
            if start is None:
                start = self.position
            if at < len(body):
                out += body[at:at + 4]
            else:
                out += bytes(a ^ b for a, b in zip(crc32c(out), struct.pack("<I", damage))) if self.crc else bytes(4)
            self.position += 4
        return out
