#pragma once
#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "iwarp/transport/memory_network.h"
#include "iwarp/verbs/device.h"

/// Two devices of one process on a network in memory, and what tests of the verbs do all the time.
namespace iwarp::test {

using transport::Impairment;
using transport::MemoryNetwork;

inline constexpr std::int64_t second_ns = 1'000'000'000;

using Memory = std::vector<std::byte>;

/// A pattern in which a single octet does not show its place, but a run does.
inline Memory pattern(std::size_t size, std::uint64_t seed = 1) {
    Memory memory(size);
    std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
    for (std::byte& octet : memory) {
        state = state * 6364136223846793005 + 1442695040888963407;
        octet = static_cast<std::byte>(state >> 56);
    }
    return memory;
}

inline Memory zeros(std::size_t size) { return Memory(size); }

inline Memory text(std::string_view words) {
    Memory memory(words.size());
    std::memcpy(memory.data(), words.data(), words.size());
    return memory;
}

inline Access everything() {
    return Access::local_write | Access::remote_read | Access::remote_write | Access::remote_atomic | Access::bind;
}

inline Sge piece(const MemoryRegion& region, std::size_t from = 0, std::size_t size = ~std::size_t{0}) {
    return {region.address() + from, static_cast<std::uint32_t>(std::min<std::size_t>(size, region.length() - from)),
            region.stag()};
}

/// A device with a domain and completion queues, and a queue pair of its own once it is connected.
struct Side {
    explicit Side(const std::shared_ptr<MemoryNetwork>& network, const std::string& host,
                  const DeviceOptions& options = {})
        : name(host),
          device(verbs::make_device(options, network->attach(host))),
          domain(device->allocate_protection_domain()),
          send_queue(device->create_completion_queue(4096)),
          receive_queue(device->create_completion_queue(4096)) {}

    std::shared_ptr<QueuePair> make_pair(const QueuePairOptions& options = {},
                                         const std::shared_ptr<SharedReceiveQueue>& receives = nullptr) {
        return device->create_queue_pair(domain, send_queue, receive_queue, options, receives);
    }
    std::shared_ptr<MemoryRegion> share(Memory& memory, Access access = everything()) {
        return domain->register_memory(memory, access);
    }
    std::vector<Completion> sent() { return take(*send_queue); }
    std::vector<Completion> received() { return take(*receive_queue); }
    static std::vector<Completion> take(CompletionQueue& queue) {
        std::vector<Completion> all(queue.size());
        all.resize(queue.poll(all));
        return all;
    }
    std::vector<Event> events() {
        std::vector<Event> all;
        while (auto event = device->next_event()) all.push_back(std::move(*event));
        return all;
    }
    /// The only event there is.
    Event event() {
        auto all = events();
        EXPECT_EQ(all.size(), 1U);
        for (std::size_t i = 0; all.size() != 1 && i < all.size(); ++i)
            ADD_FAILURE() << name << ": " << name_of(all[i].kind) << " " << all[i].text;
        return all.empty() ? Event{} : std::move(all.front());
    }
    Posted receive(std::uint64_t id, const std::vector<Sge>& pieces) { return pair->post_receive({id, pieces}); }
    Posted receive(std::uint64_t id, Sge one) { return receive(id, std::vector<Sge>{one}); }

    std::string name;
    std::shared_ptr<Device> device;
    std::shared_ptr<ProtectionDomain> domain;
    std::shared_ptr<CompletionQueue> send_queue;
    std::shared_ptr<CompletionQueue> receive_queue;
    std::shared_ptr<QueuePair> pair;
};

struct Options {
    Impairment impairment;
    ConnectionOptions client;
    ConnectionOptions server;
    QueuePairOptions client_pair;
    QueuePairOptions server_pair;
    DeviceOptions device;
    std::shared_ptr<SharedReceiveQueue> server_receives;
};

/// `client` initiates, `server` responds.
struct Two {
    static constexpr std::uint16_t port = 4791;

    explicit Two(const Options& wanted = {})
        : options(wanted),
          network(MemoryNetwork::make(wanted.impairment)),
          client(network, "client", wanted.device),
          server(network, "server", wanted.device) {
        client.pair = client.make_pair(options.client_pair);
        server.pair = server.make_pair(options.server_pair);
        listener = server.device->listen("server", port, options.server);
    }
    /// Up to `established` on both sides; whatever is sent before that must be posted by `before`.
    Two& connect() {
        client.pair->connect("server", port, options.client);
        run();
        auto asked = server.event();
        EXPECT_EQ(asked.kind, Event::Kind::connect_request);
        if (!asked.request) return *this;
        asked.request->accept(server.pair, options.server);
        asked.request.reset();
        run();
        const auto answered = client.event();
        EXPECT_EQ(answered.kind, Event::Kind::established) << answered.text;
        auto told = server.events();
        EXPECT_FALSE(told.empty());
        if (!told.empty()) {
            EXPECT_EQ(told.front().kind, Event::Kind::established) << told.front().text;
        }
        // A ready-to-receive message comes at once.
        EXPECT_EQ(told.size(), options.client.peer_to_peer ? 2U : 1U);
        EXPECT_EQ(client.pair->state(), QueuePairState::connected);
        EXPECT_EQ(server.pair->state(), QueuePairState::connected);
        return *this;
    }
    /// Everything that takes no longer than `limit_ns`.
    void run(std::int64_t limit_ns = second_ns / 2) { network->run(limit_ns); }

    Options options;
    std::shared_ptr<MemoryNetwork> network;
    Side client;
    Side server;
    std::shared_ptr<Listener> listener;
};

// Work requests, in the order of what changes.

inline SendRequest send_of(std::uint64_t id, const std::vector<Sge>& pieces) {
    SendRequest request;
    request.id = id;
    request.pieces = pieces;
    return request;
}
inline SendRequest write_of(std::uint64_t id, const std::vector<Sge>& pieces, std::uint32_t stag,
                            std::uint64_t offset) {
    SendRequest request = send_of(id, pieces);
    request.operation = Operation::write;
    request.remote_stag = stag;
    request.remote_offset = offset;
    return request;
}
inline SendRequest read_of(std::uint64_t id, const std::vector<Sge>& pieces, std::uint32_t stag, std::uint64_t offset) {
    SendRequest request = write_of(id, pieces, stag, offset);
    request.operation = Operation::read;
    return request;
}

/// ids of completions, with "~" where they were flushed, "!" where they failed otherwise.
inline std::string ids(const std::vector<Completion>& completions) {
    std::string all;
    for (const Completion& one : completions) {
        if (!all.empty()) all.push_back(' ');
        all.append(std::to_string(one.id));
        if (one.status != Status::success) all.push_back(one.status == Status::flushed ? '~' : '!');
    }
    return all;
}

}  // namespace iwarp::test
