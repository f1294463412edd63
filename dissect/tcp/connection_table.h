#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dissect/ends_hints.h"
#include "dissect/tcp/connection_state.h"

namespace dissect::tcp {

/// The remembered TCP connections: a bounded number, found by their two ends. The connections of a standing are kept in
/// the order of their last use.
class ConnectionTable {
public:
    explicit ConnectionTable(std::size_t limit);

    struct Lookup {
        Connection* connection = nullptr;
        unsigned side = 0;  ///< which of the ends is the source
        bool fresh = false;
    };
    /// The connection between these ends, if it is the one used last or a hint leads to it; nullptr if neither is the
    /// case. Frames of one connection come in trains, so for most frames it is the one used last.
    Lookup find(const Ipv4Ends& ends) {
        if (last_ == none) return {};
        if (const Lookup found = match(at(last_), ends); found.connection != nullptr) return found;
        return find_hinted(ends);
    }
    /// The connection that find() would check, right or not: for prefetching.
    const Connection* guess(const Ipv4Ends& ends) { return maybe(hints_.find(EndsHints::hash_of_both(ends))); }
    void prefetch_hint(const Ipv4Ends& ends) const { hints_.prefetch(EndsHints::hash_of_both(ends)); }
    /// Makes these ends lead to the connection used last.
    void hint(const Ipv4Ends& ends);
    /// The connection between two ends, now the most recently used; nullptr if absent.
    Lookup find(const Endpoint& source, const Endpoint& destination);
    /// Adds one; the table must not be full.
    Lookup add(const Endpoint& source, const Endpoint& destination, const Ipv4Ends& ends = {});
    bool full() const { return used_ == limit_; }
    /// The one that was found or added last; nullptr if it is gone.
    const Connection* newest() { return maybe(last_); }
    /// The connection unused for longest; nullptr if the table is empty.
    Connection* idlest();
    /// The same among those of a standing, and the connection that was used after another of the same standing.
    Connection* idlest(Standing standing) { return maybe(order(standing).oldest); }
    Connection* newer(const Connection& connection) { return maybe(connection.newer); }
    std::size_t size(Standing standing) const { return orders_[static_cast<std::size_t>(standing)].size; }
    /// Changes a connection's standing; the connection becomes the last used one of that standing.
    void rank(Connection& connection, Standing standing);
    void remove(Connection& connection);

private:
    static constexpr std::uint32_t none = EndsHints::none;
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
    static Lookup match(Connection& c, const Ipv4Ends& ends) {
        if (ends.same(c.ipv4_ends)) return {&c, 0, false};
        if (ends.opposite(c.ipv4_ends)) return {&c, 1, false};
        return {};
    }
    Lookup find_hinted(const Ipv4Ends& ends);
    static std::uint32_t hash_of(const Endpoint& a, const Endpoint& b);
    Connection& at(std::uint32_t index) { return chunks_[index / chunk][index % chunk]; }
    Connection* maybe(std::uint32_t index) { return index == none ? nullptr : &at(index); }
    Order& order(Standing standing) { return orders_[static_cast<std::size_t>(standing)]; }
    void link_newest(Connection& connection);
    void unlink(const Connection& connection);

    std::vector<Slot> slots_;  ///< empty until there is a connection: many captures have none
    EndsHints hints_;
    std::vector<std::unique_ptr<Connection[]>> chunks_;
    std::vector<std::uint32_t> free_;
    std::size_t limit_;
    std::size_t used_ = 0;
    std::uint32_t made_ = 0;
    std::uint64_t uses_ = 0;
    std::uint32_t last_ = none;  ///< the connection used last
    std::array<Order, standings> orders_;
};

}  // namespace dissect::tcp
