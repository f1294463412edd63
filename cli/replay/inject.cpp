#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "capture/files/file_source.h"
#include "cli/console.h"
#include "cli/replay/modes.h"
#include "cli/signals.h"
#include "replay/frames/steady_clock.h"
#include "replay/sockets/frame_socket.h"

namespace cli::replay {

namespace {

using Json = nlohmann::ordered_json;
using ::replay::InjectReport;
using ::replay::Outgoing;
using ::replay::Unfit;

struct Done {
    const ReplayOptions& options;
    const ::replay::InterfaceFacts& interface;
    const InjectReport& report;
    const Outgoing& outgoing;
    const ::replay::FrameLineCounters& impaired;
};

double per_second(std::uint64_t count, const InjectReport& report) {
    return report.seconds() > 0 ? static_cast<double>(count) / report.seconds() : 0;
}

std::string injection_text(const Done& done) {
    const InjectReport& report = done.report;
    std::string out = fmt::format("{} frames, {} bytes by {} in {}", report.sent, report.octets, done.interface.name,
                                  base::format_duration(report.seconds() * 1e9));
    if (report.seconds() > 0)
        out += fmt::format(": {} frames/s, {}", base::format_count(per_second(report.sent, report)),
                           base::format_bit_rate(per_second(report.octets, report) * 8));
    out += '\n';
    if (!report.late_ns.empty())
        out += fmt::format("later than due: {} at the median, {} at the 99th percentile, {} at most\n",
                           base::format_duration(report.late_ns.quantile(0.5)),
                           base::format_duration(report.late_ns.quantile(0.99)),
                           base::format_duration(report.late_ns.max()));
    if (done.outgoing.rewritten().frames != 0)
        out += fmt::format("{} frames rewritten\n", done.outgoing.rewritten().frames);
    if (done.outgoing.rewritten().unfollowed != 0)
        out += fmt::format("{} of them fragments: the ICRC of their datagram does not agree any more\n",
                           done.outgoing.rewritten().unfollowed);
    if (report.out_of_order != 0)
        out += fmt::format("{} frames stamped before the previous one: sent right after it\n", report.out_of_order);
    if (done.options.impairment.any())
        out += fmt::format("on the way: {} lost, {} twice, {} corrupted, {} overtaken, {} marked ({} could not be)\n",
                           done.impaired.lost, done.impaired.duplicated, done.impaired.corrupted,
                           done.impaired.reordered, done.impaired.marked, done.impaired.not_markable);
    if (report.too_long != 0)
        out += fmt::format("not sent: {} frames longer than {} takes (MTU {}); ip link set {} mtu N\n", report.too_long,
                           done.interface.name, done.interface.mtu, done.interface.name);
    for (std::size_t i = 1; i < done.outgoing.unfit().size(); ++i)
        if (const auto count = done.outgoing.unfit()[i]; count != 0)
            out += fmt::format("not sent: {} frames {}\n", count, ::replay::words_of(static_cast<Unfit>(i)));
    if (report.stopped) out += "stopped before all was sent\n";
    return out;
}

Json late_json(const metrics::Histogram& late) {
    if (late.empty()) return nullptr;
    return {{"count", late.count()},         {"min", *late.min()},         {"mean", *late.mean()},
            {"p50", *late.quantile(0.5)},    {"p90", *late.quantile(0.9)}, {"p99", *late.quantile(0.99)},
            {"p999", *late.quantile(0.999)}, {"max", *late.max()}};
}

std::string injection_json(const Done& done) {
    const InjectReport& report = done.report;
    const auto& unfit = done.outgoing.unfit();
    const auto of = [&](Unfit reason) { return unfit[static_cast<std::size_t>(reason)]; };
    Json all = {{"file", done.options.path},
                {"interface", done.interface.name},
                {"mtu", done.interface.mtu},
                {"loops", report.loops},
                {"read_frames", report.read},
                {"sent_frames", report.sent},
                {"sent_bytes", report.octets},
                {"seconds", report.seconds()},
                {"frames_per_sec", per_second(report.sent, report)},
                {"bits_per_sec", per_second(report.octets, report) * 8},
                {"late_ns", late_json(report.late_ns)},
                {"out_of_order", report.out_of_order},
                {"rewritten", done.outgoing.rewritten().frames},
                {"rewritten_fragments", done.outgoing.rewritten().unfollowed},
                {"not_sent",
                 {{"longer_than_mtu", report.too_long},
                  {"cut", of(Unfit::cut)},
                  {"link", of(Unfit::link)},
                  {"no_addresses", of(Unfit::addresses)},
                  {"no_type", of(Unfit::family)},
                  {"too_short", of(Unfit::too_short)}}}};
    all["impaired"] = nullptr;
    if (done.options.impairment.any())
        all["impaired"] = {{"seed", done.options.impairment.seed},      {"lost", done.impaired.lost},
                           {"duplicated", done.impaired.duplicated},    {"corrupted", done.impaired.corrupted},
                           {"reordered", done.impaired.reordered},      {"marked", done.impaired.marked},
                           {"not_markable", done.impaired.not_markable}};
    all["stopped"] = report.stopped;
    all["error"] = report.error.empty() ? Json(nullptr) : Json(report.error);
    return all.dump(2) + "\n";
}

/// Why frames must not be sent on this interface; empty if they may be sent.
std::string objection(const ReplayOptions& options, const ::replay::InterfaceFacts& interface) {
    if (!interface.ethernet)
        return fmt::format("{}: frames go through Ethernet interfaces alone, and this is of hardware type {}",
                           interface.name, interface.hardware);
    if (!interface.up)
        return fmt::format("{}: the interface is down: ip link set {} up", interface.name, interface.name);
    if (options.force) return {};
    const auto routes = ::replay::default_routes_by(interface);
    if (!routes) return routes.error() + "; --force does without";
    if (routes->empty()) return {};
    std::string all;
    for (const std::string& route : *routes) all += (all.empty() ? "" : ", ") + route;
    return fmt::format(
        "{}: the default route goes this way ({}): what is put here reaches others; --force where that is meant",
        interface.name, all);
}

std::string reasons(const Outgoing& outgoing) {
    std::string all;
    for (std::size_t i = 1; i < outgoing.unfit().size(); ++i)
        if (const auto count = outgoing.unfit()[i]; count != 0)
            all += fmt::format("{}{} frames {}", all.empty() ? "" : ", ", count,
                               ::replay::words_of(static_cast<Unfit>(i)));
    return all;
}

bool run_all(const ReplayOptions& options, ::replay::Injector& injector, std::string& error) {
    for (std::uint64_t loop = 0; loop < options.loop; ++loop) {
        auto source = capture::open_file(options.path, {.stop = Signals::stop});
        if (!source) {
            error = source.error().text();
            return false;
        }
        if (!injector.run(**source)) {
            error = injector.report().error;
            return false;
        }
    }
    const bool finished = injector.finish();
    error = injector.report().error;
    return finished;
}

}  // namespace

int inject(const ReplayOptions& options, const Environment&) {
    const auto interface = ::replay::learn_interface(options.interface);
    if (!interface) return failed(options, interface.error());
    if (const std::string why = objection(options, *interface); !why.empty()) return failed(options, why);
    std::optional<::replay::EtherAddresses> ether;
    if (!options.ether.empty()) ether = ::replay::parse_ether(options.ether, interface->address);
    auto socket = ::replay::FrameSocket::open(*interface);
    if (!socket) return failed(options, socket.error());

    const Signals signals;
    ::replay::SteadyClock clock(Signals::stop);
    Outgoing outgoing(::replay::Rewriter(options.rewrite), ether);
    ::replay::Injector injector(**socket, clock, outgoing, {options.speed, options.impairment, Signals::stop});
    std::string error;
    run_all(options, injector, error);
    const InjectReport& report = injector.report();
    const Done done{options, *interface, report, outgoing, injector.impaired()};
    if (report.read != 0 || error.empty()) {
        const int printed = print(options.json ? injection_json(done) : injection_text(done));
        if (printed != exit_done) return printed;
        if (!error.empty()) return failed(error);
    }
    if (!error.empty()) return failed(options, error);
    if (report.sent == 0 && report.read != 0 && injector.impaired().frames == 0 && !report.stopped)
        return failed(report.too_long != 0 ? "nothing was sent: every frame is longer than the interface takes"
                                           : "nothing was sent: " + reasons(outgoing));
    return exit_done;
}

}  // namespace cli::replay
