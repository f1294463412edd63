"""Captures of RoCE and native InfiniBand."""
import itertools

from capture import Capture
from octets import *

IBA_EXAMPLE = (bytes.fromhex("7012375c000e17d2"),
               bytes.fromhex("0a2024870087b1b3000dec2a" "01710a1c015d400238f27a050000000e" "bb884d85fd5cfba4728bc0690ed40000"))

RETH = reth(0x00007F1122334455, 0x00ABCDEF, 2048)
ATOMICETH = atomiceth(0x00007F1122334458, 0x00ABCDEF, 0x1111111122222222, 0x3333333344444444)
IMMDT, IETH = immdt(0xCAFEF00D), ieth(0x00C0FFEE)
ACK, ATOMICACK = aeth(0x1F, 7), atomicacketh(0x5555555566666666)
NOTHING = b""

# opcode within its service: (name, headers behind the service's own, payload length). IBA table 38.
REQUESTS = {
    0x00: ("SEND First", NOTHING, 256), 0x01: ("SEND Middle", NOTHING, 256), 0x02: ("SEND Last", NOTHING, 61),
    0x03: ("SEND Last with Immediate", IMMDT, 62), 0x04: ("SEND Only", NOTHING, 63), 0x05: ("SEND Only with Immediate", IMMDT, 64),
    0x06: ("RDMA WRITE First", RETH, 256), 0x07: ("RDMA WRITE Middle", NOTHING, 256), 0x08: ("RDMA WRITE Last", NOTHING, 9),
    0x09: ("RDMA WRITE Last with Immediate", IMMDT, 10), 0x0A: ("RDMA WRITE Only", RETH, 11),
    0x0B: ("RDMA WRITE Only with Immediate", RETH + IMMDT, 12),
}
READS_AND_ATOMICS = {
    0x0C: ("RDMA READ Request", RETH, 0), 0x0D: ("RDMA READ Response First", ACK, 256), 0x0E: ("RDMA READ Response Middle", NOTHING, 256),
    0x0F: ("RDMA READ Response Last", ACK, 33), 0x10: ("RDMA READ Response Only", ACK, 34), 0x11: ("Acknowledge", ACK, 0),
    0x12: ("ATOMIC Acknowledge", ACK + ATOMICACK, 0), 0x13: ("CmpSwap", ATOMICETH, 0), 0x14: ("FetchAdd", ATOMICETH, 0),
}
INVALIDATES = {0x16: ("SEND Last with Invalidate", IETH, 20), 0x17: ("SEND Only with Invalidate", IETH, 21)}
FLUSH = {0x1C: ("FLUSH", feth(3, 1) + RETH, 0), 0x1D: ("ATOMIC WRITE", RETH, 8)}
RESPONSES = {0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12}


def opcodes():
    capture = Capture("roce-opcodes", "RoCEv2: every opcode of RC, UC, RD, UD and XRC with its extended headers, and the CNP")
    psn = 0xFFFFF0  # wraps on the way

    def add(service, base, operations, own=lambda operation: NOTHING):
        nonlocal psn
        for operation, (name, extended, length) in operations.items():
            transport = padded((base + operation, own(operation) + extended), pattern(length), psn=psn, acknowledge=operation % 2,
                               solicited=int("Only" in name))
            backwards = operation in RESPONSES
            capture.add(ethernet(0x0800, rocev2(transport, *((IP_B, IP_A) if backwards else (IP_A, IP_B)))), f"{service} {name}")
            psn += 1

    add("RC", 0x00, REQUESTS | READS_AND_ATOMICS | INVALIDATES | FLUSH)
    add("UC", 0x20, REQUESTS)
    add("RD", 0x40, REQUESTS | READS_AND_ATOMICS | {0x15: ("RESYNC", NOTHING, 0)},
        lambda operation: rdeth(0x00A1B2) + (NOTHING if operation in RESPONSES else deth(0x11111111, 0x000034)))
    add("UD", 0x60, {operation: REQUESTS[operation] for operation in (0x04, 0x05)}, lambda _: deth(0x11111111, 0x000034))
    add("XRC", 0xA0, REQUESTS | READS_AND_ATOMICS | INVALIDATES,
        lambda operation: NOTHING if operation in RESPONSES else xrceth(0x000056))
    for opcode, note in ((0x81, "CNP (opcode 0x81)"), (0x80, "the vendor opcode 0x80, an early CNP")):
        capture.add(ethernet(0x0800, rocev2(bth(opcode, psn=0, becn=1) + bytes(16))), note)
    for opcode in (0x18, 0x2C, 0x6A, 0xC0, 0xFF):
        capture.add(ethernet(0x0800, rocev2(bth(opcode) + pattern(16))), f"opcode {opcode:#04x}: reserved or a vendor's")
    return capture


