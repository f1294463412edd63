// Calls of RPC over RDMA: those that a reader written apart finds in the captures, and messages put together by the
// specifications (RFC 8166, 8167, 8267, 1813, 8881).
#include <algorithm>
#include <gtest/gtest.h>
#include <initializer_list>
#include <map>

#include "base/bytes.h"
#include "tests/unit/upper/found_commands.h"
#include "upper/message_flow.h"
#include "upper/protocols/rpc_protocol.h"
#include "upper/upper_connection.h"
#include "wire/nfs.h"

namespace upper_test {
namespace {

constexpr const char* rxe_capture = "nfs-rdma-rxe.pcap";
constexpr const char* siw_capture = "nfs-rdma-siw.pcap";

TEST(Rpc, every_call_of_the_captures) {
    const Finder rxe = read(load(rxe_capture));
    expect_equal(rxe.answered, expected("nfs-rdma-rxe"));
    EXPECT_EQ(rxe.unbound, 0u);
    EXPECT_EQ(rxe.ends.size(), 1u);
    EXPECT_EQ(rxe.state_sum_ns, rxe.wall_ns);
    const Finder siw = read(load(siw_capture));
    expect_equal(siw.answered, expected("nfs-rdma-siw"));
    EXPECT_EQ(siw.unbound, 0u);
    EXPECT_EQ(siw.ends.size(), 1u);
}

/// tshark: rpcordma.flow_control of the last reply is 64, nfs.target_high_slotid 29: the smaller counts.
/// `tshark -T fields -e rpcordma.flow_control -e rpc.msgtyp`: the client asks for 128, the server grants 64.
TEST(Rpc, what_a_connection_permits) {
    const Finder finder = read(load(rxe_capture));
    EXPECT_EQ(finder.limits, (std::vector<std::uint32_t>{30}));
    EXPECT_EQ(finder.limits_asked, (std::vector<std::uint32_t>{128}));
}

TEST(Rpc, the_same_over_other_transports) {
    const Frames frames = load(rxe_capture);
    expect_equal(read(as_infiniband(frames)).answered, expected("nfs-rdma-rxe"));
    expect_equal(read(as_iwarp(frames)).answered, expected("nfs-rdma-rxe"));
}

/// `tshark -Y 'rpc.xid == 0xdee5d6a6' -e frame.number -e infiniband.bth.destqp`: asked in frame 59 by queue pair 0x13,
/// and after a new connection in frame 66 by 0x14; never answered.
TEST(Rpc, a_call_that_is_asked_again_on_a_new_connection) {
    const Finder finder = read(load("nfs-rdma-rxe-timeout.pcap.gz"));
    EXPECT_EQ(finder.ends.at("replaced"), 1u);
    EXPECT_EQ(finder.ends.at("unanswered"), 1u);
    EXPECT_EQ(finder.state_sum_ns, finder.wall_ns);
}

/// Where RoCEv2 over IPv4 has its parts.
namespace roce2 {
constexpr std::size_t bth_at = 14 + 20 + 8;
constexpr std::size_t payload_at = bth_at + 12;
constexpr std::size_t mad_at = payload_at + 8;  // after the DETH
constexpr std::size_t cm_message_at = mad_at + 24;
}  // namespace roce2

void flip(std::vector<std::byte>& octets, std::size_t at, std::uint8_t bits) { octets[at] ^= std::byte{bits}; }

/// A message of connection management: its communication identifiers and queue pair (InfiniBand, 12.6).
void set_up_another(std::vector<std::byte>& octets, std::uint8_t bits) {
    constexpr std::uint16_t request = 0x10;
    constexpr std::uint16_t reply = 0x13;
    const std::uint16_t attribute = base::load_be16(octets.data() + roce2::mad_at + 16);
    flip(octets, roce2::cm_message_at, bits);
    if (attribute != request) flip(octets, roce2::cm_message_at + 4, bits);
    if (attribute == request) flip(octets, roce2::cm_message_at + 32, bits);
    if (attribute == reply) flip(octets, roce2::cm_message_at + 12, bits);
}

/// A SEND with an RPC: its XID, wherever it stands.
void ask_another(std::vector<std::byte>& octets, std::size_t head_at, std::uint8_t bits) {
    const std::vector<std::byte> xid(octets.begin() + static_cast<std::ptrdiff_t>(head_at),
                                     octets.begin() + static_cast<std::ptrdiff_t>(head_at) + 4);
    for (std::size_t at = head_at; at + 4 <= octets.size(); at += 4)
        if (std::equal(xid.begin(), xid.end(), octets.begin() + static_cast<std::ptrdiff_t>(at)))
            flip(octets, at, bits);
}

/// The same packets on other connections between the same two hosts: other queue pairs, identifiers and XIDs.
Frames on_other_connections(Frames frames, std::uint8_t bits) {
    constexpr std::byte send_only{0x04};
    constexpr std::byte send_only_invalidate{0x17};
    constexpr std::byte datagram{0x64};
    for (NumberedFrame& frame : frames) {
        std::vector<std::byte>& octets = frame.kept.octets;
        if (octets.size() < roce2::payload_at + 16 || base::load_be16(octets.data() + 36) != 4791) continue;
        const std::byte opcode = octets[roce2::bth_at];
        if (opcode == datagram) {
            set_up_another(octets, bits);
            continue;
        }
        flip(octets, roce2::bth_at + 5, bits);
        if (opcode == send_only) ask_another(octets, roce2::payload_at, bits);
        if (opcode == send_only_invalidate) ask_another(octets, roce2::payload_at + 4, bits);
    }
    return frames;
}

/// Each packet of the captures, one after another.
Frames side_by_side(std::initializer_list<const Frames*> captures) {
    Frames all;
    for (std::size_t i = 0; i < (*captures.begin())->size(); ++i)
        for (const Frames* one : captures) all.push_back((*one)[i]);
    return all;
}

struct EndsOfCalls final : upper::Listener {
    struct End {
        std::uint64_t connection = 0;
        std::uint64_t id = 0;
        std::uint64_t request_frame = 0;
        auto operator<=>(const End&) const = default;
    };
    std::map<upper::CommandEnd, std::vector<End>> ends;

