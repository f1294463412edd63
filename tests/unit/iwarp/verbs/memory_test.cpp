#include <bit>

#include "harness.h"

// Regions and windows: who may reach what, from when on, until when.
namespace iwarp::test {
namespace {

struct Memories : testing::Test {
    Memories() {
        two.connect();
        // A responder that has heard nothing yet could not even say what is wrong (RFC 5044 section 7.1.2).
        EXPECT_EQ(write_to(0, 0, 0), "done");
    }

    /// What a Write of eight octets to this place does to the stream: nothing, or the peer's Terminate.
    std::string write_to(std::uint32_t stag, std::uint64_t offset, std::size_t size = 8) {
        Memory data(size + 1, std::byte{0x11});
        const auto source = two.client.share(data);
        const std::vector<Sge> pieces{piece(*source, 0, size)};
        return outcome(write_of(1, pieces, stag, offset));
    }
    std::string read_from(std::uint32_t stag, std::uint64_t offset, std::size_t size = 8) {
        Memory data(size);
        const auto sink = two.client.share(data);
        const std::vector<Sge> pieces{piece(*sink)};
        return outcome(read_of(1, pieces, stag, offset));
    }
    std::string fetch_add(std::uint32_t stag, std::uint64_t offset) {
        Memory data(8);
        const auto sink = two.client.share(data);
        const std::vector<Sge> pieces{piece(*sink)};
        SendRequest request = read_of(1, pieces, stag, offset);
        request.operation = Operation::fetch_add;
        return outcome(request);
    }
    std::string outcome(const SendRequest& request) {
        EXPECT_EQ(two.client.pair->post_send(request), Posted::ok);
        two.run();
        two.client.sent();
        if (two.client.pair->state() == QueuePairState::connected) return "done";
        const auto why = two.client.pair->terminate();
        if (!why) return "lost";
        return std::to_string(why->layer) + "/" + std::to_string(why->type) + "/" + std::to_string(why->code);
    }
    void post(Side& side, const SendRequest& request) {
        ASSERT_EQ(side.pair->post_send(request), Posted::ok);
        two.run();
    }
    SendRequest bind(MemoryWindow& window, MemoryRegion& region, std::size_t from, std::size_t size, Access access) {
        SendRequest request;
        request.operation = Operation::bind_window;
        request.window = &window;
        request.region = &region;
        request.address = region.address() + from;
        request.length = size;
        request.access = access;
        return request;
    }
    SendRequest invalidate(std::uint32_t stag) {
        SendRequest request;
        request.operation = Operation::local_invalidate;
        request.invalidate_stag = stag;
        return request;
    }

