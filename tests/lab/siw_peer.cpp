// siw_peer client ADDRESS PORT [largest]     against `rdmascope endpoint serve`
// siw_peer server ADDRESS PORT [connections] for `rdmascope endpoint bench`
//
// The other side of the interoperation tests: a program on the kernel's verbs (libibverbs, librdmacm), written from the
// description of the private data in rdmascope-endpoint(1) alone. Prints one line a step; exit status 1 where octets or
// completions are not what they must be.
#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <memory>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <string>
#include <vector>

namespace {

constexpr std::uint32_t magic = 0x52445343;
enum Kind : std::uint8_t { hello = 1, offer = 2, refusal = 3 };
enum Service : std::uint8_t { memory = 0, sink = 1, echo = 2 };

[[noreturn]] void fail(const std::string& what) {
    std::printf("FAILED %s%s%s\n", what.c_str(), errno != 0 ? ": " : "", errno != 0 ? std::strerror(errno) : "");
    std::exit(1);
}
void check(bool right, const std::string& what) {
    if (!right) fail(what);
}

void store(std::uint8_t* out, std::uint64_t value, int octets) {
    for (int i = octets; i-- > 0; value >>= 8) out[i] = static_cast<std::uint8_t>(value);
}
std::uint64_t load(const std::uint8_t* in, int octets) {
    std::uint64_t value = 0;
    for (int i = 0; i < octets; ++i) value = value << 8 | in[i];
    return value;
}
/// What readable memory holds, and message n from octet n on.
std::uint8_t pattern(std::uint64_t at) { return static_cast<std::uint8_t>((31 * (at % 251) + 7) % 251); }

struct Region {
    std::uint32_t stag = 0;
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
};
Region load_region(const std::uint8_t* in) {
    return {static_cast<std::uint32_t>(load(in, 4)), load(in + 4, 8), load(in + 12, 8)};
}
void store_region(std::uint8_t* out, const Region& region) {
    store(out, region.stag, 4);
    store(out + 4, region.offset, 8);
    store(out + 12, region.length, 8);
}

/// One queue pair with its memory.
class Link {
public:
    Link(rdma_cm_id* id, std::size_t octets, std::uint32_t receives) : id_(id), memory_(octets) {
        domain_ = ibv_alloc_pd(id->verbs);
        completions_ = ibv_create_cq(id->verbs, 1024, nullptr, nullptr, 0);
        check(domain_ != nullptr && completions_ != nullptr, "allocating");
        region_ = ibv_reg_mr(domain_, memory_.data(), memory_.size(),
                             IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
        check(region_ != nullptr, "registering memory");
        ibv_qp_init_attr attributes{};
        attributes.send_cq = attributes.recv_cq = completions_;
        attributes.qp_type = IBV_QPT_RC;
        attributes.sq_sig_all = 1;
        attributes.cap = {256, receives, 1, 1, 0};
        check(rdma_create_qp(id, domain_, &attributes) == 0, "creating a queue pair");
    }
    ~Link() {
        rdma_destroy_qp(id_);
        ibv_dereg_mr(region_);
        ibv_destroy_cq(completions_);
        ibv_dealloc_pd(domain_);
    }
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;
    std::uint8_t* data() { return memory_.data(); }
    std::uint32_t key() const { return region_->rkey; }
    rdma_cm_id* id() { return id_; }

    void post(ibv_wr_opcode operation, std::size_t at, std::size_t length, const Region& remote,
              std::uint64_t remote_at) {
        ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.data() + at), static_cast<std::uint32_t>(length),
                      region_->lkey};
        ibv_send_wr request{};
        ibv_send_wr* bad = nullptr;
        request.wr_id = at;
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = operation;
        request.send_flags = IBV_SEND_SIGNALED;
        request.wr.rdma = {remote.offset + remote_at, remote.stag};
        check(ibv_post_send(id_->qp, &request, &bad) == 0, "posting");
    }
    void post_receive(std::size_t at, std::size_t length) {
        ibv_sge piece{reinterpret_cast<std::uintptr_t>(memory_.data() + at), static_cast<std::uint32_t>(length),
                      region_->lkey};
        ibv_recv_wr request{};
        ibv_recv_wr* bad = nullptr;
        request.wr_id = at;
        request.sg_list = &piece;
        request.num_sge = 1;
        check(ibv_post_recv(id_->qp, &request, &bad) == 0, "posting a receive");
    }
    bool poll(ibv_wc& done) { return ibv_poll_cq(completions_, 1, &done) == 1; }
    ibv_wc wait() {
        ibv_wc done{};
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!poll(done)) check(std::chrono::steady_clock::now() < end, "no completion for a minute");
        check(done.status == IBV_WC_SUCCESS, std::string("completion: ") + ibv_wc_status_str(done.status));
        return done;
    }
    void perform(ibv_wr_opcode operation, std::size_t at, std::size_t length, const Region& remote,
                 std::uint64_t remote_at) {
        post(operation, at, length, remote, remote_at);
        wait();
    }

