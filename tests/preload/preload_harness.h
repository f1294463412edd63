#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <initializer_list>
#include <optional>
#include <rdma/rdma_cma.h>
#include <string>
#include <vector>

/// A program of the verbs that speaks with itself over loopback. It sees the face as every program does: the headers of
/// rdma-core and the functions of a shared object.
namespace preload_test {

constexpr std::chrono::seconds patience{60};  ///< other tests may have the processor

/// Whether `done` came true in time.
bool eventually(const std::function<bool()>& done);

constexpr unsigned all_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND;

struct Wishes {
    ibv_qp_cap capabilities{64, 64, 4, 4, 256};
    int completions = 256;
    bool signal_all = false;
    bool shared_receives = false;
    bool builders = false;      ///< ibv_wr_*
    std::uint64_t fields = 0;   ///< of ibv_create_cq_ex; 0: ibv_create_cq
    bool with_channel = false;  ///< for completion events
    std::uint8_t responder_resources = 16;
    std::uint8_t initiator_depth = 16;
};

/// One end, with a context of its own.
struct Side {
    explicit Side(const Wishes& wishes);
    Side(const Side&) = delete;
    Side& operator=(const Side&) = delete;
    ~Side();

    ibv_sge piece(std::size_t offset, std::size_t length) const;
    ibv_send_wr request(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge* pieces, int count) const;
    /// Its memory as a peer reaches it.
    std::uint64_t offset(std::size_t at) const { return reinterpret_cast<std::uint64_t>(memory.data()) + at; }
    int send(ibv_send_wr request) const;
    int receive(std::uint64_t id, std::size_t at, std::size_t length) const;
    /// The next completion; a failure of the test, and one of zeros, if none comes.
    ibv_wc completion() const;
    ibv_async_event async_event() const;
    ibv_qp_state state() const;
    void destroy_pair();
    void close_device();

    ibv_context* context = nullptr;
    ibv_pd* pd = nullptr;
    ibv_comp_channel* channel = nullptr;
    ibv_cq* cq = nullptr;
    ibv_srq* srq = nullptr;
    ibv_qp* qp = nullptr;
    std::vector<std::uint8_t> memory;
    ibv_mr* mr = nullptr;
};

/// Two sides, connected.
class Connection {
public:
    explicit Connection(const Wishes& active = {}, const Wishes& passive = {});
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;
    ~Connection();
    void disconnect() const { rdma_disconnect(active_id_); }

    Side active;
    Side passive;
    rdma_conn_param established_with{};  ///< with the active side's RDMA_CM_EVENT_ESTABLISHED

private:
    void connect(const Wishes& active_wishes, const Wishes& passive_wishes);
    rdma_cm_event* expect(rdma_cm_event_type type) const;

    rdma_event_channel* events_ = nullptr;
    rdma_cm_id* listener_ = nullptr;
    rdma_cm_id* active_id_ = nullptr;
    rdma_cm_id* passive_id_ = nullptr;
};

}  // namespace preload_test
