"""What dd, fio, mountstats and the kernel's log say of the commands of a capture.

A workload is one direction of one tool: where on which device, the bytes that arrived, and whether it ended with an error. A log line
names one command that failed. All are read from the JSON beside the capture.
"""
import dataclasses
import re

OWN = 5 << 20
UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20}
DD = re.compile(r"\bdd ([^;&|]*)")
# `dd: error reading '/dev/nvme0n1': Input/output error`, then records in, records out, and the bytes that were copied.
DD_END = re.compile(r"(?:^dd: error [^\n]*\n)?^\d+\+\d+ records in\n^\d+\+\d+ records out\n^(\d+) bytes", re.M)
FIO = re.compile(r"\bfio ([^;&|]*)")
# fio's terse format 3: a direction has 41 columns, KiB first, total latency (least, most, mean, us) at 32.
FIO_READ, FIO_WRITE, FIO_LATENCY = 5, 46, 32
NVME_LINE = re.compile(r"nvme(\d+)n(\d+): (?:I/O Cmd|Read|Write)\(0x([12])\) @ LBA (\d+), (\d+) blocks, .*?\(sct 0x(\w+) / sc 0x(\w+)\)")
NVME_STATUS = {(0, 0x06): "Internal Error", (0, 0x81): "Capacity Exceeded", (0, 0x80): "LBA Out of Range"}
SCSI_LINE = re.compile(r"\[(sd\w)\][^\n]*Add\. Sense: ([^\n]*)")
NFS_KINDS = {"read": ("READ",), "write": ("WRITE",), "open": ("OPEN", "OPEN_NOATTR"), "commit": ("COMMIT",), "readdir": ("READDIR",)}


@dataclasses.dataclass
class Workload:
    tool: str
    target: str  # as in the column `target` of `io --each`
    kind: str
    begin: int   # bytes from the beginning of the device
    end: int
    moved: int   # bytes
    failed: bool
    commands: int | None = None
    latency_us: float | None = None  # of all, summed
    depth: int | None = None

    def holds(self, row):
        return (row["kind"], row["target"]) == (self.kind, self.target) and self.begin <= place(row)[0] < self.end


