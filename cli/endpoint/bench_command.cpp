// `rdmascope endpoint bench`.
#include <array>
#include <fmt/core.h>

#include "base/similar.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/endpoint/bench.h"
#include "cli/endpoint/endpoint_server.h"
#include "cli/endpoint/subcommands.h"
#include "cli/signals.h"

namespace cli::endpoint {

namespace {

using options::Section;
using BenchRow = options::Option<BenchOptions>;

constexpr std::array bench_own_rows{
    BenchRow{{0, "to", "ADDR:PORT", "connect to this `endpoint serve` (default 127.0.0.1:7174)"},
             Section::work,
             [](BenchOptions& o, const std::string& value) { return take_address(value, false, o.to); }},
    BenchRow{{0, "size", "SIZE", "use messages of SIZE bytes (default 64K; atomics have 8)"},
             Section::work,
             options::size<0, std::uint64_t{1} << 31, &BenchOptions::size>},
    BenchRow{{0, "count", "N", "end after N messages on each connection"},
             Section::work,
             options::number<1, std::uint64_t{1} << 40, &BenchOptions::count>},
    BenchRow{{0, "seconds", "S", "end after S seconds (default 5)"},
             Section::work,
             options::duration<&BenchOptions::duration_ns>},
    BenchRow{{0, "depth", "N", "have at most N messages outstanding on a connection (default 16)"},
             Section::work,
             options::number<1, 4096, &BenchOptions::depth>},
    BenchRow{{0, "connections", "N", "use N connections, driven by one thread (default 1)"},
             Section::work,
             options::number<1, 65535, &BenchOptions::connections>},
    BenchRow{
        {0, "rate", "BITS",
         "begin messages at this rate on each connection, such as 8.7M; a message misses its deadline if it is not "
         "done when the next one is due"},
        Section::work,
        options::rate<&BenchOptions::bits_per_sec>},
    BenchRow{{0, "timeout", "TIME", "give up after TIME without a completion or a connection (default 10s)"},
             Section::bounds,
             options::duration<&BenchOptions::timeout_ns>},
    BenchRow{{0, "ping-pong", {}, "send: send every message back, and measure the round trip"},
             Section::work,
             options::turn_on<&BenchOptions::ping_pong>},
    BenchRow{{0, "compare-swap", {}, "atomic: Compare and Swap instead of Fetch and Add"},
             Section::work,
             options::turn_on<&BenchOptions::compare_swap>},
    BenchRow{{0, "verify", {}, "compare all data; written data is read back, which doubles the traffic"},
             Section::work,
             options::turn_on<&BenchOptions::verify>},
};

std::string choose(const std::string& word, BenchOptions& options) {
    constexpr std::array known{BenchKind::write, BenchKind::read, BenchKind::send, BenchKind::atomic};
    std::vector<std::string_view> names;
    names.reserve(known.size());
    for (const BenchKind kind : known) {
        names.push_back(name_of(kind));
        if (word != names.back()) continue;
        options.kind = kind;
        return {};
    }
    if (word.empty()) return "what shall be measured? write, read, send or atomic";
    return fmt::format("'{}' is not write, read, send or atomic{}", word, base::did_you_mean(word, names));
}

constexpr std::uint64_t most_completions = std::uint64_t{1} << 24;  ///< in the queue that all connections share

std::string contradiction(const BenchOptions& options) {
    if (options.ping_pong && options.kind != BenchKind::send) return "--ping-pong goes with send alone";
    if (options.compare_swap && options.kind != BenchKind::atomic) return "--compare-swap goes with atomic alone";
    if (options.bits_per_sec && (options.ping_pong || options.size == 0))
        return "--rate goes with messages of a size above 0, and not with --ping-pong";
    constexpr std::uint64_t most = std::uint64_t{1} << 36;
    if (options.connections * options.depth * std::max<std::uint64_t>(options.size, 64) > most)
        return fmt::format("--size, --depth and --connections together ask for more than {}",
                           base::format_exact_size(most));
    if (const std::uint64_t each = Lane::completions(options); options.connections * each + 16 > most_completions)
        return fmt::format(
            "--depth and --connections together ask for too many completions: of this depth there can be {} "
            "connections",
            (most_completions - 16) / each);
    return {};
}

}  // namespace

int bench(const std::vector<std::string>& arguments, const Environment& environment) {
    BenchOptions options;
    std::vector<std::string> words;
    auto usage = parse(arguments, table_of(bench_own_rows), options, words);
    if (!usage && !options.help && !options.version)
        usage = options::usage_error_if(choose(options::joined(words), options));
    if (options.kind == BenchKind::atomic) options.size = 8;
    if (!usage) usage = options::usage_error_if(contradiction(options));
    if (const auto status = answered(environment, "endpoint bench", usage, options, bench_help)) return *status;

    const Signals signals;
    set_patience(options.connection, options.timeout_ns);
    if (raise_descriptor_limit() < options.connections + 32)
        return failed("bench",
                      fmt::format("{} connections need as many descriptors: raise `ulimit -n`", options.connections));
    Bench measurement(options);
    const BenchResult result = measurement.run();
    int printed = exit_done;
    if (options.json || result.error.empty())
        printed = print(options.json ? json_of(options, result) : text_of(options, result));
    if (!result.error.empty()) return failed("bench", result.error);
    if (result.wrong != 0)
        return failed("bench", fmt::format("{} of {} messages held wrong data: something on the way or at {} "
                                           "corrupts them",
                                           result.wrong, result.messages, text_of(options.to)));
    return printed;
}

std::vector<options::ListedOption> bench_options() { return table_of(bench_own_rows).options(); }

std::string bench_help() {
    return options::help_page(
        "Usage: rdmascope endpoint bench write|read|send|atomic [--to ADDR:PORT] [OPTION]...\n\n"
        "Measures bandwidth, message rate, latency and processor time against `endpoint serve`. A Write is done when\n"
        "TCP has taken it (RFC 5040), and the last ones when they are placed; a Send when its credit has come back; a\n"
        "Read or an atomic when its answer has.\n",
        table_of(bench_own_rows).options(), "\nManual: rdmascope-endpoint(1).\n");
}

}  // namespace cli::endpoint