private:
    rdma_cm_id* id_;
    std::vector<std::uint8_t> memory_;
    ibv_pd* domain_ = nullptr;
    ibv_cq* completions_ = nullptr;
    ibv_mr* region_ = nullptr;
};

rdma_cm_event* await(rdma_event_channel* channel, rdma_cm_event_type wanted) {
    rdma_cm_event* event = nullptr;
    check(rdma_get_cm_event(channel, &event) == 0, "waiting for an event");
    if (event->event != wanted) {
        errno = 0;
        fail(std::string("event ") + rdma_event_str(event->event) + ", status " + std::to_string(event->status) +
             " instead of " + rdma_event_str(wanted));
    }
    return event;
}
void expect(rdma_event_channel* channel, rdma_cm_event_type wanted) { rdma_ack_cm_event(await(channel, wanted)); }

struct Peer {
    rdma_event_channel* channel = nullptr;
    std::unique_ptr<Link> link;
    std::uint32_t credits = 0;
    std::uint32_t message_octets = 0;
    Region readable, writable;
};

Peer connect(const char* address, const char* port, Service service, std::size_t octets, std::uint32_t message_octets,
             std::uint32_t depth) {
    Peer peer;
    peer.channel = rdma_create_event_channel();
    rdma_cm_id* id = nullptr;
    check(peer.channel != nullptr && rdma_create_id(peer.channel, &id, nullptr, RDMA_PS_TCP) == 0,
          "creating an identifier");
    addrinfo* found = nullptr;
    check(getaddrinfo(address, port, nullptr, &found) == 0, "no such address");
    check(rdma_resolve_addr(id, nullptr, found->ai_addr, 2000) == 0, "resolving the address");
    expect(peer.channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    check(rdma_resolve_route(id, 2000) == 0, "resolving the route");
    expect(peer.channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    peer.link = std::make_unique<Link>(id, octets, 64);
    if (service == echo)
        for (std::uint32_t i = 0; i < depth; ++i)
            peer.link->post_receive(octets / 2 + i * message_octets, message_octets);
    std::uint8_t wish[32] = {};
    store(wish, magic, 4);
    wish[4] = 1;
    wish[5] = hello;
    wish[6] = service;
    store(wish + 8, message_octets, 4);
    store(wish + 12, depth, 4);
    store(wish + 16, service == memory ? octets / 2 : 0, 8);
    rdma_conn_param how{};
    how.private_data = wish;
    how.private_data_len = sizeof wish;
    how.responder_resources = how.initiator_depth = 16;
    check(rdma_connect(id, &how) == 0, "connecting");
    rdma_cm_event* made = await(peer.channel, RDMA_CM_EVENT_ESTABLISHED);
    const auto* data = static_cast<const std::uint8_t*>(made->param.conn.private_data);
    check(made->param.conn.private_data_len >= 64 && load(data, 4) == magic && data[5] == offer,
          "no offer in the Reply");
    peer.credits = static_cast<std::uint32_t>(load(data + 8, 4));
    peer.message_octets = static_cast<std::uint32_t>(load(data + 12, 4));
    peer.readable = load_region(data + 16);
    peer.writable = load_region(data + 36);
    rdma_ack_cm_event(made);
    return peer;
}

void disconnect(Peer& peer) {
    rdma_disconnect(peer.link->id());
    expect(peer.channel, RDMA_CM_EVENT_DISCONNECTED);
}

void client(const char* address, const char* port, std::size_t largest) {
    const std::size_t sizes[] = {1,    2,    3,    4,    7,     64,    511,      512,      1023,
                                 1441, 1442, 1443, 4096, 65535, 65536, 1u << 20, 16u << 20};
    Peer peer = connect(address, port, memory, 2 * largest, 0, 0);
    std::printf("offer: readable %llu octets, writable %llu octets\n",
                static_cast<unsigned long long>(peer.readable.length),
                static_cast<unsigned long long>(peer.writable.length));
    Link& link = *peer.link;
    for (const std::size_t size : sizes) {
        if (size > largest) break;
        if (size <= peer.readable.length) {
            std::memset(link.data(), 0xee, size);
            link.perform(IBV_WR_RDMA_READ, 0, size, peer.readable, 0);
            for (std::size_t i = 0; i < size; ++i)
                check(link.data()[i] == pattern(i), "READ: octet " + std::to_string(i));
        }
        check(size <= peer.writable.length, "the writable region is too small");
        for (std::size_t i = 0; i < size; ++i) link.data()[i] = static_cast<std::uint8_t>(i * 7 + size);
        link.perform(IBV_WR_RDMA_WRITE, 0, size, peer.writable, 0);
        link.perform(IBV_WR_RDMA_READ, largest, size, peer.writable, 0);
        check(std::memcmp(link.data(), link.data() + largest, size) == 0,
              "what was written differs from what is read back");
        std::printf("ok size %zu\n", size);
    }
    disconnect(peer);
    const std::uint32_t message_octets = 8192;
    Peer talk = connect(address, port, echo, 2u << 20, message_octets, 8);
    for (std::uint32_t n = 0; n < 200; ++n) {
        const std::uint32_t length = n * 41 % message_octets + 1;
        for (std::uint32_t i = 0; i < length; ++i) talk.link->data()[i] = static_cast<std::uint8_t>(n + i * 3);
        talk.link->post(IBV_WR_SEND, 0, length, {}, 0);
        ibv_wc back{};
        do back = talk.link->wait();
        while (back.opcode != IBV_WC_RECV);
        check(back.byte_len == length, "an echo of another length");
        check(std::memcmp(talk.link->data() + back.wr_id, talk.link->data(), length) == 0, "an echo of other octets");
        talk.link->post_receive(back.wr_id, message_octets);
    }
    std::printf("ok 200 messages echoed\n");
    disconnect(talk);
}

/// A peer that asks what the server has used gets the answer that it does not say; one that is served has no room for a
/// second.
bool refused(rdma_cm_event* asked, bool busy) {
    std::uint8_t wish[32] = {};
    if (asked->param.conn.private_data_len >= sizeof wish)
        std::memcpy(wish, asked->param.conn.private_data, sizeof wish);
    if (!busy && load(wish, 4) == magic && wish[5] == hello && wish[6] <= echo) return false;
    std::uint8_t answer[8 + 11] = {};
    store(answer, magic, 4);
    answer[4] = 1;
    answer[5] = refusal;
    std::memcpy(answer + 8, "not offered", 11);
    check(rdma_reject(asked->id, answer, sizeof answer) == 0, "rejecting");
    rdma_cm_id* id = asked->id;
    rdma_ack_cm_event(asked);
    rdma_destroy_id(id);
    return true;
}

/// Serves one connection after the other.
void server(const char* address, const char* port, int connections) {
    constexpr std::size_t region = 16u << 20;
    rdma_event_channel* channel = rdma_create_event_channel();
    rdma_cm_id* listener = nullptr;
    check(rdma_create_id(channel, &listener, nullptr, RDMA_PS_TCP) == 0, "creating an identifier");
    addrinfo* found = nullptr;
    check(getaddrinfo(address, port, nullptr, &found) == 0, "no such address");
    check(rdma_bind_addr(listener, found->ai_addr) == 0 && rdma_listen(listener, 16) == 0, "listening");
    std::printf("ready\n");
    std::fflush(stdout);
    for (int n = 0; n < connections; ++n) {
        rdma_cm_event* asked = await(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        while (refused(asked, false)) asked = await(channel, RDMA_CM_EVENT_CONNECT_REQUEST);
        std::uint8_t wish[32] = {};
        std::memcpy(wish, asked->param.conn.private_data, sizeof wish);
        const auto service = static_cast<Service>(wish[6]);
        const auto message_octets = static_cast<std::uint32_t>(load(wish + 8, 4));
        const std::uint32_t depth =
            std::max<std::uint32_t>(1, std::min<std::uint32_t>(static_cast<std::uint32_t>(load(wish + 12, 4)), 64));
        const std::uint32_t slots = 2 * depth;  // an echo under way still uses the one it came in
        const std::size_t credit_at = 2 * region + std::size_t{slots} * message_octets;
        Link link(asked->id, credit_at + 64, slots + 1);
        for (std::size_t i = 0; i < region; ++i) link.data()[i] = pattern(i);
        const std::size_t messages = 2 * region;
        if (service != memory)
            for (std::uint32_t i = 0; i < slots; ++i)
                link.post_receive(messages + std::size_t{i} * message_octets, message_octets);
        std::uint8_t answer[64] = {};
        store(answer, magic, 4);
        answer[4] = 1;
        answer[5] = offer;
        store(answer + 8, depth, 4);
        store(answer + 12, message_octets, 4);
        const auto base = reinterpret_cast<std::uintptr_t>(link.data());
        store_region(answer + 16, {link.key(), base, region});
        store_region(answer + 36, {link.key(), base + region, region});
        rdma_conn_param how{};
        how.private_data = answer;
        how.private_data_len = sizeof answer;
        how.responder_resources = how.initiator_depth = 16;
        check(rdma_accept(asked->id, &how) == 0, "accepting");
        rdma_ack_cm_event(asked);
        expect(channel, RDMA_CM_EVENT_ESTABLISHED);
        std::uint64_t received = 0;
        std::uint32_t wrong = 0;
        std::uint32_t since = 0;
        // The event channel is looked at between completions.
        fcntl(channel->fd, F_SETFL, O_NONBLOCK);
        rdma_cm_event* event = nullptr;
        for (;;) {
            if (rdma_get_cm_event(channel, &event) == 0) {
                if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST && refused(event, true)) continue;
                break;
            }
            ibv_wc done{};
            if (!link.poll(done) || done.status != IBV_WC_SUCCESS) continue;
            if (done.opcode != IBV_WC_RECV) {
                if (service == echo) link.post_receive(done.wr_id, message_octets);
                continue;
            }
            const std::uint8_t* message = link.data() + done.wr_id;
            if (service == echo) {
                link.post(IBV_WR_SEND, done.wr_id, done.byte_len, {}, 0);
            } else {
                bool right = true;
                for (std::uint32_t i = 0; i < done.byte_len; ++i) right = right && message[i] == pattern(received + i);
                wrong += right ? 0 : 1;
                link.post_receive(done.wr_id, message_octets);
                if (++since >= (depth + 1) / 2) {
                    std::uint8_t* credit = link.data() + credit_at;
                    store(credit, magic, 4);
                    store(credit + 4, since, 4);
                    store(credit + 8, wrong, 4);
                    store(credit + 12, 0, 4);
                    link.post(IBV_WR_SEND, credit_at, 16, {}, 0);
                    since = 0;
                }
            }
            ++received;
        }
        std::printf("connection %d: service %d, %llu messages, %u wrong, ended by %s\n", n + 1, service,
                    static_cast<unsigned long long>(received), wrong, rdma_event_str(event->event));
        std::fflush(stdout);
        rdma_ack_cm_event(event);
        fcntl(channel->fd, F_SETFL, 0);
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (argc >= 4 && std::string(argv[1]) == "client")
        client(argv[2], argv[3], argc > 4 ? std::strtoull(argv[4], nullptr, 0) : 16u << 20);
    else if (argc >= 4 && std::string(argv[1]) == "server")
        server(argv[2], argv[3], argc > 4 ? std::atoi(argv[4]) : 1);
    else {
        std::fprintf(stderr, "usage: siw_peer client ADDRESS PORT [LARGEST] | server ADDRESS PORT [CONNECTIONS]\n");
        return 2;
    }
    std::printf("done\n");
}
