#include "capture/live/tap.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fmt/core.h>
#include <fnmatch.h>
#include <map>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/descriptor.h"
#include "capture/filter/kernel_filter.h"
#include "capture/kernel/kernel_tap.h"
#include "capture/live/link_watch.h"
#include "capture/live/mpa_ports.h"
#include "capture/live/packet_socket.h"
#include "capture/live/ring_group.h"

namespace capture::inline live {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t ns_per_ms = 1'000'000;
constexpr std::int64_t look_around_ns = 100 * ns_per_ms;  // for changes of interfaces and phases, while frames come
constexpr std::int64_t scan_ns = 1000 * ns_per_ms;        // where the kernel does not report changes
constexpr std::int64_t scan_share = 20;                   // of this many parts of the time, one may go there
constexpr std::int64_t retry_ns = 5000 * ns_per_ms;
constexpr std::int64_t ending_ns = 5 * ns_per_ms;
constexpr std::int64_t port_idle_ns = 60'000 * ns_per_ms;
constexpr std::int64_t flood_report_ns = 600'000 * ns_per_ms;
/// Start frames are easily made up, and each new port gives each ring another filter: at first as many ports are learnt
/// as there is room for, then one a period.
constexpr std::int64_t learn_period_ns = 1000 * ns_per_ms;

/// A name, and the ring that it has at the moment.
struct Tapped {
    std::string name;
    std::unique_ptr<RingGroup> ring = {};
    Statistics before = {};     // of the rings that it had
    bool polled_event = false;  // poll said something that memory does not show
    bool up = true;             // the state that was reported last
    std::int64_t gone_ns = 0;
};

struct Refusal {
    int index;
    std::string message;
    std::int64_t retry_at_ns;
};

/// A sentence that names the interface, as those that hold for all do not.
std::string about(const std::string& interface, base::Error error) {
    if (error.path.empty()) error.path = interface;
    return error.text();
}

std::uint32_t length_or_all(std::uint32_t bytes) { return bytes == 0 ? max_snaplen : bytes; }

KernelTapOptions kernel_options(const TapOptions& options) {
    return {.roce_bytes = length_or_all(options.ring.snaplen),
            .management_bytes = options.ring.management_octets,
            .iwarp_bytes = length_or_all(options.ring.iwarp_snaplen),
            .connections = options.iwarp_connections,
            .discovery = options.iwarp_discovery,
            .other_bytes = options.other_carriers ? length_or_all(options.ring.snaplen) : 0};
}

bool same_rings(const TapOptions& one, const TapOptions& other) {
    const PacketRingOptions& a = one.ring;
    const PacketRingOptions& b = other.ring;
    return a.buffer_octets == b.buffer_octets && a.block_timeout_ms == b.block_timeout_ms &&
           a.promiscuous == b.promiscuous && a.timestamps == b.timestamps && one.threads == other.threads;
}

RingCount ring_count(std::optional<unsigned> threads) {
    constexpr unsigned most = 8;  // more have to wait for the one that measures
    constexpr unsigned most_rings = 64;
    if (threads) {
        const unsigned rings = std::min(*threads, most_rings);
        return {.first = rings, .most = rings};
    }
    cpu_set_t processors;
    if (::sched_getaffinity(0, sizeof processors, &processors) != 0) return {};
    return {.first = 1, .most = std::clamp(static_cast<unsigned>(CPU_COUNT(&processors)), 1U, most)};
}

}  // namespace

struct Tap::State {
    explicit State(TapOptions wanted) : options(std::move(wanted)), wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

    TapOptions options;
    base::Descriptor wake;
    int wait_ms = 100;
    LinkWatch links = {};
    std::vector<Tapped> tapped = {};  // by interface number
    std::vector<InterfaceInfo> infos = {};
    Statistics former = {};  // of those whose number another one has
    std::map<std::string, Refusal> refused = {};
    std::size_t turn = 0;
    std::uint64_t frames = 0;
    base::Error problem = {};
    std::vector<TapEvent> news = {};
    std::vector<pollfd> polled = {};
    std::vector<std::size_t> polled_numbers = {};  // of the interfaces after the first ones of `polled`

    std::shared_ptr<KernelTap> kernel = {};
    std::string no_kernel = {};  // why there is none
    MpaPorts ports{max_filtered_ports, port_idle_ns};
    RdmaFilter filter = {};
    std::int64_t begun_ns = base::steady_ns();
    std::int64_t looked_around_ns = 0;
    std::int64_t scanned_ns = 0;
    std::int64_t learn_again_ns = 0;  // runs ahead of the clock by a period for each port that was learnt
    std::int64_t flood_report_again_ns = 0;
    std::int64_t scan_again_ns = 0;  // not before: a host may have thousands of interfaces, and each comes with news
    bool scan_wanted = true;

