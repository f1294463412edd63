"""What the applications' own reports and command lines say a capture must hold.

A finding is figure -> (least, most, source); figures are named as in packets.py. Where a tool keeps figures to itself,
nothing is said of them: `unreported` in the list of reasons below tells which and why.
"""
import json
import re
import shlex

# perftest with -R talks on a connection of its own before and after the measurement: Sends of 16 to 22 octets, as many as
# the tool exchanges things and keeps step. Counts: the kernel's rdma_sends of the rxe captures less the communication
# manager's datagrams; octets: 22 for the first exchanges, 16 for keeping step, as the second reader finds in all of them.
CONTROL_SENDS = {("write", "bw"): (16, 458), ("read", "bw"): (16, 458), ("send", "bw"): (11, 418),
                 ("read", "lat"): (11, 418), ("send", "lat"): (11, 418), ("write", "lat"): (10, 362)}
ATOMICS = {"FETCH_AND_ADD": "fetch_add", "CMP_AND_SWAP": "compare_swap"}
# Sizes that vtest walks through, or draws from.
SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4095, 4096, 4097, 16384, 65535, 65536,
         65537]
OPERATIONS = {"SEND": "send", "SEND_IMM": "send_immediate", "SEND_INV": "send_invalidate", "WRITE": "write",
              "WRITE_IMM": "write_immediate", "READ": "read", "FETCH_ADD": "fetch_add", "CMP_SWAP": "compare_swap"}
# Whose messages no report tells, and why. They come from the second reader then, and their Sends from the counters.
UNREPORTED = {
    "rxe-qperf": "qperf tells rates, not counts",
    "rxe-rstream": "rsockets cut a stream into Writes as their credits allow; rstream tells octets",
    "rxe-srq-pingpong": "the tool counts its iterations over all queue pairs and overshoots them by what is in flight",
    "siw-rping-mpa1": "the server fails before it answers",
    "rxe-reorder-write-bw": "the run was ended from outside",
    "*-head": "the capture is cut, the report is of the whole run",
    "rxe-cm-reject": "nothing was sent", "siw-mpa-reject": "nothing was sent", "iser-siw-refused": "nothing was sent",
    "rxe-verbs-idle": "nothing was sent", "siw-verbs-idle": "nothing was sent",
    "nfs-*": "file system, block and session layers add requests of their own",
    "nvme-*": "as nfs", "iser-*": "as nfs", "srp-*": "as nfs", "smbdirect-*": "as nfs", "rds-*": "as nfs",
    "smc-*": "fell back to TCP: no RDMA in it",
}


def options(words, flags):
    """-x VALUE pairs and -x flags of a command line, by letter."""
    found, at = {}, 0
    while at < len(words):
        word = words[at]
        if word.startswith("-") and word in flags:
            found[word] = True
        elif word.startswith("-") and at + 1 < len(words):
            found[word] = words[at + 1]
            at += 1
        at += 1
    return found


class Report:
    def __init__(self):
        self.found = {}

    def add(self, figure, least, source, most=None):
        least_before, most_before, source_before = self.found.get(figure, (0, 0, source))
        self.found[figure] = (least_before + least, most_before + (least if most is None else most), source_before)

    def bound(self, figure, most, source):
        self.found[figure] = (0, max(most, self.found.get(figure, (0, 0))[1]), source)

    def messages(self, node, operation, count, octets, source):
        self.add(f"messages/{operation}/{node}", count, source)
        self.add(f"bytes/{operation}/{node}", octets, source)


def printed_iterations(output):
    """The rows of perftest's table: octets and iterations that were done."""
    return [tuple(map(int, row)) for row in re.findall(r"^ (\d+)\s+(\d+)\s+[\d.]+", output, re.M)]


def perftest(report, command, truth):
    words = shlex.split(command["cmd"])
    words = words[next(i for i, word in enumerate(words) if word.startswith("ib_")):]
    operation, kind = re.fullmatch(r"ib_(\w+)_(bw|lat)", words[0]).groups()
    flags = options(words[1:], {"-F", "-R", "-b", "--use-srq"})
    rows = printed_iterations(command["output"])
    if command["rc"] or not rows:
        return
    size, count = rows[0]
    if count != int(flags["-n"]) or operation != "atomic" and size != int(flags["-s"]):
        raise ValueError(f"{words[0]} was asked for {flags} and reports {rows}")
    name = ATOMICS[flags["-A"]] if operation == "atomic" else operation
    source = f"{words[0]}'s report: {count} iterations of {size} octets"
    pairs = int(flags.get("-q", 1))
    control = CONTROL_SENDS[operation, kind] if "-R" in flags else (0, 0)
    # The client is the requester; where both post, both count: -b, and the ping-pong of Sends and Writes.
    both = "-b" in flags or kind == "lat" and operation != "read"
    for node in "AB":
        if node == "B" or both:
            report.messages(node, name, count * pairs, count * pairs * size, source)
        report.messages(node, "send", *control, source + ", and its control messages")
        # rxe completes a request when its answer is there, siw when TCP has taken it.
        if (node == "B" or both) and truth["driver"] == "rxe":
            depth = re.search(r"^ TX depth\s*: (\d+)", command["output"], re.M)
            report.bound(f"depth/{node}", int(depth.group(1)), "TX depth in perftest's report")
        service = flags.get("-c", "RC")
        # One more connection for the control messages with -R. UC and UD: a node that sends nothing has no flow.
        if service == "RC" or node == "B" or both:
            report.add(f"queue_pairs/{service}/{node}", pairs + ("-R" in flags), source)


