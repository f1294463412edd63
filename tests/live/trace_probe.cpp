/// Static trace points in the hands of a script: trace_probe BINARY PID
/// Prints `ready` when they are armed (PID 0: in all processes), then each record as a JSON object, until standard
/// input ends; then what was counted. Exit status 77 and the reason where the machine does not permit it.
#include <cstdlib>
#include <fmt/core.h>
#include <poll.h>
#include <vector>

#include "trace/uprobe/probe_source.h"

using namespace trace;

namespace {

void print(const Record& record) {
    std::string more;
    if (record.kind == RecordKind::queue_pair)
        more = fmt::format("\"state\": {}", record.change.state);
    else
        more = fmt::format("\"id\": {}, \"opcode\": {}, \"status\": {}, \"bytes\": {}, \"flags\": {}", record.work.id,
                           record.work.opcode, record.work.status, record.work.bytes, record.work.flags);
    fmt::print("{{\"kind\": {}, \"time_ns\": {}, \"number\": {}, \"process\": {}, {}}}\n",
               static_cast<unsigned>(record.kind), record.time_ns, record.number, record.process, more);
}

int fail(const base::Error& error, int status) {
    fmt::print(stderr, "trace_probe: {}\n", error.text());
    return status;
}

bool input_ended() {
    pollfd input{0, POLLIN, 0};
    return ::poll(&input, 1, 0) > 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return fail({"usage: trace_probe BINARY PID"}, 2);
    const auto file = base::ElfFile::open(argv[1]);
    if (!file) return fail(file.error(), 1);
    const auto probes = read_usdt_probes(file.value());
    if (!probes) return fail(probes.error(), 1);
    std::vector<std::string> warnings;
    std::vector<ProbePoint> points;
    for (const UsdtProbe& probe : probes.value()) points.push_back(point_of(probe, file.value(), warnings));
    for (const std::string& warning : warnings) fmt::print(stderr, "trace_probe: {}\n", warning);
    ProbeOptions options;
    options.perf.process = std::atoi(argv[2]);
    options.perf.ring_octets = 4 * 1024 * 1024;
    auto source = ProbeSource::open(points, options);
    if (!source) return fail(source.error(), 77);
    fmt::print("ready\n");
    std::fflush(stdout);
    std::vector<Record> records(4096);
    for (bool last = false;;) {
        const TraceBatch batch = (*source)->next(records, 50);
        for (std::size_t i = 0; i < batch.count; ++i) print(records[i]);
        if (batch.status == TraceStatus::records) continue;
        if (batch.status != TraceStatus::timeout || last) break;
        last = input_ended();
    }
    for (const EventCount& event : (*source)->events())
        fmt::print("{{\"event\": \"{}\", \"count\": {}}}\n", event.name, event.count);
    fmt::print("{{\"lost\": {}}}\n", (*source)->lost());
    return 0;
}
