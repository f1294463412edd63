#!/usr/bin/env python3
"""`./dev lab observe`: what rdmascope says of Linux' own RDMA, against a second source, in two virtual machines.

Over rxe and over siw: the kernel's trace events against ftrace's own buffer of the same run; traced programs against their command
lines, and joined with a capture of their packets; queue pairs and counters against rdma(8) and sysfs at the same moment; the
doctor against lsmod, rdma(8) and ulimit. Guest B is looked at, guest A is its peer. A line a case; evidence in build/lab/, and what
tests can use without machines (traces, captures, kernel text) next to it.
"""
import json
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
from collections import Counter

import machines
from machines import A, ROOT

sys.path.insert(0, str(ROOT / "tests" / "trace"))
from trace_file import (COMPLETION, CONNECTION, POST_RECEIVE, POST_SEND, RDMA_WRITE, RECEIVE, SEND, SIGNALLED,  # noqa: E402
                        Trace)

MODES = {"rxe": "rxe", "siw": "siw"}
PORT = 7471
GROUPS = "rdma_core rdma_cma ib_cma ib_mad ib_umad rpcrdma"
# An instance of ftrace of its own: its buffer has every event of these groups, also if other programs listen.
SECOND = f"""T=/sys/kernel/tracing/instances/second
begin() {{ mkdir -p $T; echo 0 > $T/tracing_on; echo > $T/trace; echo mono > $T/trace_clock; echo 4096 > $T/buffer_size_kb
  for s in {GROUPS}; do [ -d $T/events/$s ] && echo 1 > $T/events/$s/enable; done; echo 1 > $T/tracing_on; }}
end() {{ echo 0 > $T/tracing_on; cat $T/trace > "$1"; (cd $T/events; for s in {GROUPS}; do ls -d $s/*/ 2>/dev/null; done) > "$1.names"; rmdir $T; }}
"""


def depth_of(records, number):
    """Greatest and last number of posted work requests whose signalled completion has not been taken: as a reader of the verbs'
    manual would count them."""
    outstanding, waiting, deepest = 0, [], 0
    for record in records:
        if record.number != number:
            continue
        if record.kind == POST_SEND and record.status == 0:
            outstanding += 1
            waiting.append(record)
            deepest = max(deepest, outstanding)
        if record.kind == COMPLETION and not record.flags & RECEIVE:
            while waiting:
                outstanding -= 1
                if waiting.pop(0).flags & SIGNALLED:
                    break
    return deepest, outstanding


def connection_of(record):
    """A connection's event as ftrace writes it: addresses and ports, event and status, as text."""
    event, family, local, peer, status = struct.unpack_from("<BBHHh", record.rest)
    kind, size = (socket.AF_INET, 4) if family == 4 else (socket.AF_INET6, 16)
    return (socket.inet_ntop(kind, record.rest[8:8 + size]), str(local), socket.inet_ntop(kind, record.rest[24:24 + size]), str(peer), str(event), str(status))


def rdma_json(text):
    """What rdma(8) prints with -j; an empty table is nothing at all."""
    return json.loads(text) if text.strip() else []


