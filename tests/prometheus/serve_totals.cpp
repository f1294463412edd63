// What the Prometheus tests run: figures of captures as the daemon would export them.
//
//   prometheus_totals series                     one metric a line: name, type, unit, labels, help, by tabs
//   prometheus_totals text CAPTURE INTERVAL_MS   the text format after a capture fed in intervals; 0: in one
//   prometheus_totals steps CAPTURE INTERVAL_MS  the same after every interval, separated by a line "# ----"
//   prometheus_totals serve CAPTURE ADDRESS      the listener; "port N" on stdout, then until stdin ends
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "daemon/http/http_server.h"
#include "daemon/http/site.h"
#include "exporters/prometheus/devices.h"
#include "exporters/prometheus/front_page.h"
#include "exporters/prometheus/traffic_totals.h"
#include "exporters/prometheus/verdicts.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/support/captures.h"

namespace {

namespace prom = exporters::prometheus;

struct NoNames final : metrics::HostNames {
    std::string name(const metrics::Address&) const override { return {}; }
};

/// Node A's addresses in the captures of the lab: what "this machine" is.
std::vector<metrics::Address> own_addresses() {
    metrics::Address address;
    address.family = wire::AddressFamily::ipv4;
    address.octets = {192, 0, 2, 1};
    return {address};
}

void print(std::FILE* out, const std::string& text) { std::fwrite(text.data(), 1, text.size(), out); }

/// A counter of each kind, as a machine would have them.
metrics::DeviceFigures devices() {
    using metrics::CounterUnit;
    using wire::CounterFact;
    metrics::DeviceFigures figures;
    figures.counters = {
        {"mlx5_0", 1, "port_rcv_data", CounterFact::octets_received, CounterUnit::octets, -1, {}, 4096},
        {"mlx5_0", 1, "port_rcv_packets", CounterFact::packets_received, CounterUnit::times, -1, {}, 4},
        {"mlx5_0", 1, "np_cnp_sent", CounterFact::cnp_sent, CounterUnit::times, -1, {}, 2},
        {"mlx5_0", 1, "rx_write_requests", CounterFact::other, CounterUnit::times, -1, {}, 1},
        {"eth2", 0, "rx_prio3_pause", CounterFact::pause_received, CounterUnit::times, 3, {}, 5},
        {"eth2", 0, "rx_prio3_pause_duration", CounterFact::pause_received_time, CounterUnit::ns, 3, {}, 1'500'000}};
    figures.ports = {{"mlx5_0", 1, "roce", "eth2", true}};
    figures.queue_pairs = {{"mlx5_0", 1, 17, 18, "RC", "RTS", 4711, ""}};
    return figures;
}

std::string program_text(const metrics::Snapshot& snapshot) {
    prom::ProgramFigures figures;
    figures.version = "0.0.0-test";
    figures.uptime_seconds = 3700;
    figures.interfaces = {{"eth0", true, snapshot.capture.packets, 1, 2, 100'000'000'000},
                          {"eth1<&>", false, 0, 0, 0, {}}};
    figures.captured_packets = snapshot.capture.packets;
    figures.captured_bytes = snapshot.capture.bytes;
    figures.flows = snapshot.flows.size();
    prom::VerdictGauges verdicts;
    verdicts.add(metrics::answer(snapshot, NoNames()));
    return prom::text(prom::families(figures)) + prom::text(verdicts.families()) +
           prom::text(prom::families(devices()));
}

/// Feeds a capture as the daemon does, interval by interval of the capture's clock.
void feed(const std::string& path, std::int64_t interval_ns, const metrics::AnalyzerOptions& options,
          prom::TrafficTotals& totals, metrics::Snapshot& last, const std::function<void()>& after_each) {
    std::vector<support::KeptFrame> kept;
    support::load_capture(path, ~std::size_t{0}, kept);
    metrics::Analyzer analyzer(options);
    const NoNames names;
    const auto step = [&](std::int64_t later_ns = 0) {
        metrics::Snapshot now = analyzer.snapshot();
        now.capture.last_ns += later_ns;
        totals.add(metrics::difference(last, now), now, names, own_addresses());
        last = std::move(now);
        after_each();
    };
    std::vector<wire::Frame> frames;
    std::int64_t until_ns = kept.empty() || interval_ns == 0 ? INT64_MAX : kept.front().time_ns + interval_ns;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (kept[i].time_ns >= until_ns) {
            analyzer.feed(frames);
            frames.clear();
            step();
            while (until_ns <= kept[i].time_ns) until_ns += interval_ns;
        }
        frames.push_back(kept[i].frame(i + 1));
    }
    analyzer.feed(frames);
    analyzer.finish();
    step();
    // What a late packet could have taken back is settled then.
    step(2'000'000'000);
    step(4'000'000'000);
}

int list_series() {
    for (const auto& series : prom::all_series()) {
        const char* const type = series.type == ::prometheus::MetricType::Counter ? "counter"
                                 : series.type == ::prometheus::MetricType::Gauge ? "gauge"
                                                                                  : "histogram";
        std::string labels;
        for (const auto& label : series.labels) {
            if (!labels.empty()) labels += ',';
            labels += label;
        }
        std::cout << series.name << '\t' << type << '\t' << series.unit << '\t' << labels << '\t' << series.help
                  << '\n';
    }
    return 0;
}

int serve(const prom::TrafficTotals& totals, const metrics::Snapshot& snapshot, const std::string& address) {
    prom::ProgramFigures figures;
    figures.version = "0.0.0-test";
    figures.interfaces = {{"eth0", true, snapshot.capture.packets, 0, 0, {}}, {"<eth1>", false, 0, 0, 0, {}}};
    service::http::PlainSite site({[&] { return prom::text(totals.families()) + program_text(snapshot); },
                                   [] {
                                       return service::http::Pages::Health{true, "capturing"};
                                   },
                                   [=] { return prom::front_page(figures); }});
    auto listener = service::http::HttpServer::open(address, site);
    if (!listener.ok()) {
        std::cerr << listener.error().text() << '\n';
        return 1;
    }
    std::cout << "port " << (*listener)->port() << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    if (words.size() == 1 && words[0] == "series") return list_series();
    if (words.size() != 3 && words.size() != 4) return 2;
    metrics::AnalyzerOptions analyzer;
    analyzer.engine.commands = true;
    if (words.size() == 4) analyzer.engine.link_bits_per_sec = std::strtoull(words[3].c_str(), nullptr, 10);
    prom::TrafficOptions options;
    options.interfaces = {"eth0"};
    prom::TrafficTotals totals(options);
    metrics::Snapshot last;
    const bool serves = words[0] == "serve";
    const bool steps = words[0] == "steps";
    const std::int64_t interval_ns = serves ? 0 : std::strtoll(words[2].c_str(), nullptr, 10) * 1'000'000;
    feed(words[1], interval_ns, analyzer, totals, last, [&] {
        if (steps) print(stdout, prom::text(totals.families()) + "# ----\n");
    });
    if (serves) return serve(totals, last, words[2]);
    if (!steps) print(stdout, prom::text(totals.families()) + program_text(last));
    return 0;
}
