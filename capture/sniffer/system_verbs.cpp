// The only file that knows libibverbs.
#include "base/file.h"
#include "capture/sniffer/verbs_api.h"

#ifndef RDMASCOPE_HAVE_VERBS

namespace capture::inline sniffer {
std::shared_ptr<VerbsApi> system_verbs() { return nullptr; }
}  // namespace capture::sniffer

#else

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sstream>

namespace capture::inline sniffer {
namespace {

/// What errno says of a call that failed, and never 0.
int failure() { return errno != 0 ? errno : EIO; }

int set_non_blocking(int descriptor) {
    const int flags = ::fcntl(descriptor, F_GETFL);
    return flags < 0 || ::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0 ? failure() : 0;
}

/// A completion queue with the channel that wakes its reader. One of `plain` and `timed` polls.
struct Queue {
    ibv_comp_channel* channel = nullptr;
    ibv_cq* plain = nullptr;
    ibv_cq_ex* timed = nullptr;  ///< the same queue as one with times
    unsigned events = 0;         ///< taken from the channel, not yet acknowledged
};

VerbsStatus status_of(ibv_wc_status status) {
    switch (status) {
        case IBV_WC_SUCCESS: return VerbsStatus::ok;
        case IBV_WC_LOC_LEN_ERR: return VerbsStatus::too_long;
        case IBV_WC_WR_FLUSH_ERR: return VerbsStatus::flushed;
        default: return VerbsStatus::failed;
    }
}

VerbsCompletion completion_of(std::uint64_t id, ibv_wc_status status, std::uint32_t octets) {
    VerbsCompletion completion{.id = id, .status = status_of(status), .octets = octets};
    if (completion.status == VerbsStatus::failed) completion.failure = ::ibv_wc_status_str(status);
    return completion;
}

int poll_plain(const Queue& queue, std::span<VerbsCompletion> completions, std::size_t& count) {
    std::array<ibv_wc, 64> piece = {};
    for (count = 0; count < completions.size();) {
        const std::size_t wanted = std::min(piece.size(), completions.size() - count);
        const int got = ::ibv_poll_cq(queue.plain, static_cast<int>(wanted), piece.data());
        if (got < 0) return count > 0 ? 0 : EIO;
        for (std::size_t i = 0; i < static_cast<std::size_t>(got); ++i)
            completions[count++] = completion_of(piece[i].wr_id, piece[i].status, piece[i].byte_len);
        if (static_cast<std::size_t>(got) < wanted) break;
    }
    return 0;
}

int poll_timed(const Queue& queue, std::span<VerbsCompletion> completions, std::size_t& count) {
    ibv_poll_cq_attr attributes = {};
    count = 0;
    int code = ::ibv_start_poll(queue.timed, &attributes);
    if (code == ENOENT) return 0;  // nothing there, and nothing to end
    if (code != 0) return code;
    while (code == 0) {
        const ibv_wc_status status = queue.timed->status;
        VerbsCompletion& completion = completions[count++];
        // A failed completion has nothing but its id.
        completion = completion_of(queue.timed->wr_id, status,
                                   status == IBV_WC_SUCCESS ? ::ibv_wc_read_byte_len(queue.timed) : 0);
        if (status == IBV_WC_SUCCESS)
            completion.time_ns = static_cast<std::int64_t>(::ibv_wc_read_completion_wallclock_ns(queue.timed));
        if (count == completions.size()) break;
        code = ::ibv_next_poll(queue.timed);
    }
    ::ibv_end_poll(queue.timed);
    return 0;
}

int move_pair(ibv_qp* pair, ibv_qp_state state, std::uint8_t port) {
    ibv_qp_attr attributes = {};
    attributes.qp_state = state;
    attributes.port_num = port;
    return ::ibv_modify_qp(pair, &attributes, IBV_QP_STATE | (state == IBV_QPS_INIT ? IBV_QP_PORT : 0));
}

class SystemVerbs final : public VerbsApi {
public:
    int list_devices(std::vector<std::string>& names) override;
    int open_device(const std::string& name, Object& device) override;
    void close_device(Object device) override { ::ibv_close_device(static_cast<ibv_context*>(device)); }
    unsigned ports(Object device) override;
    int query_port(Object device, std::uint8_t port, VerbsPort& into) override;
    int create_domain(Object device, Object& domain) override;
    void destroy_domain(Object domain) override { ::ibv_dealloc_pd(static_cast<ibv_pd*>(domain)); }
    int register_memory(Object domain, std::span<std::byte> memory, Object& region) override;
    void deregister_memory(Object region) override { ::ibv_dereg_mr(static_cast<ibv_mr*>(region)); }
    int create_queue(Object device, unsigned entries, bool with_times, Object& queue) override;
    void destroy_queue(Object queue) override;
    int create_pair(Object domain, Object queue, std::uint8_t port, unsigned receives, Object& pair) override;
    void destroy_pair(Object pair) override { ::ibv_destroy_qp(static_cast<ibv_qp*>(pair)); }
    int create_sniffer(Object pair, std::uint8_t port, Object& rule) override;
    void destroy_sniffer(Object rule) override { ::ibv_destroy_flow(static_cast<ibv_flow*>(rule)); }
    int post(Object pair, Object region, std::span<const VerbsReceive> receives, std::size_t& posted) override;
    int poll(Object queue, std::span<VerbsCompletion> completions, std::size_t& count) override;
    int descriptor(Object queue) override { return static_cast<Queue*>(queue)->channel->fd; }
    int arm(Object queue) override;
    std::optional<std::uint64_t> out_of_buffer(const std::string& device, std::uint8_t port) override;
};

int SystemVerbs::list_devices(std::vector<std::string>& names) {
    int count = 0;
    errno = 0;
    ibv_device** const list = ::ibv_get_device_list(&count);
    if (list == nullptr) return failure();
    for (int i = 0; i < count; ++i) names.emplace_back(::ibv_get_device_name(list[i]));
    ::ibv_free_device_list(list);
    return 0;
}

int SystemVerbs::open_device(const std::string& name, Object& device) {
    int count = 0;
    errno = 0;
    ibv_device** const list = ::ibv_get_device_list(&count);
    if (list == nullptr) return failure();
    int code = ENODEV;
    for (int i = 0; i < count; ++i) {
        if (name != ::ibv_get_device_name(list[i])) continue;
        errno = 0;
        device = ::ibv_open_device(list[i]);
        code = device == nullptr ? failure() : 0;
    }
    ::ibv_free_device_list(list);
    return code;
}

unsigned SystemVerbs::ports(Object device) {
    ibv_device_attr attributes = {};
    return ::ibv_query_device(static_cast<ibv_context*>(device), &attributes) == 0 ? attributes.phys_port_cnt : 0;
}

int SystemVerbs::query_port(Object device, std::uint8_t port, VerbsPort& into) {
    ibv_port_attr attributes = {};
    if (const int code = ::ibv_query_port(static_cast<ibv_context*>(device), port, &attributes); code != 0) return code;
    into = {attributes.link_layer == IBV_LINK_LAYER_ETHERNET, attributes.state == IBV_PORT_ACTIVE};
    return 0;
}

int SystemVerbs::create_domain(Object device, Object& domain) {
    errno = 0;
    domain = ::ibv_alloc_pd(static_cast<ibv_context*>(device));
    return domain == nullptr ? failure() : 0;
}

int SystemVerbs::register_memory(Object domain, std::span<std::byte> memory, Object& region) {
    const int access = IBV_ACCESS_LOCAL_WRITE;  // a variable: clang minds what the header's macro does to a constant
    errno = 0;
    region = ::ibv_reg_mr(static_cast<ibv_pd*>(domain), memory.data(), memory.size(), access);
    return region == nullptr ? failure() : 0;
}

int SystemVerbs::create_queue(Object device, unsigned entries, bool with_times, Object& queue) {
    auto* const context = static_cast<ibv_context*>(device);
    auto made = std::make_unique<Queue>();
    errno = 0;
    made->channel = ::ibv_create_comp_channel(context);
    if (made->channel == nullptr) return failure();
    int code = set_non_blocking(made->channel->fd);
    if (code == 0 && with_times) {
        ibv_cq_init_attr_ex attributes = {};
        attributes.cqe = entries;
        attributes.channel = made->channel;
        attributes.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
        errno = 0;
        made->timed = ::ibv_create_cq_ex(context, &attributes);
        if (made->timed != nullptr) made->plain = ::ibv_cq_ex_to_cq(made->timed);
    } else if (code == 0) {
        errno = 0;
        made->plain = ::ibv_create_cq(context, static_cast<int>(entries), nullptr, made->channel, 0);
    }
    if (made->plain == nullptr) {
        if (code == 0) code = failure();
        ::ibv_destroy_comp_channel(made->channel);
        return code;
    }
    queue = made.release();
    return 0;
}

void SystemVerbs::destroy_queue(Object queue) {
    const std::unique_ptr<Queue> made(static_cast<Queue*>(queue));
    // It waits for ever for events that were taken and not acknowledged.
    if (made->events > 0) ::ibv_ack_cq_events(made->plain, made->events);
    ::ibv_destroy_cq(made->plain);
    ::ibv_destroy_comp_channel(made->channel);
}

int SystemVerbs::create_pair(Object domain, Object queue, std::uint8_t port, unsigned receives, Object& pair) {
    ibv_qp_init_attr attributes = {};
    attributes.send_cq = attributes.recv_cq = static_cast<Queue*>(queue)->plain;
    attributes.cap.max_recv_wr = receives;
    attributes.cap.max_recv_sge = 2;
    attributes.qp_type = IBV_QPT_RAW_PACKET;
    errno = 0;
    ibv_qp* const made = ::ibv_create_qp(static_cast<ibv_pd*>(domain), &attributes);
    if (made == nullptr) return failure();
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR})
        if (const int code = move_pair(made, state, port); code != 0) {
            ::ibv_destroy_qp(made);
            return code;
        }
    pair = made;
    return 0;
}

