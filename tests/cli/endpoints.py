"""Endpoints for the tests: the program's, run as a user runs them, and one by hand over a plain socket, which knows iWARP
from the RFCs alone."""
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading

from command import BINARY, ENVIRONMENT, run


def ping(address, *arguments, **options):
    return run("endpoint", "ping", "--to", address, "--interval", "0", "-c", 3, *arguments, **options)


def bench(kind, address, *arguments, **options):
    return run("endpoint", "bench", kind, "--to", address, *arguments, **options)


class Serving:
    """`rdmascope endpoint serve` (or `listen`) on a free port, until stop()."""

    def __init__(self, *arguments, part="serve", listen="127.0.0.1:0"):
        self.process = subprocess.Popen([BINARY, "endpoint", part, "--listen", listen, *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True)
        source = self.process.stdout if part == "serve" else self.process.stderr
        self.told = []
        for line in source:
            self.told.append(line)
            if found := re.search(r"ready (\S+)", line):
                break
        else:
            raise AssertionError(f"serve does not listen: {self.process.communicate()}")
        self.address = found[1]
        self.port = int(self.address.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def stop(self, number=signal.SIGINT):
        """Ends it; exit status, standard output after `ready`, standard error."""
        self.process.send_signal(number)
        out, error = self.process.communicate(timeout=60)
        return self.process.returncode, out, error

    def summary(self):
        status, out, error = self.stop()
        assert status == 0, error
        return json.loads(out)

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])


# RFC 5044, 5041, 5040.
SEND, WRITE, READ_REQUEST, READ_RESPONSE, TERMINATE = 3, 0, 1, 2, 7


class Lost(Exception):
    """The peer has closed the connection."""


def crc32c(data):
    """RFC 3720, appendix B.4: bit by bit, in a table."""
    value = 0xffffffff
    for octet in data:
        value = CRC_TABLE[(value ^ octet) & 255] ^ value >> 8
    return value ^ 0xffffffff


def table_entry(value):
    for _ in range(8):
        value = value >> 1 ^ 0x82f63b78 if value & 1 else value >> 1
    return value


CRC_TABLE = [table_entry(value) for value in range(256)]


class Stream:
    """MPA revision 1, no markers; a CRC only where `crc` says so; DDP segments that are whole messages."""

    def __init__(self, connected, crc=False):
        self.socket = connected
        self.crc = crc
        self.numbers = {0: 1, 1: 1}

    def start_frame(self, kind):
        """Flags, revision, private data of the peer's Request or Reply."""
        head = self.take(20)
        assert head[:16] == b"MPA ID %s Frame" % kind, head
        flags, revision, length = struct.unpack(">BBH", head[16:])
        return flags, revision, self.take(length)

    def close(self):
        self.socket.close()

    def take(self, octets):
        data = b""
        while len(data) < octets:
            more = self.socket.recv(octets - len(data))
            if not more:
                raise Lost()
            data += more
        return data

    def fpdu(self, ulpdu):
        pad = -(2 + len(ulpdu)) % 4
        octets = struct.pack(">H", len(ulpdu)) + ulpdu + bytes(pad)
        self.socket.sendall(octets + (struct.pack("<I", crc32c(octets)) if self.crc else bytes(4)))

    def untagged(self, opcode, queue, payload, last=True):
        self.fpdu(struct.pack(">BBIIII", 0x41 if last else 0x01, 0x40 | opcode, 0, queue, self.numbers[queue], 0) + payload)
        self.numbers[queue] += 1

    def tagged(self, opcode, stag, offset, payload):
        self.fpdu(struct.pack(">BBIQ", 0xc1, 0x40 | opcode, stag, offset) + payload)

    def send(self, payload):
        self.untagged(SEND, 0, payload)

    def read_request(self, sink, size, source):
        self.untagged(READ_REQUEST, 1, struct.pack(">IQIIQ", *sink, size, *source))

    def next(self):
        """Opcode, payload, and where it goes: (STag, offset) or None."""
        length, = struct.unpack(">H", self.take(2))
        ulpdu = self.take(length)
        self.take(-(2 + length) % 4 + 4)
        opcode = ulpdu[1] & 0x0f
        if ulpdu[0] & 0x80:
            return opcode, ulpdu[14:], struct.unpack(">IQ", ulpdu[2:14])
        return opcode, ulpdu[18:], None

    def read(self, size, source):
        """RDMA Read: what came; the Terminate's three octets of code where there was one instead."""
        sink = (0x1234, 0)
        self.read_request(sink, size, source)
        data = b""
        while len(data) < size:
            opcode, payload, where = self.next()
            if opcode == TERMINATE:
                return payload[:2]
            assert opcode == READ_RESPONSE and where == (sink[0], len(data)), (opcode, where)
            data += payload
        return data


class ByHand(Stream):
    """An initiator."""

    def __init__(self, port, private_data=b"", host="127.0.0.1", crc=False):
        super().__init__(socket.create_connection((host, port), timeout=60), crc)
        self.socket.sendall(b"MPA ID Req Frame" + struct.pack(">BBH", 0, 1, len(private_data)) + private_data)
        self.flags, self.revision, self.private_data = self.start_frame(b"Rep")
        self.rejected = bool(self.flags & 0x20)


class RpingServer(threading.Thread):
    """rping -s, by rping.c of rdma-core: one client, as many rounds as it wants; `damage` changes what is sent back."""

    def __init__(self, damage=lambda data: data, silent=False):
        super().__init__(daemon=True)
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listening.getsockname()[1]
        self.damage, self.silent = damage, silent
        self.pings, self.failure = [], None
        self.start()

    def run(self):
        try:
            with self.listening.accept()[0] as connected:
                self.serve(Stream(connected))
        except (Lost, ConnectionResetError):
            pass
        except Exception as failure:  # for the test to raise
            self.failure = failure

    def buffer(self, peer):
        opcode, payload, where = peer.next()
        assert (opcode, len(payload)) == (SEND, 16), (opcode, payload)
        return struct.unpack(">QII", payload)

    def serve(self, peer):
        flags, revision, self.private_data = peer.start_frame(b"Req")
        peer.socket.sendall(b"MPA ID Rep Frame" + struct.pack(">BBH", 0, revision, 0))
        while True:
            address, stag, size = self.buffer(peer)
            if self.silent:
                peer.take(1)
            data = peer.read(size, (stag, address))
            self.pings.append(data)
            peer.send(bytes(16))
            address, stag, room = self.buffer(peer)
            # rping sends back the text and the zero after it.
            text = self.damage(data[:data.index(b"\0") + 1])
            assert len(text) <= room
            peer.tagged(WRITE, stag, address, text)
            peer.send(bytes(16))

    def finish(self):
        self.listening.close()
        self.join(timeout=60)
        if self.failure:
            raise self.failure


def capturing():
    """Whether this process may capture."""
    return os.geteuid() == 0 and run("dump", "-i", "lo", "-c", 1, "-L").returncode == 0
