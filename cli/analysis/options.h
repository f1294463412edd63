#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/files/file_source.h"
#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "upper/assignment.h"

namespace cli::analysis {

/// The number of flows that fit a quarter of the memory, a million at most.
std::size_t default_max_flows();

/// The options of every command that measures: where frames come from and how they are read.
struct AnalysisOptions : options::HelpOptions {
    std::vector<std::string> interfaces = {};
    std::vector<std::string> read_paths = {};
    std::optional<std::string> connect = {};  ///< a running daemon's socket
    std::optional<std::string> history = {};  ///< a daemon's history; the default directory if only times are given
    std::optional<std::int64_t> from_ns = {};
    std::optional<std::int64_t> to_ns = {};
    std::optional<std::string> trace_path = {};     ///< what programs did meanwhile: `run --trace FILE`
    std::optional<std::string> counters_path = {};  ///< what devices counted meanwhile: device_json.h
    /// The kernel's own events in addition to those, as patterns of trace::Tracefs::events.
    std::optional<std::vector<std::string>> kernel_events = {};
    std::string expression = {};  ///< pcap-filter: the rest of the line
    std::optional<std::string> expression_path = {};
    std::optional<std::uint64_t> max_packets = {};
    std::optional<std::uint64_t> duration_ns = {};
    std::uint32_t snaplen = capture::max_snaplen;
    std::uint32_t buffer_kib = 0;  ///< 0 is libpcap's default
    bool promiscuous = true;

    bool names = true;
    std::string node_names_path = {};  ///< names for LIDs and GUIDs; empty if there is no such file
    bool verify_crc = true;
    std::optional<unsigned> threads = {};  ///< see thread_count()
    std::optional<std::uint64_t> link_bits_per_sec = {};
    std::size_t max_flows = default_max_flows();
    std::vector<upper::Assignment> assignments = {};  ///< connections whose upper layer the user names
    bool commands = false;  ///< read commands of upper layers: on where a command's output shows them

    bool recalls() const { return history || from_ns || to_ns; }
};

/// Worker threads: the number that the user gave. Otherwise, if large files are read, one for each processor that this
/// process may use, up to 8; one thread for small files, pipes and live capture.
unsigned thread_count(const AnalysisOptions& options);

/// The options that all commands over AnalysisOptions have.
std::span<const options::Option<AnalysisOptions>> shared_options();

/// If no source is named, leading words that name captures are read: `why FILE` is `why -r FILE`.
void take_named_captures(AnalysisOptions& options, std::vector<std::string>& words);

/// If no source is named, the daemon of this machine is the source, if it runs.
void choose_default_source(AnalysisOptions& options);

/// Contradictions among the options that all commands share; empty if absent.
std::string contradiction(const AnalysisOptions& options);

/// Reads the command line into `out`. Options and the words of the expression may come in any order.
template <class Own>
std::optional<options::UsageError> parse(const std::vector<std::string>& arguments,
                                         const options::OptionTable<Own>& table, Own& out) {
    std::vector<std::string> words;
    if (auto error = table.parse(arguments, out, words)) return error;
    take_named_captures(out, words);
    if (!out.expression_path) out.expression = options::joined(words);  // as in tcpdump, -F has priority
    if (out.help || out.version) return {};
    choose_default_source(out);
    return options::usage_error_if(contradiction(out));
}

}  // namespace cli::analysis