int SystemVerbs::create_sniffer(Object pair, std::uint8_t port, Object& rule) {
    ibv_flow_attr attributes = {};
    attributes.type = IBV_FLOW_ATTR_SNIFFER;
    attributes.size = sizeof attributes;
    attributes.port = port;
    errno = 0;
    rule = ::ibv_create_flow(static_cast<ibv_qp*>(pair), &attributes);
    return rule == nullptr ? failure() : 0;
}

int SystemVerbs::post(Object pair, Object region, std::span<const VerbsReceive> receives, std::size_t& posted) {
    constexpr std::size_t most = 64;
    std::array<ibv_recv_wr, most> requests;
    std::array<std::array<ibv_sge, 2>, most> places;
    const std::uint32_t key = static_cast<ibv_mr*>(region)->lkey;
    const auto place = [key](std::span<std::byte> memory) {
        return ibv_sge{reinterpret_cast<std::uintptr_t>(memory.data()), static_cast<std::uint32_t>(memory.size()), key};
    };
    for (posted = 0; posted < receives.size();) {
        const std::size_t count = std::min(most, receives.size() - posted);
        for (std::size_t i = 0; i < count; ++i) {
            const VerbsReceive& receive = receives[posted + i];
            places[i] = {place(receive.head), place(receive.rest)};
            requests[i] = {};
            requests[i].wr_id = receive.id;
            requests[i].next = i + 1 < count ? &requests[i + 1] : nullptr;
            requests[i].sg_list = places[i].data();
            requests[i].num_sge = receive.rest.empty() ? 1 : 2;
        }
        ibv_recv_wr* refused = nullptr;
        if (const int code = ::ibv_post_recv(static_cast<ibv_qp*>(pair), requests.data(), &refused); code != 0) {
            if (refused != nullptr) posted += static_cast<std::size_t>(refused - requests.data());
            return code;
        }
        posted += count;
    }
    return 0;
}