def place(row):
    """The bytes that a command names: from, number."""
    if row["first_block"] is None or not row["block_count"]:
        return -1, 0
    return row["first_block"] * (row["bytes"] // row["block_count"]), row["bytes"]


def size(text):
    number, unit = re.fullmatch(r"(\d+)([km]?)", text).groups()
    return int(number) * UNITS[unit]


def target_of(word, command):
    """`ns 3`, or `lun 2`, of /dev/nvme0n3, or of the disk that the shell looked up as $D; nothing of what is no such device."""
    if word == "$D":
        word = re.search(r"\bD=([^\s;]+)", command).group(1)
    if found := re.fullmatch(r"/dev/nvme\d+n(\d+)", word):
        return f"ns {found.group(1)}"
    if not word.startswith("/dev/$("):
        return None
    found = re.search(r"scsi_device/\*:(\d+)/", command)
    return f"lun {found.group(1) if found else 0}"


def of_dd(command):
    calls = [dict(word.split("=", 1) for word in found.split() if "=" in word) for found in DD.findall(command["cmd"])]
    ends = list(DD_END.finditer(command["output"]))
    if len(ends) != len(calls):
        return  # the shell ended before them: its device was not there
    for call, end in zip(calls, ends, strict=True):
        for kind, name, skip, flag in (("read", "if", "skip", "iflag"), ("write", "of", "seek", "oflag")):
            target = target_of(call[name], command["cmd"])
            if target is not None and call.get(flag) == "direct":
                begin = size(call["bs"]) * int(call.get(skip, 0))
                yield Workload("dd", target, kind, begin, begin + size(call["bs"]) * int(call["count"]), int(end.group(1)),
                               "dd: error" in end.group())


def of_fio(command):
    for call in FIO.findall(command["cmd"]):
        words = dict(word[2:].split("=", 1) for word in call.split() if "=" in word)
        target = target_of(words["filename"], command["cmd"])
        if target is None:
            continue
        begin, block = size(words.get("offset", "0")), size(words["bs"])
        for line in re.findall(r"^3;fio.*$", command["output"], re.M):
            columns = line.split(";")
            for kind, at in (("read", FIO_READ), ("write", FIO_WRITE)):
                if moved := int(columns[at]) << 10:
                    yield Workload("fio", target, kind, begin, begin + size(words["size"]), moved, columns[4] != "0", moved // block,
                                   float(columns[at + FIO_LATENCY + 2]) * (moved // block), int(words["iodepth"]))


def workloads(truth):
    found = []
    for command in truth["commands"]:
        if command["node"] == "B" and "/dev/" in command["cmd"]:
            found += [*of_dd(command), *of_fio(command)]
    return found


def failures_in_log(truth):
    """(kind, target, first block, status) of each failed NVMe command that the host's kernel logged."""
    log = "\n".join(command["output"] for command in truth["commands"] if command["node"] == "B")
    return [({"1": "write", "2": "read"}[opcode], f"ns {namespace}", int(block), NVME_STATUS[int(kind, 16), int(code, 16)])
            for _, namespace, opcode, block, _, kind, code in NVME_LINE.findall(log)]


def sense_in_log(truth):
    """The additional sense of each failed SCSI command that the initiator's kernel logged."""
    log = "\n".join(command["output"] for command in truth["commands"] if command["node"] == "B")
    return [sense.strip() for _, sense in SCSI_LINE.findall(log)]


def mountstats(truth):
    """Operation -> [requests, transmissions, failed, round trips in ms] of the client's mounts, added up; empty without a report."""
    found = {}
    for command in truth["commands"]:
        if "mountstats" not in command["cmd"]:
            continue
        for name, numbers in re.findall(r"^\s+([A-Z_]+): ([\d ]+)$", command["output"], re.M):
            values = [int(number) for number in numbers.split()]
            requests, transmissions, _, _, _, _, round_trips, _, failed = (values + [0])[:9]
            found[name] = [one + other for one, other in
                           zip(found.get(name, [0] * 4), (requests, transmissions, failed, round_trips), strict=True)]
    return found


def received(rows, found):
    """Those whose response reached the host: when a connection breaks, the host asks for the others again on the next one."""
    last, broken = {}, set()
    for row in found:
        last[row["connection"]] = max(last.get(row["connection"], 0), row["start_ns"] + (row["latency_ns"] or 0))
        if row["end"] == "unanswered":
            broken.add(row["connection"])
    asked = {}
    for row in rows:
        asked.setdefault((row["kind"], row["target"], place(row)), []).append(row)
    return [row for row in rows if row["connection"] not in broken or not any(
        other["start_ns"] > last[row["connection"]] for other in asked[row["kind"], row["target"], place(row)])]


def check_workloads(found, truth):
    """Bytes, errors, number, time and depth of what dd and fio asked for. The host itself reads the first and last MiB of a device."""
    groups = {}
    for workload in workloads(truth):
        groups.setdefault((workload.target, workload.kind), []).append(workload)
    for (target, kind), group in groups.items():
        rows = [row for row in found if any(workload.holds(row) for workload in group)]
        good = [row for row in rows if row["end"] == "answered" and not row["error"]]
        what, alone = f"{kind}s of {target}", all(workload.begin >= OWN for workload in group)
        moved, carried = sum(workload.moved for workload in group), sum(row["bytes"] for row in good)
        if carried > moved and alone:
            good = received(good, found)
            carried = sum(row["bytes"] for row in good)
        yield carried == moved if alone else carried >= moved, f"{what}: {moved} bytes in the reports, {carried} found"
        if not alone:
            continue
        failed = any(workload.failed for workload in group)
        errors = [row for row in rows if row["error"]]
        yield failed or not errors, f"{what}: no error in the reports, {len(errors)} found"
        yield not failed or errors or len(good) < len(rows), f"{what}: an error in the reports, none found"
        if any(workload.commands is None for workload in group):
            continue
        commands = sum(workload.commands for workload in group)
        yield len(good) == commands, f"{what}: {commands} commands in the reports, {len(good)} found"
        # The tap is next to the target: it sees less of a command's time than fio does.
        slowest, passed = sum(workload.latency_us for workload in group), sum(row["latency_ns"] for row in good) / 1000
        yield 0 < passed <= slowest + commands, f"{what}: {slowest} us in the reports, {passed} us found"
        depth, open_most = sum(workload.depth for workload in group), max(row["open"] for row in good)
        yield depth / 4 <= open_most <= depth, f"{what}: depth {depth} asked for, {open_most} open found"


def check_logs(found, truth):
    """Every failed command that the kernel logged has its row. The kernel limits the rate of these lines."""
    failed = {(row["kind"], row["target"], row["first_block"], row["status"]) for row in found}
    for one in failures_in_log(truth):
        yield one in failed, f"the kernel logged {one}; not found"
    for sense in sense_in_log(truth):
        yield any(row["status"].casefold() == sense.casefold() and row["error"] for row in found if row["status"]), f"the kernel logged {sense!r}; not found"


def check_mounts(found, truth):
    """Requests, answers with an error and time of the client's own account. A request that was sent again is two commands."""
    counted = mountstats(truth)
    for kind, operations in NFS_KINDS.items() if counted else ():
        requests, transmissions, failed, round_trips = (sum(counted.get(name, [0] * 4)[i] for name in operations) for i in range(4))
        rows = [row for row in found if row["kind"] == kind]
        yield len(rows) == transmissions, f"{kind}: {transmissions} transmissions in mountstats, {len(rows)} found"
        if transmissions != requests:
            continue
        errors = sum(row["status"] not in ("NFS4_OK", "NFS3_OK", "OK", "Success") for row in rows)
        yield errors == failed, f"{kind}: {failed} failed in mountstats, {errors} found"
        passed = sum(row["latency_ns"] or 0 for row in rows) / 1e6
        yield passed <= round_trips + requests, f"{kind}: {round_trips} ms in mountstats, {passed} ms found"


def check(found, truth):
    """(right, what) of every comparison of `io --each` with the reports."""
    yield from check_workloads(found, truth)
    yield from check_logs(found, truth)
    yield from check_mounts(found, truth)