    void command(const upper::Connection& connection, const upper::FinishedCommand& finished) override {
        ends[finished.end].push_back({connection.number(), finished.command.id, finished.command.request_first_frame});
    }
};

/// As above, where the client has three connections to the server at a time (`mount -o nconnect=3`). Each asks again on
/// a new connection of its own what its former one left open, so the new ones have several that they may continue.
TEST(Rpc, calls_that_are_asked_again_where_hosts_have_several_connections) {
    const Frames first = load("nfs-rdma-rxe-timeout.pcap.gz");
    const Frames second = on_other_connections(first, 0x40);
    const Frames third = on_other_connections(first, 0x20);
    EndsOfCalls alone;
    read_to(alone, first);
    EndsOfCalls all;
    read_to(all, side_by_side({&first, &second, &third}));
    const auto answered = upper::CommandEnd::answered;
    EXPECT_EQ(all.ends[answered].size(), 3 * alone.ends[answered].size());
    std::vector<EndsOfCalls::End> again = all.ends[upper::CommandEnd::replaced];
    std::ranges::sort(again);
    std::vector<EndsOfCalls::End> open = all.ends[upper::CommandEnd::unanswered];
    std::ranges::sort(open);
    ASSERT_EQ(again.size(), 3u);
    ASSERT_EQ(open.size(), 3u);
    // Connections in the order of their set-up: three, and after the time-out three again.
    for (std::size_t i = 0; i < 3; ++i) {
        constexpr std::array<std::uint64_t, 3> xids{0xdee5d6a6, 0x9ee5d6a6, 0xfee5d6a6};
        EXPECT_EQ(again[i].id, xids[i]);
        EXPECT_EQ(open[i].id, xids[i]);
        EXPECT_EQ(again[i].request_frame, 59u);
        EXPECT_EQ(open[i].request_frame, 66u);
    }
}

/// What a compound is for lies beyond what is captured; all else is there.
std::vector<Found> without_kinds(std::vector<Found> commands) {
    for (Found& one : commands) {
        one.kind.clear();
        one.status.clear();
        one.inline_bytes = 0;
    }
    return commands;
}

TEST(Rpc, headers_alone_are_enough) {
    for (const std::size_t bytes : {128u, 160u, 200u}) {
        const Finder finder = read(snapped(load(rxe_capture), bytes));
        SCOPED_TRACE(bytes);
        std::vector<Found> found = without_kinds(finder.answered);
        std::vector<Found> all = without_kinds(expected("nfs-rdma-rxe"));
        // Of a chunk with three segments the last is cut at 128.
        for (std::vector<Found>* commands : {&found, &all})
            for (Found& one : *commands)
                if (bytes == 128) one.advertised = 0;
        expect_equal(found, all);
        EXPECT_EQ(finder.unbound, 0u);
    }
}

/// Without the chunks, data belong to the only open call.
TEST(Rpc, headers_without_chunks_are_enough_for_one_call_at_a_time) {
    for (const auto& [name, bytes] : {std::pair{rxe_capture, 96u}, std::pair{siw_capture, 128u}}) {
        const Finder finder = read(snapped(load(name), bytes));
        SCOPED_TRACE(name);
        const std::vector<Found> all = without_kinds(expected(std::string(name).substr(0, 12)));
        EXPECT_GT(expect_single_equal(without_kinds(finder.answered), all), 50u);
        EXPECT_LT(finder.unbound, 14u);
    }
}

TEST(Rpc, a_capture_that_begins_in_the_middle) {
    for (const char* name : {rxe_capture, siw_capture}) {
        const Frames frames = load(name);
        const std::vector<Found> all = expected(std::string(name).substr(0, 12));
        for (std::size_t first = 5; first < 200; first += 15) {
            const Frames rest(frames.begin() + static_cast<std::ptrdiff_t>(first), frames.end());
            SCOPED_TRACE(first);
            // A TCP connection's first FPDUs are known for what they are when others have followed.
            const std::size_t from = name == siw_capture ? first + 16 : first;
            std::vector<Found> found;
            for (const Found& one : read(rest).answered)
                if (one.request_first > from) found.push_back(one);
            std::vector<Found> later;
            unsigned missing = 0;
            for (const Found& one : all) {
                if (one.request_first <= from) continue;
                const auto is_it = [&](const Found& other) { return other.id == one.id; };
                if (std::any_of(found.begin(), found.end(), is_it))
                    later.push_back(one);
                else
                    ++missing;
            }
            // A TCP connection is read from the first FPDU on that is found: a capture that begins within a long one
            // may lack what follows.
            EXPECT_LE(missing, name == siw_capture ? 2u : 0u);
            expect_equal(found, later);
        }
    }
}

TEST(Rpc, other_captures_have_none) {
    for (const char* name :
         {"rds-rxe.pcap", "srp-rxe.pcap.gz", "iser-rxe.pcap.gz", "nvme-rdma-rxe.pcap.gz", "rxe-rstream.pcap",
          "rxe-fi-pingpong.pcap", "rxe-send-bw-64.pcap", "smbdirect-rxe.pcap", "siw-rping-p2p.pcap"}) {
        EXPECT_EQ(read(load(name)).protocols.count("rpc"), 0u) << name;
    }
}

// ---- messages put together here ----

/// XDR, RFC 4506.
class Xdr {
public:
    Xdr& u32(std::uint64_t value) {
        for (unsigned i = 4; i-- > 0;) octets.push_back(static_cast<std::byte>(value >> 8 * i & 0xff));
        return *this;
    }
    Xdr& u64(std::uint64_t value) { return u32(value >> 32).u32(value & 0xffffffff); }
    Xdr& text(const std::string& words) {
        u32(words.size());
        for (const char c : words) octets.push_back(static_cast<std::byte>(c));
        while (octets.size() % 4 != 0) octets.push_back(std::byte{0});
        return *this;
    }
    Xdr& words(std::initializer_list<std::uint64_t> values) {
        for (const std::uint64_t value : values) u32(value);
        return *this;
    }
    Xdr& add(const Xdr& other) {
        octets.insert(octets.end(), other.octets.begin(), other.octets.end());
        return *this;
    }
    Xdr& padding(std::size_t bytes) {
        octets.resize(octets.size() + bytes);
        return *this;
    }
    std::vector<std::byte> octets;
};

constexpr std::uint32_t nfs = 100003;
constexpr std::uint32_t granted_key = 0x77;
constexpr std::uint64_t granted_address = 0x10000;

Xdr call(std::uint32_t xid, std::uint32_t program, std::uint32_t version, std::uint32_t procedure) {
    Xdr xdr;
    return xdr.words({xid, 0, 2, program, version, procedure, 0, 0, 0, 0});
}
Xdr reply(std::uint32_t xid) {
    Xdr xdr;
    return xdr.words({xid, 1, 0, 0, 0, 0});
}
/// No lists.
Xdr inline_header(std::uint32_t xid, std::uint32_t type = 0, std::uint32_t credits = 32) {
    Xdr xdr;
    return xdr.words({xid, 1, credits, type, 0, 0, 0});
}
/// A list of one segment: 0 read at that position, 1 write, 2 reply.
Xdr header_with(std::uint32_t xid, unsigned list, std::uint32_t length, std::uint32_t type = 0,
                std::uint32_t position = 0) {
    Xdr xdr;
    xdr.words({xid, 1, 32, type});
    if (list == 0) xdr.words({1, position, granted_key, length}).u64(granted_address);
    xdr.u32(0);
    if (list == 1) xdr.words({1, 1, granted_key, length}).u64(granted_address);
    xdr.u32(0);
    if (list == 2) return xdr.words({1, 1, granted_key, length}).u64(granted_address);
    return xdr.u32(0);
}
Xdr operator+(Xdr left, const Xdr& right) { return left.add(right); }

class RpcExchange {
public:
    RpcExchange() {
        connection_.set_flow(0, asks_);
        connection_.set_flow(1, answers_);
        connection_.recognize(upper::protocols::rpc, upper::Evidence::user, 0, {});
        asks_.position_of(0);
        answers_.position_of(0);
    }
    void send(bool of_initiator, std::int64_t at_us, const Xdr& message) {
        pass(of_initiator, at_us, upper::Operation::send, message.octets, message.octets.size());
    }
    void write(std::int64_t at_us, const Xdr& data, std::uint64_t length) {
        pass(false, at_us, upper::Operation::write, data.octets, length);
    }
    void read(std::int64_t at_us, const Xdr& data) {
        const std::uint64_t psn = next_[1];
        pass(false, at_us, upper::Operation::read, {}, data.octets.size());
        upper::Passing response;
        response.end_ns = (at_us + 5) * 1000;
        response.frame = ++frame_;
        response.operation = upper::Operation::read;
        response.starts = true;
        response.ends = true;
        response.length = static_cast<std::uint32_t>(data.octets.size());
        response.payload = data.octets;
        answers_.read_response(answers_.position_of(static_cast<std::uint32_t>(psn)), response);
    }
    /// Commands in the order of their responses.
    Finder& finish() {
        connection_.end();
        std::stable_sort(finder_.answered.begin(), finder_.answered.end(),
                         [](const Found& one, const Found& two) { return one.response < two.response; });
        return finder_;
    }
    const upper::Connection& connection() const { return connection_; }

private:
    void pass(bool of_initiator, std::int64_t at_us, upper::Operation operation, const std::vector<std::byte>& payload,
              std::uint64_t length) {
        upper::Flow& flow = of_initiator ? asks_ : answers_;
        upper::Passing passing;
        passing.begin = flow.position_of(next_[of_initiator ? 0 : 1]++);
        passing.end = passing.begin + 1;
        passing.begin_ns = at_us * 1000;
        passing.end_ns = at_us * 1000;
        passing.first_frame = ++frame_;
        passing.frame = frame_;
        passing.operation = operation;
        passing.starts = true;
        passing.ends = true;
        passing.length = static_cast<std::uint32_t>(length);
        passing.payload = payload;
        passing.has_target = operation != upper::Operation::send;
        passing.key = granted_key;
        passing.address = granted_address;
        passing.asked = length;
        flow.pass(passing);
    }

