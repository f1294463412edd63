#include <cstdlib>
#include <malloc.h>
#include <new>

#include "harness.h"

// What it costs to be there, and to work: memory of an idle connection, allocations of a message.
namespace {

std::size_t allocations = 0;
std::size_t held_octets = 0;

void* counted(std::size_t size) {
    ++allocations;
    void* const memory = std::malloc(size == 0 ? 1 : size);
    if (memory == nullptr) throw std::bad_alloc();
    held_octets += malloc_usable_size(memory);
    return memory;
}

void give_back(void* memory) noexcept {
    if (memory == nullptr) return;
    held_octets -= malloc_usable_size(memory);
    std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }

namespace iwarp::test {
namespace {

/// Between two devices without a network: its own allocations do not count.
class Pipe final : public verbs::Transport {
public:
    std::int64_t now_ns() const override { return 0; }
    void connect(std::shared_ptr<verbs::Stream> stream, const std::string&, std::uint16_t,
                 const ConnectionOptions&) override {
        streams.push_back(std::move(stream));
    }
    verbs::Listening listen(const std::string& host, std::uint16_t port, int, const ConnectionOptions&,
                            verbs::Acceptor& acceptor) override {
        listening = &acceptor;
        return {1, host, port};
    }
    void stop_listening(std::uint64_t) override { listening = nullptr; }
    void attention(verbs::Stream&) override {}
    bool progress(std::int64_t) override { return false; }
    int descriptor() const override { return -1; }

    std::vector<std::shared_ptr<verbs::Stream>> streams;
    verbs::Acceptor* listening = nullptr;
};

struct Pumped {
    Pumped() {
        auto one = std::make_unique<Pipe>();
        auto other = std::make_unique<Pipe>();
        near = one.get();
        far = other.get();
        client = verbs::make_device({}, std::move(one));
        server = verbs::make_device({}, std::move(other));
        listener = server->listen("server", 1);
        client_domain = client->allocate_protection_domain();
        server_domain = server->allocate_protection_domain();
        client_queue = client->create_completion_queue(100);
        server_queue = server->create_completion_queue(100);
    }
    void connect(const ConnectionOptions& options = {}) {
        near_pair = client->create_queue_pair(client_domain, client_queue, client_queue);
        far_pair = server->create_queue_pair(server_domain, server_queue, server_queue);
        near_pair->connect("server", 1, options);
        far->streams.push_back(far->listening->accepted("client"));
        near->streams.back()->connected("server", 65483, 0);
        far->streams.back()->connected("client", 65483, 0);
        pump();
        server->next_event()->request->accept(far_pair, options);
        pump();
        while (client->next_event() || server->next_event()) {
        }
        ASSERT_EQ(near_pair->state(), QueuePairState::connected);
        ASSERT_EQ(far_pair->state(), QueuePairState::connected);
    }
    void pump() {
        for (bool moved = true; moved;) {
            moved = carry(*near->streams.back(), *far->streams.back());
            moved = carry(*far->streams.back(), *near->streams.back()) || moved;
        }
    }
    static bool carry(verbs::Stream& from, verbs::Stream& to) {
        bool moved = false;
        for (auto output = from.output(0); !output.pieces.empty(); output = from.output(0)) {
            const base::Bytes piece = output.pieces.front();
            to.receive(piece, 0);
            from.sent(piece.size(), 0);
            moved = true;
        }
        return moved;
    }

    Pipe* near;
    Pipe* far;
    std::shared_ptr<Device> client, server;
    std::shared_ptr<Listener> listener;
    std::shared_ptr<ProtectionDomain> client_domain, server_domain;
    std::shared_ptr<CompletionQueue> client_queue, server_queue;
    std::shared_ptr<QueuePair> near_pair, far_pair;
};

TEST(Limits, AnIdleConnectionIsSmall) {
    constexpr std::size_t most_octets = 8 * 1024;
    constexpr std::size_t connections = 100;
    Pumped pumped;
    pumped.connect();
    std::vector<std::shared_ptr<QueuePair>> kept;
    kept.reserve(2 * connections);
    const std::size_t before = held_octets;
    for (std::size_t i = 0; i < connections; ++i) {
        kept.push_back(pumped.near_pair);
        kept.push_back(pumped.far_pair);
        pumped.connect();
    }
    // Both ends are here.
    EXPECT_LE((held_octets - before) / connections / 2, most_octets);
}

TEST(Limits, AConnectionThatHasWorkedGivesItsBatchBack) {
    Pumped pumped;
    pumped.connect();
    Memory data = pattern(200000);
    Memory far = zeros(data.size());
    const auto source = pumped.client_domain->register_memory(data, everything());
    const auto sink = pumped.server_domain->register_memory(far, everything());
    const std::vector<Sge> pieces{piece(*source)};
    verbs::Stream& stream = *pumped.near->streams.back();
    std::size_t before = 0;
    // The first time also fills what the devices keep for all of their connections.
    for (int round = 0; round < 2; ++round) {
        before = held_octets;
        pumped.near_pair->post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
        pumped.pump();
        EXPECT_GT(held_octets, before + 4096);
        for (std::int64_t second = 1; second < 5 && stream.deadline_ns(); ++second) stream.tick(second * second_ns);
        EXPECT_FALSE(stream.deadline_ns()) << "idle, it wants no more ticks";
    }
    EXPECT_LE(held_octets, before + 1024);
}

TEST(Limits, NothingIsAllocatedForAMessage) {
    Pumped pumped;
    pumped.connect();
    Memory data = pattern(200000);
    Memory far = zeros(data.size());
    alignas(8) std::uint64_t counter = 0;
    const auto source = pumped.client_domain->register_memory(data, everything());
    const auto sink = pumped.server_domain->register_memory(far, everything());
    const auto target =
        pumped.server_domain->register_memory(std::as_writable_bytes(std::span{&counter, 1}), everything());
    const std::vector<Sge> pieces{piece(*source, 0, 100000), piece(*source, 100000)};
    const std::vector<Sge> small{piece(*source, 0, 64)};
    const std::vector<Sge> eight{piece(*source, 0, 8)};
    const std::vector<Sge> receive{piece(*sink, 0, 150000)};
    std::vector<Completion> completions(100);
    const auto round = [&] {
        QueuePair& pair = *pumped.near_pair;
        pumped.far_pair->post_receive({1, receive});
        pumped.far_pair->post_receive({2, receive});
        pair.post_send(write_of(1, pieces, sink->stag(), sink->first_offset()));
        SendRequest inlined = send_of(2, small);
        inlined.inline_data = true;
        pair.post_send(inlined);
        pair.post_send(send_of(3, {pieces.begin(), pieces.begin() + 1}));
        pair.post_send(read_of(4, small, sink->stag(), sink->first_offset()));
        SendRequest atomic = read_of(5, eight, target->stag(), target->first_offset());
        atomic.operation = Operation::fetch_add;
        atomic.operand = 1;
        pair.post_send(atomic);
        pumped.pump();
        const std::size_t done = pumped.client_queue->poll(completions);
        return done + pumped.server_queue->poll(completions);
    };
    // Every slot of the rings has been used once.
    for (int i = 0; i < 100; ++i) ASSERT_EQ(round(), 7U);
    const std::size_t before = allocations;
    for (int i = 0; i < 100; ++i) ASSERT_EQ(round(), 7U);
    EXPECT_EQ(counter, 200U);
    EXPECT_EQ(allocations - before, 100U) << "but for the one that the test itself makes for its third request";
}

}  // namespace
}  // namespace iwarp::test
