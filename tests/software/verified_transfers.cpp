// A plain program of libibverbs and librdmacm that looks at every octet:
//
//     verified_transfers serve ADDRESS PORT
//     verified_transfers check ADDRESS PORT ROUNDS SIZE...
//
// For every size and round: a Send, a Write and a Read of a pattern of their own, with guards around what may change,
// and both atomics where both devices have them. It knows nothing of the software stack. Exit status 0 where all was
// right.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::size_t most_octets = std::size_t{16} << 20;
constexpr std::size_t guard_octets = 64;
constexpr unsigned char guard = 0xa5;

struct Region {  // private data of the server's Reply
    std::uint64_t address = 0;
    std::uint64_t word_address = 0;  ///< 0: the server's device has no atomics
    std::uint32_t key = 0;
    std::uint32_t word_key = 0;
};

enum class Task : std::uint32_t { expect_send, verify_write, prepare_read, report_word, end };
struct Order {
    Task task = Task::end;
    std::uint32_t size = 0;
    std::uint64_t seed = 0;
};
struct Answer {
    std::uint64_t well = 0;
    std::uint64_t word = 0;
};

void check(bool well, const std::string& what) {
    if (!well) throw std::runtime_error(what);
}
template <class Pointer>
Pointer made(Pointer pointer, const char* what) {
    if (pointer == nullptr) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    return pointer;
}
void done(int result, const char* what) {
    if (result != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

unsigned char octet(std::uint64_t seed, std::size_t at) {
    std::uint64_t mixed = (seed + at / 8) * 0x9e3779b97f4a7c15U;
    mixed ^= mixed >> 29;
    mixed *= 0xbf58476d1ce4e5b9U;
    return static_cast<unsigned char>(mixed >> (8 * (at % 8)));
}

/// Memory of the greatest size between two guards.
struct Buffer {
    std::vector<unsigned char> all = std::vector<unsigned char>(most_octets + 2 * guard_octets, guard);
    ibv_mr* region = nullptr;

    unsigned char* data() { return all.data() + guard_octets; }
    void fill(std::uint64_t seed, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) data()[i] = octet(seed, i);
        std::fill_n(data() + size, guard_octets, guard);
    }
    void clear(std::size_t size) { std::fill_n(data(), size + guard_octets, guard); }
    bool holds(std::uint64_t seed, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i)
            if (data()[i] != octet(seed, i)) return false;
        const auto untouched = [](unsigned char each) { return each == guard; };
        return std::all_of(all.data(), all.data() + guard_octets, untouched) &&
               std::all_of(data() + size, data() + size + guard_octets, untouched);
    }
};

struct Control {
    Order order = {};
    Answer answer = {};
    std::uint64_t word = 0;    ///< atomics: the server's
    std::uint64_t result = 0;  ///< the client's
};

/// One side of the connection: a queue pair with its memory registered.
class Side {
public:
    explicit Side(rdma_cm_id* connection) : id(connection) {
        const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;
        data.region = made(ibv_reg_mr(id->pd, data.data(), most_octets, access), "ibv_reg_mr");
        ibv_device_attr device{};
        check(ibv_query_device(id->verbs, &device) == 0, "ibv_query_device");
        has_atomics = device.atomic_cap != IBV_ATOMIC_NONE;
        control_region =
            made(ibv_reg_mr(id->pd, &control, sizeof control, access | (has_atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0)),
                 "ibv_reg_mr");
    }
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side() {
        ibv_dereg_mr(data.region);
        ibv_dereg_mr(control_region);
    }

    static ibv_qp_init_attr attributes() {
        ibv_qp_init_attr wanted{};
        wanted.cap = {16, 16, 2, 2, 0};
        wanted.sq_sig_all = 1;
        wanted.qp_type = IBV_QPT_RC;
        return wanted;
    }
    template <class What>
    void expect(What& what, ibv_mr* region, std::size_t size = sizeof(What)) {
        done(rdma_post_recv(id, nullptr, &what, size, region), "rdma_post_recv");
    }
    template <class What>
    void tell(What& what, ibv_mr* region, std::size_t size = sizeof(What)) {
        done(rdma_post_send(id, nullptr, &what, size, region, 0), "rdma_post_send");
        sent("Send");
    }
    void sent(const char* what) { completed(rdma_get_send_comp, what); }
    std::size_t received(const char* what) { return completed(rdma_get_recv_comp, what); }

