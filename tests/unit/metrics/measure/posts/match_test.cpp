/// Which queue pair a flow is the sending of.
#include <gtest/gtest.h>

#include "metrics/measure/posts/flow_match.h"
#include "tests/unit/metrics/measure/posts/records.h"

namespace {

using namespace verbs_test;
using metrics::Address;
using metrics::FlowSnapshot;
using metrics::posts::find_owner;
using metrics::posts::QueuePairTable;

Address ipv4(std::uint8_t last) {
    Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, last};
    return address;
}

Record ready(std::int64_t time_ns, std::uint32_t process, std::uint32_t number, std::uint32_t peer, std::uint8_t host) {
    Record out = change(time_ns, number, to_receive, peer);
    out.process = process;
    out.change.peer_gid = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, host};
    return out;
}

FlowSnapshot roce(std::uint8_t from, std::uint8_t to, std::uint32_t number) {
    FlowSnapshot flow;
    flow.source.address = ipv4(from);
    flow.destination.address = ipv4(to);
    flow.destination.qpn = number;
    return flow;
}

std::uint32_t process_of(QueuePairTable& book, const FlowSnapshot& flow, std::int64_t at_ns = 1'000'000) {
    const auto* const found = book.find(find_owner(book, flow, at_ns));
    return found == nullptr ? 0 : found->process;
}

TEST(FlowMatch, each_end_on_one_machine_owns_what_it_sends) {
    QueuePairTable book;
    book.add(ready(0, 100, 17, 18, 1));
    book.add(ready(0, 200, 18, 17, 1));
    EXPECT_EQ(process_of(book, roce(1, 1, 18)), 100u);
    EXPECT_EQ(process_of(book, roce(1, 1, 17)), 200u);
    EXPECT_EQ(process_of(book, roce(1, 1, 19)), 0u);
}

TEST(FlowMatch, the_peers_address_counts_too) {
    QueuePairTable book;
    book.add(ready(0, 100, 17, 18, 5));
    book.add(ready(0, 200, 19, 18, 6));
    EXPECT_EQ(process_of(book, roce(1, 5, 18)), 100u);
    EXPECT_EQ(process_of(book, roce(1, 6, 18)), 200u);
    EXPECT_EQ(process_of(book, roce(1, 7, 18)), 0u);
}

TEST(FlowMatch, of_two_that_could_be_meant_it_is_none_until_the_source_is_known) {
    QueuePairTable book;
    book.add(ready(0, 100, 17, 18, 5));
    book.add(ready(0, 200, 21, 18, 5));  // of another device, say
    FlowSnapshot flow = roce(1, 5, 18);
    EXPECT_EQ(process_of(book, flow), 0u);
    flow.source.qpn = 21;
    EXPECT_EQ(process_of(book, flow), 200u);
}

TEST(FlowMatch, a_number_used_again_is_that_of_its_time) {
    QueuePairTable book;
    book.add(ready(0, 100, 17, 18, 5));
    Record gone = change(1'000'000'000, 17, destroyed);
    book.add(gone);
    book.add(ready(2'000'000'000, 300, 17, 18, 5));
    EXPECT_EQ(process_of(book, roce(1, 5, 18), 500'000'000), 100u);
    EXPECT_EQ(process_of(book, roce(1, 5, 18), 1'500'000'000), 0u);
    EXPECT_EQ(process_of(book, roce(1, 5, 18), 2'500'000'000), 300u);
    EXPECT_EQ(process_of(book, roce(1, 5, 18), INT64_MIN), 0u);
    EXPECT_EQ(process_of(book, roce(1, 5, 18), INT64_MAX), 300u);
}

TEST(FlowMatch, datagrams_are_their_senders_whoever_gets_them) {
    QueuePairTable book;
    Record made = change(0, 17, to_init);
    made.change.type = 4;
    book.add(made);
    FlowSnapshot flow = roce(1, 5, 99);
    flow.service = metrics::Service::ud;
    flow.source.qpn = 17;
    EXPECT_EQ(process_of(book, flow), 100u);
    flow.service = metrics::Service::rc;
    EXPECT_EQ(process_of(book, flow), 0u);
}

Record connected(std::uint32_t process, std::uint32_t number, std::uint16_t local_port, std::uint16_t peer_port) {
    Record out = record(RecordKind::connection, 10, number, process);
    out.connection = {};
    out.connection.event = 9;
    out.connection.family = 4;
    out.connection.local_port = local_port;
    out.connection.peer_port = peer_port;
    out.connection.local = {192, 0, 2, 1};
    out.connection.peer = {192, 0, 2, 1};
    return out;
}

TEST(FlowMatch, iwarp_by_ports) {
    QueuePairTable book;
    book.add(connected(100, 1, 40'001, 7174));
    book.add(connected(200, 1, 7174, 40'001));
    book.add(connected(300, 1, 0, 7175));  // it does not know its own
    FlowSnapshot flow = roce(1, 1, 0);
    flow.transport = wire::Transport::iwarp;
    flow.destination.qpn.reset();
    const auto owner = [&](std::uint16_t from, std::uint16_t to) {
        flow.source.port = from;
        flow.destination.port = to;
        return process_of(book, flow);
    };
    EXPECT_EQ(owner(40'001, 7174), 100u);
    EXPECT_EQ(owner(7174, 40'001), 200u);
    EXPECT_EQ(owner(40'002, 7175), 300u);
    EXPECT_EQ(owner(40'002, 7174), 0u);
    flow.source.address = ipv4(9);
    EXPECT_EQ(owner(40'001, 7174), 0u);
}

}  // namespace
