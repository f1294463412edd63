"""Trace files, read by the format's description in docs/trace.md and by nothing of ours."""
import pathlib
import struct

POST_SEND, POST_RECEIVE, COMPLETION, POLL_EMPTY, QUEUE_PAIR, CONNECTION = range(1, 7)
SIGNALLED, RECEIVE = 1, 32
RDMA_WRITE, SEND, ESTABLISHED = 0, 2, 9


class Record:
    """Sixty-four octets, little endian, as docs/trace.md has them."""

    def __init__(self, octets):
        (self.time_ns, self.number, self.process, self.kind, self.device, self.duration, self.thread) = struct.unpack_from(
            "<qIIBBHI", octets)
        (self.id, self.bytes, self.remote_address, self.remote_key, self.pieces, self.opcode, self.status, self.flags,
         self.vendor_error, self.of) = struct.unpack_from("<QQQIHBBBBH", octets, 24)
        self.rest = octets[24:]


class Trace:
    def __init__(self, path):
        octets = pathlib.Path(path).read_bytes()
        assert octets[:8] == b"rdmatrc\n" and struct.unpack_from("<II", octets, 8) == (1, 64), octets[:16]
        self.processes, self.records, self.complete = {}, [], False
        at = 32
        while at < len(octets):
            kind, size = struct.unpack_from("<II", octets, at)
            block = octets[at + 8:at + 8 + size]
            assert len(block) == size
            at += 8 + size
            if kind == 1:
                self.take_process(block)
            elif kind == 2:
                self.records += [Record(block[i:i + 64]) for i in range(0, size, 64)]
            elif kind == 3:
                told, self.lost = struct.unpack("<QQ", block)
                assert told == len(self.records) and at == len(octets)
                self.complete = True

    def take_process(self, block):
        pid, user, _ = struct.unpack_from("<IIq", block)
        texts, at = [], 16
        for i in range(2):
            size, = struct.unpack_from("<H", block, at)
            texts.append(block[at + 2:at + 2 + size].decode())
            at += 2 + size
        devices, count = [], struct.unpack_from("<H", block, at)[0]
        at += 2
        for _ in range(count):
            size, = struct.unpack_from("<H", block, at)
            devices.append(block[at + 2:at + 2 + size].decode())
            at += 2 + size
        self.processes[pid] = {"user": user, "command": texts[0], "container": texts[1], "devices": devices}

    def of(self, kind, number=None):
        return [one for one in self.records if one.kind == kind and number in (None, one.number)]
