#pragma once
#include <span>
#include <string>
#include <string_view>

#include "cli/option_scan.h"

namespace cli::dump {

/// Every option of `dump`. A letter that tcpdump or tshark has means here what it means there.
enum class Option : int {
    interface,
    read_file,
    list_interfaces,
    list_link_types,
    list_time_stamp_types,
    link_type,
    snaplen,
    buffer_size,
    time_stamp_type,
    no_promiscuous,
    direction,
    immediate,
    kernel_events,
    max_packets,
    expression_file,
    display_filter,
    code,
    no_optimize,
    write_file,
    format,
    file_size,
    file_count,
    rotate_or_listing,  ///< `-G`: seconds of a file, or what to list
    rotate_command,
    packet_buffered,
    print,
    user,
    type,
    tree,
    field_or_link_header,  ///< `-e`: takes a field where `-T` asks for fields, json or ek; else a flag
    fields_format,
    all,
    count_only,
    no_names,
    quiet,
    verbose,
    time_style,
    number,
    hex,
    hex_ascii,
    ascii,
    absolute_sequence,
    no_crc,
    precision,
    micro,
    nano,
    line_buffered,
    color,
    help,
    version,
};

/// Headings of the help text.
enum class Group : int { source, selection, printing, saving, other };

/// One option as it is typed and as it is explained. Parsing, help, and the checks of the manual and of the shells'
/// completions all read this.
struct OptionRow {
    Option id;
    char letter;                 ///< 0 where there is only a long name
    std::string_view long_name;  ///< empty where there is only a letter
    std::string_view argument;   ///< empty for a flag
    Group group;
    std::string_view help;
};

std::span<const OptionRow> option_table();
const OptionRow& row_of(Option id);
OptionText text_of(const OptionRow& row);
/// As a message names it: `-c`, or `--count` where there is no letter.
std::string spelling(const OptionRow& row);

/// What `rdmascope help dump` prints.
std::string help_text();

}  // namespace cli::dump
