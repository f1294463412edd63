"""What the kernels' own counters say a capture must hold; figures are named as in packets.py.

rxe's hw_counters (Linux 6.1, drivers/infiniband/sw/rxe):
  sent_pkts            packets handed to the network below, acknowledgements and MADs among them; what the sender's traffic
                       control then drops is counted, what it doubles is not
  rcvd_pkts            packets that passed the checks of header and ICRC and belong to a queue pair that takes them
  out_of_seq_request   requests ahead of the expected PSN that were answered with a NAK: one a hole, as a hole gets one NAK
  duplicate_request    requests after the expected PSN
  send_rnr_err         RNR NAKs sent
  rdma_sends           Sends completed, of any kind, on any queue pair: the MADs of the communication manager too
  rdma_recvs           receives completed: Sends, and Writes with immediate data; MADs too
  completer_retry_err  times that the requester went back, after a NAK or its timer
rcvd_seq_err is no count of NAKs: only those that acknowledge something new are in it.

siw has none in 6.1. /proc/net/snmp and netstat: OutSegs leaves out what RetransSegs counts, RSTs are in both; TCPSynRetrans
are those of RetransSegs without data; InCsumErrors are segments with a wrong TCP checksum; InCEPkts, InECT0Pkts are IP
packets by ECN field, whatever they carried.
"""
import re


def dropped_before_tap(truth, node):
    """Packets that traffic control dropped at a node's egress, or None where it cannot be known."""
    impairment = truth.get("impairment")
    if not impairment or impairment["node"] != node or "netem loss" not in impairment["commands"][-1]:
        return 0
    if "ecn" in impairment["commands"][-1]:
        return None  # netem counts what it marks among what it drops
    for command in reversed(truth["commands"]):
        found = re.search(r"qdisc netem .*\n.*\(dropped (\d+)", command["output"])
        if found:
            return int(found.group(1))
    return None


def kind_of(truth):
    """The impairment in a word: loss, rxdrop, reorder, duplicate, delay, rate, corrupt, ecn; or nothing."""
    commands = " ".join(truth.get("impairment", {}).get("commands", []))
    for word, pattern in (("ecn", r"\becn\b"), ("loss", "netem loss"), ("rxdrop", "netrand drop"), ("reorder", "reorder"),
                          ("duplicate", "duplicate"), ("delay", "delay"), ("rate", "rate"), ("corrupt", "corrupt")):
        if re.search(pattern, commands):
            return word
    return ""


def delta(truth, node, name):
    for group in ("hw_counters", "netstat"):
        if name in (found := truth["counters_delta"].get(node, {}).get(group, {})):
            return found[name]
    return 0


def expected(truth):
    """figure -> (least, most, source)"""
    found = {}
    if "cut" in truth or "counters_delta" not in truth:
        return found
    kind, impaired = kind_of(truth), truth.get("impairment", {}).get("node")
    for node, peer in ("AB", "BA"):
        def add(figure, value, counter):
            found[figure] = (value, value, counter)

        # Drops at a node's ingress are seen by the tap, and by none of that node's counters.
        blind = kind == "rxdrop" and impaired == node
        marked = delta(truth, node, "IpExt/InCEPkts")
        if not blind:
            add(f"ip_ce/{peer}", marked, f"IpExt/InCEPkts of {node}")
        lost = dropped_before_tap(truth, node)
        doubled = kind == "duplicate" and impaired == node
        if truth["driver"] == "rxe":
            if lost is not None and not doubled:
                source = f"sent_pkts of {node}" + (" less what netem dropped" if lost else "")
                add(f"packets/{node}", delta(truth, node, "rxe0/sent_pkts") - lost, source)
            if doubled:
                extra = f"packets less sent_pkts of {node}: netem doubled the others"
                add(f"packets_undoubled/{node}", delta(truth, node, "rxe0/sent_pkts"), extra)
            add(f"sends/{node}", delta(truth, node, "rxe0/rdma_sends"), f"rdma_sends of {node}")
            add(f"consumed/{peer}", delta(truth, node, "rxe0/rdma_recvs"), f"rdma_recvs of {node}")
            add(f"naks/psn_sequence_error/{peer}", delta(truth, node, "rxe0/out_of_seq_request"),
                f"out_of_seq_request of {node}")
            add(f"rnr_naks/{peer}", delta(truth, node, "rxe0/send_rnr_err"), f"send_rnr_err of {node}")
            # After an RNR NAK the receiver expects what comes again: that is no duplicate to it.
            if kind in ("", "delay", "rate", "ecn") and not delta(truth, node, "rxe0/send_rnr_err"):
                add(f"request_repeats/{peer}", delta(truth, node, "rxe0/duplicate_request"), f"duplicate_request of {node}")
            if not delta(truth, node, "rxe0/completer_retry_err") and not delta(truth, node, "rxe0/rcvd_rnr_err"):
                add(f"request_repeats/{node}", 0, f"completer_retry_err and rcvd_rnr_err of {node}")
            if kind == "corrupt":
                damaged = delta(truth, peer, "rxe0/sent_pkts") - delta(truth, node, "rxe0/rcvd_pkts")
                add(f"damaged/{peer}", damaged, f"sent_pkts of {peer} less rcvd_pkts of {node}")
        elif truth["driver"] == "siw":
            again = delta(truth, node, "Tcp/RetransSegs")
            if lost is not None and not doubled:
                add(f"segments/{node}", delta(truth, node, "Tcp/OutSegs") + again - (lost or 0),
                    f"OutSegs and RetransSegs of {node}" + (" less what netem dropped" if lost else ""))
            if doubled:
                add(f"packets_undoubled/{node}", delta(truth, node, "Tcp/OutSegs") + again,
                    f"OutSegs and RetransSegs of {node}")
            add(f"retransmitted/{node}", again - delta(truth, node, "TcpExt/TCPSynRetrans"),
                f"RetransSegs less TCPSynRetrans of {node}")
            if not blind:
                add(f"damaged/{peer}", delta(truth, node, "Tcp/InCsumErrors"), f"InCsumErrors of {node}")
    return found