def rping(report, command, truth):
    flags = options(shlex.split(command["cmd"])[1:], {"-s", "-c", "-v", "-V"})
    if "-C" not in flags or "-S" not in flags:
        return
    count, size = int(flags["-C"]), int(flags["-S"])
    source = f"rping: {count} pings of {size} octets"
    # A ping: the client's Send tells a buffer (16 octets), the server reads it and says so; the client's Send tells
    # another one, the server writes it and says so.
    report.messages("A", "read", count, count * size, source)
    report.messages("A", "write", count, count * size, source)
    for node in "AB":
        report.messages(node, "send", 2 * count, 2 * count * 16, source)
        report.add(f"queue_pairs/RC/{node}", 1, source)
    if truth.get("siw_parameters", {}).get("peer_to_peer"):
        report.messages("B", "write", 1, 0, "the RTR message of the peer-to-peer model, a Write of no octets (RFC 6581)")


def pingpong(report, command, truth):
    service = re.match(r"ibv_(\w+)_pingpong", command["cmd"]).group(1)
    octets, = map(int, re.findall(r"^(\d+) bytes in", command["output"], re.M))
    count, = map(int, re.findall(r"^(\d+) iters in", command["output"], re.M))
    source = f"ibv_{service}_pingpong: {octets} octets in {count} iterations"
    if service == "srq":
        flags = options(shlex.split(command["cmd"])[1:], set())
        for node in "AB":
            report.add(f"queue_pairs/RC/{node}", int(flags["-q"]), source)
        return
    for node in "AB":
        # The tool counts the octets of both directions.
        report.messages(node, "send", count, octets // 2, source)
        report.add(f"queue_pairs/{service.upper()}/{node}", 1, source)
        if service == "rc":
            report.bound(f"depth/{node}", 1, source + ", each after the answer to the last")


def ucmatose(report, command, truth):
    flags = options(shlex.split(command["cmd"])[1:], set())
    connections, count, size = (int(flags[letter]) for letter in ("-c", "-C", "-S"))
    source = f"ucmatose: {connections} connections, {count} messages of {size} octets"
    for node in "AB":
        report.messages(node, "send", connections * count, connections * count * size, source)
        report.add(f"queue_pairs/RC/{node}", connections, source)


def mckey(report, command, truth):
    flags = options(shlex.split(command["cmd"])[1:], {"-s"})
    source = f"mckey: {flags['-C']} datagrams of {flags['-S']} octets"
    report.messages("B", "send_immediate", int(flags["-C"]), int(flags["-C"]) * int(flags["-S"]), source)


def fi_pingpong(report, command, truth):
    size, count = re.findall(r"^(\w+)\s+(\d+)\s+=\2\b", command["output"], re.M)[0]
    size = int(size[:-1]) * 1024 if size.endswith("k") else int(size)
    source = f"fi_pingpong: {count} messages of {size} octets, and one that keeps step"
    for node in "AB":
        report.messages(node, "send", int(count) + 1, int(count) * size + 4, source)
        report.add(f"queue_pairs/RC/{node}", 1, source)


def vtest_draws(seed):
    """vtest's pseudo-random numbers: Marsaglia's xorshift32 (13, 17, 5)."""
    x = seed * 2654435761 % (1 << 32) | 1
    while True:
        x ^= x << 13 & 0xFFFFFFFF
        x ^= x >> 17
        x ^= x << 5 & 0xFFFFFFFF
        yield x


def vtest_mix(count, iwarp):
    """The work requests of `vtest mix`: the log of 120 is cut, but the draws are always the same."""
    draws = vtest_draws(1)
    names = ["SEND", "WRITE", "READ"] if iwarp else ["SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "READ", "FETCH_ADD", "CMP_SWAP"]
    for _ in range(count):
        name, size = names[next(draws) % len(names)], SIZES[next(draws) % len(SIZES)]
        next(draws)  # the remote address
        if name in ("FETCH_ADD", "CMP_SWAP"):
            size = 8
            next(draws), next(draws)  # the operands
        next(draws), next(draws)  # the immediate, the local address
        yield name, size


def vtest(report, command, truth):
    words = shlex.split(command["cmd"])
    node, mode = command["node"], words[3]
    flags = options(words[4:], set())
    events, kept = [], True
    for line in command["output"].splitlines():
        try:
            events.append(json.loads(line))
        except ValueError:
            kept = False
    posts = [(event["op"], event["len"]) for event in events if event["event"] == "post" and event["rc"] == 0]
    wanted = posts
    if mode == "mix":
        wanted = list(vtest_mix(int(flags["-n"]), truth["driver"] == "siw"))
    elif mode == "sizes":
        wanted = [(name, size) for size in SIZES for name in ("WRITE", "READ", "SEND")]
    elif mode in ("send", "srq"):
        wanted = [("SEND", int(flags.get("-s", 256)))] * int(flags["-n"])
    elif mode == "imm":
        wanted = [(name, int(flags["-s"]) if i else 0) for i in range(int(flags["-n"])) for name in ("SEND_IMM", "WRITE_IMM")]
    elif mode == "atomic":
        wanted = [("FETCH_ADD", 8), ("CMP_SWAP", 8)] * int(flags["-n"])
    elif mode == "fence":
        wanted = [(name, int(flags["-s"])) for _ in range(int(flags["-n"])) for name in ("WRITE", "READ", "SEND")]
    elif not kept:
        raise ValueError(f"the log of vtest {mode} is cut, and what it did is not known")
    if wanted[:len(posts)] != posts:
        raise ValueError(f"vtest {mode} logged other work requests than it was asked for")
    source = f"vtest {mode}: {len(wanted)} work requests"
    # A request that the peer refused was sent all the same, as far as the refusal let it: its last packet was on the wire
    # in each of these captures, as sent_pkts says (no request was longer than what goes out before an answer comes).
    for name, size in wanted:
        report.messages(node, OPERATIONS[name], 1, size, source)
    if truth["driver"] == "rxe":  # as above
        depth = {"mix": 16, "fence": 3}.get(mode, 1)
        report.bound(f"depth/{node}", depth, f"vtest {mode} waits for a completion when {depth} are outstanding")
    if mode == "inv":
        report.messages("A", "send", 1, 64, "vtest inv: the server tells the window's key")
    for side in "AB":
        if mode != "idle" or truth["driver"] == "siw":
            report.add(f"queue_pairs/RC/{side}", 1, source)
    failed = [event["status_str"] for event in events
              if event["event"] == "wc" and event["status"] and event["wr_id"] < 1000000]
    if truth["driver"] == "rxe":
        codes = {"remote access error": "remote_access_error", "remote operation error": "remote_operational_error",
                 "remote invalid request error": "invalid_request"}
        for text in failed:
            if text in codes:
                report.add(f"naks/{codes[text]}/{node}", 1, f"vtest {mode}: a completion says '{text}'")


def delayed(report, truth):
    """A node whose packets traffic control delays answers its peer that much later; the tap is at A."""
    commands = truth.get("impairment", {}).get("commands", [""])
    delay = re.search(r"netem (?:loss \S+ )?delay (\d+)ms(?! reorder)", commands[-1])
    if delay and truth["impairment"]["node"] == "B":
        for operation in ("send", "write"):
            report.found[f"latency_min/{operation}/A"] = (int(delay.group(1)) * 1000000, 1 << 62, commands[-1])


TOOLS = [(r"\bib_\w+_(bw|lat) ", perftest, "B"), (r"^rping ", rping, "B"), (r"^ibv_\w+_pingpong ", pingpong, "B"),
         (r"^ucmatose ", ucmatose, "B"), (r"^mckey ", mckey, "B"), (r"\bfi_pingpong ", fi_pingpong, "B"),
         (r"^vtest client ", vtest, "B")]


def expected(truth):
    """What the reports in a capture's JSON say, figure -> (least, most, source). Empty for what is cut."""
    report = Report()
    if "cut" in truth:
        return {}
    commands = truth.get("commands", [])
    for index, command in enumerate(commands):
        for pattern, tool, node in TOOLS:
            partner = commands[index + 1] if index + 1 < len(commands) else command
            if command["node"] == node and re.search(pattern, command["cmd"]) and command["rc"] == 0:
                if partner["node"] != node and partner["rc"] not in (0, None):
                    continue  # the server failed: see UNREPORTED
                tool(report, command, truth)
    delayed(report, truth)
    return report.found
