#include "cli/dump/endpoints.h"

#include <algorithm>
#include <filesystem>
#include <fmt/core.h>
#include <system_error>
#include <unistd.h>

#include "capture/link_type.h"
#include "cli/console.h"
#include "cli/overwriting.h"

namespace cli::dump {

namespace {

base::Failure<base::Error> failure(std::string message, std::string path = {}) {
    return base::Failure{base::Error{.message = std::move(message), .path = std::move(path)}};
}

capture::WriterOptions writer_options(const DumpOptions& options, const capture::Source& source) {
    capture::WriterOptions writer;
    writer.format = options.format.value_or(capture::format_of_name(*options.write_path));
    writer.precision = options.precision.value_or(capture::TimePrecision::automatic);
    writer.packet_buffered = options.packet_buffered;
    writer.snaplen = options.snaplen;
    const auto& interfaces = source.interfaces();
    if (!interfaces.empty() && interfaces.front().snaplen != 0) writer.snaplen = interfaces.front().snaplen;
    if (const auto sections = source.sections(); !sections.empty()) writer.section = sections.front();
    return writer;
}

base::Result<capture::LiveOptions> live_options(const DumpOptions& options, const std::string& filter) {
    capture::LiveOptions live;
    live.snaplen = options.snaplen;
    live.promiscuous = options.promiscuous;
    live.buffer_kib = options.buffer_kib;
    live.immediate = options.immediate;
    live.timestamp_type = options.time_stamp_type;
    live.filter = filter;
    live.optimise_filter = options.optimize;
    if (options.traffic != Traffic::both)
        live.direction = options.traffic == Traffic::in ? wire::Direction::inbound : wire::Direction::outbound;
    if (!options.link_type.empty()) {
        live.link_type = capture::link_type_named(options.link_type);
        if (!live.link_type)
            return base::Failure{
                base::Error{.message = fmt::format("-y {}: there is no such link type; -L lists those of an interface",
                                                   options.link_type)}};
    }
    return live;
}

/// Which packets have to be captured: those that are shown, saved or counted. `any` is libpcap's pseudo-interface, and
/// its lines have the name of the interface.
LiveScope scope_of(const DumpOptions& options) {
    const bool of_rdma = options.form == Form::text || options.form == Form::tree;
    const bool any = std::ranges::find(options.interfaces, "any") != options.interfaces.end();
    const bool all = any || options.all || options.write_path || options.count_only || !of_rdma;
    return all ? LiveScope::everything : LiveScope::rdma;
}

/// The files that are read while other files are written.
std::vector<capture::FileId> files_read(const DumpOptions& options) {
    if (!options.read_path) return {};
    const std::string path = *options.read_path == "-" ? "/dev/stdin" : *options.read_path;
    std::error_code unknown;
    if (!std::filesystem::is_regular_file(path, unknown)) return {};
    const auto id = capture::file_id(path);
    return id ? std::vector{*id} : std::vector<capture::FileId>{};
}

}  // namespace

base::Result<Input> open_input(const DumpOptions& options, const std::string& expression, std::function<bool()> stop) {
    Input input;
    if (options.read_path) {
        if (*options.read_path == "-" && is_terminal(STDIN_FILENO))
            return failure(
                "standard input is a terminal: a capture is expected, as in `tcpdump -w - | rdmascope dump -r -`");
        capture::FileOptions reading;
        reading.stop = std::move(stop);
        auto file = capture::open_file(*options.read_path, reading);
        if (!file) return base::Failure{file.error()};
        input.file = std::move(file).value();
    } else {
        auto how = live_options(options, expression);
        if (!how) return base::Failure{how.error()};
        auto live = LiveSources::open(options.interfaces, std::move(how).value(), scope_of(options));
        if (!live) return base::Failure{live.error()};
        input.live = std::move(live).value();
    }
    return input;
}

base::Result<Kept> open_kept(const DumpOptions& options, const Input& input) {
    Kept kept;
    if (!options.write_path) return kept;
    const std::string& path = *options.write_path;
    const std::string read = options.read_path.value_or("");
    std::string refusal = refuse_overwriting(path, {read, options.expression_path.value_or("")});
    if (refusal.empty() && options.rotate_octets != 0 && !read.empty())
        refusal = refuse_overwriting_numbered(path, read);
    if (!refusal.empty()) return failure(std::move(refusal), path);
    const capture::WriterOptions writer = writer_options(options, input.source());
    if (options.rotate_octets != 0 || options.rotate_seconds != 0) {
        capture::RingOptions ring;
        ring.max_octets = options.rotate_octets;
        ring.files = options.rotate_files;
        ring.seconds = options.rotate_seconds;
        ring.command = options.rotate_command;
        ring.sources = files_read(options);
        auto opened = capture::RingWriter::open(path, std::move(ring), writer);
        if (!opened) return base::Failure{opened.error()};
        kept.ring = opened->get();
        kept.writer = std::move(opened).value();
    } else {
        auto opened = capture::open_writer(path, writer);
        if (!opened) return base::Failure{opened.error()};
        kept.writer = std::move(opened).value();
    }
    if (const auto described = kept.describe(input.source()); !described) return base::Failure{described.error()};
    return kept;
}

base::Result<void> Kept::describe(const capture::Source& source) {
    const auto& interfaces = source.interfaces();
    for (std::size_t i = first_; i < interfaces.size() && interfaces[i].section == section_; ++i)
        if (auto described = writer->describe(interfaces[i]); !described) return described;
    return {};
}

void Kept::count(const capture::Source& source) {
    const auto& interfaces = source.interfaces();
    for (; first_ < interfaces.size() && interfaces[first_].section == section_; ++first_)
        writer->count(interfaces[first_], source.statistics(first_));
}

base::Result<void> Kept::go_to(std::uint32_t section, const capture::Source& source) {
    const auto sections = source.sections();
    while (section_ < section) {
        count(source);
        ++section_;
        if (auto begun = writer->begin_section(sections[section_]); !begun) return begun;
        if (auto described = describe(source); !described) return described;
    }
    return {};
}

base::Result<void> Kept::close(const capture::Source& source, bool complete) {
    const std::size_t sections = source.sections().size();
    // The writer keeps a failure, and its close() returns the failure.
    if (complete && sections > 1) static_cast<void>(go_to(static_cast<std::uint32_t>(sections - 1), source));
    count(source);
    return writer->close();
}

}  // namespace cli::dump
