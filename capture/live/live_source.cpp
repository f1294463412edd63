#include "capture/live/live_source.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <atomic>
#include <charconv>
#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <sstream>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/own_path.h"
#include "capture/filter/bpf.h"
#include "capture/link_type.h"

namespace capture::inline live {
namespace {

using Pcap = std::unique_ptr<pcap_t, decltype(&::pcap_close)>;

/// A counter of 32 bits that wraps, carried on in 64.
class WideCounter {
public:
    std::uint64_t at(std::uint32_t now) {
        total_ += static_cast<std::uint32_t>(now - last_);
        last_ = now;
        return total_;
    }

private:
    std::uint64_t total_ = 0;
    std::uint32_t last_ = 0;
};

/// The numbers of this process's descriptors.
std::vector<int> open_descriptors() {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
    std::vector<int> numbers;
    if (!folder) return numbers;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string_view name = entry->d_name;
        int number = -1;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), number);
        if (parsed.ec == std::errc{} && number != ::dirfd(folder.get())) numbers.push_back(number);
    }
    return numbers;
}

/// libpcap opens sockets, events and device files without close-on-exec. Marks what was opened since `before`, so that
/// no program that is started later can capture or send with them.
void close_on_exec_since(const std::vector<int>& before) {
    for (const int number : open_descriptors()) {
        if (number <= STDERR_FILENO || std::find(before.begin(), before.end(), number) != before.end()) continue;
        const int flags = ::fcntl(number, F_GETFD);
        if (flags >= 0) ::fcntl(number, F_SETFD, flags | FD_CLOEXEC);
    }
}

std::string names_of_devices() {
    const auto devices = list_devices();
    std::string names;
    if (devices.ok())
        for (const Device& device : *devices) names += (names.empty() ? "" : ", ") + device.name;
    return names.empty() ? "none can be seen" : names;
}

std::string explain(int code, pcap_t* pcap) {
    const std::string detail = ::pcap_geterr(pcap);
    switch (code) {
        case PCAP_ERROR_NO_SUCH_DEVICE: return "no such interface; there are: " + names_of_devices();
        case PCAP_ERROR_PERM_DENIED:
        case PCAP_ERROR_PROMISC_PERM_DENIED:
            return "no permission to capture; run as root, or once as root: "
                   "setcap cap_net_raw,cap_net_admin+eip " +
                   base::own_path();
        case PCAP_ERROR_IFACE_NOT_UP: return "the interface is down; bring it up: ip link set NAME up";
        default: return detail.empty() ? std::string(::pcap_statustostr(code)) : detail;
    }
}

base::Failure<base::Error> failure(const std::string& interface, std::string message) {
    return base::Failure{base::Error{.message = std::move(message), .path = interface}};
}

base::Result<Pcap> create(const std::string& interface) {
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    Pcap pcap(::pcap_create(interface.c_str(), reason.data()), ::pcap_close);
    if (!pcap) return failure(interface, reason.data());
    return pcap;
}

bool is_device(const std::string& name) {
    const auto devices = list_devices();
    return devices.ok() &&
           std::any_of(devices->begin(), devices->end(), [&](const Device& each) { return each.name == name; });
}

/// tcpdump takes the number of a device for its name, unless a device is so named.
std::string resolve(const std::string& interface) {
    std::size_t number = 0;
    const auto [end, code] = std::from_chars(interface.data(), interface.data() + interface.size(), number);
    if (code != std::errc{} || end != interface.data() + interface.size()) return interface;
    const auto devices = list_devices();
    if (!devices.ok() || number < 1 || number > devices->size()) return interface;
    return is_device(interface) ? interface : (*devices)[number - 1].name;
}

std::optional<std::uint64_t> speed_of(const std::string& interface) {
    std::istringstream file(base::first_line("/sys/class/net/" + interface + "/speed"));
    std::int64_t megabits = 0;
    if (!(file >> megabits) || megabits <= 0) return std::nullopt;
    return static_cast<std::uint64_t>(megabits) * 1'000'000;
}

