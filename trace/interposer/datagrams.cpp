// Management datagrams: what a program sends and receives by libibumad.
#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <pthread.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "trace/interposer/originals.h"
#include "trace/interposer/pointer_table.h"
#include "trace/interposer/recorder.h"

namespace trace::interposer {

namespace {

constexpr char library[] = "libibumad.so.3";
#define ORIGINAL(function) constinit Original<decltype(::function)> function##_(#function, "IBUMAD_1.0", library)
ORIGINAL(umad_open_port);
ORIGINAL(umad_close_port);
ORIGINAL(umad_send);
ORIGINAL(umad_recv);
ORIGINAL(umad_get_port);
ORIGINAL(umad_release_port);
#undef ORIGINAL

/// Longer datagrams, which RMPP makes of several, are recorded up to here.
constexpr std::uint32_t most_recorded_bytes = 65536;
constexpr std::uint16_t permissive_lid = 0xffff;

/// A port that the program has opened. One thread opens it, and others use it after that.
struct OpenPort {
    std::atomic<int> descriptor_after = 0;  ///< the descriptor plus 1; 0: the place is free
    std::uint8_t device = layout::unknown_device;
    std::uint8_t number = 0;
    char name[UMAD_CA_NAME_LEN + 1] = "";
    std::atomic<std::uint16_t> lid = 0;
    std::atomic<std::int64_t> lid_read_ns = 0;
};
/// Programs open few. Of further ones the device is not known. Places are taken under `tables_mutex`.
constinit OpenPort ports[64];

OpenPort* find_port(int descriptor) {
    for (OpenPort& port : ports)
        if (descriptor >= 0 && port.descriptor_after.load(std::memory_order_acquire) == descriptor + 1) return &port;
    return nullptr;
}

OpenPort* find_place(int descriptor) {
    if (OpenPort* const known = find_port(descriptor)) return known;  // closed by close(2)
    for (OpenPort& port : ports)
        if (port.descriptor_after.load(std::memory_order_relaxed) == 0) return &port;
    return nullptr;
}

/// A thread that is cancelled while it reads would leave the file open.
class NoCancellation {
public:
    NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &was_); }
    ~NoCancellation() { pthread_setcancelstate(was_, nullptr); }
    NoCancellation(const NoCancellation&) = delete;
    NoCancellation& operator=(const NoCancellation&) = delete;

private:
    int was_ = 0;
};

std::uint16_t read_lid(const OpenPort& port) {
    const NoCancellation guard;
    char path[128];
    std::snprintf(path, sizeof path, "/sys/class/infiniband/%s/ports/%u/lid", port.name, unsigned{port.number});
    const base::Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
    char text[16] = "";
    if (!file || read(file.number(), text, sizeof text - 1) <= 0) return 0;
    return static_cast<std::uint16_t>(std::strtoul(text, nullptr, 16));
}

/// The subnet manager may change it at any time. One thread reads it again when it is a second old.
std::uint16_t lid_of(OpenPort& port, std::int64_t now_ns) {
    constexpr std::int64_t lasts_ns = 1'000'000'000;
    std::int64_t read_ns = port.lid_read_ns.load(std::memory_order_relaxed);
    const bool is_old = read_ns == 0 || now_ns - read_ns > lasts_ns || now_ns < read_ns;
    if (is_old && port.lid_read_ns.compare_exchange_strong(read_ns, now_ns, std::memory_order_relaxed))
        port.lid.store(read_lid(port), std::memory_order_relaxed);
    return port.lid.load(std::memory_order_relaxed);
}

/// libibumad chooses what the program leaves open: the device, or its port.
void note_opened(int descriptor, const char* name, int number) {
    umad_port_t chosen{};
    const bool is_chosen = (name == nullptr || number <= 0) && call(umad_get_port_, name, number, &chosen) == 0;
    const char* const device = is_chosen ? chosen.ca_name : name == nullptr ? "" : name;
    pthread_mutex_lock(&tables_mutex);
    if (OpenPort* const port = find_place(descriptor)) {
        port->device = *device == '\0' ? layout::unknown_device : recorder.device(device);
        port->number = static_cast<std::uint8_t>(is_chosen ? chosen.portnum : number);
        std::snprintf(port->name, sizeof port->name, "%s", device);
        port->lid.store(0, std::memory_order_relaxed);
        port->lid_read_ns.store(0, std::memory_order_relaxed);
        port->descriptor_after.store(descriptor + 1, std::memory_order_release);
    }
    pthread_mutex_unlock(&tables_mutex);
    if (is_chosen) call(umad_release_port_, &chosen);
}

/// Subnet management uses queue pair 0, all other classes queue pair 1. IBTA vol. 1, 13.5.1.
std::uint32_t queue_pair_of(std::uint8_t management_class) {
    return management_class == 0x01 || management_class == 0x81 ? 0 : 1;
}