    bool narrows() const { return options.rdma_only && options.filter.empty(); }
    void load_kernel();
    bool scan_due(std::int64_t now) const { return scan_wanted && now >= scan_again_ns; }
    bool discovers(std::int64_t now) const;
    PacketRingOptions ring_options(const Link& link) const;
    void report(TapEvent::Kind kind, const std::string& interface, std::string message);

    bool wanted(const std::string& name) const;
    void scan(std::int64_t now);
    bool open(const Link& link, std::int64_t now);
    std::size_t number_for(const std::string& name, std::int64_t now);
    void give_up(Tapped& each, const std::string& why);
    void turned(Tapped& each, bool up);
    void refilter(std::int64_t now);
    void look_around(std::int64_t now);
    void grow(std::size_t number);
    bool may_learn(std::int64_t now) const;
    void learn(std::span<const wire::Frame> frames, std::int64_t now);
    bool wait(std::int64_t now, std::int64_t until);
    std::optional<std::size_t> serve(std::span<wire::Frame> frames, std::int64_t now);
};

bool Tap::State::discovers(std::int64_t now) const {
    if (!options.iwarp_discovery || !narrows() || kernel) return false;
    const std::int64_t since = now - begun_ns;
    return (options.discovery_period_ns > 0 ? since % options.discovery_period_ns : since) < options.discovery_ns;
}

PacketRingOptions Tap::State::ring_options(const Link& link) const {
    PacketRingOptions ring = options.ring;
    ring.interface = link.name;
    ring.filter = options.filter;
    ring.rdma.reset();
    if (narrows()) ring.rdma = filter;
    ring.kernel = kernel;
    ring.other_carriers = options.other_carriers;
    return ring;
}

/// Called while this process still has the capabilities. A program that is loaded stays, with new settings.
void Tap::State::load_kernel() {
    if (!narrows()) return;
    if (!kernel && no_kernel.empty()) {
        if (auto loaded = KernelTap::load(kernel_options(options))) {
            kernel = std::move(loaded).value();
        } else {
            no_kernel = loaded.error().text();
            report(TapEvent::Kind::learning, {},
                   fmt::format("iWARP connections are found by this process, not in the kernel: the first ones of a "
                               "port are missed in part or whole, unless capture.iwarp_ports names it; {}",
                               no_kernel));
        }
    }
    if (!kernel) return;
    kernel->set_lengths(kernel_options(options));
    kernel->set_ports(options.iwarp_ports);
}

void Tap::State::report(TapEvent::Kind kind, const std::string& interface, std::string message) {
    constexpr std::size_t unread = 1024;  // for an interface that no process reads
    if (news.size() < unread) news.push_back({kind, interface, std::move(message)});
}

bool Tap::State::wanted(const std::string& name) const {
    return std::any_of(options.interfaces.begin(), options.interfaces.end(), [&](const std::string& pattern) {
        if (pattern == "any") return !is_loopback(name) && !lies_on_others(name);
        return pattern == name || ::fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
    });
}

bool Tap::State::open(const Link& link, std::int64_t now) {
    if (const auto before = refused.find(link.name);
        before != refused.end() && before->second.index == link.index && now < before->second.retry_at_ns)
        return false;
    auto opened = RingGroup::open(ring_options(link), ring_count(options.threads));
    if (!opened) {
        Refusal& refusal = refused[link.name];
        if (refusal.index != link.index || refusal.message != opened.error().message)
            report(TapEvent::Kind::failed, link.name, about(link.name, opened.error()));
        refusal = {link.index, opened.error().message, now + retry_ns};
        return false;
    }
    refused.erase(link.name);
    const std::size_t number = number_for(link.name, now);
    tapped[number].ring = std::move(opened).value();
    tapped[number].up = is_up(link.name);
    infos[number] = tapped[number].ring->info();
    std::string message = fmt::format("{}: capturing", link.name);
    if (const std::size_t rings = tapped[number].ring->rings(); rings > 1)
        message += fmt::format(", with {} threads", rings);
    if (tapped[number].ring->hardware_timestamps()) message += ", stamped by the adapter";
    for (const std::string& warning : tapped[number].ring->warnings()) message += "; " + warning;
    report(TapEvent::Kind::opened, link.name, std::move(message));
    return true;
}

