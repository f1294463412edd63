#include <cmath>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "cli/endpoint/bench.h"

namespace cli::endpoint {

namespace {

using Json = nlohmann::ordered_json;

double seconds_of(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

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
                    options.kind == BenchKind::atomic ? "8 B" : base::format_exact_size(options.size), result.deepest,
                    options.connections, options.connections == 1 ? "" : "s");
    if (result.agreement) out += fmt::format(", {}", text_of(*result.agreement));
    out += fmt::format("\n  {} messages, {} bytes in {}\n", result.messages, result.octets,
                       base::format_duration(result.duration_ns));
    if (result.messages == 0) return out;
    out += fmt::format("  bandwidth  {}, {}\n", base::format_bit_rate(static_cast<double>(result.octets) * 8 / seconds),
                       base::format_byte_rate(static_cast<double>(result.octets) / seconds));
    out +=
        fmt::format("  rate       {} messages/s\n", base::format_count(static_cast<double>(result.messages) / seconds));
    const metrics::Histogram& latency = result.latency;
    const auto quantile = [&](double share) { return base::format_duration(latency.quantile(share)); };
    if (!latency.empty())
        out += fmt::format("  {} min {}, mean {}, p50 {}, p90 {}, p99 {}, p99.9 {}, max {}\n",
                           options.ping_pong ? "round trip" : "latency   ", quantile(0),
                           base::format_duration(latency.mean()), quantile(0.5), quantile(0.9), quantile(0.99),
                           quantile(0.999), quantile(1));
    const auto cpu = [&](const Usage& usage) {
        std::string text = fmt::format("{} user, {} system", base::format_duration(usage.user_ns),
                                       base::format_duration(usage.system_ns));
        const auto cpu_ns = static_cast<double>(usage.cpu_ns());
        constexpr std::uint64_t small_octets = 16384;  // the price of a message says more there than that of an byte
        if (result.octets / result.messages < small_octets)
            text += fmt::format(", {} a message", base::format_duration(cpu_ns / static_cast<double>(result.messages)));
        else
            text += fmt::format(", {}/GB", base::format_duration(cpu_ns * 1e9 / static_cast<double>(result.octets)));
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
