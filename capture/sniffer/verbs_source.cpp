#include "capture/sniffer/verbs_source.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <optional>

#include "base/own_path.h"
#include "capture/files/file_source.h"
#include "capture/filter/bpf.h"
#include "capture/filter/rdma_filter.h"
#include "capture/sniffer/verbs_port.h"

namespace capture::inline sniffer {
namespace {

using base::Failure;

constexpr const char* built_without =
    "this program was built without libibverbs; build it where libibverbs-dev is installed";

/// Polls without a frame that passes the filter, before the call returns.
constexpr int max_rounds = 16;

bool is_not_permitted(int code) { return code == EPERM || code == EACCES; }
bool is_not_supported(int code) { return code == EOPNOTSUPP || code == ENOSYS || code == EINVAL || code == ENOTSUP; }

/// An open device, closed at the end.
class OpenDevice {
public:
    explicit OpenDevice(std::shared_ptr<VerbsApi> api) : api_(std::move(api)) {}
    ~OpenDevice() {
        if (object_ != nullptr) api_->close_device(object_);
    }
    OpenDevice(const OpenDevice&) = delete;
    OpenDevice& operator=(const OpenDevice&) = delete;
    int open(const std::string& name) { return api_->open_device(name, object_); }
    VerbsApi::Object object() const { return object_; }

private:
    std::shared_ptr<VerbsApi> api_;
    VerbsApi::Object object_ = nullptr;
};

/// Whether a port of the device can be sniffed, found out by doing so for a moment.
bool can_sniff(const std::shared_ptr<VerbsApi>& api, const std::string& name) {
    OpenDevice device(api);
    if (device.open(name) != 0) return false;
    for (unsigned port = 1; port <= api->ports(device.object()); ++port) {
        const VerbsOptions small{.snaplen = 0, .buffers = 1};
        SniffedPort tried(api, name, static_cast<std::uint8_t>(port), small);
        if (tried.open(device.object())) return true;
    }
    return false;
}

std::string who_can(const std::shared_ptr<VerbsApi>& api, const std::string& but) {
    std::vector<std::string> names;
    std::vector<std::string> able;
    if (api->list_devices(names) == 0)
        for (const std::string& name : names)
            if (name != but && can_sniff(api, name)) able.push_back(name);
    if (able.empty()) return "no other device here can; adapters of the mlx5 driver on Ethernet do";
    return fmt::format("of the devices here, {} can", fmt::join(able, ", "));
}

std::string explain(const VerbsRefusal& refusal, const std::string& device, const std::shared_ptr<VerbsApi>& api) {
    std::string text = fmt::format("{} was refused: {}", refusal.step, std::strerror(refusal.code));
    if (is_not_permitted(refusal.code))
        return fmt::format(
            "{}; run as root, or once as root: setcap cap_net_raw+eip {} (a unit: AmbientCapabilities=CAP_NET_RAW)",
            text, base::own_path());
    if (refusal.code == ENOMEM)
        return text + "; let more memory be locked (ulimit -l, LimitMEMLOCK= of a unit), or ask for fewer buffers";
    if (is_not_supported(refusal.code))
        return fmt::format("{}; the device or its driver cannot sniff: {}", text, who_can(api, device));
    return text;
}

}  // namespace

base::Result<std::vector<std::string>> list_verbs_devices(VerbsApi* api) {
    if (api == nullptr) return Failure{base::Error{.message = built_without}};
    std::vector<std::string> names;
    if (const int code = api->list_devices(names); code != 0)
        return Failure{
            base::Error{.message = fmt::format("RDMA devices cannot be listed: {}; load the module: modprobe "
                                               "ib_uverbs",
                                               std::strerror(code))}};
    return names;
}

struct VerbsSource::State {
    State(std::shared_ptr<VerbsApi> given, std::string device_name)
        : api(given), name(std::move(device_name)), device(given) {}

    std::shared_ptr<VerbsApi> api;
    std::string name;
    OpenDevice device;
    std::vector<std::unique_ptr<SniffedPort>> ports = {};  // before the device is closed
    std::vector<InterfaceInfo> interfaces = {};
    std::optional<PacketFilter> filter = {};
    std::size_t turn = 0;
    std::uint64_t number = 0;
    std::uint64_t frames = 0;
    ReadStatus ended = ReadStatus::frame;  ///< `end` and `error` stay
    base::Error error = {};

