#include "tests/support/allocations.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "support.h"

namespace {

using namespace mpa_test;

// After warm-up neither direction takes memory for an FPDU, however the stream is cut.
TEST(Allocations, none_for_an_fpdu) {
    for (const std::size_t length : {0u, 64u, 1424u, 1442u, 9000u, 64000u}) {
        const Octets payload(length, std::byte{5});
        const base::Bytes piece = payload;
        const Octets head = header(true);
        for (const auto& settings : all_settings()) {
            for (const std::size_t size : {1500u, 4096u, 100000u}) {
                const auto pool = std::make_shared<iwarp::mpa::StagePool>();
                Sink sink;
                sink.keep_pieces = true;
                FpduReader reader{settings, sink, pool};
                iwarp::mpa::FpduWriter writer{{settings.crc, settings.markers}};
                iwarp::mpa::Batch batch;
                Octets stream(std::size_t{600} * 1024);
                const auto round = [&] {
                    while (!batch.full()) writer.add(head, std::span{&piece, 1}, batch);
                    static_cast<void>(batch.next_fpdu());
                    auto end = stream.begin();
                    for (const base::Bytes part : batch.pieces()) end = std::ranges::copy(part, end).out;
                    batch.consume(batch.octets());
                    for (base::Bytes left{stream.begin(), end}; !left.empty();) {
                        const base::Bytes part = left.first(std::min(size, left.size()));
                        if (reader.receive(part)) ADD_FAILURE();
                        left = left.subspan(part.size());
                    }
                };
                round();
                round();
                const std::uint64_t before = support::allocations();
                for (unsigned i = 0; i < 5; ++i) round();
                EXPECT_EQ(support::allocations(), before) << name(settings) << ' ' << length << " in " << size;
                EXPECT_EQ(reader.fpdus(), writer.fpdus());
            }
        }
    }
}

// Of many messages that wait together each takes its turn without a copy of those after it.
TEST(Allocations, none_for_a_message_that_has_waited) {
    for (const auto& settings : all_settings()) {
        Stream sent{.crc = settings.crc, .markers = settings.markers, .octets = {}, .ulpdus = {}, .ends = {}};
        for (unsigned i = 0; i < 1000; ++i) sent.add(false, Octets(40, std::byte{5}));
        Sink sink;
        sink.refuse_once = true;
        sink.keep_pieces = true;
        FpduReader reader{settings, sink, std::make_shared<iwarp::mpa::StagePool>()};
        ASSERT_EQ(reader.receive(sent.octets), std::nullopt);
        ASSERT_EQ(reader.resume(), std::nullopt);
        ASSERT_TRUE(reader.paused());
        const std::uint64_t before = support::allocations();
        unsigned resumed = 1;
        for (; reader.paused(); ++resumed) ASSERT_EQ(reader.resume(), std::nullopt);
        EXPECT_EQ(support::allocations(), before) << name(settings);
        EXPECT_EQ(resumed, 1000u);
        EXPECT_EQ(reader.fpdus(), 1000u);
    }
}

TEST(Allocations, an_idle_stream_has_no_memory_of_its_own) {
    Sink sink;
    FpduReader reader{{true, false, true}, sink};
    iwarp::mpa::FpduWriter writer{{true, false}};
    iwarp::mpa::Batch batch;
    EXPECT_LE(sizeof reader + sizeof writer + sizeof batch, 1024u);
    writer.add(header(true), {}, batch);
    batch.consume(batch.octets());
    batch.shrink();
    const std::uint64_t before = support::allocations();
    writer.add(header(true), {}, batch);
    EXPECT_GT(support::allocations(), before);  // it had been given back
}

}  // namespace