class Bench(machines.Machines):
    def fetch(self, name):
        """A file that the guest put into the shared folder."""
        target = self.options.results / name
        shutil.move(pathlib.Path(self.module.SHARE) / "out" / name, target)
        return target

    def kernel_events(self, driver):
        def steps(case):
            name = f"observe-kernel-{driver}"
            server = case.start("A", f"rping -s -a {A} -p {PORT} -C 5 -S 256", PORT)
            said = case.ex("B", SECOND + f"begin\n"
                           # What the kernel still has to do once the program has ended belongs to both.
                           f"{machines.CALLER} rdmascope run --kernel-events --trace /tmp/t -- sh -c 'rping -c -a {A} -p {PORT} -C 5 -S 256 -V; sleep 8'; status=$?\n"
                           f"end /tmp/second\ncp /tmp/t /lab/out/{name}.trace; cp /tmp/second /lab/out/{name}.txt; cp /tmp/second.names /lab/out/{name}.names; exit $status")
            case.finish(server)
            trace, text = Trace(self.fetch(f"{name}.trace")), self.fetch(f"{name}.txt").read_text()
            group = {event: one for one, event in (line.strip("/").split("/") for line in self.fetch(f"{name}.names").read_text().split())}
            theirs = {}
            lines = re.findall(r"^\s*(.+)-(\d+)\s+\[\d+\] \S+\s+[\d.]+: (\w+): (.*)$", text, re.M)
            for _, _, event, _ in lines:
                theirs[f"{group[event]}:{event}"] = theirs.get(f"{group[event]}:{event}", 0) + 1
            told = re.search(r"rdmascope run: kernel events: (.*)", said)
            ours = {event: int(count) for event, count in (one.rsplit(" ", 1) for one in told[1].split(", "))} if told and told[1] != "none" else {}
            case.check(theirs, "ftrace saw no event at all")
            case.equal("kernel events", dict(sorted(ours.items())), dict(sorted(theirs.items())))
            # What became of them: the connection's queue pair, and its events with both addresses.
            sent = [int(number) for _, _, event, rest in lines if event == "cm_send_req" for number in re.findall(r"qp_num=(\d+)", rest)]
            handled = [re.search(r"src=(\S+):(\d+) dst=(\S+):(\d+) .* \w+ \((\d+)/(-?\d+)\)", rest).groups() for _, _, event, rest in lines if event == "cm_event_handler"]
            case.notes["queue pairs that ftrace names"] = sent
            case.notes["connection events that ftrace names"] = handled
            case.check(handled, "ftrace has no event of a connection")
            # The program's own events are in the file too: those of the kernel must be among them all, as often as ftrace has them.
            records = Counter(connection_of(one) for one in trace.of(CONNECTION))
            missing = Counter(handled) - records
            case.check(not missing, f"no records of {missing}; there are {records}")
            posts = {one.number for one in trace.of(POST_SEND)}
            case.check(len(posts) == 1, f"posts on {posts}")
            if sent:  # iWARP has no event that names a queue pair
                case.equal("the connection's queue pair", sorted(posts), sent)
        self.case(f"observe-kernel-{driver}", f"the kernel's events of an rping over {driver}, against ftrace's buffer", steps, capture=False)

    def untraced(self, driver):
        """A program that nobody traces, next to its packets: the kernel's events alone tell whose they are."""
        name = f"observe-untraced-{driver}"

        def steps(case):
            server = case.start("A", f"rping -s -a {A} -p {PORT} -C 5 -S 256", PORT)
            case.ex("B", SECOND + "begin\ntcpdump -i eth0 -s 160 -U -w /tmp/p.pcap 2> /tmp/tcpdump & until grep -q listening /tmp/tcpdump; do sleep 0.5; done\n"
                    f"rdmascope run --kernel-events --trace /tmp/t -- env {machines.CALLER} sh -c 'rping -c -a {A} -p {PORT} -C 5 -S 256 -V; status=$?; sleep 5; exit $status'; status=$?\n"
                    f"killall tcpdump; wait; end /tmp/second\ngzip -9c /tmp/p.pcap > /lab/out/{name}.pcap.gz; cp /tmp/t /lab/out/{name}.trace; cp /tmp/second /lab/out/{name}.txt; exit $status")
            case.finish(server)
            pcap, trace, text = (self.fetch(f"{name}.{kind}") for kind in ("pcap.gz", "trace", "txt"))
            case.check(not Trace(trace).of(POST_SEND), "there are posts: the program was traced")
            flows = json.loads(subprocess.run([str(self.options.binary), "flows", "-n", "--json", "-r", str(pcap), "--trace", str(trace)],
                                              capture_output=True, text=True, check=True).stdout)["flows"]
            named = re.findall(r"rping-(\d+) .* cm_send_req: .* qp_num=(\d+)", text.read_text())
            mine = [one for one in flows if one["messages"]["send"]["count"] and one["source"]["address"] == machines.B]
            case.equal("processes of the flows", [str(one["process"] and one["process"]["pid"]) for one in mine], [pid for pid, _ in named])
        self.case(name, f"rping over {driver}, untraced, with the kernel's events: whose flow it is, against ftrace", steps, capture=False)

    def traced(self, driver, tool, words, judge):
        kind = tool.replace("_", "-")
        name = f"observe-traced-{kind}-{driver}"

        def steps(case):
            server = case.start("A", f"{tool} -R -F -p {PORT} {words}", PORT)
            said = case.ex("B", f"tcpdump -i eth0 -s 160 -U -w /tmp/p.pcap 2> /tmp/tcpdump & until grep -q listening /tmp/tcpdump; do sleep 0.5; done\n"
                           f"{machines.CALLER} rdmascope run --trace /tmp/t -- {tool} -R -F -p {PORT} {words} {A}; status=$?\n"
                           f"sleep 1; killall tcpdump; wait; gzip -9c /tmp/p.pcap > /lab/out/{name}.pcap.gz; cp /tmp/t /lab/out/{name}.trace; exit $status")
            case.finish(server)
            trace, pcap = Trace(self.fetch(f"{name}.trace")), self.fetch(f"{name}.pcap.gz")
            case.check(trace.complete and trace.lost == 0, f"{trace.lost} records lost")
            flows = json.loads(subprocess.run([str(self.options.binary), "flows", "-n", "--json", "-r", str(pcap), "--trace", str(self.options.results / f"{name}.trace")],
                                              capture_output=True, text=True, check=True).stdout)["flows"]
            judge(case, trace, flows, said)
        self.case(name, f"{tool} {words} over {driver}, traced: posts, depth and sizes against its options, joined with its packets", steps, capture=False, tries=3)

    def joined(self, case, flows, operation, count):
        """The flow with the operations: what the packets say, and the parts that must add up."""
        found = [one for one in flows if one["messages"][operation]["count"] >= count]
        if not case.check(len(found) == 1 and found[0]["work"], f"{len(found)} flows with {count} {operation}s and a trace"):
            return None
        flow = found[0]
        case.equal(f"posts of the flow of {operation}s", flow["work"]["posts"], count)
        case.equal("completions with errors", flow["work"]["completion_errors"], 0)
        parts = [flow[one] for one in ("post_to_wire_ns", "on_wire_ns", "wire_to_ack_ns", "ack_to_poll_ns")]
        whole = flow["post_to_poll_ns"]
        case.notes["joined"] = {"matched": flow["work"]["messages_matched"], "parts": parts, "whole": whole}
        if case.check(whole and all(parts) and whole["count"] > 0, "no operation has all four parts") and {one["count"] for one in parts} == {whole["count"]}:
            case.check(abs(sum(one["mean"] for one in parts) - whole["mean"]) <= 5, "the parts do not add up to the whole")
        return flow

    def programs(self, driver):
        def writes(count, depth, size):
            def judge(case, trace, flows, _):
                posts = [one for one in trace.of(POST_SEND) if one.opcode == RDMA_WRITE]
                case.equal("Writes posted", len(posts), count)
                case.equal("their sizes", sorted({one.bytes for one in posts}), [size])
                number = posts[0].number if posts else 0
                case.equal("queue depth, greatest and last", list(depth_of(trace.records, number)), [depth, 0])
                flow = self.joined(case, flows, "write", count)
                if flow:
                    case.equal("depth of `flows`", flow["queue_depth"]["max"], depth)
            return judge

        def reads(count, depth):
            def judge(case, trace, flows, _):
                posts = [one for one in trace.of(POST_SEND) if one.opcode == 4]
                case.equal("Reads posted", len(posts), count)
                number = posts[0].number if posts else 0
                case.equal("queue depth, greatest and last", list(depth_of(trace.records, number)), [depth, 0])
                self.joined(case, flows, "read", count)
            return judge

        def sends(count, depth, size):
            def judge(case, trace, flows, _):
                posts = [one for one in trace.of(POST_SEND) if one.opcode == SEND and one.bytes == size]
                case.equal("Sends posted", len(posts), count)
                number = posts[0].number if posts else 0
                case.equal("queue depth, greatest and last", list(depth_of(trace.records, number)), [depth, 0])
            return judge

        self.traced(driver, "ib_write_bw", "-s 4096 -n 300 -t 16", writes(300, 16, 4096))
        self.traced(driver, "ib_read_bw", "-s 4096 -n 200 -t 4", reads(200, 4))
        self.traced(driver, "ib_send_bw", "-s 1024 -n 300 -t 16 -r 64", sends(300, 16, 1024))

    def rping(self, driver):
        count, size, name = 20, 500, f"observe-traced-rping-{driver}"

        def steps(case):
            words = f"-a {A} -p {PORT} -C {count} -S {size}"
            server = case.start("A", f"rdmascope run --trace /lab/out/{name}-server.trace -- rping -s {words} -v", PORT)
            case.ex("B", f"{machines.CALLER} rdmascope run --trace /lab/out/{name}.trace -- rping -c {words} -V")
            case.finish(server)
            client, server = Trace(self.fetch(f"{name}.trace")), Trace(self.fetch(f"{name}-server.trace"))
            # A ping is a Send that advertises memory, which the server reads and answers by a Send; then again, and it writes.
            kinds = [one.opcode for one in server.of(POST_SEND)]
            case.equal("the client's posts", [one.opcode for one in client.of(POST_SEND)], [SEND] * 2 * count)
            case.equal("the server's posts, by opcode", {str(kind): kinds.count(kind) for kind in sorted(set(kinds))}, {"0": count, "2": 2 * count, "4": count})
            case.equal("the server's receives that were used", len([one for one in server.of(COMPLETION) if one.flags & RECEIVE and one.status == 0]), 2 * count)
            case.check(client.of(POST_RECEIVE), "the client posted no receive")
            case.equal("the device", client.processes[client.records[0].process]["devices"], [f"{driver}0"])
        self.case(name, f"rping over {driver}, both ends traced: posts by kind", steps, capture=False)

    def resources(self, driver):
        def steps(case):
            # Held still by a signal, so that both see the same; its second queue pair is that of the traffic. siw reports no state.
            server = case.start("A", f"ib_write_bw -R -F -p {PORT} -s 65536 -n 3000", PORT)
            client = case.lab.bg("B", f"{machines.CALLER} ib_write_bw -R -F -p {PORT} -s 65536 -n 3000 {A}", machines.LIMIT)
            case.jobs.append(client)
            case.ex("B", "for i in $(seq 300); do [ $(rdma resource show qp | grep -c ib_write_bw) = 2 ] && break; sleep 0.5; done; sleep 3; killall -STOP ib_write_bw; sleep 3")
            ours = json.loads(case.ex("B", "kernel_view"))
            theirs = {"qp": rdma_json(case.ex("B", "rdma -j resource show qp")), "statistic": rdma_json(case.ex("B", "rdma -j statistic show link")),
                      "files": case.ex("B", "grep -H . /sys/class/infiniband/*/ports/*/{hw_counters,counters}/* /sys/class/infiniband/*/hw_counters/* 2> /dev/null; true")}
            again = json.loads(case.ex("B", "kernel_view"))
            case.check(ours == again, "the counters did not stand still: nothing can be compared")
            device = ours["devices"][0]
            case.equal("device", [device["name"], device["protocol"]], [f"{driver}0", {"siw": "iw", "rxe": "roce"}[driver]])
            keys = ("lqpn", "rqpn", "sq-psn", "rq-psn", "pid")
            case.equal("queue pairs", sorted([one[key] for key in keys] for one in device["queue_pairs"]), sorted([one.get(key, 0) for key in keys] for one in theirs["qp"]))
            case.check(any(one["pid"] for one in device["queue_pairs"]), "no queue pair has a process")
            counted = {key: value for one in theirs["statistic"] for key, value in one.items() if key not in ("ifname", "port")}
            case.equal("the port's counters by netlink", {} if not device["ports"][0]["counters"] else device["ports"][0]["counters"][0]["values"], counted)
            files = dict(re.findall(r"^/sys/class/infiniband/(\S+?):(\d+)$", theirs["files"], re.M))
            wanted = {re.sub(r"^(\w+)/(?:ports/(\d+)/)?(?:hw_)?counters/(\w+)$", lambda m: f"{m[1]}/{m[2] or 0}/{m[3]}", path): int(value)
                      for path, value in files.items() if not path.endswith("lifespan")}
            case.equal("counters of sysfs", ours["files"], wanted)
            # Neither is waited for: it was not to end by itself.
            for node in "BA":
                case.ex(node, "killall -KILL ib_write_bw; for i in $(seq 100); do rdma resource show qp | grep -q ib_write_bw || exit 0; sleep 0.3; done; exit 1")
            for job in (client, server):
                case.finish(job, range(256))
        self.case(f"observe-resources-{driver}", f"queue pairs and counters over netlink and sysfs, {driver}, against rdma(8) and the files", steps, capture=False, tries=3)

    def doctor(self, name, about, expected):
        """`expected(findings, facts)` -> id: severity of the checks that the facts decide."""
        def steps(case):
            findings = json.loads(case.ex("B", "rdmascope doctor --json", statuses=(0, 1)))
            facts = {key: case.ex("B", command, statuses=(0, 1)) for key, command in
                     (("modules", "lsmod"), ("links", "rdma -j link"), ("taint", "cat /proc/sys/kernel/tainted"), ("events", "ls /sys/kernel/tracing/events"),
                      ("memlock", "ulimit -l"), ("intree", "for m in ib_core rdma_cm $(ls -d /sys/module/{siw,rdma_rxe} 2> /dev/null | xargs -n 1 basename); do modinfo -F intree $m | grep . || echo N; done"))}
            (self.options.results / f"{name}.doctor.json").write_text(json.dumps(findings, indent=1))
            worst = {}
            order = ["ok", "unseen", "note", "warning", "broken"]
            for finding in findings["findings"]:
                worst[finding["check"]] = max(worst.get(finding["check"], "ok"), finding["severity"], key=order.index)
            for check, severity in expected(facts).items():
                case.equal(check, worst.get(check, "ok"), severity)
            case.check(case.log[0]["rc"] == (1 if "broken" in worst.values() else 0), f"exit status {case.log[0]['rc']} with {sorted(set(worst.values()))}")
        self.case(name, about, steps, capture=False)

    def attached(self):
        """Our stack's probes in a process that runs: its server, with a client on siw."""
        count = 12

        def steps(case):
            server = case.start("A", f"rdmascope run --software --address {A} -- rping -s -a {A} -p {PORT} -C {count} -S 300", PORT)
            watcher = case.bg("A", f"rdmascope run --trace /lab/out/observe-attached.trace --attach $(pgrep -x rping)", "attached to process")
            case.ex("B", f"{machines.CALLER} rping -c -a {A} -p {PORT} -C {count} -S 300 -V")
            case.finish(server)
            case.finish(watcher)
            trace = Trace(self.fetch("observe-attached.trace"))
            kinds = [one.opcode for one in trace.of(POST_SEND)]
            case.equal("posts by opcode", {str(kind): kinds.count(kind) for kind in sorted(set(kinds))}, {"0": count, "2": 2 * count, "4": count})
            case.equal("lost", trace.lost, 0)
            left = case.ex("A", "cat /sys/kernel/tracing/uprobe_events")
            case.check(not left.strip(), f"probes were left behind: {left}")
        self.case("observe-attached", "run --attach: probes of kernel 6.1 in rping's server on the software stack", steps, capture=False)

        def stripped(case):
            server = case.start("B", f"rping -s -a {machines.B} -p {PORT} -C 1", PORT)
            said = case.ex("B", "rdmascope run --attach $(pgrep -x rping)", statuses=(1,))
            case.check("debug symbols" in said and "rdmascope run -- CMD" in said, f"--attach does not say what to do: {said}")
            case.ex("A", f"rdmascope run --software --address {A} -- rping -c -a {machines.B} -p {PORT} -C 1")
            case.finish(server)
        self.case("observe-attach-stripped", "run --attach to a program on a stripped provider says what to do, and leaves it alone", stripped, capture=False)

    def run(self):
        chosen = [mode for mode in MODES if not self.options.mode or mode in self.options.mode]
        self.adapter("B", None)
        self.lab.ex("B", "for m in siw rdma_rxe rdma_ucm rdma_cm iw_cm ib_cm ib_umad ib_uverbs ib_core; do rmmod $m; done; lsmod", machines.LIMIT)
        self.doctor("observe-doctor-bare", "doctor in a machine without RDMA modules", lambda facts: {
            # Without a device no program needs the modules: a note says which there would have to be.
            "device.any": "warning", "kernel.modules": "ok" if "ib_uverbs" in facts["modules"] else "note", "device.provider": "ok",
            "observe.events": "ok" if "rdma_cma" in facts["events"] else "note", "kernel.taint": "ok" if facts["taint"].strip() == "0" else "note"})
        for driver in chosen:
            self.adapter("A", driver)
            self.adapter("B", driver)
            self.doctor(f"observe-doctor-{driver}", f"doctor in a machine with {driver}", lambda facts: {
                "device.any": "ok", "kernel.modules": "ok", "device.provider": "ok", "device.nodes": "ok", "device.cm": "ok", "device.ports": "ok",
                "limit.memlock": "ok" if facts["memlock"].strip() == "unlimited" else "warning", "observe.events": "ok" if "rdma_cma" in facts["events"] else "note",
                "kernel.taint": "ok" if facts["taint"].strip() == "0" else "note",
                # A module of its own next to the kernel's ib_core is worth knowing, no more.
                "kernel.foreign": "ok" if all(line.strip() == "Y" for line in facts["intree"].splitlines()) else "note"})
            self.kernel_events(driver)
            if driver == "rxe":  # iWARP has no event that names a queue pair
                self.untraced(driver)
            self.rping(driver)
            self.programs(driver)
            self.resources(driver)
        if "siw" in chosen:
            self.adapter("A", None)
            self.attached()
        return self.report()


if __name__ == "__main__":
    sys.exit(Bench(machines.options(__doc__, MODES)).run())