base::Result<void> set_link_type(pcap_t* pcap, const LiveOptions& options, const std::string& name) {
    if (!options.link_type) {
        // As tcpdump does: SLL2 tells the interface of every frame. What cannot, stays with SLL.
        if (name == "any") ::pcap_set_datalink(pcap, DLT_LINUX_SLL2);
        return {};
    }
    if (::pcap_set_datalink(pcap, dlt_of(*options.link_type)) == 0) return {};
    return failure(name, fmt::format("cannot capture as link type {}: {}; -L lists those it can",
                                     link_type_name(*options.link_type), ::pcap_geterr(pcap)));
}

base::Result<void> set_filter(pcap_t* pcap, const LiveOptions& options, const std::string& name) {
    if (options.filter.empty()) return {};
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    bpf_u_int32 network = 0;
    bpf_u_int32 netmask = 0;
    if (::pcap_lookupnet(name.c_str(), &network, &netmask, reason.data()) != 0) netmask = PCAP_NETMASK_UNKNOWN;
    bpf_program code = {};
    if (::pcap_compile(pcap, &code, options.filter.c_str(), options.optimise_filter ? 1 : 0, netmask) != 0)
        return base::Failure{filter_error(options.filter, ::pcap_geterr(pcap), link_type_of(::pcap_datalink(pcap)))};
    const int set = ::pcap_setfilter(pcap, &code);
    ::pcap_freecode(&code);
    if (set == 0) return {};
    return failure(name, fmt::format("the kernel refused the capture filter: {}", ::pcap_geterr(pcap)));
}