/// Its own from before, else that of the one that has been gone for longest, if that is long, else a new one.
std::size_t Tap::State::number_for(const std::string& name, std::int64_t now) {
    std::size_t oldest = tapped.size();
    for (std::size_t i = 0; i < tapped.size(); ++i) {
        if (tapped[i].name == name) return i;
        if (tapped[i].ring || now - tapped[i].gone_ns < options.number_rest_ns) continue;
        if (oldest == tapped.size() || tapped[i].gone_ns < tapped[oldest].gone_ns) oldest = i;
    }
    if (oldest == tapped.size()) {
        tapped.emplace_back();
        infos.emplace_back();
    }
    former += tapped[oldest].before;
    tapped[oldest] = {.name = name};
    return oldest;
}

void Tap::State::give_up(Tapped& each, const std::string& why) {
    each.before += each.ring->statistics();
    each.ring.reset();
    each.polled_event = false;
    each.gone_ns = base::steady_ns();
    report(TapEvent::Kind::lost, each.name, fmt::format("{}: {}", each.name, why));
}

/// Its ring stays, and has its frames again once it is up.
void Tap::State::turned(Tapped& each, bool up) {
    each.up = up;
    if (up)
        report(TapEvent::Kind::opened, each.name, fmt::format("{}: is up", each.name));
    else
        report(TapEvent::Kind::failed, each.name,
               fmt::format("{0}: is down; its frames come once it is up: ip link set {0} up", each.name));
}

void Tap::State::scan(std::int64_t now) {
    scan_wanted = false;
    scanned_ns = now;
    std::int64_t opening_ns = 0;  // once for each interface: nothing to rest from, or the next one waits for it
    const std::vector<Link> present = present_links();
    for (Tapped& each : tapped) {
        if (!each.ring) continue;
        const auto link = std::find_if(present.begin(), present.end(),
                                       [&](const Link& one) { return one.index == each.ring->interface_index(); });
        if (link == present.end())
            each.polled_event = true;  // its ring is to find out, once it has delivered what it has
        else if (link->name != each.name)
            give_up(each, "is called " + link->name + " now");
        else if (!wanted(each.name))
            give_up(each, "is no longer requested");
        else if (const bool up = is_up(each.name); up != each.up)
            turned(each, up);
    }
    for (const Link& link : present) {
        const bool taken = std::any_of(tapped.begin(), tapped.end(), [&](const Tapped& each) {
            return each.ring && (each.name == link.name || each.ring->interface_index() == link.index);
        });
        if (taken || !wanted(link.name)) continue;
        const std::int64_t before = base::steady_ns();
        if (open(link, now)) opening_ns += base::steady_ns() - before;
    }
    std::erase_if(refused, [&](const auto& each) {
        return std::none_of(present.begin(), present.end(), [&](const Link& one) { return one.name == each.first; });
    });
    const std::int64_t done = base::steady_ns();
    scan_again_ns = done + scan_share * (done - now - opening_ns);
}

/// What the kernel passes, where it should be another than it is.
void Tap::State::refilter(std::int64_t now) {
    if (!narrows()) return;
    RdmaFilter next{.tcp_ports = ports.all(), .all_tcp = discovers(now)};
    if (next == filter) return;
    filter = std::move(next);
    for (std::size_t i = 0; i < tapped.size(); ++i) {
        if (!tapped[i].ring) continue;
        if (const auto set = tapped[i].ring->set_filter(filter); !set)
            report(TapEvent::Kind::failed, tapped[i].name, about(tapped[i].name, set.error()));
        infos[i].filter = tapped[i].ring->info().filter;
    }
}

void Tap::State::look_around(std::int64_t now) {
    looked_around_ns = now;
    if (links.descriptor() >= 0 && links.changed()) scan_wanted = true;
    const bool again = now - scanned_ns >= (links.descriptor() < 0 ? scan_ns : retry_ns);
    if (again && (links.descriptor() < 0 || !refused.empty())) scan_wanted = true;
    refilter(now);
    if (scan_due(now)) scan(now);
    for (std::size_t i = 0; i < tapped.size(); ++i)
        if (tapped[i].ring) grow(i);
}

void Tap::State::grow(std::size_t number) {
    Tapped& each = tapped[number];
    const auto grown = each.ring->grow_if_loaded();
    if (!grown) return;
    if (*grown)
        report(TapEvent::Kind::opened, each.name,
               fmt::format("{}: its load demands {} threads from now on", each.name, **grown));
    else
        report(TapEvent::Kind::failed, each.name, about(each.name, grown->error()));
}

