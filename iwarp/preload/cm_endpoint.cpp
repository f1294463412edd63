#include <cstdlib>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/rdma_verbs.h>

#include "fmt/core.h"
#include "iwarp/preload/abi.h"
#include "iwarp/preload/cm_objects.h"

/// rdma_getaddrinfo, and endpoints made of what it says; and what iWARP has no counterpart of.
using namespace iwarp::preload;
using cm::fail;
using cm::to_id;

namespace {

struct Freed {
    void operator()(rdma_addrinfo* list) const { rdma_freeaddrinfo(list); }
};
using Answer = std::unique_ptr<rdma_addrinfo, Freed>;

/// A copy for the program to free.
bool copy(sockaddr*& into, socklen_t& length, const sockaddr* address, socklen_t size) {
    if (address == nullptr || size == 0) return true;
    into = static_cast<sockaddr*>(std::calloc(1, std::max<std::size_t>(size, sizeof(sockaddr_storage))));
    if (into == nullptr) return false;
    std::memcpy(into, address, size);
    length = size;
    return true;
}

bool copy(char*& into, const char* name) {
    if (name == nullptr) return true;
    into = strdup(name);
    return into != nullptr;
}

addrinfo asked(const rdma_addrinfo* hints) {
    addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    if (hints == nullptr) return wanted;
    if ((hints->ai_flags & RAI_PASSIVE) != 0) wanted.ai_flags |= AI_PASSIVE;
    if ((hints->ai_flags & RAI_NUMERICHOST) != 0) wanted.ai_flags |= AI_NUMERICHOST;
    wanted.ai_family = hints->ai_family;
    return wanted;
}

/// False: no memory.
bool fill(rdma_addrinfo& answer, const rdma_addrinfo* hints, const addrinfo& found) {
    const bool passive = hints != nullptr && (hints->ai_flags & RAI_PASSIVE) != 0;
    answer.ai_flags = passive ? RAI_PASSIVE : 0;
    answer.ai_family = found.ai_family;
    answer.ai_qp_type = hints != nullptr && hints->ai_qp_type != 0 ? hints->ai_qp_type : IBV_QPT_RC;
    answer.ai_port_space = hints != nullptr && hints->ai_port_space != 0 ? hints->ai_port_space : RDMA_PS_TCP;
    if (passive)
        return copy(answer.ai_src_addr, answer.ai_src_len, found.ai_addr, found.ai_addrlen) &&
               copy(answer.ai_src_canonname, found.ai_canonname);
    return copy(answer.ai_dst_addr, answer.ai_dst_len, found.ai_addr, found.ai_addrlen) &&
           copy(answer.ai_dst_canonname, found.ai_canonname) &&
           (hints == nullptr || copy(answer.ai_src_addr, answer.ai_src_len, hints->ai_src_addr, hints->ai_src_len));
}

/// Hints may have the address itself, and no name.
Answer from_hints(const rdma_addrinfo& hints) {
    const bool passive = (hints.ai_flags & RAI_PASSIVE) != 0;
    addrinfo found{};
    found.ai_addr = passive ? hints.ai_src_addr : hints.ai_dst_addr;
    found.ai_addrlen = passive ? hints.ai_src_len : hints.ai_dst_len;
    if (found.ai_addr == nullptr) return nullptr;
    found.ai_family = found.ai_addr->sa_family;
    Answer answer(static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo))));
    return answer && fill(*answer, &hints, found) ? std::move(answer) : nullptr;
}

}  // namespace

RDMA_ABI int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                              rdma_addrinfo** result) {
    if (result == nullptr || (node == nullptr && service == nullptr && hints == nullptr)) return fail(EINVAL);
    *result = nullptr;
    if (node == nullptr && service == nullptr) {
        Answer answer = from_hints(*hints);
        if (!answer) return fail(EINVAL);
        *result = answer.release();
        return 0;
    }
    const addrinfo wanted = asked(hints);
    addrinfo* found = nullptr;
    // EAI_*, as librdmacm passes them on.
    if (const int failure = getaddrinfo(node, service, &wanted, &found)) return failure;
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    Answer answer(static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo))));
    if (!answer || !fill(*answer, hints, *found)) return EAI_MEMORY;
    *result = answer.release();
    return 0;
}

RDMA_ABI void rdma_freeaddrinfo(rdma_addrinfo* list) {
    while (list != nullptr) {
        rdma_addrinfo* const one = list;
        list = list->ai_next;
        std::free(one->ai_src_addr);
        std::free(one->ai_dst_addr);
        std::free(one->ai_src_canonname);
        std::free(one->ai_dst_canonname);
        std::free(one->ai_route);
        std::free(one->ai_connect);
        std::free(one);
    }
}

namespace {

/// The active side's: addresses, route, queue pair.
int begin(rdma_cm_id* id, const rdma_addrinfo& from, ibv_pd* pd, ibv_qp_init_attr* attributes) {
    constexpr int timeout_ms = 2000;
    if (rdma_resolve_addr(id, from.ai_src_addr, from.ai_dst_addr, timeout_ms) != 0 ||
        rdma_resolve_route(id, timeout_ms) != 0)
        return -1;
    if (attributes != nullptr) {
        attributes->qp_type = static_cast<ibv_qp_type>(from.ai_qp_type);
        if (rdma_create_qp(id, pd, attributes) != 0) return -1;
    }
    const auto* const data = static_cast<const std::byte*>(from.ai_connect);
    if (data != nullptr) to_id(id).connect_data.assign(data, data + from.ai_connect_len);
    return 0;
}

}  // namespace

RDMA_ABI int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* from, ibv_pd* pd, ibv_qp_init_attr* attributes) {
    if (id == nullptr || from == nullptr) return fail(EINVAL);
    rdma_cm_id* made_id = nullptr;
    if (rdma_create_id(nullptr, &made_id, nullptr, static_cast<rdma_port_space>(from->ai_port_space)) != 0) return -1;
    int done = 0;
    if ((from->ai_flags & RAI_PASSIVE) != 0) {
        done = rdma_bind_addr(made_id, from->ai_src_addr);
        cm::Id& own = to_id(made_id);
        own.passive_pd = pd;
        if (attributes != nullptr) {
            own.passive_attributes = *attributes;
            own.passive_attributes->qp_type = static_cast<ibv_qp_type>(from->ai_qp_type);
        }
    } else {
        done = begin(made_id, *from, pd, attributes);
    }
    if (done == 0) {
        *id = made_id;
        return 0;
    }
    const int failure = errno;
    rdma_destroy_ep(made_id);
    return fail(failure);
}

RDMA_ABI void rdma_destroy_ep(rdma_cm_id* id) {
    if (id == nullptr) return;
    if (id->qp != nullptr) rdma_destroy_qp(id);
    if (id->srq != nullptr) rdma_destroy_srq(id);
    rdma_destroy_id(id);
}

// What iWARP has not.

RDMA_ABI int rdma_join_multicast(rdma_cm_id*, sockaddr*, void*) {
    static Complaint complaint;
    complaint.say("rdma_join_multicast: iWARP has no multicast");
    return fail(ENOTSUP);
}
RDMA_ABI int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex*, void* context) {
    return rdma_join_multicast(id, nullptr, context);
}
RDMA_ABI int rdma_leave_multicast(rdma_cm_id*, sockaddr*) { return fail(ENOTSUP); }
RDMA_ABI int rdma_set_local_ece(rdma_cm_id*, ibv_ece*) { return fail(ENOTSUP); }
RDMA_ABI int rdma_get_remote_ece(rdma_cm_id*, ibv_ece*) { return fail(ENOTSUP); }
