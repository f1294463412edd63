/// Writes the seeds of the fuzz targets from pcaps/: make_seeds FOLDER makes FOLDER/frame, /stream, /pcap_file,
/// /filter, /mpa_stream, /iwarp_peer, /control_line, /snapshot, /trace_file, /trace_ring, /upper_messages, /management.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "dissect/dissector.h"
#include "metrics/figures/snapshot_codec.h"
#include "metrics/measure/engine/analyzer.h"
#include "tests/fuzz/iwarp_seeds.h"
#include "tests/fuzz/link_types.h"
#include "tests/support/captures.h"
#include "tests/support/pcaps.h"
#include "trace/file/trace_file.h"
#include "trace/ring/ring_layout.h"
#include "upper/command_listener.h"
#include "upper/reader.h"
#include "upper/upper_connection.h"

namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& content) {
    std::ofstream(path, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
}

std::string text_of(const std::vector<std::byte>& octets) {
    return {reinterpret_cast<const char*>(octets.data()), octets.size()};
}

/// One frame for each new row of layers in a capture.
void frame_seeds(const fs::path& folder, const support::KeptCapture& capture) {
    std::set<std::string> seen;
    dissect::Dissection dissection;
    for (const support::KeptFrame& kept : capture.frames) {
        dissect::dissect_frame(kept.frame(1), {}, dissection);
        std::string layers;
        for (unsigned i = 0; i < dissection.layer_count; ++i) layers += static_cast<char>(dissection.layers[i].id);
        if (dissection.has(dissect::LayerId::bth)) layers += static_cast<char>(dissection.bth.opcode);
        if (!seen.insert(layers).second || kept.octets.size() > 2000) continue;
        const auto link =
            std::find(fuzz::link_types.begin(), fuzz::link_types.end(), kept.link_type) - fuzz::link_types.begin();
        std::string seed;
        seed += static_cast<char>(link);
        seed += '\0';
        write(folder / (capture.name + "-" + std::to_string(seen.size())), seed + text_of(kept.octets));
    }
}

/// The first segments with payload of the first connection, as records of the target `stream`.
void stream_seed(const fs::path& folder, const support::KeptCapture& capture) {
    dissect::Dissection dissection;
    std::string seed;
    std::uint16_t client = 0;
    for (const support::KeptFrame& kept : capture.frames) {
        dissect::dissect_frame(kept.frame(1), {}, dissection);
        if (!dissection.has(dissect::LayerId::tcp) || seed.size() > 6000) continue;
        if (client == 0) client = dissection.source_port;
        if (dissection.source_port != client && dissection.destination_port != client) continue;
        const bool backwards = dissection.source_port != client;
        const auto& tcp = dissection.tcp;
        const std::uint32_t length = std::min<std::uint32_t>(tcp.payload_captured, 0xffff);
        seed += static_cast<char>((backwards ? 4 : 0) | ((tcp.flags & 2) != 0 ? 8 : 0));
        seed += '\0';
        seed += static_cast<char>(length & 0xff);
        seed += static_cast<char>(length >> 8);
        seed.append(reinterpret_cast<const char*>(kept.octets.data()) + tcp.payload_offset, length);
    }
    if (!seed.empty()) write(folder / capture.name, seed);
}

/// The records of a capture of the link type ERF are a file of Endace's own format.
void erf_seed(const fs::path& folder, const support::KeptCapture& capture) {
    std::string records;
    for (const support::KeptFrame& kept : capture.frames)
        if (kept.link_type == wire::LinkType::erf && records.size() < 20'000) records += text_of(kept.octets);
    if (!records.empty()) write(folder / (capture.name + ".erf"), records);
}

void filter_seeds(const fs::path& folder) {
    std::ifstream list(RDMASCOPE_FILTERS);
    std::string line;
    for (unsigned number = 0; std::getline(list, line); ++number) {
        const std::size_t tab = line.find('\t');
        if (tab != std::string::npos && line[0] != '#') write(folder / std::to_string(number), line.substr(tab + 1));
    }
    write(folder / "presence", "infiniband.bth && !tcp");
    write(folder / "slice", "eth.src[0:3] == 02:00:00 || infiniband.bth.psn in {1..5, 9}");
}

/// A seed a line of each kind that the control socket's manual describes, and one with many.
void control_seeds(const fs::path& folder) {
    const std::vector<std::string> lines{
        R"({"version":1,"id":7,"command":"help"})",
        R"({"command":"version"})",
        R"({"id":"a","command":"status"})",
        R"({"command":"flows"})",
        R"({"command":"flows","columns":["id","packets","latency_ns.write"],"sort":"-packets","limit":2,"flow":1})",
        R"({"command":"why","flow":1,"max_age_ms":0})",
        R"({"id":[1,{"b":"\u20ac"}],"command":"snapshot"})",
        R"({"command":"subscribe","what":"flows","interval_ms":100,"columns":["id"]})",
        R"({"command":"subscribe","what":"why"})",
        R"({"command":"subscribe","what":"status"})",
        R"({"command":"unsubscribe","what":"why"})",
        R"({"command":"trigger","reason":"slow"})",
        R"({"command":"reload"})",
        R"({"command":"history"})",
        R"({"id":2,"command":"frames"})",
        R"({"command":"recording"})",
    };
    std::string all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        write(folder / std::to_string(i), lines[i]);
        all += lines[i] + "\n";
    }
    write(folder / "all", all);
}

/// Figures of the first frames, small enough to be mutated.
void snapshot_seeds(const fs::path& folder, const support::KeptCapture& capture) {
    for (const std::size_t count : {std::size_t{6}, std::size_t{30}, std::size_t{120}}) {
        metrics::Analyzer analyzer;
        for (std::size_t i = 0; i < std::min(count, capture.frames.size()); ++i) {
            const wire::Frame frame = capture.frames[i].frame(i + 1);
            analyzer.feed({&frame, 1}, true);
        }
        analyzer.finish();
        std::vector<std::byte> octets;
        metrics::encode(analyzer.snapshot(), octets);
        if (octets.size() <= 4000) write(folder / (capture.name + "-" + std::to_string(count)), text_of(octets));
    }
}

/// A short trace of one process.
void trace_seeds(const fs::path& folder) {
    using namespace trace;
    for (const std::size_t devices : {std::size_t{0}, std::size_t{2}}) {
        auto writer = TraceFileWriter::open(folder / std::to_string(devices));
        if (!writer) std::abort();
        const Process process{42, 0, 1, "ib_write_bw -R", "c0ffee", std::vector<std::string>(devices, "rxe0")};
        std::vector<Record> records;
        for (std::uint8_t kind = 1; kind <= static_cast<std::uint8_t>(RecordKind::lost); ++kind) {
            Record record;
            record.kind = static_cast<RecordKind>(kind);
            record.time_ns = kind * 1000;
            record.number = 7;
            record.process = 42;
            record.work.flags = Flag::signalled;
            records.push_back(record);
        }
        if (!writer->write(records, {process}) || !writer->write(records, {process}) || !writer->close(1)) std::abort();
    }
}

/// The begin of a ring, where all that a reader must not believe stands.
void ring_seed(const fs::path& folder) {
    trace::layout::Header header;
    header.magic = trace::layout::magic;
    header.version = trace::layout::version;
    header.record_octets = sizeof(trace::Record);
    header.lanes = 3;
    header.capacity = trace::layout::least_capacity;
    header.devices = 1;
    std::array<trace::layout::LaneHeader, 3> lanes{};
    lanes[0].written = 300;
    lanes[2].busy_since_ns = 1;
    std::string octets(reinterpret_cast<const char*>(&header), sizeof header);
    octets.append(reinterpret_cast<const char*>(lanes.data()), sizeof lanes);
    write(folder / "ring", octets);
}

/// Messages of upper layers as records of the target `upper_messages`.
class UpperSeeds final : public upper::Listener {
public:
    UpperSeeds(fs::path folder, std::string name) : folder_(std::move(folder)), name_(std::move(name)) {}

    void message(const upper::MessageNote& note) override {
        const auto protocols = upper::all_protocols();
        const auto found = std::find(protocols.begin(), protocols.end(), note.connection.protocol());
        if (seed_.empty()) seed_ += static_cast<char>(found - protocols.begin());
        if (note.head.empty() || seed_.size() > 6000) return;
        const bool of_target = note.role != dissect::CommandRole::request;
        const bool is_data = note.role == dissect::CommandRole::data_in || note.role == dissect::CommandRole::data_out;
        const unsigned operation = !is_data ? 0 : note.role == dissect::CommandRole::data_in ? 1 : 2;
        seed_ += static_cast<char>((of_target ? 1u : 0u) | operation << 1);
        seed_ += static_cast<char>(note.head.size() & 0xff);
        seed_ += static_cast<char>(note.head.size() >> 8);
        seed_ += text_of({note.head.begin(), note.head.end()});
    }
    void finish() {
        if (!seed_.empty()) write(folder_ / name_, seed_);
    }

private:
    fs::path folder_;
    std::string name_;
    std::string seed_ = {};
};

void upper_seeds(const fs::path& folder, const support::KeptCapture& capture) {
    UpperSeeds seeds(folder, capture.name);
    upper::Reader reader({}, nullptr, &seeds);
    dissect::Dissector dissector{dissect::DissectorOptions{}};
    std::uint64_t number = 0;
    for (const support::KeptFrame& kept : capture.frames) dissector.dissect(kept.frame(++number), reader);
    dissector.finish(reader);
    reader.finish();
    seeds.finish();
}

/// Management datagrams as records of the target `management`.
class ManagementSeed final : public dissect::Sink {
public:
    void on_unit(const dissect::Unit& unit) override {
        constexpr std::size_t longest = 20'000;
        const dissect::LayerRef* mad = unit.dissection.find(dissect::LayerId::mad);
        if (mad == nullptr || seed_.size() > longest) return;
        const base::Bytes octets = unit.bytes.subspan(mad->offset, mad->length);
        const dissect::Network& network = unit.dissection.network;
        // The low octets of LIDs: the captures have few nodes.
        for (const std::uint32_t place : {network.source_offset, network.destination_offset})
            seed_ += static_cast<char>(std::to_integer<std::uint8_t>(unit.bytes[place + network.address_length() - 1]));
        seed_ += static_cast<char>(octets.size() & 0xff);
        seed_ += static_cast<char>(octets.size() >> 8);
        seed_ += text_of({octets.begin(), octets.end()});
    }
    const std::string& text() const { return seed_; }

private:
    std::string seed_ = {};
};

void management_seed(const fs::path& folder, const support::KeptCapture& capture) {
    ManagementSeed seed;
    dissect::Dissector dissector{dissect::DissectorOptions{}};
    std::uint64_t number = 0;
    for (const support::KeptFrame& kept : capture.frames) dissector.dissect(kept.frame(++number), seed);
    dissector.finish(seed);
    if (!seed.text().empty()) write(folder / capture.name, seed.text());
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) return std::fputs("usage: make_seeds FOLDER\n", stderr), 2;
    const fs::path folder = arguments[1];
    for (const char* target : {"frame", "stream", "pcap_file", "filter", "control_line", "snapshot", "trace_file",
                               "trace_ring", "upper_messages", "management"})
        fs::create_directories(folder / target);
    for (const support::KeptCapture& capture : support::load_captures(400)) {
        frame_seeds(folder / "frame", capture);
        stream_seed(folder / "stream", capture);
        snapshot_seeds(folder / "snapshot", capture);
        upper_seeds(folder / "upper_messages", capture);
        management_seed(folder / "management", capture);
        erf_seed(folder / "pcap_file", capture);
        const fs::path file = fs::path(support::pcaps()) / capture.name;
        if (fs::file_size(file) < 20'000)
            fs::copy_file(file, folder / "pcap_file" / capture.name, fs::copy_options::overwrite_existing);
    }
    filter_seeds(folder / "filter");
    control_seeds(folder / "control_line");
    trace_seeds(folder / "trace_file");
    ring_seed(folder / "trace_ring");
    fuzz::write_iwarp_seeds(folder);
    return 0;
}
