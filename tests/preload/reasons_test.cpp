// What the software stack says on standard error of a request that ends its connection. The program itself sees no more
// than a status, and the peer no more than flushed requests.
#include <cstdio>
#include <string>

#include "tests/preload/preload_harness.h"

namespace {

using preload_test::Connection;
using preload_test::eventually;
using preload_test::Side;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

/// A connection in which the active side makes one mistake, and what both sides said of it.
class Mistake {
public:
    Mistake() { CaptureStderr(); }

    void post(ibv_wr_opcode opcode, std::size_t length, std::uint64_t address, std::uint32_t rkey) {
        ibv_sge piece = connection.active.piece(0, length);
        ibv_send_wr request = connection.active.request(opcode, 7, &piece, 1);
        request.wr.rdma = {address, rkey};
        ASSERT_EQ(connection.active.send(request), 0);
    }
    /// After both queue pairs are in error.
    std::string said() {
        EXPECT_TRUE(eventually([&] {
            ibv_wc taken{};
            ibv_poll_cq(connection.active.cq, 1, &taken);
            ibv_poll_cq(connection.passive.cq, 1, &taken);
            return connection.active.state() == IBV_QPS_ERR && connection.passive.state() == IBV_QPS_ERR;
        }));
        return GetCapturedStderr();
    }

    Connection connection;
};

void expect_both(const std::string& said, const std::string& requester, const std::string& responder) {
    EXPECT_NE(said.find(requester), std::string::npos) << said;
    EXPECT_NE(said.find(responder), std::string::npos) << said;
}

std::string hexadecimal(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "%#llx", static_cast<unsigned long long>(value));
    return text;
}

TEST(PreloadReasons, RkeyThatThePeerDoesNotHave) {
    Mistake mistake;
    const std::uint32_t wrong = mistake.connection.passive.mr->rkey ^ 0x5500;
    mistake.post(IBV_WR_RDMA_WRITE, 8, mistake.connection.passive.offset(0), wrong);
    const std::string at = ": 8 bytes at " + hexadecimal(mistake.connection.passive.offset(0));
    expect_both(mistake.said(), "your RDMA WRITE used rkey " + hexadecimal(wrong) + " that the peer does not have" + at,
                "the peer's RDMA WRITE used rkey " + hexadecimal(wrong) + " that this side does not have" + at);
}

TEST(PreloadReasons, BeyondTheMemory) {
    Mistake mistake;
    const Side& passive = mistake.connection.passive;
    const std::uint64_t end = passive.offset(passive.memory.size() - 4);
    mistake.post(IBV_WR_RDMA_READ, 64, end, passive.mr->rkey);
    const std::string what =
        "went beyond the memory of rkey " + hexadecimal(passive.mr->rkey) + ": 64 bytes at " + hexadecimal(end);
    expect_both(mistake.said(), "your RDMA READ " + what + ", wr_id 7", "the peer's RDMA READ " + what);
}

TEST(PreloadReasons, MemoryWithoutTheRight) {
    Mistake mistake;
    const Side& passive = mistake.connection.passive;
    ibv_mr* const local =
        ibv_reg_mr(passive.pd, const_cast<std::uint8_t*>(passive.memory.data()), 4096, IBV_ACCESS_LOCAL_WRITE);
    ASSERT_NE(local, nullptr);
    mistake.post(IBV_WR_RDMA_WRITE, 8, passive.offset(0), local->rkey);
    const std::string what = "used rkey " + hexadecimal(local->rkey) +
                             ", whose memory is registered without IBV_ACCESS_REMOTE_WRITE: 8 bytes at " +
                             hexadecimal(passive.offset(0));
    expect_both(mistake.said(), "your RDMA WRITE " + what, "the peer's RDMA WRITE " + what);
    ibv_dereg_mr(local);
}

TEST(PreloadReasons, NoReceivePosted) {
    Mistake mistake;
    mistake.post(IBV_WR_SEND, 8, 0, 0);
    expect_both(mistake.said(), "your SEND arrived and the peer had no receive posted",
                "a SEND of the peer arrived and no receive was posted here");
}

TEST(PreloadReasons, LongerThanTheReceive) {
    Mistake mistake;
    ASSERT_EQ(mistake.connection.passive.receive(1, 0, 16), 0);
    mistake.post(IBV_WR_SEND, 64, 0, 0);
    expect_both(mistake.said(), "your SEND is longer than the receive that the peer had posted",
                "a SEND of the peer is longer than the receive that was posted here");
}

TEST(PreloadReasons, NothingIsSaidOfAnOrderlyEnd) {
    CaptureStderr();
    {
        Connection connection;
        connection.disconnect();
        EXPECT_TRUE(eventually([&] { return connection.passive.state() == IBV_QPS_ERR; }));
    }
    EXPECT_EQ(GetCapturedStderr(), "");
}

}  // namespace