    Two two;
    Memory memory = zeros(4096);
};

std::uint64_t at(const std::byte* address) { return std::bit_cast<std::uintptr_t>(address); }

TEST_F(Memories, OffsetsAreAddressesUnlessZeroBased) {
    const auto region = two.server.share(memory);
    EXPECT_EQ(region->first_offset(), at(memory.data()));
    EXPECT_EQ(write_to(region->stag(), at(memory.data()) + 4088), "done");
    EXPECT_EQ(memory[4088], std::byte{0x11});
    Memory other = zeros(64);
    const auto zero_based = two.server.share(other, everything() | Access::zero_based);
    EXPECT_EQ(zero_based->first_offset(), 0U);
    EXPECT_EQ(write_to(zero_based->stag(), 16), "done");
    EXPECT_EQ(other[15], std::byte{0});
    EXPECT_EQ(other[16], std::byte{0x11});
    EXPECT_EQ(other[24], std::byte{0});
    EXPECT_EQ(read_from(zero_based->stag(), 56), "done");
    EXPECT_EQ(fetch_add(zero_based->stag(), 8), "done");
    EXPECT_EQ(write_to(zero_based->stag(), 57), "1/1/1");
}

TEST_F(Memories, RightsAreNeededForWrites) {
    const auto region = two.server.share(memory, Access::local_write | Access::remote_read | Access::remote_atomic);
    EXPECT_EQ(read_from(region->stag(), region->first_offset()), "done");
    EXPECT_EQ(fetch_add(region->stag(), region->first_offset()), "done");
    // RFC 5041 section 7 has no code for missing rights: RFC 5040's, layer 0, type 1, code 2.
    EXPECT_EQ(write_to(region->stag(), region->first_offset()), "0/1/2");
    EXPECT_EQ(memory, zeros(4096));
}
TEST_F(Memories, RightsAreNeededForReads) {
    const auto region = two.server.share(memory, Access::local_write | Access::remote_write);
    EXPECT_EQ(write_to(region->stag(), region->first_offset()), "done");
    EXPECT_EQ(read_from(region->stag(), region->first_offset()), "0/1/2");
}
TEST_F(Memories, RightsAreNeededForAtomics) {
    const auto region = two.server.share(memory, Access::local_write | Access::remote_write | Access::remote_read);
    EXPECT_EQ(fetch_add(region->stag(), region->first_offset()), "0/1/2");
}

TEST_F(Memories, RightsMustNotContradict) {
    EXPECT_THROW(two.server.share(memory, Access::remote_write), Error);
    EXPECT_THROW(two.server.share(memory, Access::remote_atomic), Error);
    EXPECT_NO_THROW(two.server.share(memory, Access::remote_read));
    EXPECT_THROW(two.server.domain->register_memory({}, Access::none), Error);
}

TEST_F(Memories, DeregistrationEndsThePeersAccess) {
    auto region = two.server.share(memory);
    const std::uint32_t stag = region->stag();
    EXPECT_EQ(write_to(stag, region->first_offset()), "done");
    const std::uint64_t offset = region->first_offset();
    region.reset();
    EXPECT_EQ(write_to(stag, offset), "1/1/0");
}

TEST_F(Memories, AnotherDomainIsNotAssociated) {
    const auto other = two.server.device->allocate_protection_domain();
    const auto region = other->register_memory(memory, everything());
    EXPECT_EQ(write_to(region->stag(), region->first_offset()), "1/1/2");
}
TEST_F(Memories, AnotherDomainIsNotAssociatedForReads) {
    const auto other = two.server.device->allocate_protection_domain();
    const auto region = other->register_memory(memory, everything());
    EXPECT_EQ(read_from(region->stag(), region->first_offset()), "0/1/3");
}

TEST_F(Memories, ReregistrationGivesTheRegionAnotherKey) {
    const auto region = two.server.share(memory);
    const std::uint32_t before = region->stag();
    Memory other = zeros(100);
    region->reregister(other, Access::local_write | Access::remote_write | Access::zero_based);
    EXPECT_EQ(region->stag() >> 8, before >> 8);
    EXPECT_NE(region->stag(), before);
    EXPECT_EQ(region->length(), 100U);
    EXPECT_EQ(region->address(), other.data());
    EXPECT_EQ(write_to(region->stag(), 92), "done");
    EXPECT_EQ(other[92], std::byte{0x11});
    EXPECT_THROW(region->reregister(other, Access::remote_write), Error);
    EXPECT_EQ(write_to(before, at(memory.data())), "1/1/0");
    EXPECT_EQ(memory, zeros(4096));
}

TEST_F(Memories, ReregistrationTakesRightsAway) {
    const auto region = two.server.share(memory);
    region->reregister(memory, Access::local_write | Access::remote_write);
    EXPECT_EQ(read_from(region->stag(), region->first_offset()), "0/1/2");
}

TEST_F(Memories, FastRegistrationByWorkRequest) {
    const auto region = two.server.domain->allocate_region(1024);
    EXPECT_FALSE(region->valid());
    SendRequest request;
    request.operation = Operation::register_region;
    request.region = region.get();
    request.address = memory.data() + 512;
    request.length = 1024;
    request.access = Access::local_write | Access::remote_write | Access::remote_read;
    const std::uint32_t before = region->stag();
    region->renew_key(static_cast<std::uint8_t>(before + 3));
    post(two.server, request);
    EXPECT_EQ(ids(two.server.sent()), "0");
    EXPECT_TRUE(region->valid());
    EXPECT_EQ(region->stag(), (before & 0xffffff00U) | ((before + 3) & 0xffU));
    EXPECT_EQ(write_to(region->stag(), region->first_offset()), "done");
    EXPECT_EQ(memory[511], std::byte{0});
    EXPECT_EQ(memory[512], std::byte{0x11});
    post(two.server, invalidate(region->stag()));
    EXPECT_FALSE(region->valid());
    // And again, elsewhere, with other rights.
    request.address = memory.data();
    request.length = 16;
    request.access = Access::remote_read | Access::zero_based;
    post(two.server, request);
    EXPECT_EQ(ids(two.server.sent()), "0 0");
    EXPECT_EQ(read_from(region->stag(), 8), "done");
    EXPECT_EQ(write_to(region->stag(), 8), "0/1/2");
}

TEST_F(Memories, FastRegistrationIsRefusedWhereItCannotBe) {
    const auto region = two.server.domain->allocate_region(1024);
    SendRequest request;
    request.operation = Operation::register_region;
    request.region = region.get();
    request.address = memory.data();
    request.length = 1025;
    post(two.server, request);
    const auto sent = two.server.sent();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].status, Status::window_bind);
    EXPECT_FALSE(region->valid());
    EXPECT_EQ(two.client.pair->terminate()->layer, 0);
    EXPECT_EQ(two.client.pair->terminate()->type, 0);
}