    base::Error failure(std::string message) const { return {.message = std::move(message), .path = name}; }
    base::Result<std::vector<std::uint8_t>> choose_ports(std::uint8_t port);
    base::Result<void> open_port(std::uint8_t port, const VerbsOptions& options);
    std::size_t fill(SniffedPort& port, std::uint32_t interface, std::span<wire::Frame> into);
    ReadStatus end_with(SniffedPort::Found found, const SniffedPort& port);
};

base::Result<std::vector<std::uint8_t>> VerbsSource::State::choose_ports(std::uint8_t port) {
    const unsigned count = api->ports(device.object());
    if (port > count) return Failure{failure(fmt::format("has no port {}; its ports are 1 to {}", port, count))};
    std::vector<std::uint8_t> chosen;
    for (unsigned number_of_port = 1; number_of_port <= count; ++number_of_port) {
        const auto candidate = static_cast<std::uint8_t>(number_of_port);
        VerbsPort known;
        if (port != 0 && candidate != port) continue;
        if (api->query_port(device.object(), candidate, known) == 0 && known.ethernet) chosen.push_back(candidate);
    }
    if (chosen.empty())
        return Failure{
            failure(fmt::format("{} InfiniBand, which cannot be sniffed by verbs; capture with the fabric's "
                                "tools (ibdump) and read the file",
                                port == 0 ? "its ports are" : fmt::format("port {} is", port)))};
    return chosen;
}

base::Result<void> VerbsSource::State::open_port(std::uint8_t port, const VerbsOptions& options) {
    auto sniffed = std::make_unique<SniffedPort>(api, name, port, options);
    if (const auto opened = sniffed->open(device.object()); !opened) {
        sniffed.reset();  // before other devices are tried
        return Failure{failure(explain(opened.error(), name, api))};
    }
    interfaces.push_back({.name = fmt::format("{}/{}", name, port),
                          .description = "offloaded traffic, by verbs",
                          .filter = options.filter,
                          .snaplen = options.snaplen == 0 ? 0 : std::max(options.snaplen, management_octets),
                          .ticks_per_sec = 1'000'000'000});
    ports.push_back(std::move(sniffed));
    return {};
}

base::Result<std::unique_ptr<VerbsSource>> VerbsSource::open(const std::string& device, std::uint8_t port,
                                                             const VerbsOptions& given, std::shared_ptr<VerbsApi> api) {
    const auto names = list_verbs_devices(api.get());
    if (!names) return Failure{names.error()};
    auto state = std::make_unique<State>(api, device);
    VerbsOptions options = given;
    options.buffers = std::max<std::uint32_t>(options.buffers, 1);
    options.max_frame_octets = std::max<std::uint32_t>(options.max_frame_octets, 64);
    if (std::find(names->begin(), names->end(), device) == names->end())
        return Failure{
            state->failure(fmt::format("no such RDMA device; there {}",
                                       names->empty() ? "is none" : fmt::format("are: {}", fmt::join(*names, ", "))))};
    if (const int code = state->device.open(device); code != 0)
        return Failure{state->failure(explain({"opening the device", code}, device, api))};
    if (!options.filter.empty()) {
        auto filter = PacketFilter::compile(options.filter, {});
        if (!filter) return Failure{filter.error()};
        state->filter.emplace(std::move(filter).value());
    }
    const auto ports = state->choose_ports(port);
    if (!ports) return Failure{ports.error()};
    for (const std::uint8_t chosen : *ports)
        if (auto opened = state->open_port(chosen, options); !opened) return Failure{opened.error()};
    return std::unique_ptr<VerbsSource>(new VerbsSource(std::move(state)));
}

VerbsSource::VerbsSource(std::unique_ptr<State> state) : state_(std::move(state)) {}
VerbsSource::~VerbsSource() = default;

ReadStatus VerbsSource::next(wire::Frame& frame) { return next_batch({&frame, 1}).status; }

std::size_t VerbsSource::State::fill(SniffedPort& port, std::uint32_t interface, std::span<wire::Frame> into) {
    std::size_t count = 0;
    SniffedPort::Arrival arrival;
    while (count < into.size() && port.take(arrival)) {
        wire::Frame& frame = into[count];
        frame = {.bytes = arrival.bytes,
                 .wire_length = arrival.wire_length,
                 .interface = interface,
                 .time_ns = arrival.time_ns};
        if (filter && !filter->matches(frame)) continue;
        frame.number = ++number;
        ++count;
    }
    port.count_received(count);
    frames += count;
    return count;
}

ReadStatus VerbsSource::State::end_with(SniffedPort::Found found, const SniffedPort& port) {
    ended = found == SniffedPort::Found::gone ? ReadStatus::end : ReadStatus::error;
    error = failure(fmt::format("port {}: {}", port.number(), port.failure()));
    error.frames = frames;
    return ended;
}

Batch VerbsSource::next_batch(std::span<wire::Frame> frames) {
    State& state = *state_;
    if (frames.empty()) return {};
    if (state.ended != ReadStatus::frame) return {0, state.ended};
    for (std::size_t i = 0; i < state.ports.size(); ++i) {
        const std::size_t index = (state.turn + i) % state.ports.size();
        SniffedPort& port = *state.ports[index];
        std::size_t count = 0;
        SniffedPort::Found found;
        int rounds = 0;
        do {  // again if the filter dropped all of them
            found = port.find();
            if (found == SniffedPort::Found::gone || found == SniffedPort::Found::failed)
                return {0, state.end_with(found, port)};
            count = state.fill(port, static_cast<std::uint32_t>(index), frames);
        } while (count == 0 && found == SniffedPort::Found::frames && ++rounds < max_rounds);
        if (count == 0) continue;
        // What a port holds comes first, so that its buffers go back; then it is another's turn.
        state.turn = port.has_more() ? index : index + 1;
        return {count, ReadStatus::frame};
    }
    return {0, ReadStatus::timeout};
}

const std::vector<InterfaceInfo>& VerbsSource::interfaces() const { return state_->interfaces; }
const base::Error& VerbsSource::error() const { return state_->error; }
void VerbsSource::number_from(std::uint64_t last) { state_->number = last; }

Statistics VerbsSource::statistics(std::size_t interface) const {
    return interface < state_->ports.size() ? state_->ports[interface]->statistics() : Statistics {};
}

std::vector<int> VerbsSource::descriptors() const {
    std::vector<int> all;
    for (const auto& port : state_->ports) all.push_back(port->descriptor());
    return all;
}

bool VerbsSource::device_timestamps() const {
    return std::all_of(state_->ports.begin(), state_->ports.end(),
                       [](const auto& port) { return port->device_timestamps(); });
}

std::uint64_t VerbsSource::restarts() const {
    std::uint64_t sum = 0;
    for (const auto& port : state_->ports) sum += port->restarts();
    return sum;
}

}  // namespace capture::sniffer