void Tap::State::learn(std::span<const wire::Frame> seen, std::int64_t now) {
    const bool streams = options.iwarp_discovery;
    for (const wire::Frame& frame : seen) {
        const auto port = ports.look(frame, now, streams);
        if (!port) continue;
        if (may_learn(now) && ports.add(*port, now)) {
            learn_again_ns = std::max(learn_again_ns, now) + learn_period_ns;
            report(TapEvent::Kind::narrowed, {},
                   fmt::format("TCP port {} speaks MPA: its connections are captured from now on", *port));
            refilter(now);
        } else if (now >= flood_report_again_ns) {
            flood_report_again_ns = now + flood_report_ns;
            report(TapEvent::Kind::flooded, {},
                   fmt::format("more TCP ports look like iWARP than the {} that are learnt: connections of some are "
                               "not captured; name the ports that count (iwarp_ports)",
                               max_filtered_ports));
        }
    }
}

bool Tap::State::may_learn(std::int64_t now) const {
    return learn_again_ns - now < std::int64_t{max_filtered_ports} * learn_period_ns;
}

/// One round: the number of frames of the first interface in turn that has some.
std::optional<std::size_t> Tap::State::serve(std::span<wire::Frame> out, std::int64_t now) {
    for (std::size_t i = 0; i < tapped.size(); ++i) {
        const std::size_t number = turn % tapped.size();
        turn = number + 1;
        Tapped& each = tapped[number];
        if (!each.ring || !(each.ring->ready() || each.polled_event || each.ring->ending())) continue;
        const Batch batch = each.ring->next_batch(out);
        if (batch.status == ReadStatus::frame) {
            for (wire::Frame& frame : out.first(batch.count)) {
                frame.interface = static_cast<std::uint32_t>(number);
                frame.number = ++frames;
            }
            if (narrows() && !kernel) learn(out.first(batch.count), now);
            return batch.count;
        }
        each.polled_event = false;
        if (batch.status == ReadStatus::end) {
            give_up(each, "is gone");
            scan_wanted = true;
        }
    }
    return std::nullopt;
}

/// False where somebody wants it to end.
bool Tap::State::wait(std::int64_t now, std::int64_t until) {
    until = std::min(until, now + look_around_ns);
    if (scan_wanted) until = std::min(until, scan_again_ns);
    constexpr std::size_t ours = 2;
    polled.assign({{wake.number(), POLLIN, 0}, {links.descriptor(), POLLIN, 0}});
    polled_numbers.clear();
    for (std::size_t i = 0; i < tapped.size(); ++i) {
        if (!tapped[i].ring) continue;
        if (tapped[i].ring->ending()) {  // would end every wait at once
            until = std::min(until, now + ending_ns);
            continue;
        }
        if (const auto due = tapped[i].ring->due_ns()) until = std::min(until, *due);
        polled.push_back({tapped[i].ring->descriptor(), POLLIN, 0});
        polled_numbers.push_back(i);
    }
    const auto wait_for = std::max(static_cast<int>((until - now + ns_per_ms - 1) / ns_per_ms), 0);
    const int ready = ::poll(polled.data(), polled.size(), wait_for);
    if (ready < 0 && errno == EINTR) return false;  // a signal, which may mean something to the caller
    if (ready < 0) ::poll(nullptr, 0, wait_for);    // no memory, or fewer files are allowed than are open
    if (ready <= 0) return true;
    if (polled[1].revents != 0) looked_around_ns = 0;
    for (std::size_t i = 0; i < polled_numbers.size(); ++i)
        tapped[polled_numbers[i]].polled_event |= (polled[i + ours].revents & ~POLLIN) != 0;
    std::uint64_t count = 0;
    return polled[0].revents == 0 || ::read(wake.number(), &count, sizeof count) < 0;
}

