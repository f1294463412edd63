#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/file_source.h"
#include "cli/option_table.h"

namespace cli::analysis {

/// What every command that measures lets its user say: where frames come from and how they are looked at.
struct AnalysisOptions {
    std::vector<std::string> interfaces = {};
    std::vector<std::string> read_paths = {};
    std::optional<std::string> connect = {};  ///< a running daemon's socket
    std::optional<std::string> history =
        {};  ///< a daemon's history; of the default directory where only times are given
    std::optional<std::int64_t> from_ns = {};
    std::optional<std::int64_t> to_ns = {};
    std::optional<std::string> trace_path = {};     ///< what programs did meanwhile: `run --trace FILE`
    std::optional<std::string> counters_path = {};  ///< what devices counted meanwhile: device_json.h
    /// The kernel's own events beside those, as patterns of capture::trace::Tracefs::events.
    std::optional<std::vector<std::string>> kernel_events = {};
    std::string expression = {};  ///< pcap-filter: the rest of the line
    std::optional<std::string> expression_path = {};
    std::optional<std::uint64_t> max_packets = {};
    std::optional<std::uint64_t> duration_ns = {};
    std::uint32_t snaplen = capture::max_snaplen;
    std::uint32_t buffer_kib = 0;  ///< 0 is libpcap's default
    bool promiscuous = true;

    bool names = true;
    bool verify_crc = true;
    unsigned threads = 1;
    std::optional<std::uint64_t> link_bits_per_sec = {};
    std::size_t max_flows = 1'000'000;

    bool help = false;
    bool version = false;

    bool recalls() const { return history || from_ns || to_ns; }
};

enum class Group : int { source, selection, measuring, printing, other };

template <class Settings>
using OptionRow = cli::OptionRow<Settings, Group>;

/// The options that all commands over AnalysisOptions have.
std::span<const OptionRow<AnalysisOptions>> shared_options();

/// Where no source is named, the daemon of this machine is one, if it runs.
void choose_default_source(AnalysisOptions& options);

/// What contradicts itself in the settings that all commands share; empty where nothing does.
std::string contradiction(const AnalysisOptions& options);

/// A command's page: usage lines, all its options by group, `ending`.
std::string help_page(std::string_view beginning, const GroupedOptions<Group>& options, std::string_view ending);

/// Options of AnalysisOptions and those of the command's own; Own derives from AnalysisOptions.
template <class Own>
GroupedOptions<Group> all_options(std::span<const OptionRow<Own>> own) {
    return joined(shared_options(), own);
}

/// The words of a list with commas between them, behind those that are there.
void append_words(std::vector<std::string>& words, std::string_view list);
/// `--kernel-events`: groups, or GROUP:EVENT; without a value, `usual`. Returns what is wanted in place of it.
std::string take_kernel_events(const std::string& value, std::vector<std::string> usual,
                               std::optional<std::vector<std::string>>& into);
/// `--sort`: a column's name, `-` in front of it for the other direction. Which there are is looked at later.
std::string take_sort(const std::string& value, std::string& into);

/// Reads the command line into `out`; returns the reason where it cannot be obeyed, else an empty string. Options and
/// the words of the expression may come in any order.
template <class Own>
std::string parse(const std::vector<std::string>& arguments, std::span<const OptionRow<Own>> own, Own& out) {
    std::string words;
    std::string reason = parse_options(arguments, shared_options(), own, out, words);
    if (!reason.empty()) return reason;
    if (!out.expression_path) out.expression = words;  // as tcpdump: -F goes first
    if (out.help || out.version) return {};
    choose_default_source(out);
    return contradiction(out);
}

}  // namespace cli::analysis
