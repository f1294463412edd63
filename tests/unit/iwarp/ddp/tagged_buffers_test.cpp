#include "iwarp/ddp/tagged_buffers.h"

#include <array>
#include <gtest/gtest.h>
#include <set>

namespace {

using iwarp::Access;
using iwarp::Sge;
using iwarp::ddp::MemoryFault;
using iwarp::ddp::TaggedBuffer;
using iwarp::ddp::TaggedBuffers;
using Kind = TaggedBuffer::Kind;

constexpr std::uint32_t domain = 7;
constexpr std::uint32_t queue_pair = 3;

class Tagged : public testing::Test {
protected:
    TaggedBuffer region(Access access = Access::local_write | Access::remote_read | Access::remote_write) {
        TaggedBuffer buffer;
        buffer.valid = true;
        buffer.access = access;
        buffer.domain = domain;
        buffer.memory = memory_.data();
        buffer.length = memory_.size();
        buffer.first_offset = 1000;
        return buffer;
    }
    TaggedBuffer window(Kind kind, std::uint32_t parent, std::uint64_t offset, std::uint64_t length) {
        TaggedBuffer buffer = region();
        buffer.kind = kind;
        buffer.parent = parent;
        buffer.queue_pair = kind == Kind::window_2 ? queue_pair : 0;
        buffer.memory = memory_.data() + offset;
        buffer.length = length;
        return buffer;
    }
    MemoryFault fault(std::uint32_t stag, std::uint64_t offset, std::uint64_t length,
                      Access wanted = Access::remote_write) {
        return table_.resolve(stag, offset, length, wanted, domain, queue_pair).fault;
    }