base::Result<void> set_before_activation(pcap_t* pcap, const LiveOptions& options, const std::string& name) {
    ::pcap_set_snaplen(pcap, static_cast<int>(std::min<std::uint32_t>(
                                 options.snaplen == 0 ? max_snaplen : options.snaplen, 0x7fff'ffff)));
    ::pcap_set_promisc(pcap, options.promiscuous ? 1 : 0);
    ::pcap_set_timeout(pcap, options.timeout_ms);
    ::pcap_set_immediate_mode(pcap, options.immediate ? 1 : 0);
    ::pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
    if (options.buffer_kib > 0x7fff'ffff / 1024)
        return failure(name, "the buffer is too large; the most is 2097151 KiB");
    if (options.buffer_kib > 0) ::pcap_set_buffer_size(pcap, static_cast<int>(options.buffer_kib * 1024));
    if (!options.timestamp_type.empty()) {
        const int type = ::pcap_tstamp_type_name_to_val(options.timestamp_type.c_str());
        if (type < 0 || ::pcap_set_tstamp_type(pcap, type) != 0)
            return failure(name,
                           fmt::format("has no timestamp type `{}`; -J lists those it has", options.timestamp_type));
    }
    return {};
}

std::string description_of(const std::string& interface) {
    const auto devices = list_devices();
    if (devices.ok())
        for (const Device& device : *devices)
            if (device.name == interface) return device.description;
    return {};
}

}  // namespace

struct LiveSource::Handle {
    Pcap pcap;
    std::int64_t ns_per_tick;
    wire::LinkType link_type;
    int wait_ms;  ///< 0: next() does not wait
    WideCounter received = {};
    WideCounter kernel_dropped = {};
    WideCounter interface_dropped = {};
    /// libpcap reports its own break flag only from its own wait, and next() waits for itself.
    std::atomic<bool> interrupted = false;
};

LiveSource::LiveSource(std::unique_ptr<Handle> handle, InterfaceInfo info) : handle_(std::move(handle)) {
    error_.path = info.name;
    interfaces_.push_back(std::move(info));
}

LiveSource::~LiveSource() = default;

base::Result<std::unique_ptr<LiveSource>> LiveSource::open(const LiveOptions& options) {
    const std::string name = resolve(options.interface);
    const std::vector<int> opened_before = open_descriptors();
    auto created = create(name);
    if (!created) return base::Failure{created.error()};
    Pcap pcap = std::move(created).value();
    if (auto set = set_before_activation(pcap.get(), options, name); !set) return base::Failure{set.error()};

    const int status = ::pcap_activate(pcap.get());
    close_on_exec_since(opened_before);
    if (status < 0) return failure(name, explain(status, pcap.get()));
    std::string warning;
    if (status > 0) {
        warning = ::pcap_geterr(pcap.get());
        if (warning.empty() || status != PCAP_WARNING) warning = ::pcap_statustostr(status);
    }
    if (auto set = set_link_type(pcap.get(), options, name); !set) return base::Failure{set.error()};
    if (options.direction && *options.direction != wire::Direction::unknown) {
        const bool inbound = *options.direction == wire::Direction::inbound;
        if (::pcap_setdirection(pcap.get(), inbound ? PCAP_D_IN : PCAP_D_OUT) != 0)
            return failure(name, fmt::format("cannot tell directions apart: {}", ::pcap_geterr(pcap.get())));
    }
    if (auto set = set_filter(pcap.get(), options, name); !set) return base::Failure{set.error()};

    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    if (::pcap_setnonblock(pcap.get(), 1, reason.data()) != 0) return failure(name, reason.data());

    const bool nano = ::pcap_get_tstamp_precision(pcap.get()) == PCAP_TSTAMP_PRECISION_NANO;
    utsname system = {};
    ::uname(&system);
    const wire::LinkType link_type = link_type_of(::pcap_datalink(pcap.get()));
    InterfaceInfo info{
        .name = name,
        .description = description_of(name),
        .filter = options.filter,
        .os = fmt::format("{} {}", system.sysname, system.release),
        .link_type = link_type,
        .snaplen = static_cast<std::uint32_t>(::pcap_snapshot(pcap.get())),
        .ticks_per_sec = nano ? 1'000'000'000U : 1'000'000U,
        .speed_bits_per_sec = speed_of(name),
    };
    std::unique_ptr<Handle> handle(
        new Handle{std::move(pcap), nano ? 1 : 1000, link_type, options.wait ? options.timeout_ms : 0});
    std::unique_ptr<LiveSource> source(new LiveSource(std::move(handle), std::move(info)));
    source->warning_ = std::move(warning);
    return source;
}

ReadStatus LiveSource::next(wire::Frame& frame) {
    pcap_pkthdr* header = nullptr;
    const u_char* data = nullptr;
    if (handle_->interrupted.load(std::memory_order_relaxed)) return ReadStatus::end;
    int got = ::pcap_next_ex(handle_->pcap.get(), &header, &data);
    if (got == 0 && handle_->wait_ms > 0) {
        // libpcap's own wait has no end where nothing arrives, whatever the timeout; ours is ended by any signal.
        pollfd readable{descriptor(), POLLIN, 0};
        if (::poll(&readable, 1, handle_->wait_ms) > 0) got = ::pcap_next_ex(handle_->pcap.get(), &header, &data);
    }
    switch (got) {
        case 1: break;
        case 0: return handle_->interrupted.load(std::memory_order_relaxed) ? ReadStatus::end : ReadStatus::timeout;
        case PCAP_ERROR_BREAK: return ReadStatus::end;
        default:
            error_.message = ::pcap_geterr(handle_->pcap.get());
            error_.frames = frames_;
            return ReadStatus::error;
    }
    frame.bytes = {reinterpret_cast<const std::byte*>(data), header->caplen};
    frame.wire_length = std::max(header->len, header->caplen);
    frame.link_type = handle_->link_type;
    frame.direction = wire::Direction::unknown;
    frame.interface = 0;
    // libpcap keeps nanoseconds in tv_usec where it was asked for them.
    frame.time_ns =
        std::int64_t{header->ts.tv_sec} * 1'000'000'000 + std::int64_t{header->ts.tv_usec} * handle_->ns_per_tick;
    frame.number = ++frames_;
    frame.comment = {};
    return ReadStatus::frame;
}

Statistics LiveSource::statistics(std::size_t) const {
    pcap_stat counts = {};
    if (::pcap_stats(handle_->pcap.get(), &counts) != 0) return {};
    return {.received = handle_->received.at(counts.ps_recv),
            .kernel_dropped = handle_->kernel_dropped.at(counts.ps_drop),
            .interface_dropped = handle_->interface_dropped.at(counts.ps_ifdrop)};
}

void LiveSource::interrupt() {
    handle_->interrupted.store(true, std::memory_order_relaxed);
    ::pcap_breakloop(handle_->pcap.get());
}

int LiveSource::descriptor() const { return ::pcap_get_selectable_fd(handle_->pcap.get()); }

namespace {
Device::Connection connection_of(bpf_u_int32 flags) {
    switch (flags & PCAP_IF_CONNECTION_STATUS) {
        case PCAP_IF_CONNECTION_STATUS_CONNECTED: return Device::Connection::connected;
        case PCAP_IF_CONNECTION_STATUS_DISCONNECTED: return Device::Connection::disconnected;
        case PCAP_IF_CONNECTION_STATUS_NOT_APPLICABLE: return Device::Connection::not_applicable;
        default: return Device::Connection::unknown;
    }
}
}  // namespace

base::Result<std::vector<Device>> list_devices() {
    std::array<char, PCAP_ERRBUF_SIZE> reason{};
    pcap_if_t* found = nullptr;
    if (::pcap_findalldevs(&found, reason.data()) != 0)
        return base::Failure{base::Error{.message = fmt::format("cannot list the interfaces: {}", reason.data())}};
    const std::unique_ptr<pcap_if_t, decltype(&::pcap_freealldevs)> owner(found, ::pcap_freealldevs);
    std::vector<Device> devices;
    for (const pcap_if_t* each = found; each != nullptr; each = each->next) {
        Device device{.name = each->name,
                      .description = each->description != nullptr ? each->description : "",
                      .up = (each->flags & PCAP_IF_UP) != 0,
                      .running = (each->flags & PCAP_IF_RUNNING) != 0,
                      .loopback = (each->flags & PCAP_IF_LOOPBACK) != 0,
                      .wireless = (each->flags & PCAP_IF_WIRELESS) != 0,
                      .connection = connection_of(each->flags)};
        for (const pcap_addr_t* address = each->addresses; address != nullptr; address = address->next) {
            if (address->addr == nullptr) continue;
            std::array<char, INET6_ADDRSTRLEN> text{};
            const int family = address->addr->sa_family;
            const void* octets = nullptr;
            if (family == AF_INET) octets = &reinterpret_cast<const sockaddr_in*>(address->addr)->sin_addr;
            if (family == AF_INET6) octets = &reinterpret_cast<const sockaddr_in6*>(address->addr)->sin6_addr;
            if (octets != nullptr && ::inet_ntop(family, octets, text.data(), text.size()) != nullptr)
                device.addresses.emplace_back(text.data());
        }
        devices.push_back(std::move(device));
    }
    return devices;
}

base::Result<std::vector<Choice>> link_types(const std::string& interface) {
    const std::string name = resolve(interface);
    auto created = create(name);
    if (!created) return base::Failure{created.error()};
    pcap_t* pcap = created->get();
    if (const int status = ::pcap_activate(pcap); status < 0) return failure(name, explain(status, pcap));
    int* list = nullptr;
    const int count = ::pcap_list_datalinks(pcap, &list);
    if (count < 0) return failure(name, ::pcap_geterr(pcap));
    std::vector<Choice> choices;
    for (int i = 0; i < count; ++i) {
        const wire::LinkType type = link_type_of(list[i]);
        choices.push_back({link_type_name(type), link_type_description(type)});
    }
    ::pcap_free_datalinks(list);
    return choices;
}

base::Result<std::vector<Choice>> timestamp_types(const std::string& interface) {
    const std::string name = resolve(interface);
    auto created = create(name);
    if (!created) return base::Failure{created.error()};
    pcap_t* pcap = created->get();
    // libpcap lists what any interface might have even for one that is not there.
    if (name != "any" && ::if_nametoindex(name.c_str()) == 0 && !is_device(name))
        return failure(name, explain(PCAP_ERROR_NO_SUCH_DEVICE, pcap));
    int* list = nullptr;
    const int count = ::pcap_list_tstamp_types(pcap, &list);
    if (count < 0) return failure(name, explain(count, pcap));
    std::vector<Choice> choices;
    for (int i = 0; i < count; ++i) {
        const char* type = ::pcap_tstamp_type_val_to_name(list[i]);
        const char* description = ::pcap_tstamp_type_val_to_description(list[i]);
        if (type != nullptr) choices.push_back({type, description != nullptr ? description : ""});
    }
    ::pcap_free_tstamp_types(list);
    return choices;
}

}  // namespace capture::live