int SystemVerbs::poll(Object queue, std::span<VerbsCompletion> completions, std::size_t& count) {
    const Queue& made = *static_cast<Queue*>(queue);
    return made.timed != nullptr ? poll_timed(made, completions, count) : poll_plain(made, completions, count);
}

int SystemVerbs::arm(Object queue) {
    Queue& made = *static_cast<Queue*>(queue);
    ibv_cq* of = nullptr;
    void* context = nullptr;
    while (::ibv_get_cq_event(made.channel, &of, &context) == 0) ++made.events;
    // Each acknowledgement takes a lock.
    constexpr unsigned enough = 1024;
    if (made.events >= enough) {
        ::ibv_ack_cq_events(made.plain, made.events);
        made.events = 0;
    }
    return ::ibv_req_notify_cq(made.plain, 0);
}

std::optional<std::uint64_t> SystemVerbs::out_of_buffer(const std::string& device, std::uint8_t port) {
    const std::string folder = "/sys/class/infiniband/" + device + "/ports/" + std::to_string(port) + "/hw_counters/";
    for (const char* const name : {"out_of_buffer", "rx_out_of_buffer"}) {
        std::istringstream file(base::first_line(folder + name));
        std::uint64_t count = 0;
        if (file >> count) return count;
    }
    return {};
}

}  // namespace

std::shared_ptr<VerbsApi> system_verbs() { return std::make_shared<SystemVerbs>(); }

}  // namespace capture::sniffer

#endif
