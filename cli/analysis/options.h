#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/file_source.h"
#include "cli/option_scan.h"

namespace cli::analysis {

/// What every command that measures lets its user say: where frames come from and how they are looked at.
struct AnalysisOptions {
    std::vector<std::string> interfaces = {};
    std::vector<std::string> read_paths = {};
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
};

enum class Group : int { source, selection, measuring, printing, other };

/// An option, and what it does to settings. `apply` returns what is wanted in place of the value ("a number from 1 to
/// 9"); empty where the value is understood.
template <class Settings>
struct OptionRow {
    OptionText text;
    Group group;
    std::string (*apply)(Settings& settings, const std::string& value);
};

/// The options that all commands over AnalysisOptions have.
std::span<const OptionRow<AnalysisOptions>> shared_options();

/// What contradicts itself in the settings that all commands share; empty where nothing does.
std::string contradiction(const AnalysisOptions& options);

/// A command's page: usage lines, all its options by group, `ending`.
std::string help_page(std::string_view beginning, std::span<const std::pair<Group, OptionText>> options,
                      std::string_view ending);

/// Options of AnalysisOptions and those of the command's own; Own derives from AnalysisOptions.
template <class Own>
std::vector<std::pair<Group, OptionText>> all_options(std::span<const OptionRow<Own>> own) {
    std::vector<std::pair<Group, OptionText>> all;
    for (const auto& row : shared_options()) all.emplace_back(row.group, row.text);
    for (const auto& row : own) all.emplace_back(row.group, row.text);
    return all;
}

/// Reads the command line into `out`; returns the reason where it cannot be obeyed, else an empty string. Options and
/// the words of the expression may come in any order.
template <class Own>
std::string parse(const std::vector<std::string>& arguments, std::span<const OptionRow<Own>> own, Own& out) {
    std::vector<OptionText> texts;
    for (const auto& [group, text] : all_options(own)) texts.push_back(text);
    OptionScanner scanner(texts, arguments);
    const auto shared = shared_options();
    for (;;) {
        const OptionScanner::Found found = scanner.next();
        if (!found.error.empty()) return found.error;
        if (found.index < 0) break;
        const auto index = static_cast<std::size_t>(found.index);
        const std::string wanted = index < shared.size() ? shared[index].apply(out, found.value)
                                                         : own[index - shared.size()].apply(out, found.value);
        if (!wanted.empty())
            return spelling(texts[index]) + " " + (found.value.empty() ? "''" : found.value) + ": " + wanted +
                   " is wanted";
    }
    if (!out.expression_path) out.expression = scanner.rest();  // as tcpdump: -F goes first
    return out.help || out.version ? std::string{} : contradiction(out);
}

}  // namespace cli::analysis