    Finder finder_ = {};
    upper::CommandBudget budget_ = {};
    upper::Connection connection_{1, finder_, budget_};
    upper::Flow asks_{wire::Transport::roce2, {}, {}, 24};
    upper::Flow answers_{wire::Transport::roce2, {}, {}, 24};
    std::array<std::uint32_t, 2> next_ = {};
    std::uint64_t frame_ = 0;
};

Xdr handle() { return Xdr{}.text("handle00"); }

TEST(Rpc, nfs3_write_by_a_read_chunk) {
    RpcExchange exchange;
    // The handle, offset, count, stable, and the length of data that are read: 40 octets of RPC before.
    const Xdr arguments = handle() + Xdr{}.u64(8192).words({4096, 2, 4096});
    const auto position = static_cast<std::uint32_t>(40 + arguments.octets.size());
    exchange.send(true, 0, header_with(7, 0, 4096, 0, position) + call(7, nfs, 3, 7) + arguments);
    exchange.read(10, Xdr{}.padding(4096));
    // NFS3ERR_NOSPC, and no attributes before and after.
    exchange.send(false, 100, inline_header(7) + reply(7) + Xdr{}.words({28, 0, 0}));
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    const Found& write = finder.answered[0];
    EXPECT_EQ(write.kind, "write");
    EXPECT_EQ(write.status, "NFS3ERR_NOSPC");
    EXPECT_EQ(write.moved, 4096u);
    EXPECT_EQ(write.inline_bytes, 0u);
    EXPECT_EQ(write.parts_ns, (std::array<std::uint64_t, 5>{0, 10'000, 5'000, 85'000, 0}));
}

TEST(Rpc, nfs3_data_in_the_messages) {
    RpcExchange exchange;
    exchange.send(true, 0, inline_header(1) + call(1, nfs, 3, 7) + handle() + Xdr{}.u64(0).words({3, 0}).text("abc"));
    exchange.send(false, 10, inline_header(1) + reply(1) + Xdr{}.words({0, 0, 0, 3, 2}).u64(99));
    exchange.send(true, 20, inline_header(2) + call(2, nfs, 3, 6) + handle() + Xdr{}.u64(0).u32(512));
    exchange.send(false, 30, inline_header(2) + reply(2) + Xdr{}.words({0, 0, 5, 1}).text("hello"));
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 2u);
    EXPECT_EQ(finder.answered[0].inline_bytes, 3u);
    EXPECT_EQ(finder.answered[0].status, "NFS3_OK");
    EXPECT_EQ(finder.answered[1].kind, "read");
    EXPECT_EQ(finder.answered[1].inline_bytes, 5u);
}

/// RFC 8166, 3.5: a call too long for a SEND is read, a reply is written; the SENDs do not say what they are.
TEST(Rpc, messages_that_are_moved) {
    RpcExchange exchange;
    const Xdr lookup = call(3, nfs, 3, 3) + handle() + Xdr{}.text(std::string(200, 'x'));
    exchange.send(true, 0, header_with(3, 0, static_cast<std::uint32_t>(lookup.octets.size()), 1));
    exchange.read(10, lookup);
    exchange.send(false, 40, inline_header(3) + reply(3) + Xdr{}.words({2, 0}));
    exchange.send(true, 100, header_with(4, 2, 8192) + call(4, nfs, 3, 16) + handle() + Xdr{}.u64(0).u64(0).u32(8192));
    exchange.write(110, reply(4) + Xdr{}.u32(10008), 300);
    exchange.send(false, 120, header_with(4, 2, 300, 1));
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 2u);
    EXPECT_EQ(finder.answered[0].kind, "lookup");
    EXPECT_EQ(finder.answered[0].status, "NFS3ERR_NOENT");
    EXPECT_EQ(finder.answered[0].moved, lookup.octets.size());
    EXPECT_EQ(finder.answered[1].kind, "readdir");
    EXPECT_EQ(finder.answered[1].status, "NFS3ERR_JUKEBOX");
    EXPECT_EQ(finder.answered[1].moved, 300u);
}

/// RFC 8167: the server asks on the same connection, with identifiers of its own.
TEST(Rpc, the_server_asks_back) {
    RpcExchange exchange;
    exchange.send(true, 0, inline_header(5) + call(5, nfs, 3, 1) + handle());
    const Xdr session = Xdr{}.u64(1).u64(2);
    const Xdr state = Xdr{}.words({1, 2, 3, 4});
    exchange.send(false, 5,
                  inline_header(5, 0, 8) + call(5, 0x40000000, 1, 1) +
                      Xdr{}.text("").words({1, 0, 2, 11}).add(session).words({1, 0, 0, 1, 0, 4}).add(state).u32(0) +
                      handle());
    exchange.send(true, 9, inline_header(5, 0, 8) + reply(5) + Xdr{}.u32(0).text("").u32(0));
    exchange.send(false, 20, inline_header(5) + reply(5) + Xdr{}.u32(70));
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 2u);
    const Found& recall = finder.answered[0];
    EXPECT_EQ(recall.kind, "cb_recall");
    EXPECT_EQ(recall.id, "0x00000005");
    EXPECT_EQ(recall.parts_ns[1], 4'000u);
    EXPECT_EQ(recall.status, "NFS4_OK");
    EXPECT_EQ(finder.answered[1].kind, "getattr");
    EXPECT_EQ(finder.answered[1].status, "NFS3ERR_STALE");
    EXPECT_EQ(finder.answered[1].parts_ns[1], 20'000u);
    EXPECT_EQ(finder.limits, (std::vector<std::uint32_t>{32}));  // what the server grants, not the client
    EXPECT_EQ(finder.limits_asked, (std::vector<std::uint32_t>{32}));
}

TEST(Rpc, replies_that_are_errors) {
    RpcExchange exchange;
    for (std::uint32_t xid = 1; xid <= 5; ++xid)
        exchange.send(true, xid, inline_header(xid) + call(xid, nfs, 3, 1) + handle());
    exchange.send(false, 11, inline_header(1) + Xdr{}.words({1, 1, 0, 0, 0, 1}));  // PROG_UNAVAIL
    exchange.send(false, 12, inline_header(2) + Xdr{}.words({2, 1, 1, 1, 5}));     // AUTH_TOOWEAK
    exchange.send(false, 13, inline_header(3) + Xdr{}.words({3, 1, 1, 0, 2, 2}));  // RPC_MISMATCH
    exchange.send(false, 14, Xdr{}.words({4, 1, 32, 4, 2}));                       // ERR_CHUNK
    exchange.send(false, 15, Xdr{}.words({5, 1, 32, 4, 1, 1, 1}));                 // ERR_VERS
    exchange.send(true, 16, Xdr{}.words({6, 1, 32, 3}).padding(12));               // RDMA_DONE
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 5u);
    const std::vector<std::string> statuses{"remote hasn't exported program", "rejected for security reasons",
                                            "RPC_MISMATCH", "ERR_CHUNK", "ERR_VERS"};
    for (std::size_t i = 0; i < statuses.size(); ++i) EXPECT_EQ(finder.answered[i].status, statuses[i]);
}

TEST(Rpc, mount_lock_and_acl) {
    RpcExchange exchange;
    exchange.send(true, 0, inline_header(1) + call(1, 100005, 3, 1) + Xdr{}.text("/export/home"));
    exchange.send(false, 1, inline_header(1) + reply(1) + Xdr{}.u32(13));
    const Xdr lock =
        Xdr{}.text("cook").words({1, 1}).text("client").add(handle()).text("owner").u32(77).u64(100).u64(50);
    exchange.send(true, 2, inline_header(2) + call(2, 100021, 4, 2) + lock + Xdr{}.words({0, 9}));
    exchange.send(false, 3, inline_header(2) + reply(2) + Xdr{}.text("cook").u32(1));
    exchange.send(true, 4, header_with(3, 2, 28932) + call(3, 100227, 3, 1) + handle() + Xdr{}.u32(15));
    exchange.write(5, reply(3) + Xdr{}.words({0, 0}), 184);
    exchange.send(false, 6, header_with(3, 2, 184, 1));
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 3u);
    EXPECT_EQ(finder.answered[0].kind, "mount_mnt");
    EXPECT_EQ(finder.answered[0].status, "ERR_ACCESS");
    EXPECT_EQ(finder.answered[1].kind, "nlm_lock");
    EXPECT_EQ(finder.answered[1].status, "NLM_DENIED");
    EXPECT_EQ(finder.answered[2].kind, "acl_getacl");
    EXPECT_EQ(finder.answered[2].status, "NFS3_OK");
    EXPECT_EQ(finder.answered[2].advertised, 28932u);
    EXPECT_EQ(finder.answered[2].moved, 184u);
    EXPECT_EQ(finder.target_names, (std::vector<std::string>{"/export/home"}));
}

/// An operation that is not known ends what is read of a compound; what was found counts.
TEST(Rpc, an_unknown_operation) {
    RpcExchange exchange;
    const Xdr session = Xdr{}.u64(1).u64(2);
    exchange.send(
        true, 0,
        inline_header(1) + call(1, nfs, 4, 1) +
            Xdr{}.text("tag").words({2, 4, 53}).add(session).words({1, 0, 0, 0, 22}).add(handle()).words({60, 9999}));
    exchange.send(false, 1, inline_header(1) + reply(1) + Xdr{}.u32(10036).text("tag").u32(0));
    const Finder& finder = exchange.finish();
    ASSERT_EQ(finder.answered.size(), 1u);
    EXPECT_EQ(finder.answered[0].kind, "copy");
    EXPECT_EQ(finder.answered[0].status, "NFS4ERR_BADXDR");
}

/// Counts that no message can hold.
TEST(Rpc, counts_that_lie) {
    const upper::Protocol& rpc = upper::protocols::rpc;
    for (const std::uint32_t count : {0xffffffffu, 0x80000000u, 1000u}) {
        const Xdr chunks = Xdr{}.words({1, 1, 32, 0, 0, 1, count, granted_key, 10}).u64(1);
        const Xdr operations = inline_header(1) + call(1, nfs, 4, 1) + Xdr{}.text("").words({2, count, 53});
        const Xdr states = inline_header(1) + call(1, nfs, 4, 1) + Xdr{}.text("").words({2, 1, 55, count, 1, 2});
        const Xdr bitmap = inline_header(1) + call(1, nfs, 4, 1) + Xdr{}.text("").words({2, 1, 9, count, 1});
        const Xdr name = inline_header(1) + call(1, nfs, 3, 3) + Xdr{}.words({count, 1, 2});
        for (const Xdr* message : {&chunks, &operations, &states, &bitmap, &name}) {
            for (std::size_t size = 0; size <= message->octets.size(); ++size) {
                const std::vector<std::byte> head(message->octets.begin(),
                                                  message->octets.begin() + static_cast<std::ptrdiff_t>(size));
                upper::ConnectionFacts facts;
                upper::Said said;
                rpc.parse(head, message->octets.size(), true, facts, said);
                EXPECT_LE(said.grant_count, 1u);
            }
        }
    }
}

}  // namespace
}  // namespace upper_test
