#include <cmath>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/endpoint/bench.h"

namespace cli::endpoint {

namespace {

using Json = nlohmann::ordered_json;

double seconds_of(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

std::string scaled(double value, std::string_view unit) {
    constexpr std::array<std::string_view, 5> prefixes{"", "k", "M", "G", "T"};
    std::size_t power = 0;
    while (value >= 999.5 && power + 1 < prefixes.size()) {
        value /= 1000;
        ++power;
    }
    return fmt::format("{:.{}f} {}{}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, prefixes[power], unit);
}

std::string size_text(std::uint64_t octets) {
    constexpr std::array<std::string_view, 4> units{"B", "KiB", "MiB", "GiB"};
    std::size_t power = 0;
    while (octets >= 1024 && octets % 1024 == 0 && power + 1 < units.size()) {
        octets /= 1024;
        ++power;
    }
    return fmt::format("{} {}", octets, units[power]);
}

Json bench_json(const Usage& usage, std::uint64_t octets) {
    const double gigabytes = static_cast<double>(octets) / 1e9;
    return {{"user_seconds", seconds_of(usage.user_ns)},
            {"system_seconds", seconds_of(usage.system_ns)},
            {"seconds_per_gb", octets == 0 ? Json(nullptr) : Json(seconds_of(usage.cpu_ns()) / gigabytes)}};
}

Json bench_json(const BenchOptions& options, const OperationCount& sends, const OperationCount& writes,
                const OperationCount& reads, const OperationCount& atomics) {
    Json all = Json::object();
    const auto put = [&](std::string_view name, const OperationCount& counted) {
        if (counted.count != 0) all[std::string(name)] = {{"count", counted.count}, {"bytes", counted.octets}};
    };
    put("send", sends);
    put("write", writes);
    put("read", reads);
    put(options.compare_swap ? "compare_swap" : "fetch_add", atomics);
    return all;
}

}  // namespace

std::string_view name_of(BenchKind kind) {
    constexpr std::array<std::string_view, 4> names{"write", "read", "send", "atomic"};
    return names[static_cast<std::size_t>(kind)];
}

std::string text_of(const BenchOptions& options, const BenchResult& result) {
    const double seconds = seconds_of(result.duration_ns);
    std::string out =
        fmt::format("{}{}, {}, depth {}, {} connection{}", name_of(options.kind), options.ping_pong ? " and back" : "",
                    options.kind == BenchKind::atomic ? "8 B" : size_text(options.size), result.deepest,
                    options.connections, options.connections == 1 ? "" : "s");
    if (result.agreement) out += fmt::format(", {}", text_of(*result.agreement));
    out += fmt::format("\n  {} messages, {} octets in {:.3f} s\n", result.messages, result.octets, seconds);
    if (result.messages == 0) return out;
    out += fmt::format("  bandwidth  {}, {}\n", scaled(static_cast<double>(result.octets) * 8 / seconds, "bit/s"),
                       scaled(static_cast<double>(result.octets) / seconds, "B/s"));
    out += fmt::format("  rate       {}\n", scaled(static_cast<double>(result.messages) / seconds, "messages/s"));
    const metrics::Histogram& latency = result.latency;
    const auto quantile = [&](double share) { return duration(static_cast<double>(*latency.quantile(share))); };
    if (!latency.empty())
        out += fmt::format("  {} min {}, mean {}, p50 {}, p90 {}, p99 {}, p99.9 {}, max {}\n",
                           options.ping_pong ? "round trip" : "latency   ", quantile(0), duration(*latency.mean()),
                           quantile(0.5), quantile(0.9), quantile(0.99), quantile(0.999), quantile(1));
    const auto cpu = [&](const Usage& usage) {
        std::string text =
            fmt::format("{:.3f} s user, {:.3f} s system", seconds_of(usage.user_ns), seconds_of(usage.system_ns));
        const auto cpu_ns = static_cast<double>(usage.cpu_ns());
        constexpr std::uint64_t small_octets = 16384;  // the price of a message says more there than that of an octet
        if (result.octets / result.messages < small_octets)
            text += fmt::format(", {} a message", duration(cpu_ns / static_cast<double>(result.messages)));
        else
            text += fmt::format(", {:.0f} ms/GB", cpu_ns * 1e3 / static_cast<double>(result.octets));
        return text;
    };
    out += fmt::format("  processor  here {}\n", cpu(result.cpu));
    if (result.server) out += fmt::format("             there {}\n", cpu(*result.server));
    if (options.bits_per_sec)
        out += fmt::format("  deadlines  {} met, {} missed\n", result.deadlines_met, result.deadlines_missed);
    if (options.verify) out += fmt::format("  verified   {} wrong\n", result.wrong);
    return out;
}

std::string json_of(const BenchOptions& options, const BenchResult& result) {
    const double seconds = seconds_of(result.duration_ns);
    const bool any = result.messages != 0;
    const Json none = nullptr;
    const Json all{
        {"role", "bench"},
        {"operation", name_of(options.kind)},
        {"to", text_of(options.to)},
        {"size", options.kind == BenchKind::atomic ? 8 : options.size},
        {"depth", result.deepest != 0 ? result.deepest : options.depth},
        {"connections", options.connections},
        {"ping_pong", options.ping_pong},
        {"placement", options.connection.strict ? "strict" : "direct"},
        {"agreement", result.agreement ? json_of(*result.agreement) : none},
        {"seconds", seconds},
        {"completed", {{"count", result.messages}, {"bytes", result.octets}}},
        {"messages", bench_json(options, result.sends, result.writes, result.reads, result.atomics)},
        {"bytes_per_sec", any ? Json(static_cast<double>(result.octets) / seconds) : none},
        {"messages_per_sec", any ? Json(static_cast<double>(result.messages) / seconds) : none},
        {"latency_ns", json_of(result.latency)},
        {"cpu", bench_json(result.cpu, result.octets)},
        {"server_cpu", result.server ? bench_json(*result.server, result.octets) : none},
        {"rate_bits_per_sec", options.bits_per_sec ? Json(*options.bits_per_sec) : none},
        {"deadlines",
         options.bits_per_sec ? Json{{"met", result.deadlines_met}, {"missed", result.deadlines_missed}} : none},
        {"wrong", options.verify || result.wrong != 0 ? Json(result.wrong) : none},
        {"error", result.error.empty() ? none : Json(result.error)},
    };
    return all.dump(2) + "\n";
}

}  // namespace cli::endpoint