TEST_F(Memories, ARegionThatIsInUseIsNotRegisteredAgain) {
    const auto region = two.server.domain->allocate_region(1024);
    SendRequest request;
    request.operation = Operation::register_region;
    request.region = region.get();
    request.address = memory.data();
    request.length = 8;
    post(two.server, request);
    EXPECT_EQ(two.server.sent().at(0).status, Status::success);
    post(two.server, request);
    EXPECT_EQ(two.server.sent().at(0).status, Status::window_bind);
}

TEST_F(Memories, Window1ShowsItsPartOnly) {
    const auto region = two.server.share(memory, Access::local_write | Access::bind);
    const auto window = two.server.domain->allocate_window(1);
    EXPECT_EQ(window->type(), 1);
    EXPECT_FALSE(window->valid());
    ASSERT_TRUE(window->bind(*region, memory.data() + 100, 50, Access::remote_write | Access::remote_read));
    EXPECT_TRUE(window->valid());
    EXPECT_EQ(write_to(window->stag(), at(memory.data()) + 100, 50), "done");
    EXPECT_EQ(memory[99], std::byte{0});
    EXPECT_EQ(memory[149], std::byte{0x11});
    EXPECT_EQ(read_from(window->stag(), at(memory.data()) + 142), "done");
    // Bound again: another key, another place, other rights.
    const std::uint32_t before = window->stag();
    ASSERT_TRUE(window->bind(*region, memory.data(), 10, Access::remote_read | Access::zero_based));
    EXPECT_EQ(window->stag(), (before & 0xffffff00U) | ((before + 1) & 0xffU));
    EXPECT_EQ(read_from(window->stag(), 2), "done");
    EXPECT_EQ(read_from(before, at(memory.data()) + 100), "0/1/0");
}

TEST_F(Memories, WindowsKeepToTheirRights) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    ASSERT_TRUE(window->bind(*region, memory.data(), 100, Access::remote_read));
    EXPECT_EQ(write_to(window->stag(), at(memory.data())), "0/1/2");
}
TEST_F(Memories, WindowsKeepToTheirBounds) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    ASSERT_TRUE(window->bind(*region, memory.data(), 100, Access::remote_write));
    EXPECT_EQ(write_to(window->stag(), at(memory.data()) + 93), "1/1/1");
}

TEST_F(Memories, Window1IsUnboundByALengthOfZero) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    ASSERT_TRUE(window->bind(*region, memory.data(), 100, Access::remote_write));
    EXPECT_THROW(region->reregister(memory, everything()), Error) << "a window is bound to it";
    const std::uint32_t before = window->stag();
    ASSERT_TRUE(window->bind(*region, nullptr, 0, Access::none));
    EXPECT_FALSE(window->valid());
    EXPECT_NO_THROW(region->reregister(memory, everything()));
    EXPECT_EQ(write_to(before, at(memory.data())), "1/1/0");
}

