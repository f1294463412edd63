#include "iwarp/rdmap/send_queue.h"

#include <array>
#include <gtest/gtest.h>

// When a request's memory is its owner's again: RFC 5040 section 5.5, rules 13 to 15.

namespace {

using iwarp::Operation;
using iwarp::Posted;
using iwarp::SendRequest;
using iwarp::Sge;
using iwarp::Status;
using iwarp::rdmap::SendQueue;

class Queue : public testing::Test {
protected:
    Posted post(Operation operation, std::uint64_t id = 0) {
        SendRequest request;
        request.id = id;
        request.operation = operation;
        if (operation == Operation::read) request.pieces = one;
        return queue.post(request, nullptr, nullptr);
    }

    std::array<std::byte, 8> memory{};
    std::array<Sge, 1> one{Sge{memory.data(), 8, 1}};
    SendQueue queue{4, 4, 64};
};

TEST_F(Queue, ASendIsDoneOnceTheTransportHasTakenIt) {
    ASSERT_EQ(post(Operation::send, 5), Posted::ok);
    EXPECT_EQ(queue.finished(), nullptr);
    queue.handed_over();
    EXPECT_EQ(queue.finished(), nullptr) << "it is in a batch, which refers to its memory";
    queue.drained();
    ASSERT_NE(queue.finished(), nullptr);
    EXPECT_EQ(queue.finished()->id, 5u);
    queue.pop();
    EXPECT_TRUE(queue.empty());
}

TEST_F(Queue, ASendBehindAReadThatWasAnsweredIsStillWithItsBatch) {
    ASSERT_EQ(post(Operation::read, 1), Posted::ok);
    ASSERT_EQ(post(Operation::send, 2), Posted::ok);
    queue.handed_over();
    queue.drained();
    EXPECT_EQ(queue.finished(), nullptr);
    queue.handed_over();
    queue.answered(0, Status::success);
    ASSERT_NE(queue.finished(), nullptr);
    EXPECT_EQ(queue.finished()->id, 1u);
    queue.pop();
    EXPECT_EQ(queue.finished(), nullptr);
    queue.drained();
    ASSERT_NE(queue.finished(), nullptr);
    EXPECT_EQ(queue.finished()->id, 2u);
}

TEST_F(Queue, ASendWaitsForTheReadBeforeIt) {
    ASSERT_EQ(post(Operation::read, 1), Posted::ok);
    ASSERT_EQ(post(Operation::send, 2), Posted::ok);
    queue.handed_over();
    queue.handed_over();
    queue.drained();
    EXPECT_EQ(queue.finished(), nullptr);
    queue.answered(0, Status::remote_access);
    ASSERT_NE(queue.finished(), nullptr);
    EXPECT_EQ(queue.finished()->status, Status::remote_access);
}

TEST_F(Queue, AnswersToWhatIsNotThereAreNobodys) {
    ASSERT_EQ(post(Operation::read, 1), Posted::ok);
    queue.answered(0, Status::success);  // not even sent
    queue.handed_over();
    queue.drained();
    queue.answered(7, Status::success);
    EXPECT_EQ(queue.finished(), nullptr);
}

TEST_F(Queue, AReadWithoutASinkHasNothingToInvalidate) {
    SendRequest request;
    request.operation = Operation::read;
    EXPECT_EQ(queue.post(request, nullptr, nullptr), Posted::ok);
    request.invalidate = true;
    EXPECT_EQ(queue.post(request, nullptr, nullptr), Posted::invalid);
    request.pieces = one;
    EXPECT_EQ(queue.post(request, nullptr, nullptr), Posted::ok);
}

TEST_F(Queue, ItsRingGrowsInPlaceAndKeepsItsOrder) {
    SendQueue large{1000, 4, 0};
    std::uint64_t posted = 0;
    std::uint64_t done = 0;
    for (int round = 0; round < 300; ++round) {
        for (int i = 0; i < 3; ++i) {
            SendRequest request;
            request.id = posted++;
            ASSERT_EQ(large.post(request, nullptr, nullptr), Posted::ok);
            large.handed_over();
        }
        large.drained();
        ASSERT_EQ(large.finished()->id, done++);
        large.pop();
    }
    EXPECT_EQ(large.size(), posted - done);
    while (!large.empty()) {
        ASSERT_EQ(large.finished()->id, done++);
        large.pop();
    }
    EXPECT_EQ(done, posted);
}

}  // namespace
