/// Writes traffic over several routes, and what is true of it:
///     make_routes OUT.pcap TRUTH.json [NAME=VALUE]...
/// Names: routes, pairs, packets, seed, ports, spread (flow, adapter, network), order (in_order, selective, placing),
/// tap (before, after), one_each, tunnel, ipv6, both, uneven (0 or 1), delay_step (ns from a route to the next), and of
/// the first route loss, marks (millionths), delay (ns); of all routes loss_all (millionths), burst (packets);
/// reroute (ns after the beginning: the first route is left out).
#include <charconv>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "capture/files/writer.h"
#include "tests/model/routed_traffic.h"

namespace {

using Settings = std::map<std::string, std::string, std::less<>>;

std::uint64_t number(const Settings& settings, std::string_view name, std::uint64_t otherwise) {
    const auto found = settings.find(name);
    if (found == settings.end()) return otherwise;
    std::uint64_t value = 0;
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), value);
    return value;
}

std::string word(const Settings& settings, std::string_view name, const char* otherwise) {
    const auto found = settings.find(name);
    return found == settings.end() ? otherwise : found->second;
}

void set_routes(model::RoutePlan& plan, const Settings& settings) {
    plan.routes.resize(number(settings, "routes", 8));
    for (std::size_t i = 0; i < plan.routes.size(); ++i) {
        model::Route& route = plan.routes[i];
        route.delay_ns += static_cast<std::int64_t>(i * number(settings, "delay_step", 0));
        route.loss = static_cast<std::uint32_t>(number(settings, "loss_all", 0));
        route.burst = static_cast<std::uint32_t>(number(settings, "burst", 1));
    }
    model::Route& first = plan.routes[0];
    first.loss = static_cast<std::uint32_t>(number(settings, "loss", first.loss));
    first.marks = static_cast<std::uint32_t>(number(settings, "marks", 0));
    first.delay_ns = static_cast<std::int64_t>(number(settings, "delay", static_cast<std::uint64_t>(first.delay_ns)));
}

model::RoutePlan plan_of(const Settings& settings) {
    model::RoutePlan plan;
    set_routes(plan, settings);
    plan.pairs = model::alike(static_cast<std::uint32_t>(number(settings, "pairs", 8)),
                              static_cast<std::uint32_t>(number(settings, "packets", 20'000)));
    plan.seed = number(settings, "seed", 1);
    plan.reroute.at_ns = static_cast<std::int64_t>(number(settings, "reroute", 0));
    plan.ports = static_cast<std::uint32_t>(number(settings, "ports", 16));
    plan.one_each = number(settings, "one_each", 0) != 0;
    plan.tunnelled = number(settings, "tunnel", 0) != 0;
    plan.tap_after = word(settings, "tap", "after") == "after";
    const std::string spread = word(settings, "spread", "flow");
    plan.spread = spread == "adapter"   ? model::Spread::by_adapter
                  : spread == "network" ? model::Spread::by_network
                                        : model::Spread::by_flow;
    const std::string order = word(settings, "order", "in_order");
    plan.order = order == "selective" ? model::Order::selective
                 : order == "placing" ? model::Order::placing
                                      : model::Order::in_order;
    if (number(settings, "ipv6", 0) != 0) {
        plan.framing = model::Framing::roce2_ipv6;
        for (model::RoutedPair& pair : plan.pairs) pair.label = 0x10000u + pair.port;
    }
    if (number(settings, "both", 0) != 0)
        for (std::size_t i = 1; i < plan.pairs.size(); i += 2) plan.pairs[i].from_b = true;
    if (number(settings, "uneven", 0) != 0)
        for (std::size_t i = 0; i < plan.pairs.size(); ++i)
            plan.pairs[i].packets /= static_cast<std::uint32_t>(1 + i % 5);
    return plan;
}

bool write_text(const char* path, const std::string& text) {
    std::FILE* file = std::fopen(path, "w");
    if (file == nullptr) return false;
    const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && whole;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 3) return std::fputs("usage: make_routes OUT.pcap TRUTH.json [NAME=VALUE]...\n", stderr), 2;
    Settings settings;
    for (int i = 3; i < count; ++i) {
        const std::string_view text = arguments[i];
        const std::size_t equals = text.find('=');
        if (equals == text.npos) return std::fprintf(stderr, "make_routes: %s: no value\n", arguments[i]), 2;
        settings.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
    const model::RoutePlan plan = plan_of(settings);
    capture::WriterOptions options;
    options.format = capture::format_of_name(arguments[1]);
    options.precision = capture::TimePrecision::nano;
    auto writer = capture::open_writer(arguments[1], options);
    if (!writer.ok()) return std::fprintf(stderr, "%s\n", writer.error().text().c_str()), 1;
    capture::InterfaceInfo interface;
    interface.ticks_per_sec = 1'000'000'000;
    std::uint64_t frames = 0;
    bool good = true;
    const auto write = [&](const support::KeptFrame& kept) {
        good = good && (*writer)->write(kept.frame(++frames), interface) == capture::WriteStatus::ok;
    };
    const model::RouteTruth truth = model::RoutedTraffic(plan, write, true).run();
    if (!(*writer)->close() || !good) return std::fprintf(stderr, "%s\n", (*writer)->error().text().c_str()), 1;
    if (!write_text(arguments[2], model::to_json(plan, truth)))
        return std::fprintf(stderr, "%s: cannot be written\n", arguments[2]), 1;
    return 0;
}
