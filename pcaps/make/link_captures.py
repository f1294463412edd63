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
    return made


def captures():
    return [pause(), tunnels(), *link_types()]