    std::array<std::byte, 100> memory_{};
    TaggedBuffers table_{1000, 1};
};

TEST_F(Tagged, AnStagIsItsIndexAndKey) {
    for (int i = 0; i < 500; ++i) {
        const auto stag = table_.insert(region());
        ASSERT_TRUE(stag);
        EXPECT_NE(*stag >> 8, 0u);  // so that no STag is 0
        ASSERT_NE(table_.find(*stag), nullptr);
        EXPECT_EQ(table_.find(*stag)->key, *stag & 0xff);
        EXPECT_EQ(table_.find(*stag ^ 1), nullptr);
        EXPECT_EQ(table_.find(*stag ^ 0x80000000), nullptr);
    }
    EXPECT_EQ(table_.size(), 500u);
}

TEST_F(Tagged, StagsFillTheirRangeAndDifferFromDeviceToDevice) {
    TaggedBuffers other{1000, 2};
    std::set<std::uint32_t> high, keys;
    int same = 0;
    for (int i = 0; i < 1000; ++i) {
        const auto stag = table_.insert(region());
        ASSERT_TRUE(stag);
        high.insert(*stag >> 24);
        keys.insert(*stag & 0xff);
        same += stag == other.insert(region()) ? 1 : 0;
    }
    EXPECT_GT(high.size(), 200u);  // of 256; about 251 are expected of chance
    EXPECT_GT(keys.size(), 200u);
    EXPECT_LT(same, 5);
}

TEST_F(Tagged, NothingIsFoundInAnEmptyTable) {
    for (const std::uint32_t stag : {0u, 1u, 0xffu, 0x100u, 0xffffffffu, 0xffffff00u}) {
        EXPECT_EQ(table_.find(stag), nullptr);
        EXPECT_EQ(fault(stag, 0, 0), MemoryFault::invalid_stag);
        table_.erase(stag);
        EXPECT_EQ(table_.renew(stag, 1), 0u);
    }
}

TEST_F(Tagged, AFullTableRefusesAndAnErasedEntryMakesRoom) {
    TaggedBuffers table{3, 1};
    std::array<std::uint32_t, 3> stags{};
    for (auto& stag : stags) stag = table.insert(region()).value();
    EXPECT_FALSE(table.insert(region()));
    for (int round = 0; round < 2000; ++round) {
        auto& stag = stags[static_cast<std::size_t>(round) % 3];
        const auto stale = stag;
        table.erase(stale);
        stag = table.insert(region()).value();
        ASSERT_NE(stag, stale);
        ASSERT_EQ(table.find(stale), nullptr);
        ASSERT_NE(table.find(stag), nullptr);
        ASSERT_FALSE(table.insert(region()));
    }
}

TEST_F(Tagged, SlotsRestBeforeTheyAreUsedAgain) {
    TaggedBuffers table{5000, 1};
    const auto first = table.insert(region()).value();
    table.erase(first);
    for (int i = 0; i < 1000; ++i) {
        const auto stag = table.insert(region()).value();
        ASSERT_NE(stag & 0x1fff00, first & 0x1fff00);  // 13 bits of slot number
        table.erase(stag);
    }
}

// A peer may still know the last STag of a slot: the next one there has another key, whatever chance says.
TEST_F(Tagged, ASlotNeverHasTheSameKeyTwiceInARow) {
    TaggedBuffers table{1, 1};
    auto before = table.insert(region()).value();
    for (int i = 0; i < 5000; ++i) {
        table.erase(before);
        const auto stag = table.insert(region()).value();
        ASSERT_NE(stag & 0xff, before & 0xff);
        before = stag;
    }
}

TEST_F(Tagged, EntriesStayWhereTheyAre) {
    const auto stag = table_.insert(region()).value();
    const TaggedBuffer* at = table_.find(stag);
    while (table_.insert(region())) {
    }
    EXPECT_EQ(table_.size(), 1000u);
    EXPECT_EQ(table_.find(stag), at);
}

TEST_F(Tagged, ARenewedKeyReplacesTheOld) {
    const auto stag = table_.insert(region()).value();
    const auto key = static_cast<std::uint8_t>(stag + 5);
    const auto renewed = table_.renew(stag, key);
    EXPECT_EQ(renewed, (stag & ~0xffu) | key);
    EXPECT_EQ(table_.find(stag), nullptr);
    EXPECT_EQ(fault(stag, 1000, 1), MemoryFault::invalid_stag);
    EXPECT_EQ(fault(renewed, 1000, 1), MemoryFault::none);
}

TEST_F(Tagged, BoundsHoldToTheOctet) {
    const auto stag = table_.insert(region()).value();
    EXPECT_EQ(fault(stag, 1000, 100), MemoryFault::none);
    EXPECT_EQ(fault(stag, 1099, 1), MemoryFault::none);
    EXPECT_EQ(fault(stag, 1100, 0), MemoryFault::none);
    EXPECT_EQ(fault(stag, 999, 1), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, 999, 0), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, 1100, 1), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, 1101, 0), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, 1000, 101), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, 1050, 0xffffffff), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, 0, 1), MemoryFault::bounds);
    const auto place = table_.resolve(stag, 1042, 1, Access::remote_write, domain, queue_pair);
    EXPECT_EQ(place.memory, memory_.data() + 42);
}

TEST_F(Tagged, SumsBeyondTheLastOffsetWrap) {
    const auto stag = table_.insert(region()).value();
    constexpr std::uint64_t last = ~std::uint64_t{0};
    EXPECT_EQ(fault(stag, last, 2), MemoryFault::wrap);
    EXPECT_EQ(fault(stag, last, 1), MemoryFault::wrap);  // to 2^64, which is 0
    EXPECT_EQ(fault(stag, last, 0), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, last - 1, 1), MemoryFault::bounds);
    EXPECT_EQ(fault(stag, last - 99, 0xffffffff), MemoryFault::wrap);
}

TEST_F(Tagged, OfSeveralFaultsTheFirstInTheSpecificationIsTold) {
    auto buffer = region(Access::remote_read);
    buffer.domain = domain + 1;
    const auto stag = table_.insert(buffer).value();
    constexpr std::uint64_t wraps = ~std::uint64_t{0};
    EXPECT_EQ(fault(stag ^ 1, wraps, 2), MemoryFault::invalid_stag);
    EXPECT_EQ(fault(stag, wraps, 2), MemoryFault::not_associated);
    table_.find(stag)->domain = domain;
    EXPECT_EQ(fault(stag, wraps, 2), MemoryFault::access);
    EXPECT_EQ(fault(stag, wraps, 2, Access::remote_read), MemoryFault::wrap);
    table_.find(stag)->valid = false;
    EXPECT_EQ(fault(stag, 1000, 1, Access::remote_read), MemoryFault::invalid_stag);
}

