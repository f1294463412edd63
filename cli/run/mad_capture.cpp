#include "cli/run/mad_capture.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "base/quantities.h"
#include "observe/datagrams/mad_table.h"
#include "trace/ring/ring_layout.h"

namespace cli::run {

namespace {

using observe::datagrams::TracedMad;

constexpr std::size_t most_interfaces = 256;
constexpr std::size_t most_named_processes = 4096;

constexpr const char* capture_comment =
    "Management datagrams between programs and libibumad, by rdmascope run --mads. The datagrams, LIDs, queue pairs, "
    "service levels and Q_Keys are libibumad's. P_Keys, PSNs, virtual lanes and checksums are made up, GRHs are left "
    "out, and repeats by the kernel are not seen.";

std::string patience_of(const trace::MadPassage& passage) {
    constexpr double ns_per_ms = 1e6;
    if (passage.event != trace::MadEvent::sent || passage.timeout_ms == 0) return {};
    return fmt::format("time-out {}, {}",
                       base::format_interval(passage.timeout_ms * ns_per_ms, {.charset = base::Charset::ascii}),
                       base::format_counted(passage.retries, "retry", "retries"));
}

}  // namespace

base::Result<MadCapture> MadCapture::open(const std::string& path) {
    if (path.empty()) return MadCapture(nullptr);
    capture::WriterOptions options;
    options.format = capture::format_of_name(path);
    options.section.comment = capture_comment;
    auto writer = capture::open_writer(path, options);
    if (!writer) return base::Failure{writer.error()};
    return MadCapture(std::move(writer).value());
}

base::Result<void> MadCapture::add(std::span<const trace::Record> records,
                                   const std::deque<trace::Process>& processes) {
    for (const trace::Record& record : records) {
        const TracedMad* const mad = assembler_.add(record);
        if (mad == nullptr) continue;
        note_process(*mad, processes);
        transactions_.add(*mad);
        if (writer_ != nullptr && !failed_ && mad->passage.event != trace::MadEvent::returned) write(*mad);
    }
    if (failed_ && !std::exchange(reported_, true)) return base::Failure{writer_->error()};
    return {};
}

/// Copies what is known of the sender or receiver: once, and again when it uses another device.
void MadCapture::note_process(const TracedMad& mad, const std::deque<trace::Process>& processes) {
    const auto known = processes_.find(mad.process);
    const bool has_device = mad.device == trace::layout::unknown_device ||
                            (known != processes_.end() && mad.device < known->second.devices.size());
    if (known != processes_.end() && has_device) return;
    const auto found = std::ranges::find(processes.rbegin(), processes.rend(), mad.process, &trace::Process::pid);
    if (found == processes.rend()) return;
    if (processes_.size() == most_named_processes) processes_.erase(processes_.begin());
    processes_[mad.process] = *found;
}

/// A port of a device is an interface of the capture.
const capture::InterfaceInfo& MadCapture::interface_of(const TracedMad& mad) {
    std::string name = "unknown";
    if (const auto process = processes_.find(mad.process);
        process != processes_.end() && mad.device < process->second.devices.size())
        name = fmt::format("{}:{}", process->second.devices[mad.device], unsigned{mad.passage.port});
    if (interfaces_.size() == most_interfaces && !interfaces_.contains(name)) name = interfaces_.begin()->first;
    const auto [known, is_new] = interfaces_.try_emplace(name);
    if (is_new) {
        known->second.ordinal = static_cast<std::uint32_t>(interfaces_.size() - 1);
        known->second.name = name;
        known->second.link_type = wire::LinkType::erf;
        known->second.ticks_per_sec = 1'000'000'000;
    }
    return known->second;
}

void MadCapture::write(const TracedMad& mad) {
    const capture::InterfaceInfo& interface = interface_of(mad);
    const std::string comment = patience_of(mad.passage);
    packets_.make(mad, [&](base::Bytes packet) {
        wire::Frame frame;
        frame.bytes = packet;
        frame.wire_length = static_cast<std::uint32_t>(packet.size());
        frame.link_type = interface.link_type;
        frame.interface = interface.ordinal;
        frame.time_ns = mad.time_ns;
        frame.direction =
            mad.passage.event == trace::MadEvent::sent ? wire::Direction::outbound : wire::Direction::inbound;
        frame.comment = comment;
        if (!failed_) failed_ = writer_->write(frame, interface) == capture::WriteStatus::error;
    });
}

base::Result<void> MadCapture::close() {
    if (writer_ == nullptr || failed_) return {};
    return writer_->close();
}

std::string MadCapture::text() const {
    std::string out = observe::datagrams::mad_tables(transactions_, processes_);
    if (assembler_.incomplete() > 0)
        out += fmt::format("not in the tables because records were lost: {}\n",
                           base::format_counted(assembler_.incomplete(), "datagram"));
    return out;
}

}  // namespace cli::run