Tap::Tap(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tap::~Tap() = default;

namespace {

base::Result<void> possible(const TapOptions& options) {
    if (auto permitted = PacketSocket::permitted(); !permitted) return permitted;
    auto compiled = compile_for_socket(options.filter, {}, wire::LinkType::ethernet, 192);
    if (!compiled) return base::Failure{compiled.error()};
    return {};
}

}  // namespace

base::Result<std::unique_ptr<Tap>> Tap::open(const TapOptions& options) {
    if (auto can = possible(options); !can) return base::Failure{can.error()};
    auto state = std::make_unique<State>(options);
    if (!state->wake)
        return base::Failure{base::Error{.message = fmt::format("cannot make an eventfd: {}", std::strerror(errno))}};
    state->ports.configure(options.iwarp_ports);
    state->load_kernel();
    if (state->narrows() && !state->kernel && options.iwarp_ports.size() > max_filtered_ports)
        state->report(TapEvent::Kind::narrowed, {},
                      fmt::format("{} TCP ports are configured, more than {}: all TCP is captured",
                                  options.iwarp_ports.size(), max_filtered_ports));
    state->look_around(base::steady_ns());
    return std::unique_ptr<Tap>(new Tap(std::move(state)));
}

ReadStatus Tap::next(wire::Frame& frame) { return next_batch({&frame, 1}).status; }

Batch Tap::next_batch(std::span<wire::Frame> frames) {
    State& state = *state_;
    if (frames.empty()) return {.status = ReadStatus::timeout};
    std::int64_t now = base::steady_ns();
    const std::int64_t until = now + state.wait_ms * ns_per_ms;
    for (;;) {
        if (state.scan_due(now) || now - state.looked_around_ns >= look_around_ns) state.look_around(now);
        if (const auto count = state.serve(frames, now)) return {.count = *count};
        if (state.scan_due(now)) continue;
        if (now >= until || !state.wait(now, until)) return {.status = ReadStatus::timeout};
        now = base::steady_ns();
    }
}

void Tap::set_wait_ms(int wait_ms) { state_->wait_ms = std::max(wait_ms, 0); }

void Tap::wake() {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(state_->wake.number(), &one, sizeof one);  // full: it is awake
}

const std::vector<InterfaceInfo>& Tap::interfaces() const { return state_->infos; }
const base::Error& Tap::error() const { return state_->problem; }

Statistics Tap::statistics(std::size_t interface) const {
    const Tapped& each = state_->tapped.at(interface);
    Statistics sum = each.before;
    if (each.ring) sum += each.ring->statistics();
    return sum;
}

Statistics Tap::statistics() const {
    Statistics sum = state_->former;
    sum += Source::statistics();
    return sum;
}

bool Tap::is_open(std::size_t interface) const {
    return interface < state_->tapped.size() && state_->tapped[interface].ring != nullptr;
}

bool Tap::hardware_timestamps(std::size_t interface) const {
    return is_open(interface) && state_->tapped[interface].ring->hardware_timestamps();
}

bool Tap::is_recognised(const wire::Frame& frame, std::int64_t now_ns) {
    return !state_->narrows() || state_->ports.recognises(frame, now_ns);
}

std::size_t Tap::threads(std::size_t interface) const {
    return is_open(interface) ? state_->tapped[interface].ring->rings() : 0;
}

std::int64_t Tap::threads_cpu_ns() const {
    std::int64_t sum = 0;
    for (const Tapped& each : state_->tapped)
        if (each.ring) sum += each.ring->cpu_ns();
    return sum;
}

std::vector<TapEvent> Tap::events() { return std::exchange(state_->news, {}); }
void Tap::number_from(std::uint64_t last) { state_->frames = last; }
std::vector<std::uint16_t> Tap::iwarp_ports() const { return state_->ports.all(); }

Learning Tap::learning() const {
    if (!state_->narrows()) return {};
    if (!state_->kernel) return {.place = Learning::Place::process, .reason = state_->no_kernel};
    return {.place = Learning::Place::kernel, .figures = state_->kernel->figures()};
}

base::Result<void> Tap::reconfigure(const TapOptions& options) {
    if (auto can = possible(options); !can) return can;
    State& state = *state_;
    const TapOptions before = std::exchange(state.options, options);
    const bool other_rings = !same_rings(before, options);
    const bool other_filter = before.filter != options.filter || before.rdma_only != options.rdma_only;
    state.ports.configure(options.iwarp_ports);
    state.load_kernel();
    state.refused.clear();
    const std::int64_t now = base::steady_ns();
    state.refilter(now);
    state.scan(now);
    for (std::size_t i = 0; i < state.tapped.size(); ++i) {
        Tapped& each = state.tapped[i];
        if (!each.ring) continue;
        base::Result<void> set;
        if (other_filter)
            set = state.narrows() ? each.ring->set_filter(state.filter) : each.ring->set_filter(options.filter);
        if (set && before.ring.snaplen != options.ring.snaplen) set = each.ring->set_snaplen(options.ring.snaplen);
        if (!set) state.report(TapEvent::Kind::failed, each.name, about(each.name, set.error()));
        if (other_rings)
            state.report(
                TapEvent::Kind::failed, each.name,
                fmt::format("{}: keeps the ring, timestamps and promiscuity that it was opened with", each.name));
        state.infos[i] = each.ring->info();
    }
    return {};
}

}  // namespace capture::live
