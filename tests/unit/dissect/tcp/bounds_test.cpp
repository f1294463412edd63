#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/dissect/iwarp/stream_builder.h"

/// More connections than memory: which are followed to their end, which are not, and whether that is said.
namespace {

using namespace iwarp_test;
using dissect::Notice;

constexpr std::size_t pool_bytes = 2u << 20;
/// Flows of 768 octets, two a connection, if flows had it all.
constexpr unsigned pool_connections = pool_bytes / 768 / 2;
constexpr std::uint8_t fin_ack = 0x11;
constexpr std::uint8_t rst_ack = 0x14;

dissect::DissectorOptions small_pool() {
    dissect::DissectorOptions options;
    options.max_total_bytes = pool_bytes;
    return options;
}

/// A dissector, and what it has found of each connection, by the client's port.
class Watcher : public dissect::Sink {
public:
    explicit Watcher(const dissect::DissectorOptions& options = small_pool()) : dissector_(options) {}

    /// The wire's frames, which are done with then.
    void see(Wire& wire, std::int64_t time_ns = 0) {
        for (const Octets& octets : wire.frames) {
            wire::Frame frame;
            frame.bytes = octets;
            frame.wire_length = static_cast<std::uint32_t>(octets.size());
            frame.time_ns = time_ns;
            frame.number = ++number_;
            dissector_.dissect(frame, *this);
        }
        wire.frames.clear();
        wire.wire_lengths.clear();
    }
    void finish() { dissector_.finish(*this); }
    void on_unit(const dissect::Unit& unit) override {
        const auto& d = unit.frame_dissection;
        ++units[d.destination_port == 7471 ? d.source_port : d.destination_port];
        truncated += unit.dissection.stop.outcome == dissect::Outcome::truncated;
        streams.push_back(unit.stream);
    }
    void on_notice(const Notice& notice) override { ++notices[notice.kind]; }
    std::uint64_t evicted() const { return dissector_.counters().streams_evicted; }

