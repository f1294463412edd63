/// Sends the rows of a capture as a daemon would, for tests that compare the engine's answers with those of one host.
///
///   rows_probe URL PASSWORD SPOOL CAPTURE HOST OWN BOOT INTERVALS
///
/// The capture is cut into pieces of equal numbers of frames, one an interval of 10 s; the first one begins at BOOT (ns
/// since 1970). OWN: the daemon's IPv4 address. URL: a server, or the path of a file or pipe for JSON lines. Prints
/// `done` when all rows are there.
#include <arpa/inet.h>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "fleet/sink/sink.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/fleet/probe_sink.h"
#include "tests/support/captures.h"

namespace {

using fleet::sink::Interval;

metrics::Address address_of(const char* text) {
    metrics::Address address;
    if (::inet_pton(AF_INET, text, address.octets.data()) == 1) address.family = wire::AddressFamily::ipv4;
    return address;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 9) return 2;
    constexpr std::int64_t interval_ns = 10'000'000'000;
    fleet::sink::SinkOptions options;
    options.access.password = argv[2];
    options.spool = argv[3];
    options.host = argv[5];
    options.boot = std::strtoull(argv[7], nullptr, 10);
    options.start_ns = static_cast<std::int64_t>(options.boot);
    const std::int64_t start_ns = options.start_ns;
    const auto sink = probe::start_sink(argv[1], std::move(options));
    if (!sink) return 1;
    std::vector<support::KeptFrame> kept;
    support::load_capture(argv[4], ~std::size_t{0}, kept);
    metrics::AnalyzerOptions how;
    how.engine.commands = true;
    metrics::Analyzer analyzer(how);
    const std::size_t intervals = std::strtoull(argv[8], nullptr, 10);
    std::size_t fed = 0;
    for (std::size_t n = 1; n <= intervals; ++n) {
        for (; fed < kept.size() * n / intervals; ++fed) {
            const wire::Frame frame = kept[fed].frame(fed + 1);
            analyzer.feed({&frame, 1});
        }
        if (n == intervals) analyzer.finish();
        Interval interval;
        interval.snapshot = std::make_shared<metrics::Snapshot>(analyzer.snapshot());
        interval.own_addresses = {address_of(argv[6])};
        interval.end_ns = start_ns + static_cast<std::int64_t>(n) * interval_ns;
        probe::keep(*sink, std::move(interval), n);
    }
    probe::empty_spool(*sink);
    std::printf("done\n");
    return 0;
}
