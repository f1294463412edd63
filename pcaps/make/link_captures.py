"""Captures of flow control, tunnels and other link types: what RDMA travels in, and beside."""
import itertools
import struct

import infiniband_captures
from capture import Capture
from octets import *

LOCAL_GROUP = bytes.fromhex("0180c2000001")
PSNS = itertools.count(256)


def write():
    """An RC WRITE Only of 50 octets, its PSN one above that of the last."""
    return padded((0x0A, reth(0x00007F1122334455, 0x00ABCDEF, 50)), pattern(50), acknowledge=1, psn=next(PSNS))


def packet():
    return rocev2(write())


def inner():
    return ethernet(0x0800, packet())


def pause():
    capture = Capture("pause", "802.3x pause and priority flow control among RoCEv2 frames")
    control = lambda payload: ethernet(0x8808, payload + bytes(46 - len(payload)), destination=LOCAL_GROUP)
    capture.add(inner(), "RoCEv2 WRITE Only")
    capture.add(control(struct.pack("!HH", 0x0001, 0xFFFF)), "pause, longest")
    capture.add(control(struct.pack("!HH", 0x0001, 0)), "pause, over")
    quanta = [0, 0, 0, 0xFFFF, 0, 1000, 0, 0]
    capture.add(control(struct.pack("!HH8H", 0x0101, 0b00101000, *quanta)), "PFC: priorities 3 and 5 pause")
    capture.add(control(struct.pack("!HH8H", 0x0101, 0b00001000, *bytes(8))), "PFC: priority 3 goes on")
    capture.add(control(struct.pack("!HH8H", 0x0101, 0xFF, *range(1, 9))), "PFC: all eight priorities, 1 to 8 quanta")
    capture.add(control(struct.pack("!H", 0x0002)), "MAC control with another opcode")
    capture.add(control(struct.pack("!HH8H", 0x0101, 0xFF, *range(1, 9)))[:24], "PFC cut short by its sender")
    return capture


def tunnels():
    capture = Capture("tunnels", "RoCEv2 in VXLAN, Geneve, GRE, ERSPAN II and III, as mirrors and overlays carry it")
    outer = lambda protocol, payload: ethernet(0x0800, ipv4(protocol, payload, bytes([198, 51, 100, 1]), bytes([198, 51, 100, 2]), ttl=63))
    vxlan = struct.pack("!II", 0x08000000, 5001 << 8)
    capture.add(outer(17, udp(4789, vxlan + inner())), "VXLAN, network 5001")
    geneve = bits((0, 2), (0, 6), (0, 1), (0, 1), (0, 6), (0x6558, 16), (5002, 24), (0, 8))
    capture.add(outer(17, udp(6081, geneve + inner())), "Geneve, network 5002, no options")
    geneve = bits((0, 2), (2, 6), (0, 1), (0, 1), (0, 6), (0x6558, 16), (5002, 24), (0, 8), (0x0102, 16), (0x80, 8), (0, 3), (1, 5), (0xDEADBEEF, 32))
    capture.add(outer(17, udp(6081, geneve + inner())), "Geneve, network 5002, one option of four octets")
    capture.add(outer(47, struct.pack("!HH", 0, 0x6558) + inner()), "GRE that bridges Ethernet")
    capture.add(outer(47, struct.pack("!HH", 0, 0x0800) + packet()), "GRE that carries IPv4")
    capture.add(outer(47, struct.pack("!HHIII", 0xB000, 0x0800, internet_checksum(bytes(2)) << 16, 7, 8) + packet()), "GRE with checksum, key and sequence number")
    erspan2 = bits((1, 4), (100, 12), (3, 3), (0, 2), (0, 1), (77, 10), (0, 12), (5, 20))
    capture.add(outer(47, struct.pack("!HHI", 0x1000, 0x88BE, 42) + erspan2 + inner()), "ERSPAN II, session 77, VLAN 100")
    capture.add(outer(47, struct.pack("!HH", 0, 0x88BE) + inner()), "ERSPAN I: no header of its own")
    erspan3 = bits((2, 4), (100, 12), (3, 3), (0, 2), (0, 1), (78, 10), (0x12345678, 32), (9, 16), (1, 1), (0, 5), (6, 6), (1, 1), (0, 2), (0, 1))
    capture.add(outer(47, struct.pack("!HHI", 0x1000, 0x22EB, 43) + erspan3 + inner()), "ERSPAN III, session 78, without platform header")
    erspan3 = erspan3[:-1] + bytes([erspan3[-1] | 1])
    capture.add(outer(47, struct.pack("!HHI", 0x1000, 0x22EB, 44) + erspan3 + bits((3, 6), (0, 26), (0x9ABCDEF0, 32)) + inner()),
                "ERSPAN III, session 78, with platform header")
    nested = outer(17, udp(4789, vxlan + outer(17, udp(4789, vxlan + inner()))))
    capture.add(nested, "VXLAN in VXLAN")
    return capture