TEST_F(Memories, BindingIsRefusedWhereItCannotBe) {
    const auto region = two.server.share(memory, Access::bind);
    const auto closed = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    const auto refuses = [&](MemoryRegion& of, std::byte* address, std::uint64_t length, Access access) {
        return !window->bind(of, address, length, access);
    };
    EXPECT_TRUE(refuses(*region, memory.data(), 8, Access::remote_write)) << "the region has no local_write";
    EXPECT_FALSE(refuses(*region, memory.data(), 8, Access::remote_read));
    EXPECT_TRUE(refuses(*region, memory.data() + 4090, 7, Access::remote_read));
    EXPECT_TRUE(refuses(*region, memory.data(), ~std::uint64_t{0}, Access::remote_read));
    // What a window gives is the peer's: it is neither written to from here nor bound again.
    EXPECT_TRUE(refuses(*closed, memory.data(), 8, Access::remote_read | Access::local_write));
    EXPECT_TRUE(refuses(*closed, memory.data(), 8, Access::remote_read | Access::bind));
    EXPECT_FALSE(refuses(*closed, memory.data(), 8, Access::remote_read | Access::remote_write));
    ASSERT_TRUE(window->bind(*region, nullptr, 0, Access::none));
    closed->reregister(memory, Access::local_write);
    EXPECT_TRUE(refuses(*closed, memory.data(), 8, Access::remote_read)) << "it must not be bound";
    const auto stranger = two.server.device->allocate_protection_domain()->register_memory(memory, everything());
    EXPECT_TRUE(refuses(*stranger, memory.data(), 8, Access::remote_read));
    const auto other_device = two.client.share(memory);
    EXPECT_TRUE(refuses(*other_device, memory.data(), 8, Access::remote_read));
    const auto second = two.server.domain->allocate_window(2);
    EXPECT_FALSE(second->bind(*region, memory.data(), 8, Access::remote_read)) << "type 2 is bound by a work request";
    EXPECT_THROW(two.server.domain->allocate_window(3), Error);
}

TEST_F(Memories, Window2BelongsToItsQueuePair) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(2);
    post(two.server, bind(*window, *region, 8, 64, Access::remote_write | Access::zero_based));
    const auto sent = two.server.sent();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].status, Status::success);
    EXPECT_EQ(sent[0].operation, CompletedOperation::bind_window);
    EXPECT_EQ(write_to(window->stag(), 0), "done");
    EXPECT_EQ(memory[8], std::byte{0x11});
    // The same domain, another queue pair.
    two.client.pair = two.client.make_pair();
    two.server.pair = two.server.make_pair();
    two.connect();
    EXPECT_EQ(write_to(window->stag(), 0), "1/1/2");
}

TEST_F(Memories, Window2IsInvalidatedByThePeer) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(2);
    post(two.server, bind(*window, *region, 0, 64, Access::remote_write));
    const std::uint32_t stag = window->stag();
    EXPECT_EQ(write_to(stag, region->first_offset()), "done");
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    SendRequest request;
    request.invalidate = true;
    request.invalidate_stag = stag;
    post(two.client, request);
    EXPECT_EQ(two.server.received().at(0).invalidated_stag, stag);
    EXPECT_FALSE(window->valid());
    // Free again: it can be bound a second time, under another key.
    post(two.server, bind(*window, *region, 0, 64, Access::remote_write));
    EXPECT_EQ(two.server.sent().back().status, Status::success);
    EXPECT_NE(window->stag(), stag);
    EXPECT_EQ(write_to(window->stag(), region->first_offset()), "done");
    EXPECT_EQ(write_to(stag, region->first_offset()), "1/1/0");
}

TEST_F(Memories, Window2MustBeFreeToBeBound) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(2);
    post(two.server, bind(*window, *region, 0, 64, Access::remote_write));
    post(two.server, bind(*window, *region, 0, 64, Access::remote_write));
    EXPECT_EQ(two.server.sent().back().status, Status::window_bind);
}

TEST_F(Memories, Window1CannotBeInvalidatedByThePeer) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    ASSERT_TRUE(window->bind(*region, memory.data(), 100, Access::remote_write));
    ASSERT_EQ(two.server.receive(1, std::vector<Sge>{}), Posted::ok);
    SendRequest request;
    request.invalidate = true;
    request.invalidate_stag = window->stag();
    // RFC 5040 section 4.8: remote protection error, STag cannot be invalidated.
    EXPECT_EQ(outcome(request), "0/1/9");
    EXPECT_TRUE(window->valid());
}

