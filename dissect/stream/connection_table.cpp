#include "dissect/stream/connection_table.h"

#include <bit>

namespace dissect::stream {

ConnectionTable::ConnectionTable(std::size_t limit)
    : slots_(std::bit_ceil(2 * (limit == 0 ? 1 : limit))), limit_(limit == 0 ? 1 : limit) {
    chunks_.reserve((limit_ + chunk - 1) / chunk);
    free_.reserve(limit_);
}

/// The same for both orders of the ends.
std::uint32_t ConnectionTable::hash_of(const Endpoint& a, const Endpoint& b) {
    const auto mix = [](const Endpoint& end) {
        std::uint64_t h = (end.high ^ std::rotl(end.low, 23) ^ end.port) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
        return h * 0xd6e8feb86659fd93u;
    };
    const std::uint64_t sum = mix(a) + mix(b);
    return static_cast<std::uint32_t>(sum >> 32);
}

ConnectionTable::Lookup ConnectionTable::find(const Endpoint& source, const Endpoint& destination) {
    if (newest_ != none)
        if (const Lookup found = match(at(newest_), source, destination); found.connection != nullptr) return found;
    const std::uint32_t hash = hash_of(source, destination);
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask; slots_[i].index != none; i = (i + 1) & mask) {
        if (slots_[i].hash != hash) continue;
        const Lookup found = match(at(slots_[i].index), source, destination);
        if (found.connection == nullptr) continue;
        unlink(slots_[i].index);
        link_newest(slots_[i].index);
        return found;
    }
    return {};
}

ConnectionTable::Lookup ConnectionTable::add(const Endpoint& source, const Endpoint& destination,
                                             const Ipv4Ends& ends) {
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
    connection.ends = {source, destination};
    connection.ipv4_ends = ends;
    connection.hash = hash_of(source, destination);
    const std::size_t mask = slots_.size() - 1;
    std::size_t i = connection.hash & mask;
    while (slots_[i].index != none) i = (i + 1) & mask;
    slots_[i] = {connection.hash, index};
    link_newest(index);
    ++used_;
    return {&connection, 0, true};
}

Connection* ConnectionTable::idlest() { return oldest_ == none ? nullptr : &at(oldest_); }

void ConnectionTable::remove(Connection& connection) {
    const std::size_t mask = slots_.size() - 1;
    std::size_t hole = connection.hash & mask;
    while (slots_[hole].index == none || &at(slots_[hole].index) != &connection) hole = (hole + 1) & mask;
    const std::uint32_t index = slots_[hole].index;
    unlink(index);
    free_.push_back(index);
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

void ConnectionTable::link_newest(std::uint32_t index) {
    Connection& c = at(index);
    c.newer = none;
    c.older = newest_;
    if (newest_ != none) at(newest_).newer = index;
    newest_ = index;
    if (oldest_ == none) oldest_ = index;
}

void ConnectionTable::unlink(std::uint32_t index) {
    const Connection& c = at(index);
    (c.newer == none ? newest_ : at(c.newer).older) = c.older;
    (c.older == none ? oldest_ : at(c.older).newer) = c.newer;
}

}  // namespace dissect::stream