def arista(version, stamp, ether_type, payload):
    return ethernet(0xD28B, struct.pack("!HH", 1, version) + stamp + struct.pack("!H", ether_type) + payload)


def nsh(kind, next_protocol, metadata, payload):
    """RFC 8300, 2: base header, service path header, metadata."""
    words = 2 + len(metadata) // 4
    return bits((0, 2), (0, 1), (0, 1), (63, 6), (words, 6), (0, 4), (kind, 4), (next_protocol, 8), (7001, 24), (254, 8)) + metadata + payload


def vxlan_gpe(next_protocol, payload):
    """draft-ietf-nvo3-vxlan-gpe, 3: the flags I and P, the next protocol, the network."""
    return udp(4790, struct.pack("!BHBI", 0x0C, 0, next_protocol, 77 << 8) + payload, source_port=50000)


def macsec(control, ether_type, payload, identifier=b"", short=0):
    """IEEE 802.1AE, 9: SecTAG and ICV; a packet whose octets are left in the clear."""
    return ethernet(0x88E5, struct.pack("!BBI", control, short, 4711) + identifier + struct.pack("!H", ether_type) + payload + bytes(range(0xA0, 0xB0)))


def pppoe(protocol, payload, pad=b""):
    content = struct.pack("!H", protocol) + payload
    return ethernet(0x8864, struct.pack("!BBHH", 0x11, 0, 0x1234, len(content)) + content + pad)


def carriers():
    capture = Capture("carriers", "RoCEv2 in time stamp headers, port extenders' tags, MACsec without encryption, PPPoE, NSH, VXLAN-GPE and SRv6")
    outer = lambda protocol, payload: ethernet(0x0800, ipv4(protocol, payload, bytes([198, 51, 100, 1]), bytes([198, 51, 100, 2]), ttl=63))
    packet6 = lambda: rocev2_ipv6(write())
    tag = bits((3, 3), (0, 1), (100, 12))
    capture.add(arista(0x0010, struct.pack("!II", 1700000000, 5), 0x0800, packet()), "Arista's time stamp of 64 bits, TAI")
    capture.add(arista(0x0110, struct.pack("!II", 1700000000, 999999999), 0x86DD, packet6()), "Arista's time stamp of 64 bits, UTC, IPv6")
    capture.add(arista(0x0020, struct.pack("!HI", 0xF100, 123456789), 0x8100, tag + struct.pack("!H", 0x0800) + packet()), "Arista's time stamp of 48 bits, TAI, VLAN 100")
    capture.add(arista(0x0120, struct.pack("!HI", 0xF100, 123456789), 0x0800, packet()), "Arista's time stamp of 48 bits, UTC")
    vntag = lambda direction, pointer, looped: bits((direction, 1), (pointer, 1), (1000, 14), (looped, 1), (0, 1), (0, 2), (2000, 12))
    capture.add(ethernet(0x8926, vntag(0, 0, 0) + struct.pack("!H", 0x0800) + packet()), "VN-Tag to the bridge")
    capture.add(ethernet(0x8926, vntag(1, 1, 1) + struct.pack("!H", 0x8100) + tag + struct.pack("!H", 0x0800) + packet()), "VN-Tag from the bridge, looped, VLAN 100")
    etag = bits((5, 3), (1, 1), (0x123, 12), (0, 2), (1, 2), (0x456, 12), (0x78, 8), (0x9A, 8))
    capture.add(ethernet(0x893F, etag + struct.pack("!H", 0x0800) + packet()), "802.1BR E-Tag")
    capture.add(ethernet(0x893F, etag + struct.pack("!H", 0x8100) + tag + struct.pack("!H", 0x86DD) + packet6()), "802.1BR E-Tag, VLAN 100, IPv6")
    metadata = struct.pack("!BBHHH", 1, 1, 0x0001, 4242, 0x0800)
    capture.add(ethernet(0x8909, metadata + packet()), "Cisco MetaData with a security group")
    capture.add(ethernet(0x8100, tag + struct.pack("!H", 0x8909) + metadata + packet()), "VLAN 100, Cisco MetaData")
    capture.add(macsec(0x01, 0x0800, packet()), "MACsec, integrity alone, without SCI")
    capture.add(macsec(0x22, 0x86DD, packet6(), MAC_A + struct.pack("!H", 1)), "MACsec, integrity alone, SCI, IPv6")
    capture.add(macsec(0x2C, 0x0800, packet(), MAC_A + struct.pack("!H", 1)), "MACsec, encrypted: not looked into")
    capture.add(pppoe(0x0021, packet()), "PPPoE, IPv4")
    capture.add(pppoe(0x0057, packet6()), "PPPoE, IPv6")
    capture.add(pppoe(0xC021, struct.pack("!BBHI", 9, 1, 8, 0), bytes(38)), "PPPoE, LCP echo request")
    capture.add(ethernet(0x894F, nsh(1, 1, bytes(range(16)), packet())), "NSH, MD type 1, IPv4")
    capture.add(ethernet(0x894F, nsh(2, 3, struct.pack("!HBB", 0x0102, 3, 5) + b"hello" + bytes(3), inner())), "NSH, MD type 2, a context header of 5 octets, Ethernet")
    capture.add(ethernet(0x894F, nsh(2, 2, b"", packet6())), "NSH, MD type 2 without context headers, IPv6")
    capture.add(outer(17, vxlan_gpe(1, packet())), "VXLAN-GPE, IPv4")
    capture.add(outer(17, vxlan_gpe(2, packet6())), "VXLAN-GPE, IPv6")
    capture.add(outer(17, vxlan_gpe(3, inner())), "VXLAN-GPE, Ethernet")
    capture.add(outer(17, vxlan_gpe(4, nsh(1, 3, bytes(range(16)), inner()))), "VXLAN-GPE, NSH, Ethernet")
    segments = bytes.fromhex("20010db8000200000000000000000001" "20010db8009900000000000000000001")
    routing = struct.pack("!BBBBBBH", 143, 4, 4, 1, 1, 0, 0) + segments
    capture.add(ethernet(0x86DD, ipv6(43, routing + inner())), "SRv6, Ethernet after a routing header")
    capture.add(ethernet(0x86DD, ipv6(143, inner())), "SRv6 with one segment: Ethernet in IPv6")
    capture.add(ethernet(0x8999, bytes(60)), "an EtherType that is not looked into")
    return capture


