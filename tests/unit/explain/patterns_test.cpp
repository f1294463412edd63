// The data of `explain`: every pattern with its own sample, and lines of other software, which no pattern may take.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <set>

#include "explain/explainer.h"
#include "wire/cm_rej.h"

namespace explain {
namespace {

using testing::HasSubstr;

constexpr std::int64_t now_ns = 1'790'000'000'000'000'000;  // 2026-09-21

Explainer explainer() {
    auto made = Explainer::make();
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return std::move(made).value();
}

std::string pattern_of(Explainer& with, std::string_view line) {
    const auto explanation = with.explain_line(line, now_ns);
    return explanation ? explanation->pattern : "";
}

TEST(Patterns, each_takes_its_own_sample_first) {
    Explainer all = explainer();
    std::set<std::string> ids;
    for (const Pattern& pattern : all.knowledge().patterns) {
        SCOPED_TRACE(pattern.id);
        EXPECT_TRUE(ids.insert(pattern.id).second);
        const auto regex = compile_pattern(pattern);
        EXPECT_TRUE(regex.ok()) << (regex.ok() ? "" : regex.error().text());
        EXPECT_THAT(pattern.sample, HasSubstr(pattern.needle));
        EXPECT_EQ(pattern_of(all, pattern.sample), pattern.id);
        EXPECT_FALSE(pattern.meaning.empty());
        const auto explanation = all.explain_line(pattern.sample, now_ns);
        ASSERT_TRUE(explanation);
        EXPECT_FALSE(explanation->causes.empty());
        EXPECT_FALSE(explanation->look_for.empty());
        EXPECT_FALSE(explanation->next.empty());
    }
    EXPECT_GE(ids.size(), 80U);
}

TEST(Patterns, take_no_lines_of_other_logs) {
    Explainer all = explainer();
    // Made here, in the shapes of what fills logs: values are invented.
    constexpr std::string_view lines[] = {
        "",
        "12",
        "status 12",
        "Nov 26 10:20:31 web-1 sshd[812]: Accepted publickey for root from 192.0.2.8 port 40112 ssh2: ED25519 "
        "SHA256:abc",
        "Nov 26 10:20:31 web-1 sshd[812]: Connection closed by remote host",
        "Nov 26 10:20:31 web-1 sshd[812]: error: kex_exchange_identification: Connection closed by remote peer",
        "Nov 26 10:20:31 web-1 systemd[1]: backup.service: Main process exited, code=exited, status=12/n/a",
        "Nov 26 10:20:31 web-1 systemd[1]: backup.service: Failed with result 'timeout'.",
        "Nov 26 10:20:31 web-1 kernel: e1000e 0000:00:1f.6 eth0: NIC Link is Up 1000 Mbps Full Duplex",
        "Nov 26 10:20:31 web-1 kernel: igb 0000:01:00.0 eth1: Link is Down",
        "Nov 26 10:20:31 web-1 kernel: nvme nvme0: I/O 12 QID 3 completed",
        "Nov 26 10:20:31 web-1 kernel: nvme nvme0: pci function 0000:02:00.0",
        "Nov 26 10:20:31 web-1 kernel: nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10",
        "Nov 26 10:20:31 web-1 kernel: blk_update_request: I/O error, dev sda, sector 12 op 0x0:(READ) flags 0x0",
        "Nov 26 10:20:31 web-1 kernel: ata1.00: failed command: READ FPDMA QUEUED",
        "Nov 26 10:20:31 web-1 kernel: ata1.00: status: { DRDY ERR }",
        "Nov 26 10:20:31 web-1 kernel: TCP: request_sock_TCP: Possible SYN flooding on port 443. Sending cookies.",
        "Nov 26 10:20:31 web-1 kernel: usb 1-1: device descriptor read/64, error -110",
        "Nov 26 10:20:31 web-1 kernel: CIFS: VFS: \\\\files.example has not responded in 180 seconds. Reconnecting...",
        "Nov 26 10:20:31 web-1 kernel: CIFS: VFS: cifs_mount failed w/return code = -13",
        "Nov 26 10:20:31 web-1 kernel: nfs: server files.example OK",
        "Nov 26 10:20:31 web-1 kernel: NFS: nfs4_reclaim_open_state: Lock reclaim failed!",
        "Nov 26 10:20:31 web-1 kernel: RPC: Registered rdma transport module.",
        "Nov 26 10:20:31 web-1 kernel: rdma_rxe: loaded",
        "Nov 26 10:20:31 web-1 kernel: infiniband rxe0: set active",
        "Nov 26 10:20:31 web-1 kernel: infiniband mlx5_0: added",
        "Nov 26 10:20:31 web-1 kernel: mlx5_core 0000:c1:00.0: firmware version: 28.39.1002",
        "Nov 26 10:20:31 web-1 kernel: mlx5_core 0000:c1:00.0: Port module event: module 0, Cable plugged",
        "Nov 26 10:20:31 web-1 kernel: mlx5_core 0000:c1:00.0 eth4: MTU 9000",
        "Nov 26 10:20:31 web-1 kernel: iwpm_register_pid: Unable to send a nlmsg (client = 2)",
        "Nov 26 10:20:31 web-1 kernel: scsi host7: iSCSI Initiator over TCP/IP",
        "Nov 26 10:20:31 web-1 kernel: sd 7:0:0:1: [sdb] tag#12 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_OK",
        "Nov 26 10:20:31 web-1 kernel: LNet: Added LNI 192.0.2.34@o2ib [8/256/0/180]",
        "Nov 26 10:20:31 web-1 kernel: Lustre: lustre-OST0001: Connection restored to 192.0.2.34@o2ib",
        "Nov 26 10:20:31 web-1 kernel: LustreError: 11-0: operation ost_connect to node failed: rc = -16",
        "Nov 26 10:20:31 web-1 kernel: ksmbd: smb2_open: file does not exist",
        "Nov 26 10:20:31 web-1 kernel: BUG: workqueue lockup - pool cpus=3 node=0 flags=0x0 nice=0 stuck for 38s!",
        "Nov 26 10:20:31 web-1 kernel: watchdog: BUG: soft lockup - CPU#12 stuck for 22s! [python3:812]",
        "2026-11-26T10:20:31Z nginx[12]: upstream timed out (110: Connection timed out) while connecting to upstream",
        "2026-11-26T10:20:31Z nginx[12]: connect() failed (111: Connection refused) while connecting to upstream",
        "192.0.2.8 - - [26/Nov/2026:10:20:31 +0000] \"GET /status?code=12 HTTP/1.1\" 500 1290",
        "2026-11-26 10:20:31.004 UTC [812] ERROR:  canceling statement due to statement timeout",
        "2026-11-26 10:20:31.004 UTC [812] FATAL:  remaining connection slots are reserved",
        "2026-11-26 10:20:31,004 INFO org.apache.hadoop.hdfs.DataNode: Exception: Connection reset by peer",
        "2026-11-26 10:20:31,004 WARN kafka: completion error rate is 0.12",
        "E1126 10:20:31.004412  812 reflector.go:138] Failed to watch *v1.Pod: connection refused",
        "I1126 10:20:31.004412  812 kubelet.go:2183] node not ready",
        "Traceback (most recent call last):",
        "ConnectionResetError: [Errno 104] Connection reset by peer",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1970, invalid usage",
        "node-a:812:840 [3] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:192.0.2.17<0>",
        "node-a:812:840 [3] NCCL INFO NET/IB: NCCL Dev 0 IbDev 0 Port 1 qpn 643 mtu 5 GID 3",
        "node-a:812:840 [3] NCCL INFO Channel 00/0 : 3[3] -> 0[0] [send] via NET/IB/0/GDRDMA",
        "[1790000000.482913] [node-a:5120 :0]     ucp_context.c:2119 UCX  INFO  Version 1.17.0",
        "[1790000000.482913] [node-a:5120 :0]          parser.c:2305 UCX  WARN  unused environment variable: UCX_X",
        "libfabric:7731:1790000003:core:core:fi_getinfo_():1161<info> Found provider with the highest priority",
        "rdma.c:2918:nvmf_rdma_create: *NOTICE*: Target opts: max_ioq_depth: 128",
        "nvmf: *ERROR*: subsystem is paused",
        "GET /api failed: status 12 (timeout) for request 7",
        "Failed to modify user record: invalid argument",
        "vendor_err is a column of the table",
        "error 12: out of memory",
        "00000000 00000000 00000000 00000000",
        "00000000 00004813 0a0001c7 00043212",
        "00000000: 0000 1388 0a00 01c7  ........",
        "IBV_WC_SUCCESS",
        "IBV_WC_RDMA_WRITE",
        "make[2]: *** [Makefile:12: all] Error 12",
        "warning: unused variable 'status' [-Wunused-variable]",
        "Dear all, the watchdog caught my attention; the completion of the timeout work is near.",
    };
    for (const std::string_view line : lines) EXPECT_EQ(pattern_of(all, line), "") << line;
}

TEST(Patterns, take_no_lines_of_other_logs_that_are_cut_or_joined) {
    Explainer all = explainer();
    // A sample without its needle is no line of that software any more.
    for (const Pattern& pattern : all.knowledge().patterns) {
        std::string line = pattern.sample;
        line.erase(line.find(pattern.needle), pattern.needle.size());
        EXPECT_NE(pattern_of(all, line), pattern.id) << line;
    }
}

TEST(Patterns, name_only_groups_that_are_read) {
    const std::set<std::string> read{"status",  "status_name", "text",        "syndrome",   "vendor",  "vendor_hex",
                                     "reason",  "errno",       "event",       "layer",      "type",    "local",
                                     "remote",  "peer",        "qpn",         "remote_qpn", "seconds", "milliseconds",
                                     "timeout", "retries",     "qpn_decimal", "nvme_words"};
    const Explainer all = explainer();
    for (const auto* const patterns : {&all.knowledge().patterns, &all.knowledge().settings})
        for (const Pattern& pattern : *patterns)
            for (std::size_t at = pattern.regex.find("(?<"); at != std::string::npos;
                 at = pattern.regex.find("(?<", at + 1)) {
                const std::string name = pattern.regex.substr(at + 3, pattern.regex.find('>', at) - at - 3);
                EXPECT_TRUE(read.contains(name)) << pattern.id << ": " << name;
            }
}

TEST(Patterns, stand_hostile_lines) {
    Explainer all = explainer();
    for (const Pattern& pattern : all.knowledge().patterns) {
        // The needle again and again, with what expressions repeat: blanks, digits, words.
        std::string line;
        while (line.size() < 4'000) line += pattern.needle + " 0x1 (1) ";
        pattern_of(all, line);
        pattern_of(all, pattern.sample + std::string(4'000, ' '));
        pattern_of(all, std::string(4'000, '1') + pattern.sample);
    }
    EXPECT_EQ(pattern_of(all, std::string("\0\xff\x1b[2J", 6)), "");
    const auto explanation = all.explain_line("cq completion failed status 5 \x1b[2J\x01", now_ns);
    ASSERT_TRUE(explanation);
    EXPECT_EQ(explanation->line.find('\x1b'), std::string::npos);
}

TEST(Patterns, read_the_facts_of_a_line) {
    Explainer all = explainer();
    const auto nccl = all.explain_line(
        "x NCCL WARN NET/IB : Got completion from peer 192.0.2.9<41000> with status=10 opcode=0 len=0 vendor err 136 "
        "(Send) localGid ::ffff:192.0.2.1 remoteGids::ffff:192.0.2.2 hca mlx5_0",
        now_ns);
    ASSERT_TRUE(nccl && nccl->facts.status);
    EXPECT_EQ(nccl->facts.status->number, 10U);
    EXPECT_EQ(nccl->facts.vendor, 136U);
    EXPECT_EQ(nccl->facts.local, "::ffff:192.0.2.1");
    EXPECT_EQ(nccl->facts.remote, "::ffff:192.0.2.2");

    const auto dump = all.explain_line("00000000 00008813 0a0001c7 000432d2", now_ns);
    ASSERT_TRUE(dump && dump->facts.status);
    EXPECT_EQ(dump->facts.status->number, 10U);
    EXPECT_EQ(dump->facts.vendor, 0x88U);
    EXPECT_EQ(dump->facts.qpn, 0x1c7U);

    const auto hexadecimal = all.explain_line("bad completion with status: 0xc", now_ns);
    ASSERT_TRUE(hexadecimal && hexadecimal->facts.status);
    EXPECT_EQ(hexadecimal->facts.status->number, 12U);

    const auto iwarp = all.explain_line("cma event RDMA_CM_EVENT_REJECTED, error -111", now_ns);
    ASSERT_TRUE(iwarp && iwarp->facts.error_number);
    EXPECT_EQ(iwarp->facts.error_number->number, 111);
    EXPECT_EQ(iwarp->facts.reject, nullptr);

    const auto huge = all.explain_line("cq completion failed status 99999999999999999999", now_ns);
    ASSERT_TRUE(huge);
    EXPECT_EQ(huge->facts.status, nullptr);
}

TEST(Codes, are_explained_alone) {
    const Explainer all = explainer();
    const auto status = [&](std::string_view text) {
        const auto explanation = all.explain_code(text);
        return explanation && explanation->facts.status ? static_cast<int>(explanation->facts.status->number) : -1;
    };
    EXPECT_EQ(status("12"), 12);
    EXPECT_EQ(status(" 0xd "), 13);
    EXPECT_EQ(status("status 5"), 5);
    EXPECT_EQ(status("IBV_WC_RNR_RETRY_EXC_ERR"), 13);
    EXPECT_EQ(status("IB_WC_RETRY_EXC_ERR"), 12);
    EXPECT_EQ(status("REM_ACCESS_ERR"), 10);
    EXPECT_EQ(status("WR flushed"), 5);
    EXPECT_EQ(status("vendor err 129"), 12);
    EXPECT_EQ(status("vendor_err 0x88"), 10);
    EXPECT_EQ(status("syndrome 15"), 12);
    EXPECT_EQ(status("synd 0x16"), 13);
    EXPECT_EQ(status("24"), -1);
    EXPECT_EQ(status("hello"), -1);
    EXPECT_EQ(status(""), -1);
    EXPECT_EQ(status(std::string(100'000, '1')), -1);
    const auto reject = all.explain_code("rej 28");
    ASSERT_TRUE(reject && reject->facts.reject);
    EXPECT_EQ(reject->facts.reject->number, 28);
    EXPECT_THAT(reject->causes.front(), HasSubstr("program"));
    const auto timeout = all.explain_code("-110");
    ASSERT_TRUE(timeout && timeout->facts.error_number);
    EXPECT_EQ(timeout->facts.error_number->name, "timed out");
    EXPECT_TRUE(all.explain_code("RDMA_CM_EVENT_UNREACHABLE"));
    EXPECT_FALSE(all.explain_code("-2147483648"));
}

TEST(Codes, have_the_reject_reasons_of_the_wire) {
    const Explainer all = explainer();
    EXPECT_EQ(all.knowledge().rejects.size(), wire::cm_reject_reason_names.size());
    for (const auto& [number, name] : wire::cm_reject_reason_names)
        EXPECT_NE(all.knowledge().reject(static_cast<int>(number)), nullptr) << name;
}

/// The order of ibv_poll_cq(3).
TEST(Codes, have_the_numbers_of_verbs) {
    constexpr std::string_view names[] = {"SUCCESS",
                                          "LOC_LEN_ERR",
                                          "LOC_QP_OP_ERR",
                                          "LOC_EEC_OP_ERR",
                                          "LOC_PROT_ERR",
                                          "WR_FLUSH_ERR",
                                          "MW_BIND_ERR",
                                          "BAD_RESP_ERR",
                                          "LOC_ACCESS_ERR",
                                          "REM_INV_REQ_ERR",
                                          "REM_ACCESS_ERR",
                                          "REM_OP_ERR",
                                          "RETRY_EXC_ERR",
                                          "RNR_RETRY_EXC_ERR",
                                          "LOC_RDD_VIOL_ERR",
                                          "REM_INV_RD_REQ_ERR",
                                          "REM_ABORT_ERR",
                                          "INV_EECN_ERR",
                                          "INV_EEC_STATE_ERR",
                                          "FATAL_ERR",
                                          "RESP_TIMEOUT_ERR",
                                          "GENERAL_ERR",
                                          "TM_ERR",
                                          "TM_RNDV_INCOMPLETE"};
    const Explainer all = explainer();
    ASSERT_EQ(all.knowledge().statuses.size(), std::size(names));
    for (unsigned number = 0; number < std::size(names); ++number)
        EXPECT_EQ(all.knowledge().status(number)->name, "IBV_WC_" + std::string(names[number]));
}

}  // namespace
}  // namespace explain