    rdma_cm_id* id;
    Buffer data;
    Control control;
    ibv_mr* control_region;
    bool has_atomics;

private:
    std::size_t completed(int (*get)(rdma_cm_id*, ibv_wc*), const char* what) {
        ibv_wc completion{};
        check(get(id, &completion) == 1, std::string(what) + ": no completion");
        check(completion.status == IBV_WC_SUCCESS, std::string(what) + ": " + ibv_wc_status_str(completion.status));
        return completion.byte_len;
    }
};

rdma_addrinfo* resolve(const char* address, const char* port, int flags) {
    rdma_addrinfo hints{}, *found = nullptr;
    hints.ai_flags = flags;
    hints.ai_port_space = RDMA_PS_TCP;
    check(rdma_getaddrinfo(address, port, &hints, &found) == 0, "rdma_getaddrinfo");
    return found;
}

/// False: it was the last.
bool run_command(Side& side) {
    Control& control = side.control;
    side.received("an order");
    const Order order = control.order;
    control.answer = {1, control.word};
    if (order.task == Task::end) return false;
    if (order.task == Task::prepare_read) side.data.fill(order.seed, order.size);
    if (order.task == Task::verify_write) control.answer.well = side.data.holds(order.seed, order.size) ? 1 : 0;
    if (order.task == Task::expect_send) {
        side.data.clear(order.size);
        side.expect(*side.data.data(), side.data.region, order.size);
    } else {
        side.expect(control.order, side.control_region);
    }
    side.tell(control.answer, side.control_region);
    if (order.task != Task::expect_send) return true;
    const std::size_t size = side.received("the Send");
    control.answer.well = size == order.size && side.data.holds(order.seed, order.size) ? 1 : 0;
    side.expect(control.order, side.control_region);
    side.tell(control.answer, side.control_region);
    return true;
}

void serve(const char* address, const char* port) {
    rdma_addrinfo* const where = resolve(address, port, RAI_PASSIVE);
    ibv_qp_init_attr wanted = Side::attributes();
    rdma_cm_id *listener = nullptr, *id = nullptr;
    done(rdma_create_ep(&listener, where, nullptr, &wanted), "rdma_create_ep");
    rdma_freeaddrinfo(where);
    done(rdma_listen(listener, 1), "rdma_listen");
    done(rdma_get_request(listener, &id), "rdma_get_request");
    {
        Side side(id);
        const Region region{reinterpret_cast<std::uintptr_t>(side.data.data()),
                            side.has_atomics ? reinterpret_cast<std::uintptr_t>(&side.control.word) : 0,
                            side.data.region->rkey, side.control_region->rkey};
        rdma_conn_param parameters{};
        parameters.private_data = &region;
        parameters.private_data_len = sizeof region;
        parameters.responder_resources = parameters.initiator_depth = 4;
        side.expect(side.control.order, side.control_region);
        done(rdma_accept(id, &parameters), "rdma_accept");
        while (run_command(side)) {
        }
        rdma_disconnect(id);
    }
    rdma_destroy_ep(id);
    rdma_destroy_ep(listener);
}

class Client {
public:
    Client(Side& side, const Region& region) : side_(side), region_(region) {}