def tunnel_marks():
    """RFC 6040, 4.2: what the end of a tunnel makes of a mark on the outer header."""
    capture = Capture("tunnel-marks", "RoCEv2 in tunnels and mirrors whose outer header says that congestion was experienced")
    ends = bytes([198, 51, 100, 1]), bytes([198, 51, 100, 2])
    marked = lambda protocol, payload: ethernet(0x0800, ipv4(protocol, payload, *ends, tos=3, ttl=63))
    marked6 = lambda protocol, payload: ethernet(0x86DD, ipv6(protocol, payload, traffic_class=3))
    roce = lambda tos: rocev2(write(), tos=tos)
    frame = lambda tos: ethernet(0x0800, roce(tos))
    vxlan = struct.pack("!II", 0x08000000, 5001 << 8)
    geneve = struct.pack("!HHI", 0, 0x6558, 5002 << 8)
    capture.add(marked(17, udp(4789, vxlan + frame(2))), "VXLAN, ECT(0) inside: marked")
    capture.add(marked6(17, udp(4789, vxlan + frame(1))), "VXLAN over IPv6, ECT(1) inside: marked")
    capture.add(marked(17, udp(4789, vxlan + frame(0))), "VXLAN, not ECN-capable inside: dropped at the tunnel's end, not marked")
    capture.add(marked(17, udp(6081, geneve + frame(2))), "Geneve: marked")
    capture.add(marked(17, vxlan_gpe(1, roce(2))), "VXLAN-GPE: marked")
    capture.add(marked(47, struct.pack("!HH", 0, 0x0800) + roce(2)), "GRE: marked")
    capture.add(marked(4, roce(2)), "IPv4 in IPv4: marked")
    capture.add(marked6(4, roce(2)), "IPv4 in IPv6: marked")
    capture.add(marked(17, udp(6635, bits((100, 20), (0, 3), (1, 1), (63, 8)) + roce(2))), "MPLS in UDP: marked")
    erspan2 = bits((1, 4), (100, 12), (3, 3), (0, 2), (0, 1), (77, 10), (0, 12), (5, 20))
    capture.add(marked(47, struct.pack("!HHI", 0x1000, 0x88BE, 42) + erspan2 + frame(2)), "ERSPAN II: the mirror's own way, not marked")
    capture.add(marked(47, struct.pack("!HH", 0, 0x88BE) + frame(2)), "ERSPAN I: the mirror's own way, not marked")
    capture.add(ethernet(0x0800, ipv4(17, udp(4789, vxlan + frame(2)), *ends, tos=2)), "VXLAN, nothing marked")
    capture.add(ethernet(0x0800, ipv4(17, udp(4789, vxlan + frame(3)), *ends, tos=2)), "VXLAN, marked inside")
    return capture