    std::map<std::uint32_t, std::size_t> units;
    std::map<Notice::Kind, std::size_t> notices;
    std::vector<std::uint32_t> streams;
    std::size_t truncated = 0;

private:
    dissect::Dissector dissector_;
    std::uint64_t number_ = 0;
};

/// A connection with a Send each way, yet to be played.
Wire connection(unsigned index) {
    Wire wire{1000 + 77 * index, 5000 + 99 * index};
    wire.client_port = static_cast<std::uint16_t>(10000 + index);
    wire.client.start(true, false, true);
    wire.server.start(false, false, true);
    wire.client.send(1, 0, true, Octets(40, std::byte{7}));
    wire.server.send(1, 0, true, Octets(50, std::byte{8}));
    return wire;
}
constexpr std::size_t units_each = 4;

/// One more Send of the client.
void go_on(Wire& wire) {
    const auto at = static_cast<std::uint32_t>(wire.client.octets.size());
    wire.client.send(2, 0, true, Octets(30, std::byte{9}));
    wire.segments(true, cut(wire.client, 1448, at));
}

std::uint32_t next(const Wire& wire, bool client) {
    return wire.isn(client) + 1 + static_cast<std::uint32_t>((client ? wire.client : wire.server).octets.size());
}
void fin(Wire& wire, bool client) { wire.raw(client, next(wire, client), fin_ack, {}, next(wire, !client)); }
void close(Wire& wire) {
    fin(wire, true);
    fin(wire, false);
    wire.raw(true, next(wire, true) + 1, 0x10, {}, next(wire, false) + 1);
}
void reset(Wire& wire) { wire.raw(true, next(wire, true), rst_ack, {}, next(wire, false)); }

void expect_units(const Watcher& watcher, unsigned connections, std::size_t each) {
    unsigned lacking = 0;
    for (unsigned i = 0; i < connections; ++i) {
        const auto found = watcher.units.find(10000 + i);
        lacking += found == watcher.units.end() || found->second != each;
    }
    EXPECT_EQ(lacking, 0u);
    EXPECT_EQ(watcher.units.size(), connections);
}

TEST(StreamBounds, connections_that_are_over_cost_nothing) {
    using End = void (*)(Wire&);
    for (const End end : {&close, &reset}) {
        Watcher watcher;
        for (unsigned i = 0; i < 3 * pool_connections; ++i) {
            Wire wire = connection(i);
            wire.play(1448);
            end(wire);
            watcher.see(wire);
        }
        expect_units(watcher, 3 * pool_connections, units_each);
        EXPECT_EQ(watcher.evicted(), 0u);
        EXPECT_TRUE(watcher.notices.empty());
    }
}

/// Of which one direction alone was captured: its FIN is all that can be known.
TEST(StreamBounds, the_same_of_one_direction) {
    Watcher watcher;
    for (unsigned i = 0; i < 6 * pool_connections; ++i) {
        Wire wire = connection(i);
        wire.raw(true, wire.isn(true), 0x02, {}, 0);
        wire.segments(true, cut(wire.client, 1448));
        fin(wire, true);
        watcher.see(wire);
    }
    expect_units(watcher, 6 * pool_connections, 2);
    EXPECT_EQ(watcher.evicted(), 0u);
}

TEST(StreamBounds, of_open_connections_the_idlest_go_and_are_counted) {
    Watcher watcher;
    std::vector<Wire> wires;
    for (unsigned i = 0; i < 3 * pool_connections; ++i) {
        wires.push_back(connection(i));
        wires.back().play(1448);
        watcher.see(wires.back());
    }
    expect_units(watcher, 3 * pool_connections, units_each);
    const std::uint64_t evicted = watcher.evicted();
    EXPECT_GE(evicted, 2 * pool_connections);
    EXPECT_LE(evicted, 2 * pool_connections + pool_connections / 4);
    EXPECT_EQ(watcher.notices[Notice::Kind::stream_evicted], evicted);
    EXPECT_EQ(watcher.notices.size(), 1u);
    for (auto wire = wires.begin() + static_cast<std::ptrdiff_t>(evicted); wire != wires.end(); ++wire) {
        go_on(*wire);
        watcher.see(*wire);
        EXPECT_EQ(watcher.units[wire->client_port], units_each + 1);
    }
    EXPECT_EQ(watcher.evicted(), evicted);
}

/// Ordinary TCP, met midway: it may be RDMA until many of its octets have been looked at.
void plain_segment(Wire& wire, unsigned count = 1) {
    for (unsigned i = 0; i < count; ++i) {
        Octets text(200, std::byte{'x'});
        wire.raw(true, next(wire, true) + 200 * i, 0x18, text, 5001);
    }
}

TEST(StreamBounds, hunts_yield_to_connections) {
    Watcher watcher;
    for (unsigned i = 0; i < 10 * pool_connections; ++i) {
        Wire wire = connection(20000 + i);
        plain_segment(wire);
        watcher.see(wire);
    }
    for (unsigned i = 0; i < pool_connections / 2; ++i) {
        Wire wire = connection(i);
        wire.play(1448);
        watcher.see(wire);
    }
    expect_units(watcher, pool_connections / 2, units_each);
    EXPECT_EQ(watcher.evicted(), 0u);
}

/// An iWARP connection whose beginning was not captured.
Wire midway(unsigned index, unsigned sends) {
    Wire wire{1000, 5000};
    wire.client_port = static_cast<std::uint16_t>(10000 + index);
    for (unsigned i = 0; i < sends; ++i) wire.client.send(7 + i, 0, true, Octets(300, std::byte{7}));
    return wire;
}

/// Where every piece is taken by connections known to carry RDMA, there is still room for a hunt, and for all the time
/// that it needs.
TEST(StreamBounds, hunts_do_not_starve) {
    Watcher watcher;
    for (unsigned i = 0; i < 2 * pool_connections; ++i) {
        Wire wire = connection(i);
        wire.play(1448);
        watcher.see(wire);
    }
    const std::uint64_t evicted = watcher.evicted();
    Wire found = midway(30000, 8);
    const std::vector<Cut> pieces = cut(found.client, 500);
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        found.segment(true, pieces[i]);
        watcher.see(found);
        Wire other = connection(40000 + static_cast<unsigned>(i));
        plain_segment(other);
        watcher.see(other);
    }
    watcher.finish();
    EXPECT_EQ(watcher.units[found.client_port], 8u);
    EXPECT_LE(watcher.evicted(), evicted + 1 + pieces.size());
}

TEST(StreamBounds, an_idle_hunt_ends) {
    constexpr std::int64_t second = 1'000'000'000;
    for (const bool long_ago : {false, true}) {
        Watcher watcher;
        Wire found = midway(1, 8);
        const auto pieces = cut(found.client, found.client.units[1].length);
        found.segment(true, pieces[0]);
        watcher.see(found, second);
        Wire other = connection(2);
        plain_segment(other);
        watcher.see(other, (long_ago ? 400 : 100) * second);
        for (std::size_t i = 1; i < pieces.size(); ++i) found.segment(true, pieces[i]);
        watcher.see(found, 401 * second);
        watcher.finish();
        EXPECT_EQ(watcher.units[found.client_port], long_ago ? 7u : 8u);
    }
}

