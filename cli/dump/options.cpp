#include "cli/dump/options.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <limits>
#include <string_view>
#include <utility>

#include "capture/files/ring_writer.h"
#include "cli/analysis/assignment_option.h"
#include "cli/file_words.h"
#include "cli/options/setters.h"

namespace cli::dump {

namespace {

using options::Argument;
using options::Section;

/// The settings while the command line is read.
struct Reading : DumpOptions {
    std::string mistake = {};  ///< the first mistake that concerns several options
    unsigned times = 0;        ///< how often -t was given
    bool fields_format_given = false;
    bool tree = false;

    void fail(std::string reason) {
        if (mistake.empty()) mistake = std::move(reason);
    }
};
using Row = options::Option<Reading>;

/// Options of other programs, and where to find their function here.
std::string_view elsewhere(std::string_view option) {
    if (option == "-a" || option == "-b") return "; for files that follow one another see -C, -G and -W";
    if (option == "-P") return "; to print as well as save use --print";
    if (option == "-R" || option == "-f")
        return "; a display filter is -Y, a pcap-filter expression is the rest of the line";
    if (option == "-o" || option == "-2") return "; what tshark needs it for is always done";
    if (option == "--connect")
        return ": flows, why and top take it, since figures are what a daemon hands out. Packets are its flight "
               "recorder's: into a file on `trigger` at its control socket, over the socket on `recording`, see "
               "rdmascope-control(7)";
    return {};
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> choices) {
    return std::find(choices.begin(), choices.end(), text) != choices.end();
}

template <class Meaning>
using Choice = std::pair<std::string_view, Meaning>;
constexpr std::array directions{Choice<Traffic>{"in", Traffic::in}, Choice<Traffic>{"out", Traffic::out},
                                Choice<Traffic>{"inout", Traffic::both}};
/// `tree` is -V.
constexpr std::array forms{Choice<Form>{"text", Form::text}, Choice<Form>{"fields", Form::fields},
                           Choice<Form>{"json", Form::json}, Choice<Form>{"ek", Form::ek}};
constexpr std::array precisions{Choice<capture::TimePrecision>{"micro", capture::TimePrecision::micro},
                                Choice<capture::TimePrecision>{"nano", capture::TimePrecision::nano}};
constexpr std::array file_formats{Choice<capture::FileFormat>{"pcap", capture::FileFormat::pcap},
                                  Choice<capture::FileFormat>{"pcapng", capture::FileFormat::pcapng}};

/// The first listing on the command line counts.
template <Listing listing>
std::string list(Reading& reading, const std::string& /*value*/) {
    if (reading.listing == Listing::none) reading.listing = listing;
    return {};
}

std::string take_read_file(Reading& reading, const std::string& value) {
    if (value.empty()) return "the name of a capture, or `-` for standard input,";
    if (reading.read_path) reading.fail("-r is given twice: one file is read at a time; mergecap(1) joins captures");
    reading.read_path = value;
    return {};
}

std::string take_write_file(Reading& reading, const std::string& value) {
    if (value.empty()) return "a file name, or `-` for standard output,";
    if (reading.write_path) reading.fail("-w is given twice: the packets are saved to one place");
    reading.write_path = value;
    return {};
}

std::string take_kernel_events(Reading& reading, const std::string& value) {
    return options::take_kernel_events(value, {}, reading.kernel_events);
}

std::string list_code(Reading& reading, const std::string& value) {
    reading.code_form = std::min(reading.code_form + 1, 3U);
    return list<Listing::code>(reading, value);
}

std::string take_field(Reading& reading, const std::string& value) {
    // The flag -e is stored as an empty name, which no field has.
    if (value.empty())
        reading.link_header = true;
    else
        reading.fields.push_back(value);
    return {};
}

std::string take_fields_format(Reading& reading, const std::string& setting) {
    reading.fields_format_given = true;
    const std::size_t equals = setting.find('=');
    if (equals == std::string::npos) return "KEY=VALUE, such as header=y,";
    const std::string_view key = std::string_view(setting).substr(0, equals);
    const std::string_view value = std::string_view(setting).substr(equals + 1);
    FieldsFormat& format = reading.fields_format;
    if (key == "header" || key == "bom") {
        if (!is_one_of(value, {"y", "n"})) return "y or n";
        (key == "bom" ? format.bom : format.header) = value == "y";
    } else if (key == "separator" || key == "aggregator") {
        char& character = key == "separator" ? format.separator : format.aggregator;
        if (value.size() != 1 && !is_one_of(value, {"/t", "/s"})) return "/t, /s or one character";
        character = value == "/t" ? '\t' : value == "/s" ? ' ' : value[0];
    } else if (key == "occurrence") {
        if (!is_one_of(value, {"f", "l", "a"})) return "f (first), l (last) or a (all)";
        format.occurrence = value[0];
    } else if (key == "quote") {
        if (!is_one_of(value, {"d", "s", "n"})) return "d (double), s (single) or n (none)";
        format.quote = value == "d" ? '"' : value == "s" ? '\'' : '\0';
    } else {
        return "one of header, separator, occurrence, aggregator, quote and bom";
    }
    return {};
}

std::string count_time_style(Reading& reading, const std::string& /*value*/) {
    constexpr std::array styles{TimeStyle::none, TimeStyle::seconds, TimeStyle::since_previous, TimeStyle::date,
                                TimeStyle::since_first};
    if (reading.times == styles.size())
        reading.fail("only -t, -tt, -ttt, -tttt and -ttttt have a meaning");
    else
        reading.time_style = styles[reading.times++];
    return {};
}

std::string count_verbosity(Reading& reading, const std::string& /*value*/) {
    ++reading.verbosity;
    return {};
}

std::string take_flow(Reading& reading, const std::string& value) {
    struct Flow {
        std::optional<std::uint64_t> id;
    } flow;
    std::string expected = options::number<0, std::numeric_limits<std::uint64_t>::max(), &Flow::id>(flow, value);
    if (flow.id) reading.flows.push_back(*flow.id);
    return expected;
}

template <capture::TimePrecision precision>
std::string set_precision(Reading& reading, const std::string& /*value*/) {
    reading.precision = precision;
    return {};
}

/// Twice is the link layer's header too.
template <Octets form>
std::string add_octets(Reading& reading, const std::string& /*value*/) {
    reading.octets_of_link = reading.octets == form;
    reading.octets = form;
    return {};
}

std::string take_file_size(Reading& reading, const std::string& value) {
    const auto octets = capture::parse_file_size(value);
    if (!octets.ok()) return "a size of at least 1, in millions of bytes or with k, m, g,";
    reading.rotate_octets = *octets;
    return {};
}

/// `-G`: the seconds of a file, or what to list.
std::string take_seconds_or_listing(Reading& reading, const std::string& value) {
    if (value == "fields") return list<Listing::fields>(reading, value);
    const bool is_word = !value.empty() && (value[0] < '0' || value[0] > '9');
    if (is_word) return "a number of seconds, or `fields`,";
    return options::number<1, std::numeric_limits<std::int32_t>::max(), &Reading::rotate_seconds>(reading, value);
}

// A letter that tcpdump or tshark has means here what it means there.

constexpr std::array rows_before_e{
    Row{{'i', "interface", "IFACE", "capture on IFACE, on `any`, or on the number that -D shows; repeatable"},
        Section::source,
        options::append<&Reading::interfaces>},
    Row{{'r', "read-file", "FILE", "read a pcap, pcapng or ERF file, also compressed; `-` is standard input"},
        Section::source,
        take_read_file},
    Row{{'D', "list-interfaces", {}, "list the interfaces and exit"}, Section::source, list<Listing::interfaces>},
    Row{{'L', "list-data-link-types", {}, "list the link types of the interface and exit"},
        Section::source,
        list<Listing::link_types>},
    Row{{'J', "list-time-stamp-types", {}, "list the clocks of the interface and exit"},
        Section::source,
        list<Listing::time_stamp_types>},
    Row{{'y', "linktype", "TYPE", "capture with this link type, as -L names it"},
        Section::source,
        options::store<&Reading::link_type>},
    options::snapshot_length<Reading>,
    options::buffer_size<Reading>,
    Row{{'j', "time-stamp-type", "TYPE", "the clock that stamps, as -J names it"},
        Section::source,
        options::store<&Reading::time_stamp_type>},
    options::no_promiscuous<Reading>,
    Row{{'Q', "direction", "in|out|inout", "only frames received, or only those sent"},
        Section::source,
        options::choice<directions, &Reading::traffic>},
    Row{{0, "immediate-mode", {}, "hand over every frame as it arrives"},
        Section::source,
        options::turn_on<&Reading::immediate>},
    Row{{0, "kernel-events", options::optional("LIST"),
         "print the kernel's trace events of RDMA between the packets of -i: groups, or GROUP:EVENT, with commas "
         "between (default: all groups there are)"},
        Section::source,
        take_kernel_events},

    Row{{'c', {}, "COUNT", "stop after COUNT matching packets"},
        Section::selection,
        options::number<1, std::numeric_limits<std::int64_t>::max(), &Reading::max_packets>},
    options::expression_file<Reading>,
    Row{{'Y', "display-filter", "FILTER",
         "only packets that match Wireshark's filter language: infiniband.bth.opcode == 17"},
        Section::selection,
        options::store<&Reading::display_filter>},
    Row{{0, "flow", "ID",
         "only packets of this flow and of its reverse, by the ID that `rdmascope flows` and `why` print for the same "
         "file; repeatable"},
        Section::selection,
        take_flow},
    Row{{0, "all", {}, "print packets without RDMA too"}, Section::selection, options::turn_on<&Reading::all>},
    Row{{'d', {}, {}, "print the compiled expression and exit; -dd as C, -ddd as numbers"},
        Section::selection,
        list_code},
    Row{{'O', "no-optimize", {}, "do not optimise the compiled expression"},
        Section::selection,
        options::turn_off<&Reading::optimize>},

    Row{{'T', {}, "text|fields|json|ek", "what to print (default text)"},
        Section::printing,
        options::choice<forms, &Reading::form>},
};

/// `-e` names a field if `-T` asks for fields, json or ek; else it is a flag.
constexpr Row field_row{
    {'e',
     {},
     "[FIELD]",
     "with -T fields, json or ek: print this field, repeatable; else a flag: show the link layer's header"},
    Section::printing,
    take_field};

constexpr Row link_header_row() {
    Row row = field_row;
    row.text.argument = {};
    return row;
}

constexpr std::array rows_after_e{
    Row{{'E',
         {},
         "KEY=VALUE",
         "of -T fields: header=y|n separator=/t|/s|CHAR occurrence=f|l|a aggregator=,|/s|CHAR quote=d|s|n bom=y|n"},
        Section::printing,
        take_fields_format},
    Row{{'V', {}, {}, "every field of every layer, as a tree"}, Section::printing, options::turn_on<&Reading::tree>},
    Row{{'v', {}, {}, "more; -vv and -vvv more still"}, Section::printing, count_verbosity},
    Row{{'q', {}, {}, "less"}, Section::printing, options::turn_on<&Reading::quiet>},
    Row{{0, "io", {}, "only the lines of commands of upper layers (NVMe, NFS, SCSI, SMB, RDS)"},
        Section::printing,
        options::turn_on<&Reading::commands_only>},
    options::under(Section::printing, analysis::assignment_option<Reading>),
    Row{{'#', "number", {}, "begin lines with the packet's number"},
        Section::printing,
        options::turn_on<&Reading::number>},
    Row{{'t',
         {},
         {},
         "no time; -tt seconds since 1970, -ttt since the line before, -tttt with the date, -ttttt since the first"},
        Section::printing,
        count_time_style},
    Row{{0, "time-stamp-precision", "micro|nano", "digits of times (default micro)"},
        Section::printing,
        options::choice<precisions, &Reading::precision>},
    Row{{0, "micro", {}, "--time-stamp-precision=micro"},
        Section::printing,
        set_precision<capture::TimePrecision::micro>},
    Row{{0, "nano", {}, "--time-stamp-precision=nano"}, Section::printing, set_precision<capture::TimePrecision::nano>},
    Row{{'x', {}, {}, "add the bytes in hexadecimal; -xx the link layer's too"},
        Section::printing,
        add_octets<Octets::hex>},
    Row{{'X', {}, {}, "add the bytes in hexadecimal and ASCII; -XX the link layer's too"},
        Section::printing,
        add_octets<Octets::hex_ascii>},
    Row{{'A', {}, {}, "add the bytes in ASCII"}, Section::printing, add_octets<Octets::ascii>},
    Row{{'S', "absolute-tcp-sequence-numbers", {}, "TCP sequence numbers as they are on the wire"},
        Section::printing,
        options::turn_on<&Reading::absolute_sequence>},
    options::no_names<Reading>,
    options::node_names<Reading>,
    Row{{'K', "dont-verify-checksums", {}, "do not verify ICRC, VCRC and MPA CRC"},
        Section::printing,
        options::turn_off<&Reading::verify_crc>},
    Row{{0, "color", "auto|never|always", "colour (default auto: on a terminal, unless NO_COLOR is set)"},
        Section::printing,
        options::choice<options::color_choices, &Reading::color>},
    Row{{'l', {}, {}, "hand over every line as it is made"},
        Section::printing,
        options::turn_on<&Reading::line_buffered>},
    Row{{0, "count", {}, "print only how many packets matched"},
        Section::printing,
        options::turn_on<&Reading::count_only>},

    Row{{'w', {}, "FILE", "save the packets instead of printing them; `-` is standard output"},
        Section::saving,
        take_write_file},
    Row{{0, "format", "pcap|pcapng", "of -w (default: pcap for .pcap and .cap, else pcapng)"},
        Section::saving,
        options::choice<file_formats, &Reading::format>},
    Row{{0, "print", {}, "print as well as save"}, Section::saving, options::turn_on<&Reading::print_too>},
    Row{{'U', "packet-buffered", {}, "hand over every packet as it is saved or printed"},
        Section::saving,
        options::turn_on<&Reading::packet_buffered>},
    Row{{'C', {}, "SIZE", "a new file after SIZE million bytes, or KiB, MiB, GiB with k, m, g"},
        Section::saving,
        take_file_size},
    Row{{'W', {}, "COUNT", "with -C: overwrite the oldest of COUNT files; with -G: stop after COUNT"},
        Section::saving,
        options::number<1, 1'000'000, &Reading::rotate_files>},
    Row{{'G', {}, "SECONDS", "a new file every SECONDS, named by strftime(3); `-G fields` lists all fields and exits"},
        Section::saving,
        take_seconds_or_listing},
    Row{{'z', {}, "COMMAND", "run COMMAND FILE on every file that is complete"},
        Section::saving,
        options::store<&Reading::rotate_command>},

    Row{{'Z', "relinquish-privileges", "USER", "become USER once the source is open"},
        Section::other,
        options::store<&Reading::user>},
    Row{options::help_text, Section::other, list<Listing::help>},
    Row{options::version_text, Section::other, list<Listing::version>},
};

options::OptionTable<Reading> option_table(Row row_of_e) {
    return options::OptionTable<Reading>()
        .add(rows_before_e)
        .add(std::array{row_of_e})
        .add(rows_after_e)
        .hint(elsewhere);
}

std::string contradiction(const Reading& reading) {
    if (reading.read_path && !reading.interfaces.empty())
        return "-i and -r are given: packets come from one or the other";
    if (reading.listing != Listing::none) return {};
    if (!reading.flows.empty() && !reading.read_path)
        return "--flow is of a file, -r FILE: the IDs of flows are those of one capture; of an interface say "
               "-Y 'rdma.flow.source == ...'";
    if (reading.read_path == "-" && reading.expression_path == "-")
        return "-r - and -F - both want standard input: one of them has to be a file";
    if (reading.kernel_events && reading.read_path) return "--kernel-events is of what happens now: with -i, not -r";
    if (reading.kernel_events && (reading.form != Form::text || !reading.prints()))
        return "--kernel-events prints lines of text between packets: leave out -T, -V and --count, and add --print to "
               "-w";
    if (reading.kernel_events &&
        (reading.time_style == TimeStyle::since_previous || reading.time_style == TimeStyle::since_first))
        return "-ttt and -ttttt count from packet to packet: with --kernel-events take -tt or -tttt";
    if (reading.commands_only && reading.form != Form::text)
        return "--io chooses lines of text: leave out -T and -V, or filter with -Y rdma.io.role";
    if (reading.commands_only && (reading.quiet || reading.all))
        return reading.quiet ? "-q leaves out the lines that --io asks for"
                             : "--all and --io are given: one or the other";
    if (reading.form == Form::fields && reading.fields.empty())
        return "-T fields needs at least one -e FIELD; `rdmascope dump -G fields` lists them";
    if (reading.fields_format_given && reading.form != Form::fields)
        return "-E says how -T fields prints: add -T fields";
    if (!reading.write_path) {
        if (reading.rotate_octets != 0) return "-C needs -w FILE";
        if (reading.rotate_seconds != 0) return "-G needs -w FILE";
        if (!reading.rotate_command.empty()) return "-z needs -w FILE, and -C or -G";
        if (reading.format) return "--format says how -w saves: add -w FILE";
    } else if (reading.rotate_octets == 0 && reading.rotate_seconds == 0) {
        if (reading.rotate_files != 0) return "-W needs -C or -G";
        if (!reading.rotate_command.empty()) return "-z needs -C or -G";
    } else if (*reading.write_path == "-") {
        return "-C and -G make several files: -w - cannot hold them";
    }
    if (reading.write_path == "-" && (reading.print_too || reading.count_only))
        return "-w - and printing both want standard output: save to a file";
    return {};
}

}  // namespace

bool wants_fields(const std::vector<std::string>& arguments) {
    // Reads the line as if -e were a flag. A value of -e then counts as a word of the expression, and -T is found in
    // any case.
    const options::OptionTable<Reading> table = option_table(link_header_row());
    base::OptionParser parser(options::syntax_of(table.options()), arguments);
    bool wanted = false;
    for (auto step = parser.next(); step.found || step.error; step = parser.next())
        if (step.found && table.options()[step.found->index].text.letter == 'T')
            wanted = is_one_of(step.found->value, {"fields", "json", "ek"});
    return wanted;
}

base::Result<DumpOptions, options::UsageError> parse_options(const std::vector<std::string>& arguments) {
    Reading reading;
    std::vector<std::string> words;
    const Row row_of_e = wants_fields(arguments) ? field_row : link_header_row();
    if (auto error = option_table(row_of_e).parse(arguments, reading, words)) return base::Failure{std::move(*error)};
    if (reading.tree && reading.form == Form::text) reading.form = Form::tree;
    if (!reading.read_path && reading.interfaces.empty())
        for (std::string& file : take_captures(words, 1)) reading.read_path = std::move(file);
    if (!reading.expression_path) reading.expression = options::joined(words);  // as in tcpdump, -F comes first
    const bool asks_for_help = reading.listing == Listing::help || reading.listing == Listing::version;
    if (reading.mistake.empty() && !asks_for_help) reading.mistake = contradiction(reading);
    if (!reading.mistake.empty()) return base::Failure{options::UsageError{std::move(reading.mistake)}};
    return static_cast<DumpOptions&&>(reading);
}

std::vector<options::ListedOption> listed_options() { return option_table(field_row).options(); }

std::string help_text() {
    return options::help_page(
        "Usage: rdmascope dump [-r] FILE [OPTION]... [EXPRESSION]\n"
        "       rdmascope dump -i IFACE [OPTION]... [EXPRESSION]\n\n"
        "Prints, filters, saves and converts RDMA packets. EXPRESSION is a pcap-filter(7) expression.\n",
        listed_options(),
        "\nExamples:\n"
        "  rdmascope dump -r rdma.pcapng\n"
        "      one line for every RDMA packet or FPDU\n"
        "  rdmascope dump -r rdma.pcapng -Y 'infiniband.aeth.syndrome.opcode == 3' -V\n"
        "      everything in the packets that carry a NAK\n"
        "  rdmascope dump -r rdma.pcapng -T fields -e frame.number -e infiniband.bth.psn\n"
        "      a table for other programs\n"
        "  rdmascope dump -i eth0 -w rdma.pcapng udp port 4791\n"
        "      save RoCEv2, print nothing\n"
        "\nExit status: 0 done, 1 the work failed, 2 usage. Manual: rdmascope-dump(1), rdmascope-fields(7).\n");
}

}  // namespace cli::dump
