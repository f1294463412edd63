#pragma once
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "fleet/sink/sink.h"

/// A daemon's sink without the daemon, for the programs of these tests.
namespace probe {

class NoNames final : public metrics::HostNames {
public:
    std::string name(const metrics::Address& /*address*/) const override { return {}; }
};

/// A sink that every interval is due for. It prints its log on stderr; null with a message there if it does not open.
/// `where`: a server's URL, or the path of a file or pipe for JSON lines.
inline std::unique_ptr<fleet::sink::Sink> start_sink(const std::string& where, fleet::sink::SinkOptions options) {
    static const NoNames names;
    (where.starts_with('/') ? options.jsonl : options.access.url) = where;
    options.access.user = "default";
    options.max_spool_octets = std::uint64_t{1} << 32;
    options.interval_ns = 1;
    auto sink = fleet::sink::Sink::open(
        std::move(options), names, [](bool, const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); });
    if (!sink) {
        std::fprintf(stderr, "%s\n", sink.error().text().c_str());
        return {};
    }
    (*sink)->start();
    return std::move(sink).value();
}

template <class Condition>
void wait_until(Condition condition) {
    while (!condition()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// Returns when the rows of the sink's n-th interval are in the spool.
inline void keep(fleet::sink::Sink& sink, fleet::sink::Interval interval, std::uint64_t n) {
    sink.offer(std::move(interval), base::steady_ns());
    wait_until([&] { return sink.counters().intervals_spooled >= n; });
}

/// Returns when all rows are sent.
inline void empty_spool(const fleet::sink::Sink& sink) {
    wait_until([&] { return sink.counters().spool.files == 0; });
}

}  // namespace probe
