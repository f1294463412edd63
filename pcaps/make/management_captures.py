"""Management datagrams of InfiniBand, in RoCEv1 since tshark does not read native captures: each attribute of each class with octets
that count up, so that every field has a value of its own; and what the clients of a subnet manager ask. IBTA vol. 1, 14 to 16."""
import struct

from capture import Capture
from octets import *

GET_RESP, SET, SEND, REPORT, TABLE, TABLE_RESP = 0x81, 0x02, 0x03, 0x06, 0x12, 0x92
SUBNET, ADMINISTRATION, PERFORMANCE, DEVICE, CONGESTION, DIRECTED = 0x01, 0x03, 0x04, 0x06, 0x21, 0x81
SUBNET_ATTRIBUTES = [*range(0x10, 0x13), *range(0x14, 0x1F), 0x20, *range(0x30, 0x34), 0xFF90]
ADMINISTRATION_ATTRIBUTES = [1, 3, *range(0x11, 0x1A), 0x20, 0x30, 0x31, 0x33, 0x35, 0x36, *range(0x38, 0x3C), 0xF3]
PERFORMANCE_ATTRIBUTES = [1, 0x10, 0x11, 0x12, *range(0x15, 0x1E), 0x1F, *range(0x30, 0x38)]
TRAPS = [64, 65, 66, 67, 68, 69, 128, 129, 130, 131, 144, 145, 256, 257, 258, 259]

NOT_RMPP = bytes(12)
NODES = ("host01 mlx5_0", "host02 mlx5_0", "host03 mlx5_0", "host04 mlx5_0", "leaf1 port 0")


def rmpp(kind, flags, first, second, response_time=0x1F, status=0):
    """IBTA 13.6: RRespTime has five bits, the flags three: active, first, last from the right."""
    return struct.pack("!BBBBII", 1, kind, response_time << 3 | flags, status, first, second)


def administration(record, reliable=NOT_RMPP, record_octets=0, mask=0):
    return reliable + struct.pack("!QHHQ", 0, record_octets // 8, 0, mask) + record


def notice(trap, details):
    """A generic notice of a switch. IBTA 13.4.8.2."""
    return struct.pack("!IHHH", 0x84000002, trap, 9, 0x8003) + details


def node_record(lid, description):
    info = struct.pack("!BBBBQQQHHIBBBB", 1, 1, 1, 1, 0x1000 + lid, 0x2000 + lid, 0x3000 + lid, 128, 0x1017, 0, 1, 0, 2, 0xC9)
    return struct.pack("!HH", lid, 0) + info + description.encode().ljust(64, b"\0") + bytes(4)


class Mads:
    def __init__(self, name, about):
        self.capture, self.psn = Capture(name, about), 0

    def add(self, management_class, method, attribute, data, note, **fields):
        datagram = mad(management_class, method, attribute, data, **{"version": 1, **fields})
        subnet = management_class in (SUBNET, DIRECTED)
        self.psn += 1
        if subnet:
            packet = padded((0x64, deth(0, 0)), datagram, destination_qp=0, psn=self.psn)
        else:
            packet = gmp(datagram, self.psn)
        self.capture.add(ethernet(0x8915, rocev1(packet)), note)


def attributes():
    mads = Mads("mads", "InfiniBand management: every attribute that has a layout, each octet with a value of its own")
    for attribute in SUBNET_ATTRIBUTES:
        mads.add(SUBNET, GET_RESP, attribute, pattern(232), f"SMP, attribute {attribute:#06x}")
        mads.add(DIRECTED, GET_RESP, attribute, pattern(232), f"SMP on a directed route, attribute {attribute:#06x}", status=0x8000)
    for attribute in ADMINISTRATION_ATTRIBUTES:
        mads.add(ADMINISTRATION, GET_RESP, attribute, administration(pattern(200, 40)), f"SA, attribute {attribute:#06x}", version=2)
    for attribute in PERFORMANCE_ATTRIBUTES:
        mads.add(PERFORMANCE, GET_RESP, attribute, pattern(232), f"performance, attribute {attribute:#06x}")
    for attribute in (1, 0x10, 0x11, 0x12):
        mads.add(DEVICE, GET_RESP, attribute, bytes(40) + pattern(192), f"device management, attribute {attribute:#06x}")
    for attribute in range(0x11, 0x19):
        mads.add(CONGESTION, GET_RESP, attribute, pattern(232), f"congestion control, attribute {attribute:#06x}", version=2)
    for trap in TRAPS:
        mads.add(SUBNET, 0x05, 2, bytes(40) + notice(trap, pattern(54)), f"trap {trap}")
        mads.add(ADMINISTRATION, REPORT, 2, administration(notice(trap, pattern(54))), f"report of trap {trap}", version=2)
    return mads.capture


def questions():
    mads = Mads("sa", "InfiniBand: tables of Subnet Administration in segments, refusals, counters of a congested port")
    mads.add(ADMINISTRATION, TABLE, 0x11, administration(b""), "asks for all nodes", version=2)
    table = b"".join(node_record(4 + i, name) for i, name in enumerate(NODES))
    segments = [table[i:i + 200] for i in range(0, len(table), 200)]
    for i, segment in enumerate(segments):
        flags = 1 | (2 if i == 0 else 0) | (4 if i == len(segments) - 1 else 0)
        length = len(table) + 20 * len(segments) if i == 0 else len(segment) + 20 if flags & 4 else 0
        mads.add(ADMINISTRATION, TABLE_RESP, 0x11, administration(segment, rmpp(1, flags, i + 1, length), 112),
                 f"segment {i + 1} of the table of five nodes", version=2)
        mads.add(ADMINISTRATION, TABLE, 0x11, administration(b"", rmpp(2, 1, i + 1, 64)), f"acknowledges segment {i + 1}", version=2)
    mads.add(ADMINISTRATION, TABLE, 0x11, administration(b"", rmpp(4, 1, 0, 0, status=127)), "aborts a transaction", version=2)
    mads.add(ADMINISTRATION, GET_RESP, 0x35, administration(b""), "no records", version=2, status=0x0300)
    mads.add(SUBNET, GET_RESP, 0x15, b"", "a value is not valid", status=0x001C)
    mads.add(PERFORMANCE, GET_RESP, 0x12, bytes(40) + struct.pack("!BBHHBBHHHHBBBBHHIIIII", 0, 7, 0xFFFF, 3, 0, 1, 0, 0, 0, 17, 0, 0, 0,
                                                                   0x25, 0, 0, 1000, 2000, 30, 40, 12_100_000),
             "port 7: symbol errors 3, downed 1, discards 17, integrity 2, overrun 5, wait 12,100,000")
    mads.add(0x0A, GET_RESP, 0x17, pattern(232), "a vendor's class")
    mads.add(0x5A, 0x7F, 0x17, pattern(232), "a class and a method that nobody has")
    return mads.capture


def captures():
    return attributes(), questions()