TEST_F(Tagged, EveryRightIsAskedForByItself) {
    constexpr std::array rights{Access::local_write, Access::remote_read, Access::remote_write, Access::remote_atomic};
    for (const Access granted : rights) {
        const auto stag = table_.insert(region(granted)).value();
        for (const Access wanted : rights)
            EXPECT_EQ(fault(stag, 1000, 1, wanted), granted == wanted ? MemoryFault::none : MemoryFault::access);
    }
}

TEST_F(Tagged, AWindowShowsItsPartToWhomItIsFor) {
    const auto parent = table_.insert(region()).value();
    const auto one = table_.insert(window(Kind::window_1, parent, 10, 20)).value();
    const auto two = table_.insert(window(Kind::window_2, parent, 10, 20)).value();
    for (const auto stag : {one, two}) {
        EXPECT_EQ(fault(stag, 1000, 20), MemoryFault::none);
        EXPECT_EQ(fault(stag, 1000, 21), MemoryFault::bounds);
        EXPECT_EQ(table_.resolve(stag, 1005, 1, Access::remote_write, domain, queue_pair).memory, memory_.data() + 15);
        EXPECT_EQ(table_.resolve(stag, 1000, 1, Access::remote_write, domain + 1, queue_pair).fault,
                  MemoryFault::not_associated);
    }
    EXPECT_EQ(table_.resolve(one, 1000, 1, Access::remote_write, domain, queue_pair + 1).fault, MemoryFault::none);
    EXPECT_EQ(table_.resolve(two, 1000, 1, Access::remote_write, domain, queue_pair + 1).fault,
              MemoryFault::not_associated);
}

TEST_F(Tagged, AWindowIsNothingWithoutItsRegion) {
    const auto parent = table_.insert(region()).value();
    const auto stag = table_.insert(window(Kind::window_2, parent, 10, 20)).value();
    table_.find(parent)->valid = false;
    EXPECT_EQ(fault(stag, 1000, 1), MemoryFault::invalid_stag);
    table_.find(parent)->valid = true;
    EXPECT_EQ(fault(stag, 1000, 1), MemoryFault::none);
    table_.find(parent)->length = 29;  // one octet less than the window shows
    EXPECT_EQ(fault(stag, 1000, 1), MemoryFault::invalid_stag);
    table_.erase(parent);
    EXPECT_EQ(fault(stag, 1000, 1), MemoryFault::invalid_stag);
}

TEST_F(Tagged, LocalPiecesAreFoundByAddress) {
    const auto stag = table_.insert(region(Access::local_write)).value();
    const auto local = [&](std::ptrdiff_t from, std::uint32_t length, std::uint32_t key, Access wanted) {
        return table_.resolve_local({memory_.data() + from, length, key}, wanted, domain, queue_pair, false).fault;
    };
    EXPECT_EQ(local(0, 100, stag, Access::local_write), MemoryFault::none);
    EXPECT_EQ(local(99, 1, stag, Access::none), MemoryFault::none);
    EXPECT_EQ(local(100, 0, stag, Access::none), MemoryFault::none);
    EXPECT_EQ(local(100, 1, stag, Access::none), MemoryFault::bounds);
    EXPECT_EQ(local(0, 101, stag, Access::none), MemoryFault::bounds);
    EXPECT_EQ(local(0, 1, stag, Access::remote_read), MemoryFault::access);
    EXPECT_EQ(local(0, 1, stag + 1, Access::none), MemoryFault::invalid_stag);
    EXPECT_EQ(local(0, 1, 0, Access::none), MemoryFault::invalid_stag);
    const Sge end{reinterpret_cast<std::byte*>(~std::uintptr_t{0}), 2, stag};
    EXPECT_EQ(table_.resolve_local(end, Access::none, domain, queue_pair, false).fault, MemoryFault::wrap);
    const Sge piece{memory_.data(), 1, stag};
    EXPECT_EQ(table_.resolve_local(piece, Access::none, domain + 1, queue_pair, false).fault,
              MemoryFault::not_associated);
}

