// What the object shows: the functions of libibverbs and librdmacm by which contexts, queue pairs and connections come
// and go. Each calls the one after it; librdmacm calls those of libibverbs by their names too, and so by ours.
#include <dlfcn.h>
#include <rdma/rdma_cma.h>

#include "trace/interposer/connection_records.h"
#include "trace/interposer/objects.h"
#include "trace/interposer/originals.h"

/// Of libibverbs, for its providers alone: fills in the pointers of a context.
struct verbs_context_ops;
extern "C" void verbs_set_ops(verbs_context* context, const verbs_context_ops* operations);

namespace trace::interposer {

void* find_original(const char* name, const char* version, const char* library) {
    // dlvsym(3) passes over objects that give their symbols no version, such as the software stack's, which stand
    // before the real library; dlsym(3) finds those, but of the real library the latest version, not ours.
    void* const of_version = dlvsym(RTLD_NEXT, name, version);
    void* const of_any = dlsym(RTLD_NEXT, name);
    Dl_info one{};
    Dl_info other{};
    const bool same_object = of_version != nullptr && of_any != nullptr && dladdr(of_version, &one) != 0 &&
                             dladdr(of_any, &other) != 0 && one.dli_fbase == other.dli_fbase;
    if (same_object) return of_version;
    if (of_any != nullptr) return of_any;
    if (of_version != nullptr) return of_version;
    // Loaded by dlopen(3) without RTLD_GLOBAL: RTLD_NEXT does not see it.
    void* const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
    if (loaded == nullptr) return nullptr;
    void* const found = dlvsym(loaded, name, version);
    dlclose(loaded);
    return found;
}

namespace {

constexpr char verbs[] = "libibverbs.so.1";
constexpr char manager[] = "librdmacm.so.1";

#define ORIGINAL(function, version, library) \
    constinit Original<decltype(::function)> function##_(#function, version, library)
ORIGINAL(ibv_open_device, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_import_device, "IBVERBS_1.10", verbs);
ORIGINAL(ibv_close_device, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_alloc_pd, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_create_cq, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_destroy_cq, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_create_qp, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_modify_qp, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_destroy_qp, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_query_qp, "IBVERBS_1.1", verbs);
ORIGINAL(ibv_qp_to_qp_ex, "IBVERBS_1.6", verbs);
ORIGINAL(verbs_set_ops, "IBVERBS_PRIVATE_34", verbs);
ORIGINAL(rdma_create_qp, "RDMACM_1.0", manager);
ORIGINAL(rdma_create_qp_ex, "RDMACM_1.0", manager);
ORIGINAL(rdma_destroy_qp, "RDMACM_1.0", manager);
ORIGINAL(rdma_create_ep, "RDMACM_1.0", manager);
ORIGINAL(rdma_destroy_ep, "RDMACM_1.0", manager);
ORIGINAL(rdma_get_request, "RDMACM_1.0", manager);
ORIGINAL(rdma_connect, "RDMACM_1.0", manager);
ORIGINAL(rdma_accept, "RDMACM_1.0", manager);
ORIGINAL(rdma_get_cm_event, "RDMACM_1.0", manager);
#undef ORIGINAL

ibv_context* traced(ibv_context* context) {
    const KeepErrno keep;
    trace(context);
    return context;
}

/// An id may have got a context and a queue pair from a librdmacm that asks no libibverbs: the software stack's.
void note(rdma_cm_id* id, const ibv_qp_cap* granted, bool all_signalled) {
    const KeepErrno keep;
    if (id == nullptr) return;
    trace(id->verbs);
    if (id->qp != nullptr) note_created(id->qp, granted, all_signalled);
}

}  // namespace

bool query(ibv_qp* pair, ibv_qp_attr& attributes, int mask) {
    const KeepErrno keep;
    ibv_qp_init_attr initial{};
    return call(ibv_query_qp_, pair, &attributes, mask, &initial) == 0;
}

}  // namespace trace::interposer

namespace ours = trace::interposer;
using ours::call;

