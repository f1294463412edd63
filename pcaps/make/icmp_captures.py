"""Captures of ICMP and ICMPv6: errors that quote RDMA, errors that quote something else, and what is no error."""
import struct

from capture import Capture
from octets import *

IP_R = bytes([198, 51, 100, 1])
IP6_R = bytes.fromhex("20010db800ff00000000000000000001")


def icmp(kind, code, rest, quoted=b"", source=IP_B, destination=IP_A):
    """RFC 792."""
    message = struct.pack("!BBH", kind, code, 0) + rest + quoted
    message = message[:2] + struct.pack("!H", internet_checksum(message)) + message[4:]
    return ethernet(0x0800, ipv4(1, message, source, destination, tos=0xC0), MAC_B, MAC_A)


def icmpv6(kind, code, rest, quoted=b"", source=IP6_B, destination=IP6_A, damage=0):
    """RFC 4443."""
    message = struct.pack("!BBH", kind, code, 0) + rest + quoted
    pseudo = source + destination + struct.pack("!II", len(message), 58)
    checksum = internet_checksum(pseudo + message) ^ damage
    message = message[:2] + struct.pack("!H", checksum) + message[4:]
    return ethernet(0x86DD, ipv6(58, message, source, destination), MAC_B, MAC_A)


def errors():
    capture = Capture("icmp", "ICMP and ICMPv6 errors about RoCEv2 and iWARP, and other ICMP")
    nothing = bytes(4)
    send = rocev2(padded((0x04, b""), pattern(20), destination_qp=0x001510, psn=7000, acknowledge=1))
    write = rocev2(padded((0x06, reth(0x7F0000001000, 0x1234, 4096)), pattern(2048), destination_qp=0x001510, psn=7001))
    capture.add(ethernet(0x0800, send), "RC SEND Only to queue pair 0x1510")
    capture.add(icmp(3, 3, nothing, send), "port unreachable by the receiver, quotes all of it")
    capture.add(ethernet(0x0800, write), "RC WRITE First of 2048 octets")
    mtu = struct.pack("!HH", 0, 1500)
    capture.add(icmp(3, 4, mtu, write[:548], IP_R), "fragmentation needed, MTU 1500, by a router, quotes 548 octets")
    capture.add(icmp(3, 4, struct.pack("!HH", 0, 0), write[:28], IP_R), "fragmentation needed, an old router: no MTU, quotes IP and UDP alone")
    for code, words in ((0, "network"), (1, "host"), (9, "network prohibited"), (10, "host prohibited"), (13, "filtered"), (2, "protocol")):
        capture.add(icmp(3, code, nothing, send, IP_R), f"unreachable: {words}")
    capture.add(icmp(11, 0, nothing, send, IP_R), "time exceeded in transit")
    # RFC 4884: the quoted packet is filled up to 128 octets, 32 words; an object of MPLS labels (RFC 4950) follows.
    extension = struct.pack("!HH", 0x2000, 0) + struct.pack("!HBB", 8, 1, 1) + bits((24000, 20), (0, 3), (1, 1), (1, 8))
    extension = extension[:2] + struct.pack("!H", internet_checksum(extension)) + extension[4:]
    capture.add(icmp(11, 0, struct.pack("!BBH", 0, 32, 0), send + bytes(128 - len(send)) + extension, IP_R),
                "time exceeded, with an extension after the quoted packet")
    capture.add(icmp(12, 0, struct.pack("!BBH", 1, 0, 0), send, IP_R), "parameter problem at octet 1")
    capture.add(icmp(5, 1, IP_B, send, IP_R), "redirect: no error")
    request = rocev2(gmp(cm(0x0010, (0x11223344, 32))))
    capture.add(ethernet(0x0800, request), "CM REQ")
    capture.add(icmp(3, 3, nothing, request), "port unreachable: the REQ")
    capture.add(icmp(3, 3, nothing, ipv4(17, udp(53, pattern(12)))), "port unreachable about UDP port 53: no RDMA")
    capture.add(icmp(3, 1, nothing, ipv4(1, struct.pack("!BBHHH", 8, 0, 0xF7FD, 1, 1)), IP_R), "host unreachable about an echo request")
    capture.add(icmp(8, 0, struct.pack("!HH", 0x1234, 1), pattern(16), IP_A, IP_B), "echo request")
    capture.add(icmp(0, 0, struct.pack("!HH", 0x1234, 1), pattern(16)), "echo reply")
    capture.add(icmp(3, 3, nothing, send), "port unreachable, of which the capture holds the IP header of the quoted packet", snap=14 + 28 + 20)
    send6 = rocev2_ipv6(padded((0x04, b""), pattern(20), destination_qp=0x001511, psn=8000, acknowledge=1))
    capture.add(ethernet(0x86DD, send6), "RC SEND Only over IPv6 to queue pair 0x1511")
    for code, words in ((4, "port"), (0, "no route"), (1, "prohibited"), (3, "address"), (5, "policy")):
        capture.add(icmpv6(1, code, nothing, send6, IP6_B if code == 4 else IP6_R), f"ICMPv6 unreachable: {words}")
    capture.add(icmpv6(2, 0, struct.pack("!I", 1280), send6, IP6_R), "packet too big, MTU 1280")
    capture.add(icmpv6(3, 0, nothing, send6, IP6_R), "time exceeded")
    capture.add(icmpv6(4, 1, struct.pack("!I", 6), send6), "parameter problem at octet 6")
    capture.add(icmpv6(1, 4, nothing, send6, damage=1), "port unreachable with a wrong checksum")
    capture.add(icmpv6(128, 0, struct.pack("!HH", 0x1234, 1), pattern(16), IP6_A, IP6_B), "echo request")
    capture.add(icmpv6(129, 0, struct.pack("!HH", 0x1234, 1), pattern(16)), "echo reply")
    capture.add(icmpv6(135, 0, nothing, IP6_A), "neighbor solicitation")
    iwarp(capture)
    return capture


def iwarp(capture):
    segment = lambda back, sequence, flags, payload=b"": tcp(
        *((IP_B, IP_A, 7174, 40000) if back else (IP_A, IP_B, 40000, 7174)), sequence, 5001 if not back else 1001, flags, payload)
    add = lambda back, packet, note: capture.add(
        ethernet(0x0800, packet, MAC_B, MAC_A) if back else ethernet(0x0800, packet), note)
    whole = lambda back, *rest: ipv4(6, segment(back, *rest), *((IP_B, IP_A) if back else (IP_A, IP_B)))
    add(False, whole(False, 1000, 2), "SYN")
    add(True, whole(True, 5000, 0x12), "SYN ACK")
    add(False, whole(False, 1001, 0x18, mpa_start(False)), "MPA Request")
    add(True, whole(True, 5001, 0x18, mpa_start(True)), "MPA Reply")
    sender = MpaSender()
    data = whole(False, 1021, 0x18, sender.fpdu(tagged(0, 0x1234, 0x7F0000000000, pattern(1200))))
    add(False, data, "RDMAP Write of 1200 octets")
    capture.add(icmp(3, 4, struct.pack("!HH", 0, 1200), data[:548], IP_R), "fragmentation needed, MTU 1200: the Write")
    capture.add(icmp(3, 1, bytes(4), data[:28], IP_R), "host unreachable: the Write, of which the TCP ports and sequence are quoted")
    stranger = ipv4(6, tcp(IP_A, IP_B, 40001, 80, 1, 1, 0x18, pattern(10)))
    capture.add(icmp(3, 13, bytes(4), stranger[:28], IP_R), "filtered: a connection that is no iWARP")


def captures():
    return [errors()]