/// Segments that come when all is over, with the connection still remembered, or long forgotten.
TEST(StreamBounds, what_comes_late) {
    for (const bool forgotten : {false, true}) {
        Watcher watcher;
        Wire wire = connection(1);
        wire.play(1448);
        close(wire);
        watcher.see(wire);
        for (unsigned i = 0; forgotten && i < pool_connections; ++i) {
            Wire other = connection(100 + i);
            other.play(1448);
            close(other);
            watcher.see(other);
        }
        fin(wire, false);
        fin(wire, true);
        wire.raw(true, next(wire, true) + 1, 0x10, {}, next(wire, false) + 1);
        wire.raw(false, next(wire, false) + 1, 0x10, {}, next(wire, true) + 1);
        reset(wire);
        watcher.see(wire);
        EXPECT_EQ(watcher.units[wire.client_port], units_each);
        EXPECT_TRUE(watcher.notices.empty());
        if (!forgotten) {
            wire.segments(true, cut(wire.client, 1448, 20));  // resent, though it has arrived
            watcher.see(wire);
            EXPECT_EQ(watcher.units[wire.client_port], units_each);
            EXPECT_EQ(watcher.notices[Notice::Kind::tcp_retransmission], 1u);
        }
        const std::uint32_t stream = watcher.streams.front();
        Wire again = connection(1);
        Wire fresh{900000, 700000};
        fresh.client_port = again.client_port;
        fresh.client = again.client;
        fresh.server = again.server;
        fresh.play(1448);
        watcher.see(fresh);
        EXPECT_EQ(watcher.units[wire.client_port], 2 * units_each);
        EXPECT_NE(watcher.streams.back(), stream);
        EXPECT_EQ(watcher.evicted(), 0u);
    }
}

/// Octets may follow the FINs where the network, or the capture, has changed the order; or never.
TEST(StreamBounds, gaps_at_the_end) {
    for (const bool filled : {true, false}) {
        Watcher watcher;
        Wire wire = connection(1);
        const auto sends_at = static_cast<std::uint32_t>(wire.client.octets.size());
        for (unsigned i = 0; i < 4; ++i) wire.client.send(2 + i, 0, true, Octets(100, std::byte{7}));
        const auto pieces = cut(wire.client, wire.client.units.back().length, sends_at);
        Wire start = connection(1);
        start.play(1448);
        watcher.see(start);
        for (std::size_t i = 1; i < pieces.size(); ++i) wire.segment(true, pieces[i], 0);
        wire.raw(true, next(wire, true), fin_ack, {}, wire.isn(false) + 1);
        wire.raw(false, next(wire, false), fin_ack, {}, wire.isn(true) + 1);
        watcher.see(wire);
        EXPECT_EQ(watcher.units[wire.client_port], units_each);
        if (filled) {
            wire.segment(true, pieces[0]);
            watcher.see(wire);
            EXPECT_EQ(watcher.units[wire.client_port], units_each + 4);
            continue;
        }
        for (unsigned i = 0; i < pool_connections; ++i) {
            Wire other = connection(100 + i);
            other.play(1448);
            close(other);
            watcher.see(other);
        }
        EXPECT_EQ(watcher.units[wire.client_port], units_each + 3) << "not at the capture's end alone";
        EXPECT_EQ(watcher.notices[Notice::Kind::stream_gap], 1u);
    }
}

/// SYN with FIN, and Requests that nobody asked for: they displace their own kind.
TEST(StreamBounds, floods) {
    for (const bool requests : {false, true}) {
        dissect::DissectorOptions options = small_pool();
        options.max_streams = 2000;
        Watcher watcher{options};
        std::vector<Wire> wires;
        for (unsigned i = 0; i < 200; ++i) {
            wires.push_back(connection(i));
            wires.back().play(1448);
            watcher.see(wires.back());
        }
        for (unsigned i = 0; i < 20000; ++i) {
            Wire wire = connection(1000 + i);
            wire.raw(true, wire.isn(true), requests ? 0x02 : 0x03, {}, 0);
            if (requests) {
                wire.segment(true, {0, 20});
                wire.raw(false, 1, 0x10, {}, 1);
            }
            watcher.see(wire);
        }
        for (Wire& wire : wires) {
            go_on(wire);
            watcher.see(wire);
            EXPECT_EQ(watcher.units[wire.client_port], units_each + 1);
        }
        EXPECT_EQ(watcher.evicted() != 0, requests);
        EXPECT_EQ(watcher.evicted(), watcher.notices[Notice::Kind::stream_evicted]);
    }
}

/// Idle connections with gaps that nobody fills hold all octets there are; who comes then has room all the same.
TEST(StreamBounds, hoarded_octets_come_back) {
    Watcher watcher;
    for (unsigned i = 0; i < 40; ++i) {
        Wire wire = connection(i);
        for (unsigned j = 0; j < 300; ++j) wire.client.send(2 + j, 0, true, Octets(100, std::byte{1}));
        Wire start = connection(i);
        start.play(1448);
        watcher.see(start);
        auto pieces = cut(wire.client, 130, static_cast<std::uint32_t>(start.client.octets.size()) + 100);
        wire.segments(true, pieces);
        watcher.see(wire);
    }
    for (unsigned i = 0; i < 20; ++i) {
        Wire wire = connection(100 + i);
        wire.client.write(7, 0, true, Octets(60000, std::byte{5}));
        wire.play(1448);
        watcher.see(wire);
        EXPECT_EQ(watcher.units[wire.client_port], units_each + 1);
    }
    EXPECT_EQ(watcher.truncated, 0u);
    EXPECT_GT(watcher.evicted(), 0u);
}

}  // namespace