#pragma GCC visibility push(default)
extern "C" {

ibv_context* ibv_open_device(ibv_device* device) { return ours::traced(call(ours::ibv_open_device_, device)); }

ibv_context* ibv_import_device(int descriptor) { return ours::traced(call(ours::ibv_import_device_, descriptor)); }

int ibv_close_device(ibv_context* context) {
    ours::leave(context);
    const int result = call(ours::ibv_close_device_, context);
    if (result != 0) ours::traced(context);
    return result;
}

// Programs that look functions up by dlsym(3) go past all others here. Their providers do not go past this one.
void verbs_set_ops(verbs_context* context, const verbs_context_ops* operations) {
    call(ours::verbs_set_ops_, context, operations);
    ours::traced(&context->context);
}

// The first that a program does with a context, wherever it comes from.
ibv_pd* ibv_alloc_pd(ibv_context* context) { return call(ours::ibv_alloc_pd_, ours::traced(context)); }

ibv_cq* ibv_create_cq(ibv_context* context, int entries, void* data, ibv_comp_channel* channel, int vector) {
    return call(ours::ibv_create_cq_, ours::traced(context), entries, data, channel, vector);
}

int ibv_destroy_cq(ibv_cq* queue) {
    const int result = call(ours::ibv_destroy_cq_, queue);
    if (result == 0) ours::queues.erase(queue);
    return result;
}

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) {
    ours::traced(domain->context);
    ibv_qp* const pair = call(ours::ibv_create_qp_, domain, attributes);
    const ours::KeepErrno keep;
    if (pair != nullptr) ours::note_created(pair, &attributes->cap, attributes->sq_sig_all != 0);
    return pair;
}

int ibv_modify_qp(ibv_qp* pair, ibv_qp_attr* attributes, int mask) {
    const int result = call(ours::ibv_modify_qp_, pair, attributes, mask);
    const ours::KeepErrno keep;
    if (result == 0) ours::note_changed(pair, *attributes, mask);
    return result;
}

int ibv_destroy_qp(ibv_qp* pair) {
    ours::Leaving leaving(pair);
    const int result = call(ours::ibv_destroy_qp_, pair);
    const ours::KeepErrno keep;
    leaving.done(result == 0);
    return result;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* pair) {
    ibv_qp_ex* const extended = call(ours::ibv_qp_to_qp_ex_, pair);
    const ours::KeepErrno keep;
    ours::trace_extended(extended, false);
    return extended;
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
    const int result = call(ours::rdma_create_qp_, id, domain, attributes);
    if (result == 0) ours::note(id, &attributes->cap, attributes->sq_sig_all != 0);
    return result;
}

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attributes) {
    const int result = call(ours::rdma_create_qp_ex_, id, attributes);
    if (result == 0) ours::note(id, &attributes->cap, attributes->sq_sig_all != 0);
    return result;
}

void rdma_destroy_qp(rdma_cm_id* id) {
    ours::Leaving leaving(id->qp);
    call(ours::rdma_destroy_qp_, id);
    leaving.done(true);
}

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* address, ibv_pd* domain, ibv_qp_init_attr* attributes) {
    const int result = call(ours::rdma_create_ep_, id, address, domain, attributes);
    if (result != 0) return result;
    if (attributes != nullptr)
        ours::note(*id, &attributes->cap, attributes->sq_sig_all != 0);
    else
        ours::note(*id, nullptr, false);
    return result;
}

void rdma_destroy_ep(rdma_cm_id* id) {
    ours::Leaving leaving(id->qp);
    call(ours::rdma_destroy_ep_, id);
    leaving.done(true);
}

int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) {
    const int result = call(ours::rdma_get_request_, listener, id);
    if (result == 0) ours::note(*id, nullptr, false);
    return result;
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
    const int result = call(ours::rdma_connect_, id, parameters);
    const ours::KeepErrno keep;
    if (result == 0) ours::note_synchronous(id);
    return result;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
    const int result = call(ours::rdma_accept_, id, parameters);
    const ours::KeepErrno keep;
    if (result == 0) ours::note_synchronous(id);
    return result;
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
    const int result = call(ours::rdma_get_cm_event_, channel, event);
    const ours::KeepErrno keep;
    if (result == 0) ours::note_event(**event);
    return result;
}

}  // extern "C"
#pragma GCC visibility pop
