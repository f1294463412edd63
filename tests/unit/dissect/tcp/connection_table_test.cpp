#include "dissect/tcp/connection_table.h"

#include <bit>
#include <gtest/gtest.h>
#include <list>
#include <map>
#include <random>
#include <utility>

/// Connections are found by a hash of their ends, or by a hint if they were found before. The model
/// knows them by their ends alone, in a list by their last use.
namespace {

using dissect::Ipv4Ends;
using dissect::tcp::Connection;
using dissect::tcp::ConnectionTable;
using dissect::tcp::Endpoint;

struct Ends {
    Endpoint source;
    Endpoint destination;
    Ipv4Ends ipv4;
};

/// Those of the number; addresses and ports of several have the same sums, and every ninth is no IPv4.
Ends ends_of(std::uint32_t number) {
    const std::uint32_t host = number % 64;
    const auto port = static_cast<std::uint16_t>(1024 + number / 64);
    Ends ends{{0, host, port}, {0, 1000 - host, 4420}, {}};
    if (number % 9 == 0) return ends;
    ends.ipv4.addresses = std::uint64_t{1000 - host} << 32 | host;
    ends.ipv4.ports = std::uint32_t{port} << 16 | 4420;
    ends.ipv4.known = true;
    return ends;
}

Ends turned(const Ends& ends) {
    Ends out{ends.destination, ends.source, ends.ipv4};
    out.ipv4.addresses = std::rotl(ends.ipv4.addresses, 32);
    out.ipv4.ports = std::rotl(ends.ipv4.ports, 16);
    return out;
}

class Model {
public:
    explicit Model(std::size_t limit) : table_(limit), limit_(limit) {}

    void use(std::uint32_t number, bool backwards) {
        const Ends ends = backwards ? turned(ends_of(number)) : ends_of(number);
        ConnectionTable::Lookup found = table_.find(ends.ipv4);
        hinted += found.connection != nullptr ? 1 : 0;
        if (found.connection == nullptr) {
            found = table_.find(ends.source, ends.destination);
            if (found.connection != nullptr) table_.hint(ends.ipv4);
        }
        const auto known = known_.find(number);
        ASSERT_EQ(found.connection != nullptr, known != known_.end()) << number;
        if (found.connection != nullptr) {
            EXPECT_EQ(found.connection->ends[found.side], ends.source);
            EXPECT_EQ(found.connection->ends[1 - found.side], ends.destination);
            by_use_.splice(by_use_.end(), by_use_, known->second);
        } else {
            if (table_.full()) forget_idlest();
            found = table_.add(ends.source, ends.destination, ends.ipv4);
            known_.emplace(number, by_use_.insert(by_use_.end(), number));
        }
        EXPECT_EQ(table_.newest(), found.connection);
    }

    void forget_idlest() {
        ASSERT_EQ(known_.empty(), table_.idlest() == nullptr);
        if (known_.empty()) return;
        Connection& idlest = *table_.idlest();
        const Ends ends = ends_of(by_use_.front());
        EXPECT_TRUE(idlest.ends[0] == ends.source || idlest.ends[1] == ends.source);
        table_.remove(idlest);
        known_.erase(by_use_.front());
        by_use_.pop_front();
        EXPECT_EQ(table_.full(), known_.size() == limit_);
    }

    std::size_t hinted = 0;

private:
    ConnectionTable table_;
    std::size_t limit_;
    std::list<std::uint32_t> by_use_;  ///< the idlest first
    std::map<std::uint32_t, std::list<std::uint32_t>::iterator> known_;
};

TEST(ConnectionTable, finds_what_was_added_and_nothing_that_went) {
    for (const auto& [limit, numbers] : {std::pair{3u, 5u}, {50u, 300u}, {3000u, 2500u}, {6000u, 9000u}}) {
        Model model(limit);
        std::mt19937 random(limit);
        for (unsigned step = 0; step < 60'000 && !testing::Test::HasFatalFailure(); ++step) {
            const auto number = static_cast<std::uint32_t>(random() % numbers);
            for (auto train = random() % 3; train <= 3; ++train) model.use(number, random() % 2 == 0);
            if (random() % 100 == 0) model.forget_idlest();
        }
    }
}

TEST(ConnectionTable, many_are_found_by_a_hint) {
    constexpr std::uint32_t connections = 20'000;
    constexpr unsigned rounds = 4;
    Model model(connections);
    for (unsigned round = 0; round < rounds + 2; ++round) {
        if (round == 2) model.hinted = 0;  // before, they are met, and met again once the places have grown
        for (std::uint32_t number = 1; number <= connections; ++number) model.use(number, round % 2 == 1);
    }
    const std::size_t ipv4 = connections - connections / 9;
    // 17,778 of 2^17 places are taken: one in eight (1 - exp(-17778 / 131072)) shares its own with another.
    EXPECT_GT(model.hinted, rounds * ipv4 * 8 / 10);
    EXPECT_LE(model.hinted, rounds * ipv4);
}

}  // namespace