TEST_F(Tagged, StagZeroIsForThePrivileged) {
    const Sge anywhere{memory_.data(), 5, 0};
    EXPECT_EQ(table_.resolve_local(anywhere, Access::local_write, domain, queue_pair, true).memory, memory_.data());
    EXPECT_EQ(table_.resolve_local(anywhere, Access::none, domain, queue_pair, false).fault, MemoryFault::invalid_stag);
    EXPECT_EQ(fault(0, 0, 1), MemoryFault::invalid_stag);  // never for a peer
}

TEST_F(Tagged, WindowsHaveNoLocalUse) {
    const auto parent = table_.insert(region()).value();
    const auto stag = table_.insert(window(Kind::window_1, parent, 0, 20)).value();
    EXPECT_EQ(table_.resolve_local({memory_.data(), 1, stag}, Access::none, domain, queue_pair, false).fault,
              MemoryFault::invalid_stag);
}

TEST_F(Tagged, WhatMayBeInvalidated) {
    const auto parent = table_.insert(region()).value();
    const auto one = table_.insert(window(Kind::window_1, parent, 0, 20)).value();
    const auto two = table_.insert(window(Kind::window_2, parent, 0, 20)).value();
    table_.find(parent)->windows = 2;
    EXPECT_EQ(table_.invalidate(parent, domain, queue_pair), MemoryFault::access);
    EXPECT_EQ(table_.invalidate(one, domain, queue_pair), MemoryFault::access);
    EXPECT_EQ(table_.invalidate(two, domain, queue_pair + 1), MemoryFault::not_associated);
    EXPECT_EQ(table_.invalidate(two, domain + 1, queue_pair), MemoryFault::not_associated);
    EXPECT_EQ(fault(two, 1000, 1), MemoryFault::none);
    EXPECT_EQ(table_.invalidate(two, domain, queue_pair), MemoryFault::none);
    EXPECT_EQ(fault(two, 1000, 1), MemoryFault::invalid_stag);
    EXPECT_EQ(table_.invalidate(two, domain, queue_pair), MemoryFault::invalid_stag);
    EXPECT_EQ(table_.find(parent)->windows, 1u);
    table_.erase(two);  // not bound any more: counted off once
    EXPECT_EQ(table_.find(parent)->windows, 1u);
    table_.erase(one);
    EXPECT_EQ(table_.find(parent)->windows, 0u);
    EXPECT_EQ(table_.invalidate(parent, domain, queue_pair), MemoryFault::none);
    EXPECT_EQ(fault(parent, 1000, 1), MemoryFault::invalid_stag);
    EXPECT_EQ(table_.invalidate(0, domain, queue_pair), MemoryFault::invalid_stag);
}

TEST_F(Tagged, WhatMakesAPlaceStaleIsCounted) {
    const auto stag = table_.insert(region()).value();
    const auto other = table_.insert(region()).value();
    auto before = table_.changes();
    const auto changed = [&] { return std::exchange(before, table_.changes()) != table_.changes(); };
    EXPECT_FALSE(changed());
    fault(stag, 1000, 1);
    EXPECT_FALSE(changed());
    table_.invalidate(stag, domain, queue_pair);
    EXPECT_TRUE(changed());
    const auto renewed = table_.renew(stag, static_cast<std::uint8_t>(stag + 1));
    EXPECT_TRUE(changed());
    table_.erase(renewed);
    EXPECT_TRUE(changed());
    table_.find(other)->length = 1;
    table_.changed();
    EXPECT_TRUE(changed());
}

}  // namespace
