#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dissect/stream/connection.h"

namespace dissect::stream {

/// The TCP connections remembered: a bounded number, found by their two ends. Those of a standing are kept in the order
/// of their last use.
class ConnectionTable {
public:
    explicit ConnectionTable(std::size_t limit);

    struct Lookup {
        Connection* connection = nullptr;
        unsigned side = 0;  ///< which of the ends is the source
        bool fresh = false;
    };
    /// The connection used last, where it is between these: frames of one connection come in trains.
    Lookup find_newest(const Ipv4Ends& ends) {
        if (last_ == none) return {};
        Connection& newest = at(last_);
        if (ends.same(newest.ipv4_ends)) return {&newest, 0, false};
        if (ends.opposite(newest.ipv4_ends)) return {&newest, 1, false};
        return {};
    }
    /// The connection between two ends, now the most recently used; nullptr where there is none.
    Lookup find(const Endpoint& source, const Endpoint& destination);
    /// Adds one; the table must not be full.
    Lookup add(const Endpoint& source, const Endpoint& destination, const Ipv4Ends& ends = {});
    bool full() const { return used_ == limit_; }
    /// The one that was found or added last; nullptr where it is gone.
    const Connection* newest() { return maybe(last_); }
    /// The connection unused for longest; nullptr where the table is empty.
    Connection* idlest();
    /// The same among those of a standing, and the one that was used after another of the same standing.
    Connection* idlest(Standing standing) { return maybe(order(standing).oldest); }
    Connection* newer(const Connection& connection) { return maybe(connection.newer); }
    std::size_t size(Standing standing) const { return orders_[static_cast<std::size_t>(standing)].size; }
    /// Gives a connection another standing, as the one of these used last.
    void rank(Connection& connection, Standing standing);
    void remove(Connection& connection);

private:
    static constexpr std::uint32_t none = 0xffffffff;
    static constexpr std::size_t chunk = 256;
    struct Slot {
        std::uint32_t hash = 0;
        std::uint32_t index = none;
    };

    struct Order {
        std::uint32_t newest = none;
        std::uint32_t oldest = none;
        std::size_t size = 0;
    };

    static Lookup match(Connection& c, const Endpoint& source, const Endpoint& destination) {
        if (c.ends[0] == source && c.ends[1] == destination) return {&c, 0, false};
        if (c.ends[1] == source && c.ends[0] == destination) return {&c, 1, false};
        return {};
    }
    static std::uint32_t hash_of(const Endpoint& a, const Endpoint& b);
    Connection& at(std::uint32_t index) { return chunks_[index / chunk][index % chunk]; }
    Connection* maybe(std::uint32_t index) { return index == none ? nullptr : &at(index); }
    Order& order(Standing standing) { return orders_[static_cast<std::size_t>(standing)]; }
    void link_newest(Connection& connection);
    void unlink(const Connection& connection);

    std::vector<Slot> slots_;
    std::vector<std::unique_ptr<Connection[]>> chunks_;
    std::vector<std::uint32_t> free_;
    std::size_t limit_;
    std::size_t used_ = 0;
    std::uint32_t made_ = 0;
    std::uint64_t uses_ = 0;
    std::uint32_t last_ = none;  ///< the connection used last
    std::array<Order, standings> orders_;
};

}  // namespace dissect::stream