    void round(std::uint32_t size, std::uint64_t seed) {
        send(size, seed);
        write(size, seed + 1);
        read(size, seed + 2);
        if (has_atomics()) atomics(seed);
    }
    bool has_atomics() const { return side_.has_atomics && region_.word_address != 0; }
    void end() {
        side_.control.order = {Task::end, 0, 0};
        side_.tell(side_.control.order, side_.control_region);
    }

private:
    Answer order(Task task, std::uint32_t size, std::uint64_t seed) {
        side_.control.order = {task, size, seed};
        side_.expect(side_.control.answer, side_.control_region);
        side_.tell(side_.control.order, side_.control_region);
        side_.received("an answer");
        return side_.control.answer;
    }
    void send(std::uint32_t size, std::uint64_t seed) {
        side_.data.fill(seed, size);
        order(Task::expect_send, size, seed);
        side_.expect(side_.control.answer, side_.control_region);
        side_.tell(*side_.data.data(), side_.data.region, size);
        side_.received("an answer");
        check(side_.control.answer.well == 1, "a Send of " + std::to_string(size) + " octets arrived otherwise");
    }
    void write(std::uint32_t size, std::uint64_t seed) {
        side_.data.fill(seed, size);
        order(Task::prepare_read, size, ~seed);  // something else is there before
        done(rdma_post_write(side_.id, nullptr, side_.data.data(), size, side_.data.region, 0, region_.address,
                             region_.key),
             "rdma_post_write");
        side_.sent("Write");
        check(order(Task::verify_write, size, seed).well == 1,
              "a Write of " + std::to_string(size) + " octets arrived otherwise");
    }
    void read(std::uint32_t size, std::uint64_t seed) {
        order(Task::prepare_read, size, seed);
        side_.data.clear(size);
        done(rdma_post_read(side_.id, nullptr, side_.data.data(), size, side_.data.region, 0, region_.address,
                            region_.key),
             "rdma_post_read");
        side_.sent("Read");
        check(side_.data.holds(seed, size), "a Read of " + std::to_string(size) + " octets brought something else");
    }
    std::uint64_t atomic(ibv_wr_opcode operation, std::uint64_t first, std::uint64_t second) {
        ibv_sge piece{reinterpret_cast<std::uintptr_t>(&side_.control.result), 8, side_.control_region->lkey};
        ibv_send_wr request{}, *bad = nullptr;
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = operation;
        request.wr.atomic.remote_addr = region_.word_address;
        request.wr.atomic.rkey = region_.word_key;
        request.wr.atomic.compare_add = first;
        request.wr.atomic.swap = second;
        check(ibv_post_send(side_.id->qp, &request, &bad) == 0, "ibv_post_send");
        side_.sent("an atomic");
        return side_.control.result;
    }
    void atomics(std::uint64_t seed) {
        check(atomic(IBV_WR_ATOMIC_FETCH_AND_ADD, seed, 0) == word_, "Fetch and Add brought something else");
        word_ += seed;
        check(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, word_ + 1, 0) == word_, "Compare and Swap brought something else");
        check(atomic(IBV_WR_ATOMIC_CMP_AND_SWP, word_, ~word_) == word_, "Compare and Swap brought something else");
        word_ = ~word_;
        check(order(Task::report_word, 0, 0).word == word_, "the atomics left something else");
    }

    Side& side_;
    Region region_;
    std::uint64_t word_ = 0;
};

void check_transfers(const char* address, const char* port, unsigned rounds, const std::vector<std::uint32_t>& sizes) {
    rdma_addrinfo* const where = resolve(address, port, 0);
    ibv_qp_init_attr wanted = Side::attributes();
    rdma_cm_id* id = nullptr;
    done(rdma_create_ep(&id, where, nullptr, &wanted), "rdma_create_ep");
    rdma_freeaddrinfo(where);
    {
        Side side(id);
        rdma_conn_param parameters{};
        parameters.responder_resources = parameters.initiator_depth = 4;
        done(rdma_connect(id, &parameters), "rdma_connect");
        check(id->event->param.conn.private_data_len >= sizeof(Region), "the Reply has no region");
        Region region;
        std::memcpy(&region, id->event->param.conn.private_data, sizeof region);
        Client client(side, region);
        std::uint64_t seed = 1;
        for (const std::uint32_t size : sizes)
            for (unsigned i = 0; i < rounds; ++i) client.round(size, seed += 5);
        client.end();
        if (!client.has_atomics()) std::puts("no atomics: a device of the two has none");
        rdma_disconnect(id);
    }
    rdma_destroy_ep(id);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv, argv + argc);
    try {
        if (argc == 4 && words[1] == "serve") {
            serve(argv[2], argv[3]);
        } else if (argc >= 6 && words[1] == "check") {
            std::vector<std::uint32_t> sizes;
            for (int i = 5; i < argc; ++i) sizes.push_back(static_cast<std::uint32_t>(std::stoul(argv[i])));
            check(std::ranges::all_of(sizes, [](std::uint32_t size) { return size <= most_octets; }),
                  "sizes are at most 16 MiB");
            check_transfers(argv[2], argv[3], static_cast<unsigned>(std::stoul(words[4])), sizes);
        } else {
            std::fprintf(stderr, "verified_transfers serve ADDRESS PORT | check ADDRESS PORT ROUNDS SIZE...\n");
            return 2;
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "verified_transfers: %s\n", error.what());
        return 1;
    }
    std::puts("all as it should be");
    return 0;
}
