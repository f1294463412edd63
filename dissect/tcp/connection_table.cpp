#include "dissect/tcp/connection_table.h"

#include <bit>

#include "base/hash.h"

namespace dissect::tcp {

ConnectionTable::ConnectionTable(std::size_t limit) : limit_(limit == 0 ? 1 : limit) {
    chunks_.reserve((limit_ + chunk - 1) / chunk);
    free_.reserve(limit_);
}

/// The same for both orders of the ends.
std::uint32_t ConnectionTable::hash_of(const Endpoint& a, const Endpoint& b) {
    const auto hash = [](const Endpoint& end) { return base::spread(end.high ^ std::rotl(end.low, 23) ^ end.port); };
    const std::uint64_t sum = hash(a) + hash(b);
    return static_cast<std::uint32_t>(sum >> 32);
}

ConnectionTable::Lookup ConnectionTable::find(const Endpoint& source, const Endpoint& destination) {
    if (last_ != none)
        if (const Lookup found = match(at(last_), source, destination); found.connection != nullptr) return found;
    if (used_ == 0) return {};
    const std::uint32_t hash = hash_of(source, destination);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask; slots_[i].index != none; i = (i + 1) & mask) {
        if (slots_[i].hash != hash) continue;
        const Lookup found = match(at(slots_[i].index), source, destination);
        if (found.connection == nullptr) continue;
        unlink(*found.connection);
        link_newest(*found.connection);
        last_ = slots_[i].index;
        return found;
    }
    return {};
}

ConnectionTable::Lookup ConnectionTable::find_hinted(const Ipv4Ends& ends) {
    const std::uint32_t index = hints_.find(EndsHints::hash_of_both(ends));
    if (index == none) return {};
    const Lookup found = match(at(index), ends);
    if (found.connection == nullptr) return {};
    unlink(*found.connection);
    link_newest(*found.connection);
    last_ = index;
    return found;
}

void ConnectionTable::hint(const Ipv4Ends& ends) {
    if (ends.known) hints_.note(EndsHints::hash_of_both(ends), last_, used_);
}

ConnectionTable::Lookup ConnectionTable::add(const Endpoint& source, const Endpoint& destination,
                                             const Ipv4Ends& ends) {
    if (slots_.empty()) [[unlikely]]
        slots_.resize(std::bit_ceil(2 * limit_));
    std::uint32_t index = made_;
    if (!free_.empty()) {
        index = free_.back();
        free_.pop_back();
    } else {
        if (made_ % chunk == 0) chunks_.push_back(std::make_unique<Connection[]>(chunk));
        ++made_;
    }
    Connection& connection = at(index);
    connection = {};
    connection.index = index;
    connection.ends = {source, destination};
    connection.ipv4_ends = ends;
    connection.hash = hash_of(source, destination);
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = connection.hash & mask;
    while (slots_[i].index != none) i = (i + 1) & mask;
    slots_[i] = {connection.hash, index};
    link_newest(connection);
    last_ = index;
    hint(ends);
    ++used_;
    return {&connection, 0, true};
}

Connection* ConnectionTable::idlest() {
    Connection* found = nullptr;
    for (const Order& order : orders_)
        if (Connection* c = maybe(order.oldest); c != nullptr && (found == nullptr || c->last_use < found->last_use))
            found = c;
    return found;
}

void ConnectionTable::rank(Connection& connection, Standing standing) {
    unlink(connection);
    connection.standing = standing;
    link_newest(connection);
}

void ConnectionTable::remove(Connection& connection) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = connection.hash & mask;
    while (slots_[hole].index != connection.index) hole = (hole + 1) & mask;
    unlink(connection);
    connection.ipv4_ends = {};  // of no connection: a hint may still lead here
    if (last_ == connection.index) last_ = none;
    free_.push_back(connection.index);
    --used_;
    // Closes the gap in the probe sequence instead of leaving a tombstone.
    for (std::size_t i = (hole + 1) & mask; slots_[i].index != none; i = (i + 1) & mask) {
        const std::size_t home = slots_[i].hash & mask;
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        slots_[hole] = slots_[i];
        hole = i;
    }
    slots_[hole] = {};
}

void ConnectionTable::link_newest(Connection& connection) {
    Order& among = order(connection.standing);
    connection.last_use = ++uses_;
    connection.newer = none;
    connection.older = among.newest;
    if (among.newest != none) at(among.newest).newer = connection.index;
    among.newest = connection.index;
    if (among.oldest == none) among.oldest = connection.index;
    ++among.size;
}

void ConnectionTable::unlink(const Connection& connection) {
    Order& among = order(connection.standing);
    (connection.newer == none ? among.newest : at(connection.newer).older) = connection.older;
    (connection.older == none ? among.oldest : at(connection.older).newer) = connection.newer;
    --among.size;
}

}  // namespace dissect::tcp