def link_types():
    made = []

    def one(name, link, about, *frames):
        capture = Capture(name, about, link)
        for octets, note in frames:
            capture.add(octets, note)
        made.append(capture)

    packet6 = lambda: rocev2_ipv6(write())
    one("raw-ip", 101, "RoCEv2 without a link layer", (packet(), "IPv4"), (packet6(), "IPv6"))
    cooked = lambda kind, protocol: struct.pack("!HHH", kind, 1, 6) + MAC_A + bytes(2) + struct.pack("!H", protocol)
    tagged_packet = bits((3, 3), (0, 1), (100, 12)) + struct.pack("!H", 0x0800) + packet()
    one("sll", 113, "RoCEv2 in Linux cooked headers, as `-i any` writes them", (cooked(0, 0x0800) + packet(), "received, IPv4"),
        (cooked(4, 0x86DD) + packet6(), "sent, IPv6"), (cooked(4, 0x8100) + tagged_packet, "sent, VLAN 100"))
    cooked2 = lambda kind, protocol: struct.pack("!HHIHBB", protocol, 0, 2, 1, kind, 6) + MAC_A + bytes(2)
    one("sll2", 276, "RoCEv2 in Linux cooked headers of version 2", (cooked2(0, 0x0800) + packet(), "received on interface 2, IPv4"),
        (cooked2(4, 0x86DD) + packet6(), "sent, IPv6"))
    one("null", 0, "RoCEv2 on a BSD loopback", (struct.pack("<I", 2) + packet(), "IPv4"), (struct.pack(">I", 2) + packet(), "IPv4, the other byte order"),
        (struct.pack("<I", 30) + packet6(), "IPv6"))
    native, other = infiniband(write()), infiniband(write())
    def erf(kind, octets, length=None):
        return struct.pack("<Q", 1700000000 << 32) + struct.pack("!BBHHH", kind, 4, 16 + len(octets), 0, length or len(octets)) + octets

    extended = struct.pack("<Q", 1700000000 << 32) + struct.pack("!BBHHH", 0x80 | 21, 4, 24 + len(other), 0, len(other)) + bytes.fromhex("0300000000000001")
    one("erf", 197, "InfiniBand and Ethernet in ERF records", (erf(21, native), "type 21, InfiniBand"),
        (extended + other, "type 21 with an extension header"), (erf(2, bytes(2) + inner()), "type 2, Ethernet"))
    mirrored = Capture("erf-infiniband", "the frames of made-infiniband in ERF records, which tshark reads", 197)
    for octets, length, note in infiniband_captures.native().frames:
        mirrored.add(erf(21, octets, length), note)
    made.append(mirrored)
    one("ppi", 192, "RoCEv2 in PPI", (struct.pack("<BBHI", 0, 0, 8, 1) + inner(), "Ethernet"),
        (struct.pack("<BBHI", 0, 0, 8, 247) + other, "InfiniBand"))
    one("ipoib", 242, "IP over InfiniBand: 40 octets of GRH, then type and packet", (bytes(20) + bytes.fromhex("00ffffff") + GID_B + struct.pack("!HH", 0x0800, 0) + packet(),
        "RoCEv2 over IPoIB"))
    def nflog(family, octets, *more):
        """Attributes: length, type and value, padded to four octets; the packet's is the last but for those in `more`."""
        attribute = lambda kind, value: struct.pack("<HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
        head = struct.pack("!BBH", family, 0, 5)
        head += attribute(1, struct.pack("!HBB", {2: 0x0800, 10: 0x86DD}.get(family, 0x0806), 4, 0))
        return head + attribute(10, b"rdma\0") + attribute(4, struct.pack("!I", 3)) + attribute(9, octets) + b"".join(attribute(*each) for each in more)

    one("nflog", 239, "RoCEv2 as the kernel's packet filter logs it", (nflog(2, packet()), "IPv4"), (nflog(10, packet6()), "IPv6"),
        (nflog(2, packet(), (11, struct.pack("!I", 1000)), (8, struct.pack("!HH", 6, 0) + MAC_A + bytes(2))), "IPv4, user and address after the packet"))
    return made


def captures():
    return [pause(), tunnels(), *link_types(), carriers(), tunnel_marks()]