def acknowledgements():
    capture = Capture("roce-aeth", "RoCEv2: the AETH syndromes: credits, RNR timers, NAK codes, reserved ones; FECN, BECN, CE; a bad ICRC")

    psn = itertools.count(256)

    def answer(syndrome, note, **fields):
        packet = padded((0x11, aeth(syndrome, 0x00FFFF)), psn=next(psn), **fields)
        capture.add(ethernet(0x0800, rocev2(packet, IP_B, IP_A)), note)

    for credits in (0, 1, 17, 30, 31):
        answer(credits, f"ACK, credit code {credits}")
    for timer in range(32):
        answer(0x20 | timer, f"RNR NAK, timer code {timer}")
    for code, name in enumerate(("PSN sequence error", "invalid request", "remote access error", "remote operational error",
                                 "invalid RD request", "reserved 5", "reserved 31")):
        answer(0x60 | (31 if code == 6 else code), f"NAK {name}")
    answer(0x40, "reserved syndrome")
    answer(0xFF, "reserved syndrome with its top bit set")
    answer(0x1F, "BTH with FECN", fecn=1)
    answer(0x1F, "BTH with BECN", becn=1)
    answer(0x1F, "BTH version 1", version=1)
    transport = padded((0x04, NOTHING), pattern(100), p_key=0x7FFF, migrated=0)
    capture.add(ethernet(0x0800, rocev2(transport, tos=0x6B)), "DSCP 26, congestion experienced; P_Key of a limited member; not migrated")
    transport = padded((0x04, NOTHING), pattern(100), psn=257)
    capture.add(ethernet(0x0800, rocev2(transport, damage=0x01000000)), "ICRC bad by one bit")
    return capture


