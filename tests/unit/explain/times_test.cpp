// Times of giving up, computed by hand from IBTA vol. 1, 9.7.6.1.3 (4.096 us x 2^timeout); times of lines.
#include <cstdlib>
#include <ctime>
#include <gtest/gtest.h>

#include "explain/cause_list.h"
#include "explain/explainer.h"
#include "explain/give_up.h"
#include "explain/line_splitter.h"
#include "explain/line_time.h"

namespace explain {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::int64_t november = 1'795'688'431 * second;  // 2026-11-26 10:20:31 UTC

Explainer known_patterns() { return std::move(Explainer::make()).value(); }

std::optional<std::uint64_t> gave_up(Explainer& with, std::string_view line) {
    const auto explanation = with.explain_line(line, november);
    return explanation ? explanation->give_up.ns : std::nullopt;
}

constexpr std::string_view nccl_line =
    "NCCL WARN NET/IB : Got completion from peer 192.0.2.9<1> with status=12 opcode=0 len=0 vendor err 129 (Send)";
constexpr std::string_view ucx_line =
    "Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)";

TEST(GiveUp, by_the_defaults_of_the_software) {
    Explainer all = known_patterns();
    EXPECT_EQ(gave_up(all, nccl_line), 34'359'738'368U);                               // timeout 20, 7 retries
    EXPECT_EQ(gave_up(all, ucx_line), 8'589'934'592U);                                 // 18, 7
    EXPECT_EQ(gave_up(all, " Failed status 12: wr_id 0 syndrom 0x81"), 536'870'912U);  // 14, 7
    EXPECT_EQ(gave_up(all, "Failed status transport retry counter exceeded (12) for wr_id 1"), std::nullopt);
    EXPECT_EQ(gave_up(all,
                      "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, "
                      "Timeout(ms)=600000) ran"),
              600'000'000'000U);
    EXPECT_EQ(gave_up(all, "cma event RDMA_CM_EVENT_UNREACHABLE, error -110"), 98'304'000'000U);  // 16 x 6.144 s
}

TEST(GiveUp, by_the_settings_of_the_log) {
    Explainer all = known_patterns();
    EXPECT_FALSE(all.explain_line("NCCL INFO NCCL_IB_TIMEOUT set by environment to 22.", november));
    EXPECT_FALSE(all.explain_line("NCCL INFO NCCL_IB_RETRY_CNT set by environment to 3.", november));
    EXPECT_EQ(gave_up(all, nccl_line), 68'719'476'736U);  // 17.18 s x 4
    EXPECT_EQ(gave_up(all, ucx_line), 8'589'934'592U);    // of another software
    EXPECT_FALSE(all.explain_line("UCX_RC_TIMEOUT=2.0s", november));
    EXPECT_EQ(gave_up(all, ucx_line), 17'179'869'184U);  // 2 s is nearest to 2^19
    EXPECT_FALSE(all.explain_line("NCCL_IB_TIMEOUT=0", november));
    EXPECT_EQ(gave_up(all, nccl_line), std::nullopt);  // 0 waits for ever
}

TEST(GiveUp, of_a_receiver_that_is_not_ready) {
    const Explainer all = known_patterns();
    Facts facts;
    facts.status = all.knowledge().status(13);
    EXPECT_EQ(give_up(facts, {}).ns, std::nullopt);
    EXPECT_EQ(give_up(facts, {}, {6U, 640'000U}).ns, 4'480'000U);  // code 12: 0.64 ms
    EXPECT_EQ(give_up(facts, {}, {7U, 640'000U}).ns, std::nullopt);
    EXPECT_EQ(ack_timeout_ns(0), std::nullopt);
    EXPECT_EQ(ack_timeout_ns(1), 8'192U);
    EXPECT_EQ(ack_timeout_ns(31), 8'796'093'022'208U);
    EXPECT_EQ(ack_timeout_ns(32), std::nullopt);
    EXPECT_EQ(timeout_of_seconds(1), 18U);
    EXPECT_EQ(timeout_of_seconds(0), 1U);
    EXPECT_EQ(timeout_of_seconds(1e30), 31U);
}

class LineTime : public testing::Test {
protected:
    LineTime() {
        ::setenv("TZ", "UTC", 1);
        ::tzset();
    }
};

TEST_F(LineTime, in_the_forms_of_logs) {
    EXPECT_EQ(time_of_line("2026-11-26T10:20:31Z x", 0), november);
    EXPECT_EQ(time_of_line("2026-11-26 10:20:31,250 WARN", 0), november + second / 4);
    EXPECT_EQ(time_of_line("2026-11-26T11:20:31.5+01:00 x", 0), november + second / 2);
    EXPECT_EQ(time_of_line("[2026-11-26 10:20:31.004412] rdma.c", 0), november + 4'412'000);
    EXPECT_EQ(time_of_line("Nov 26 10:20:31 host kernel: x", november + second), november);
    EXPECT_EQ(time_of_line("Nov  6 10:20:31 host kernel: x", november), november - 20 * 86'400 * second);
    EXPECT_EQ(time_of_line("Dec 31 23:59:59 host x", 1'798'761'600 * second), 1'798'761'599 * second);  // 2027-01-01
    EXPECT_EQ(time_of_line("[Thu Nov 26 10:20:31 2026] nvme nvme0: x", 0), november);
    EXPECT_EQ(time_of_line("[rank2]:[E1126 10:20:31.104 x.cpp:616] x", november), std::nullopt);
    EXPECT_EQ(time_of_line("E1126 10:20:31.500000 812 x.cpp:616] x", november), november + second / 2);
    EXPECT_EQ(time_of_line("[1795688431.250000] [node:1 :0] x", 0), november + second / 4);
    EXPECT_EQ(time_of_line("libfabric:7731:1795688431:efa:cq x", 0), november);
    EXPECT_EQ(time_of_line("[9999999999.000000] x", november), std::nullopt);  // after 2262: beyond 63 bits
    EXPECT_EQ(time_of_line("libfabric:7731:9999999999:efa:cq x", november), std::nullopt);
    EXPECT_EQ(time_of_line("[ 840.969188] x", november), std::nullopt);
    EXPECT_EQ(time_of_line("2026-13-26T10:20:31Z x", november), std::nullopt);
    EXPECT_EQ(time_of_line("Feb 31 10:20:31 host x", november), std::nullopt);
    EXPECT_EQ(time_of_line("", november), std::nullopt);
    EXPECT_EQ(time_of_line(std::string(200, 'x') + "2026-11-26T10:20:31Z", november), std::nullopt);
}

TEST(LineSplitter, keeps_lines_apart_and_short) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
    splitter.feed("one\r\ntw", keep);
    splitter.feed("o\n\n" + std::string(10'000, 'x'), keep);
    for (int i = 0; i < 1'000; ++i) splitter.feed(std::string(10'000, 'x'), keep);
    splitter.feed("y\nend", keep);
    splitter.finish(keep);
    ASSERT_EQ(lines.size(), 5U);
    EXPECT_EQ(lines[0], "one");
    EXPECT_EQ(lines[1], "two");
    EXPECT_EQ(lines[2], "");
    EXPECT_EQ(lines[3], std::string(LineSplitter::longest, 'x'));
    EXPECT_EQ(lines[4], "end");
}

CauseList listed(Explainer& with, const std::vector<std::string>& lines) {
    CauseList list;
    std::uint64_t number = 0;
    for (const std::string& line : lines) {
        ++number;
        if (auto explanation = with.explain_line(line, november)) list.add(std::move(*explanation), number);
    }
    return list;
}

TEST(CauseList, has_each_cause_once) {
    Explainer all = known_patterns();
    const CauseList list = listed(all, {"cq completion failed status 5", "nothing", "cq completion failed status 5",
                                        "cq completion failed status 12", "cq completion failed status 5"});
    ASSERT_EQ(list.causes().size(), 2U);
    EXPECT_EQ(list.causes()[0].lines, 3U);
    EXPECT_EQ(list.causes()[1].first_line, 4U);
    EXPECT_EQ(list.recognised_lines(), 4U);
    // 5 is a consequence, although it comes first.
    EXPECT_EQ(first_cause(list.causes()), &list.causes()[1]);
    EXPECT_EQ(first_cause({}), nullptr);
}

TEST(CauseList, adds_the_facts_of_the_next_line) {
    Explainer all = known_patterns();
    const std::string request =
        "RC QP 0x1b3 wqe[12]: RDMA_WRITE s-- [rva 0x7f00 rkey 0x1800] [va 0x7f10 len 4096 lkey 0x9] [rqpn 0x9c "
        "dlid=0 sl=0 port=1 src_path_bits=0 dgid=::ffff:192.0.2.2 sgid_index=3 traffic_class=0]";
    const CauseList list = listed(all, {std::string(ucx_line), request});
    ASSERT_EQ(list.causes().size(), 1U);
    const Facts& facts = list.causes().front().explanation.facts;
    EXPECT_EQ(facts.qpn, 0x1b3U);
    EXPECT_EQ(facts.remote_qpn, 0x9cU);
    EXPECT_EQ(facts.remote, "::ffff:192.0.2.2");
    // Far from the line before, or without it, the request stands for itself.
    EXPECT_EQ(listed(all, {request}).causes().size(), 1U);
    EXPECT_EQ(listed(all, {std::string(ucx_line), "", "", "", "", request}).causes().size(), 2U);
}

TEST(CauseList, is_bounded) {
    Explainer all = known_patterns();
    CauseList list;
    for (unsigned i = 0; i < 3'000; ++i) {
        const std::string line = "LNet: 1:0:(x) Rx from 192.0." + std::to_string(i / 250) + "." +
                                 std::to_string(i % 250) + "@o2ib failed: 5";
        if (auto explanation = all.explain_line(line, november)) list.add(std::move(*explanation), i + 1);
    }
    EXPECT_EQ(list.causes().size(), CauseList::most);
    EXPECT_EQ(list.left_out(), 2'000U);
}

}  // namespace
}  // namespace explain
