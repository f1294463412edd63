#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "capture/files/writer.h"
#include "cli/options/command_options.h"
#include "cli/options/shared.h"
#include "upper/assignment.h"

namespace cli::dump {

enum class Form : std::uint8_t { text, tree, fields, json, ek };
enum class TimeStyle : std::uint8_t { time_of_day, none, seconds, since_previous, date, since_first };
enum class Octets : std::uint8_t { none, hex, hex_ascii, ascii };
using options::Color;
enum class Traffic : std::uint8_t { both, in, out };
/// What is listed instead of packets.
enum class Listing : std::uint8_t { none, help, version, interfaces, link_types, time_stamp_types, code, fields };

/// `-E`, with tshark's defaults.
struct FieldsFormat {
    bool header = false;
    bool bom = false;
    char separator = '\t';
    char aggregator = ',';
    char quote = 0;         ///< 0: no quotes
    char occurrence = 'a';  ///< f, l or a
};

/// The command line of `dump`, parsed and without contradictions.
struct DumpOptions {
    Listing listing = Listing::none;
    unsigned code_form = 0;  ///< how often -d was given, at most 3

    // Where packets come from. Without either, an error lists the choices.
    std::vector<std::string> interfaces = {};
    std::optional<std::string> read_path = {};
    std::uint32_t snaplen = capture::max_snaplen;
    std::uint32_t buffer_kib = 0;  ///< 0 is libpcap's default
    std::string link_type = {};
    std::string time_stamp_type = {};
    Traffic traffic = Traffic::both;
    bool promiscuous = true;
    bool immediate = false;
    /// Patterns of trace::Tracefs::events; empty: all groups of RDMA.
    std::optional<std::vector<std::string>> kernel_events = {};

    // Which packets.
    std::string expression = {};  ///< pcap-filter
    std::optional<std::string> expression_path = {};
    std::string display_filter = {};
    std::vector<std::uint64_t> flows = {};  ///< ids that `flows` and `why` print; empty: all
    bool optimize = true;
    bool all = false;
    std::vector<upper::Assignment> assignments = {};  ///< connections whose upper layer the user names
    std::optional<std::uint64_t> max_packets = {};

    // What is printed.
    Form form = Form::text;
    std::vector<std::string> fields = {};
    FieldsFormat fields_format = {};
    unsigned verbosity = 0;
    TimeStyle time_style = TimeStyle::time_of_day;
    std::optional<capture::TimePrecision> precision = {};
    Octets octets = Octets::none;
    bool octets_of_link = false;  ///< -xx, -XX, -AA
    Color color = Color::automatic;
    bool link_header = false;
    bool number = false;
    bool quiet = false;
    bool commands_only = false;
    bool names = true;
    std::string node_names_path = {};  ///< names for LIDs and GUIDs; empty if there is no such file
    bool absolute_sequence = false;
    bool verify_crc = true;
    bool line_buffered = false;
    bool packet_buffered = false;
    bool count_only = false;

    // What is saved.
    std::optional<std::string> write_path = {};
    std::optional<capture::FileFormat> format = {};
    bool print_too = false;
    std::uint64_t rotate_octets = 0;
    std::uint32_t rotate_files = 0;
    std::uint32_t rotate_seconds = 0;
    std::string rotate_command = {};

    std::string user = {};

    bool prints() const { return (!write_path || print_too) && !count_only; }
};

/// Parses the arguments that follow `dump`: letters bundled, values joined or separate, options before and after the
/// expression, as getopt_long(3) and therefore tcpdump accept them.
base::Result<DumpOptions, options::UsageError> parse_options(const std::vector<std::string>& arguments);

/// Whether `-T` asks for a form whose `-e` names a field. Checked first, because it decides how the rest is parsed.
bool wants_fields(const std::vector<std::string>& arguments);

/// Every option of `dump`.
std::vector<options::ListedOption> listed_options();
/// What `rdmascope help dump` prints.
std::string help_text();

}  // namespace cli::dump