def over_what():
    capture = Capture("roce-carriers", "RoCEv1 and RoCEv2 over tags, IPv6, IPv4 options and fragments, MPLS")
    psn = itertools.count(256)
    write = lambda length=50: padded((0x0A, RETH), pattern(length), acknowledge=1, psn=next(psn))
    packet = lambda **fields: rocev2(write(), **fields)
    capture.add(ethernet(0x8915, rocev1(write())), "RoCEv1")
    capture.add(vlan([(0x8100, 3, 0, 100)], 0x8915, rocev1(write())), "RoCEv1 in VLAN 100, priority 3")
    capture.add(vlan([(0x8100, 5, 1, 4094)], 0x0800, packet()), "RoCEv2 in VLAN 4094, priority 5, drop eligible")
    capture.add(vlan([(0x88A8, 4, 0, 200), (0x8100, 3, 0, 100)], 0x0800, packet()), "RoCEv2 in 802.1ad 200, 802.1Q 100")
    capture.add(ethernet(0x86DD, rocev2_ipv6(write())), "RoCEv2 over IPv6")
    capture.add(ethernet(0x86DD, rocev2_ipv6(write(), traffic_class=0x6B)), "RoCEv2 over IPv6, DSCP 26, congestion experienced")
    hop_by_hop = b"\x00" + b"\x01\x04" + bytes(4)
    capture.add(ethernet(0x86DD, rocev2_ipv6(write(), extension=(0, hop_by_hop))), "RoCEv2 over IPv6 with hop-by-hop options")
    capture.add(ethernet(0x86DD, rocev2_ipv6(write(), extension=(60, hop_by_hop))), "RoCEv2 over IPv6 with destination options")
    capture.add(ethernet(0x0800, packet(options=bytes.fromhex("94040000"))), "RoCEv2 over IPv4 with the router alert option")
    capture.add(ethernet(0x0800, packet()) + bytes(6), "RoCEv2 followed by Ethernet padding")
    capture.add(ethernet(0x8847, bits((16, 20), (5, 3), (1, 1), (64, 8)) + packet()), "RoCEv2 under one MPLS label")
    capture.add(ethernet(0x8847, bits((16, 20), (5, 3), (0, 1), (64, 8)) + bits((17, 20), (5, 3), (1, 1), (64, 8)) + packet()),
                "RoCEv2 under two MPLS labels")
    large = rocev2(write(1500), identifier=0x4242, fragment=0)
    body, cut = large[20:], 800
    capture.add(ethernet(0x0800, ipv4(17, body[:cut], identifier=0x4242, fragment=0x2000)), "first fragment of a RoCEv2 datagram")
    capture.add(ethernet(0x0800, ipv4(17, body[cut:], identifier=0x4242, fragment=cut // 8)),
                "last fragment: the WRITE of 1500 octets is whole here")
    body = rocev2_ipv6(write(1500))[40:]
    fragment = lambda offset, more: bytes([17, 0]) + bits((offset // 8, 13), (0, 2), (more, 1)) + bytes.fromhex("deadbeef")
    capture.add(ethernet(0x86DD, ipv6(44, fragment(cut, 0) + body[cut:])), "IPv6: the last fragment comes first")
    capture.add(ethernet(0x86DD, ipv6(44, fragment(0, 1) + body[:cut])), "IPv6: the first fragment makes it whole")
    return capture


def damaged():
    capture = Capture("roce-damaged", "RoCEv2 that is truncated, malformed, odd or unsupported")
    psn = itertools.count(256)
    write = lambda: padded((0x0A, RETH), pattern(50), psn=next(psn))
    size = len(ethernet(0x0800, rocev2(write())))
    for snap, what in ((13, "the Ethernet header"), (20, "the IPv4 header"), (40, "the UDP header"), (50, "the BTH"), (60, "the RETH"),
                       (100, "the payload"), (size - 2, "the ICRC")):
        capture.add(ethernet(0x0800, rocev2(write())), f"truncated by the snap length in {what}", snap=snap)
    body = lambda: rocev2(write())[20:]
    capture.add(ethernet(0x0800, ipv4(17, body(), total=15)), "malformed: the IPv4 total length is below its header's")
    capture.add(ethernet(0x0800, ipv4(17, body(), total=2000)), "malformed: the IPv4 total length is beyond the frame")
    capture.add(ethernet(0x0800, ipv4(17, udp(4791, write() + bytes(4), length=4))), "malformed: the UDP length is below its header's")
    capture.add(ethernet(0x0800, ipv4(17, udp(4791, write() + bytes(4), length=1000))), "malformed: the UDP length is beyond the packet")
    capture.add(ethernet(0x0800, ipv4(17, udp(4791, bth(0x0A, psn=next(psn))[:8]))), "malformed: the datagram ends in the BTH")
    capture.add(ethernet(0x0800, rocev2(bth(0x0A, psn=next(psn)) + RETH[:8])), "malformed: the datagram ends in the RETH")
    capture.add(ethernet(0x0800, rocev2(bth(0x04, pad=3, psn=next(psn)))), "malformed: three pad octets, and no payload to pad")
    capture.add(ethernet(0x0800, rocev2(bth(0x64, psn=next(psn)) + deth(1, 2) + pattern(5))), "odd: a payload of 5 octets without pad")
    capture.add(ethernet(0x0800, b"\x65" + ipv4(17, body())[1:]), "malformed: IPv4 by its Ethernet type, version 6 by itself")
    capture.add(ethernet(0x88CC, pattern(46)), "unsupported Ethernet type")
    capture.add(ethernet(0x0800, ipv4(132, pattern(40))), "unsupported IP protocol")
    capture.add(b"", "a frame of no octets")
    return capture


def native():
    capture = Capture("infiniband", "native InfiniBand: LRH, GRH, VCRC; raw packets; the example of IBA 7.8.3", link=247)
    local, transport = IBA_EXAMPLE
    example = local + transport + bytes.fromhex("9625b75a")
    capture.add(example + vcrc(example), "the example packet of IBA 7.8.3, ICRC 9625b75a")
    psn = itertools.count(256)
    write = lambda: padded((0x0A, RETH), pattern(50), acknowledge=1, psn=next(psn))
    capture.add(infiniband(write(), service_level=3, virtual_lane=2), "RC WRITE Only, LRH, service level 3, virtual lane 2")
    capture.add(infiniband(write(), with_grh=True), "RC WRITE Only, LRH and GRH")
    capture.add(infiniband(padded((0x11, ACK))), "RC Acknowledge")
    capture.add(infiniband(padded((0x05 + 0x60, deth(0x11111111, 0x34) + IMMDT), pattern(30))), "UD SEND Only with Immediate")
    capture.add(infiniband(gmp(mad(0x07, 3, 0x0014, bits((1, 32), (2, 32))))), "CM ReadyToUse")
    capture.add(infiniband(gmp(mad(0x03, 0x01, 0x0035, pattern(200)))), "subnet administration: Get PathRecord")
    capture.add(infiniband(gmp(mad(0x04, 0x01, 0x0012, pattern(64), version=1))), "performance management: Get PortCounters")
    directed = mad(0x81, 0x01, 0x0015, pattern(232), version=1)
    capture.add(infiniband(padded((0x64, deth(0, 0)), directed, destination_qp=0), virtual_lane=15), "subnet management, directed route: Get PortInfo")
    ip = ipv4(1, b"\x08\x00\xf7\xff" + bytes(4))
    head = lrh(bits((0, 16), (0x0800, 16)) + ip + b"", 0)
    packet = head + bits((0, 16), (0x0800, 16)) + ip
    capture.add(packet + vcrc(packet), "raw packet with an Ethernet type (RWH)")
    datagram = ipv6(59, b"")
    packet = lrh(datagram, 1) + datagram
    capture.add(packet + vcrc(packet), "raw IPv6 packet")
    broken = infiniband(write())
    capture.add(broken[:-1] + bytes([broken[-1] ^ 1]), "VCRC bad by one bit")
    capture.add(infiniband(write()), "snapped in the payload", snap=60)
    return capture


def management():
    capture = Capture("cm", "RoCEv2: every message of the communication manager")

    mapped = lambda address: int.from_bytes(bytes(10) + b"\xff\xff" + address, "big")

    def path(*, local, remote):
        return [(local, 16), (remote, 16), (mapped(IP_A), 128), (mapped(IP_B), 128)]

    primary = path(local=0x0003, remote=0x0004) + [(0xABCDE, 20), (0, 6), (0x12, 6), (0x60, 8), (64, 8), (3, 4), (1, 1), (0, 3), (18, 5), (0, 3)]
    alternate = path(local=0x0005, remote=0x0006) + [(0x54321, 20), (0, 6), (0x13, 6), (0x61, 8), (63, 8), (4, 4), (0, 1), (0, 3), (17, 5), (0, 3)]
    ids = [(0xA0A0A0A0, 32), (0xB0B0B0B0, 32)]

    def request(service, extended=0):
        return cm(0x0010, (0xA0A0A0A0, 32), (0, 32), (0x0000000001064853, 64), (0x0002C90300000001, 64), (0, 32), (0x11111111, 32),
                  (0x000012, 24), (16, 8), (0x000021, 24), (8, 8), (0x000031, 24), (20, 5), (service, 2), (1, 1), (0xABCDEF, 24), (19, 5),
                  (7, 3), (0xFFFF, 16), (3, 4), (1, 1), (6, 3), (15, 4), (1, 1), (extended, 3), *primary, *alternate, private=pattern(92))

    messages = [
        (request(0), "ConnectRequest, RC"), (request(1), "ConnectRequest, UC"), (request(2), "ConnectRequest, RD"),
        (request(3, 1), "ConnectRequest, XRC"),
        (cm(0x0011, *ids, (1, 2), (0, 6), (21, 5), (0, 3), private=pattern(222)), "MsgRcptAck of a REP"),
        (cm(0x0012, *ids, (0, 2), (0, 6), (8, 7), (0, 1), (0x001C, 16), (int.from_bytes(pattern(72), "big"), 576), private=pattern(148)),
         "ConnectReject, consumer reject"),
        (cm(0x0012, *ids, (0, 2), (0, 6), (0, 7), (0, 1), (0x0008, 16)), "ConnectReject, invalid service ID"),
        (cm(0x0013, *ids, (0x11111111, 32), (0x000034, 24), (0, 8), (0x000041, 24), (0, 8), (0xFEDCBA, 24), (0, 8), (4, 8), (2, 8), (16, 5),
            (1, 2), (1, 1), (5, 3), (1, 1), (0, 4), (0x0002C90300000002, 64), private=pattern(196)), "ConnectReply"),
        (cm(0x0014, *ids, private=pattern(224)), "ReadyToUse"),
        (cm(0x0019, *ids, (0, 32), (0x000034, 24), (20, 5), (0, 3), (0, 32), *path(local=0x0005, remote=0x0006), (0x54321, 20), (0, 4), (0x61, 8),
            (63, 8), (0, 2), (0x13, 6), (4, 4), (0, 1), (0, 3), (17, 5), (0, 3), private=pattern(168)), "LoadAlternatePath"),
        (cm(0x001A, *ids, (8, 8), (5, 8), (0, 16), (int.from_bytes(pattern(72), "big"), 576), private=pattern(148)), "AlternatePathResponse"),
        (cm(0x0015, *ids, (0x000034, 24), (0, 8), private=pattern(220)), "DisconnectRequest"),
        (cm(0x0016, *ids, private=pattern(224)), "DisconnectReply"),
        (cm(0x0017, (0xA0A0A0A0, 32), (0xFFFF, 16), (0, 16), (0x0000000001064853, 64), private=pattern(216)), "ServiceIDResolutionRequest"),
        (cm(0x0018, (0xA0A0A0A0, 32), (0, 8), (4, 8), (0, 16), (0x000056, 24), (0, 8), (0x0000000001064853, 64), (0x11111111, 32),
            (int.from_bytes(pattern(72), "big"), 576), private=pattern(136)), "ServiceIDResolutionResponse"),
        (mad(0x07, 0x01, 0x0001, bytes(8)), "Get ClassPortInfo"),
        (cm(0x00FF, *ids), "an attribute that the communication manager does not have"),
    ]
    for psn, (message, note) in enumerate(messages):
        capture.add(ethernet(0x0800, rocev2(gmp(message, psn))), note)
    capture.add(ethernet(0x0800, rocev2(padded((0x64, deth(GMP_QKEY, 1)), request(0)[:100], destination_qp=1))), "malformed: a ConnectRequest of 100 octets")
    return capture


def captures():
    return [opcodes(), acknowledgements(), over_what(), damaged(), native(), management()]