TEST_F(Memories, ARegionWithWindowsCannotBeInvalidated) {
    const auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    ASSERT_TRUE(window->bind(*region, memory.data(), 100, Access::remote_write));
    post(two.server, invalidate(region->stag()));
    EXPECT_EQ(two.server.sent().at(0).status, Status::window_bind);
    EXPECT_TRUE(region->valid());
}

TEST_F(Memories, AWindowThatMovesOnLeavesItsRegionFree) {
    const auto region = two.server.share(memory);
    const auto next = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    ASSERT_TRUE(window->bind(*region, memory.data(), 100, Access::remote_write));
    ASSERT_TRUE(window->bind(*next, memory.data(), 100, Access::remote_write));
    EXPECT_THROW(next->reregister(memory, everything()), Error);
    EXPECT_NO_THROW(region->reregister(memory, everything()));
    post(two.server, invalidate(region->stag()));
    EXPECT_EQ(two.server.sent().at(0).status, Status::success);
    EXPECT_TRUE(window->valid());
}

TEST_F(Memories, WindowsGoWithTheirRegion) {
    auto region = two.server.share(memory);
    const auto window = two.server.domain->allocate_window(1);
    ASSERT_TRUE(window->bind(*region, memory.data(), 100, Access::remote_write));
    region.reset();
    EXPECT_FALSE(window->valid());
    EXPECT_EQ(write_to(window->stag(), at(memory.data())), "1/1/0");
}

TEST_F(Memories, HandlesMayGoBeforeTheWorkRequestsThatNameThem) {
    auto region = two.server.share(memory);
    auto window = two.server.domain->allocate_window(2);
    ASSERT_EQ(two.server.pair->post_send(bind(*window, *region, 0, 8, Access::remote_read)), Posted::ok);
    window.reset();
    region.reset();
    two.run();
    EXPECT_EQ(two.server.sent().at(0).status, Status::window_bind);
}

TEST(Memory, TheTableHasALimit) {
    Options options;
    options.device.max_regions = 2;
    Two two(options);
    Memory memory = zeros(8);
    const auto first = two.client.share(memory);
    auto second = two.client.domain->allocate_window(1);
    EXPECT_THROW(two.client.share(memory), Error);
    second.reset();
    EXPECT_NO_THROW(two.client.share(memory));
}

TEST(StagZero, IsForTheLocalSideOfAPrivilegedDevice) {
    Options options;
    options.device.privileged = true;
    Two two(options);
    two.connect();
    Memory data = pattern(100);
    Memory heard = zeros(100);
    ASSERT_EQ(two.server.receive(1, Sge{heard.data(), 100, 0}), Posted::ok);
    const std::vector<Sge> pieces{{data.data(), 100, 0}};
    two.client.pair->post_send(send_of(1, pieces));
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "1");
    EXPECT_EQ(heard, data);
    // A Read may end there as well: the peer only repeats what it received.
    Memory far = pattern(100, 9);
    const auto source = two.server.share(far);
    two.client.pair->post_send(read_of(2, pieces, source->stag(), source->first_offset()));
    two.run();
    EXPECT_EQ(ids(two.client.sent()), "2");
    EXPECT_EQ(data, far);
    // Never for a peer: RFC 5040 section 8.1.1.
    two.client.pair->post_send(write_of(3, pieces, 0, at(heard.data())));
    two.run();
    EXPECT_EQ(two.client.pair->terminate()->layer, 1);
    EXPECT_EQ(two.client.pair->terminate()->code, 0);
}

TEST(StagZero, IsNothingWithoutThePrivilege) {
    Two two;
    two.connect();
    Memory data = pattern(100);
    const std::vector<Sge> pieces{{data.data(), 100, 0}};
    two.client.pair->post_send(send_of(1, pieces));
    two.run();
    EXPECT_EQ(two.client.sent().at(0).status, Status::local_protection);
}

}  // namespace
}  // namespace iwarp::test
