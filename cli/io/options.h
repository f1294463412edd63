#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capture/files/file_source.h"
#include "cli/io/connection_groups.h"
#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "upper/reader.h"

namespace cli::io {

enum class Form : std::uint8_t { table, json, csv };

/// The command line of `io`.
struct IoOptions : options::HelpOptions {
    // Where packets come from.
    std::vector<std::string> interfaces = {};
    std::vector<std::string> read_paths = {};
    std::uint32_t snaplen = capture::max_snaplen;
    std::uint32_t buffer_kib = 0;  ///< 0 is libpcap's default
    bool promiscuous = true;

    // Which packets.
    std::optional<std::uint64_t> flow = {};  ///< its connection alone
    std::string expression = {};             ///< pcap-filter: the rest of the line
    std::optional<std::string> expression_path = {};
    std::optional<std::uint64_t> max_packets = {};
    std::optional<std::uint64_t> duration_ns = {};

    // How they are read.
    std::vector<upper::Assignment> assignments = {};
    bool verify_crc = true;

    // What is printed.
    bool names = true;
    std::string node_names_path = {};
    bool each = false;
    Form form = Form::table;
    bool two_forms = false;  ///< two output forms were given, which is an error
    std::string sort = {};   ///< a column; a `-` before it reverses the order
    std::optional<std::uint64_t> top = {};
    std::string filter = {};                ///< chooses kinds, or commands with --each; empty passes all
    std::vector<std::string> columns = {};  ///< names as given; empty: the form's own choice
    std::optional<std::uint64_t> interval_ns = {};
    std::optional<GroupBy> by = {};  ///< connections are added up

    bool column_help() const { return columns.size() == 1 && columns.front() == "help"; }
    bool column_names() const { return columns.size() == 1 && columns.front() == "names"; }
};

/// Reads the command line.
std::optional<options::UsageError> parse_options(const std::vector<std::string>& arguments, IoOptions& out);
options::OptionTable<IoOptions> option_table();
std::string help_text();

}  // namespace cli::io