/// A datagram between the program and libibumad, in libibumad's buffer.
struct Passage {
    MadEvent event;
    int port;
    const ib_user_mad* buffer;
    std::uint32_t bytes;
    std::uint32_t timeout_ms = 0;
    std::uint16_t retries = 0;
};

MadPassage describe(const Passage& one, OpenPort* port, std::int64_t now_ns) {
    const ib_mad_addr_t& address = one.buffer->addr;
    MadPassage mad;
    mad.event = one.event;
    mad.service_level = address.sl;
    mad.is_global = address.grh_present != 0;
    mad.remote_lid = ntohs(address.lid);
    mad.p_key_index = address.pkey_index;
    mad.retries = one.retries;
    mad.remote_queue_pair = ntohl(address.qpn);
    mad.queue_key = ntohl(address.qkey);
    mad.timeout_ms = one.timeout_ms;
    mad.bytes = one.bytes;
    mad.recorded_bytes = std::min(one.bytes, most_recorded_bytes);
    if (one.event == MadEvent::returned) mad.error = static_cast<std::uint16_t>(one.buffer->status);
    if (port == nullptr) return mad;
    mad.port = port->number;
    // A datagram on a directed route has the permissive LID at both ends.
    mad.local_lid = mad.remote_lid == permissive_lid ? permissive_lid : lid_of(*port, now_ns);
    return mad;
}

void put(Recording& recording, const Passage& one) {
    if (one.bytes == 0) return;
    OpenPort* const port = find_port(one.port);
    const std::uint8_t device = port == nullptr ? layout::unknown_device : port->device;
    const std::uint8_t* const bytes = one.buffer->data;
    const std::uint32_t queue_pair = one.bytes < 2 ? 1 : queue_pair_of(bytes[1]);
    const MadPassage mad = describe(one, port, recording.time_ns());
    Record& head = recording.next(RecordKind::mad, queue_pair, device);
    head.mad = mad;
    recording.publish();
    for (std::uint32_t part = 0; part * mad_bytes_in_record < mad.recorded_bytes; ++part) {
        const std::size_t at = part * mad_bytes_in_record;
        Record& record = recording.next(RecordKind::mad_bytes, part, device);
        record.mad_bytes = {};
        std::memcpy(record.mad_bytes.data(), bytes + at, std::min(mad_bytes_in_record, mad.recorded_bytes - at));
        recording.publish();
    }
}

}  // namespace

}  // namespace trace::interposer

namespace ours = trace::interposer;
using ours::call;

#pragma GCC visibility push(default)
extern "C" {

int umad_open_port(const char* name, int number) {
    const int port = call(ours::umad_open_port_, name, number);
    const ours::KeepErrno keep;
    if (port >= 0) ours::note_opened(port, name, number);
    return port;
}

int umad_close_port(int port) {
    // Before the call, since another thread may get the descriptor at once.
    if (ours::OpenPort* const open = ours::find_port(port)) open->descriptor_after.store(0, std::memory_order_release);
    return call(ours::umad_close_port_, port);
}

int umad_send(int port, int agent, void* buffer, int length, int timeout_ms, int retries) {
    trace::Lane* const lane = ours::recorder.lane();
    if (lane == nullptr) return call(ours::umad_send_, port, agent, buffer, length, timeout_ms, retries);
    ours::Recording recording(*lane);
    const int result = call(ours::umad_send_, port, agent, buffer, length, timeout_ms, retries);
    const ours::KeepErrno keep;
    if (result == 0 && length > 0)
        ours::put(recording, {.event = trace::MadEvent::sent,
                              .port = port,
                              .buffer = static_cast<const ib_user_mad*>(buffer),
                              .bytes = static_cast<std::uint32_t>(length),
                              .timeout_ms = static_cast<std::uint32_t>(std::max(timeout_ms, 0)),
                              .retries = static_cast<std::uint16_t>(std::clamp(retries, 0, 0xffff))});
    return result;
}

int umad_recv(int port, void* buffer, int* length, int timeout_ms) {
    const int result = call(ours::umad_recv_, port, buffer, length, timeout_ms);
    const ours::KeepErrno keep;
    trace::Lane* const lane = result < 0 || *length <= 0 ? nullptr : ours::recorder.lane();
    if (lane == nullptr) return result;
    const auto* const received = static_cast<const ib_user_mad*>(buffer);
    ours::Recording recording(*lane);
    ours::put(recording, {.event = received->status == 0 ? trace::MadEvent::received : trace::MadEvent::returned,
                          .port = port,
                          .buffer = received,
                          .bytes = static_cast<std::uint32_t>(*length)});
    return result;
}

}  // extern "C"
#pragma GCC visibility pop
