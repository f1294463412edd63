#include "cli/dump/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <limits>
#include <string_view>

#include "capture/ring.h"
#include "cli/analysis/options.h"
#include "cli/dump/option_table.h"
#include "cli/option_scan.h"

namespace cli::dump {

namespace {

/// Where a user of another program should look.
std::string_view elsewhere(char letter) {
    switch (letter) {
        case 'a':
        case 'b': return "; for files that follow one another see -C, -G and -W";
        case 'P': return "; to print as well as save use --print";
        case 'R':
        case 'f': return "; a display filter is -Y, a pcap-filter expression is the rest of the line";
        case 'o':
        case '2': return "; what tshark needs it for is always done";
        default: return "";
    }
}

constexpr std::string_view no_connect = "there is no option --connect";
constexpr std::string_view no_packets_of_daemons =
    ": flows, why and top take it, since figures are what a daemon hands out. Packets are its flight recorder's: into "
    "a file on `trigger` at its control socket, over the socket on `recording`, see rdmascope-control(7)";

OptionScanner scanner_of(const std::vector<std::string>& arguments, bool field_takes_value) {
    std::vector<OptionText> options;
    for (const OptionRow& row : option_table()) {
        options.push_back(text_of(row));
        if (row.id == Option::field_or_link_header && !field_takes_value) options.back().argument = {};
    }
    return {std::move(options), arguments, elsewhere};
}

const OptionRow& row_at(int index) { return option_table()[static_cast<std::size_t>(index)]; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> choices) {
    return std::find(choices.begin(), choices.end(), text) != choices.end();
}

/// Turns options into settings, one after the other; the first that cannot be obeyed leaves its reason in `error`.
class Builder {
public:
    DumpOptions out = {};
    std::string error = {};

    void apply(const OptionRow& row, const std::string& value) {
        row_ = &row;
        switch (row.group) {
            case Group::source: return apply_source(row.id, value);
            case Group::selection: return apply_selection(row.id, value);
            case Group::printing: return apply_printing(row.id, value);
            case Group::saving: return apply_saving(row.id, value);
            case Group::other: return apply_other(row.id, value);
        }
    }

    void finish(std::string expression);

private:
    void apply_source(Option id, const std::string& value);
    void apply_selection(Option id, const std::string& value);
    void apply_printing(Option id, const std::string& value);
    void apply_look(Option id, const std::string& value);
    void apply_saving(Option id, const std::string& value);
    void apply_other(Option id, const std::string& value);
    void apply_fields_format(std::string_view setting);
    void apply_type(std::string_view value);
    void listing_or_seconds(const std::string& value);
    void check();

    void fail(std::string reason) {
        if (error.empty()) error = std::move(reason);
    }
    void fail_value(std::string_view value, std::string_view wanted) {
        fail(fmt::format("{} {}: {} is wanted", spelling(*row_), value.empty() ? "''" : value, wanted));
    }
    template <class Number>
    void number(const std::string& value, Number least, Number most, Number& into) {
        std::uint64_t parsed = 0;
        const char* end = value.data() + value.size();
        const auto [stop, code] = std::from_chars(value.data(), end, parsed);
        if (code == std::errc{} && stop == end && parsed >= least && parsed <= most)
            into = static_cast<Number>(parsed);
        else
            fail_value(value, fmt::format("a number from {} to {}", least, most));
    }
    void once(std::optional<std::string>& into, const std::string& value, std::string_view advice) {
        if (into) fail(fmt::format("{} is given twice: {}", spelling(*row_), advice));
        into = value;
    }
    void octets(Octets form) {
        out.octets_of_link = out.octets == form;
        out.octets = form;
    }
    void list(Listing listing) {
        if (out.listing == Listing::none) out.listing = listing;
    }

    const OptionRow* row_ = nullptr;
    unsigned times_ = 0;  ///< how often -t was given
    bool fields_format_given_ = false;
    bool tree_ = false;
};

void Builder::apply_source(Option id, const std::string& value) {
    switch (id) {
        case Option::interface: out.interfaces.push_back(value); break;
        case Option::read_file:
            if (value.empty()) return fail_value(value, "the name of a capture, or `-` for standard input,");
            once(out.read_path, value, "one file is read at a time; mergecap(1) joins captures");
            break;
        case Option::list_interfaces: list(Listing::interfaces); break;
        case Option::list_link_types: list(Listing::link_types); break;
        case Option::list_time_stamp_types: list(Listing::time_stamp_types); break;
        case Option::link_type: out.link_type = value; break;
        case Option::snaplen:
            number<std::uint32_t>(value, 0, capture::max_snaplen, out.snaplen);
            if (out.snaplen == 0) out.snaplen = capture::max_snaplen;
            break;
        case Option::buffer_size:
            number<std::uint32_t>(value, 1, 2'097'151, out.buffer_kib);
            break;  // libpcap: an int of octets
        case Option::time_stamp_type: out.time_stamp_type = value; break;
        case Option::no_promiscuous: out.promiscuous = false; break;
        case Option::immediate: out.immediate = true; break;
        case Option::kernel_events:
            if (const std::string wanted = analysis::take_kernel_events(value, {}, out.kernel_events); !wanted.empty())
                fail_value(value, wanted);
            break;
        case Option::direction:
            if (!is_one_of(value, {"in", "out", "inout"})) return fail_value(value, "in, out or inout");
            out.traffic = value == "in" ? Traffic::in : value == "out" ? Traffic::out : Traffic::both;
            break;
        default: break;
    }
}

void Builder::apply_selection(Option id, const std::string& value) {
    switch (id) {
        case Option::max_packets:
            out.max_packets.emplace();
            number<std::uint64_t>(value, 1, std::numeric_limits<std::int64_t>::max(), *out.max_packets);
            break;
        case Option::expression_file:
            if (value.empty()) return fail_value(value, "the name of a file with an expression");
            out.expression_path = value;
            break;
        case Option::display_filter: out.display_filter = value; break;
        case Option::all: out.all = true; break;
        case Option::no_optimize: out.optimize = false; break;
        case Option::code:
            list(Listing::code);
            out.code_form = std::min(out.code_form + 1, 3U);
            break;
        default: break;
    }
}

void Builder::apply_printing(Option id, const std::string& value) {
    switch (id) {
        case Option::type: apply_type(value); break;
        case Option::tree: tree_ = true; break;
        case Option::field_or_link_header:
            if (value.empty())
                out.link_header = true;
            else
                out.fields.push_back(value);
            break;
        case Option::fields_format: apply_fields_format(value); break;
        case Option::precision:
            if (!is_one_of(value, {"micro", "nano"})) return fail_value(value, "micro or nano");
            out.precision = value == "nano" ? capture::TimePrecision::nano : capture::TimePrecision::micro;
            break;
        case Option::micro: out.precision = capture::TimePrecision::micro; break;
        case Option::nano: out.precision = capture::TimePrecision::nano; break;
        case Option::line_buffered: out.line_buffered = true; break;
        case Option::no_crc: out.verify_crc = false; break;
        case Option::count_only: out.count_only = true; break;
        default: apply_look(id, value); break;
    }
}

void Builder::apply_look(Option id, const std::string& value) {
    switch (id) {
        case Option::no_names: out.names = false; break;
        case Option::quiet: out.quiet = true; break;
        case Option::verbose: ++out.verbosity; break;
        case Option::number: out.number = true; break;
        case Option::hex: octets(Octets::hex); break;
        case Option::hex_ascii: octets(Octets::hex_ascii); break;
        case Option::ascii: octets(Octets::ascii); break;
        case Option::absolute_sequence: out.absolute_sequence = true; break;
        case Option::time_style: {
            constexpr std::array styles{TimeStyle::none, TimeStyle::seconds, TimeStyle::since_previous, TimeStyle::date,
                                        TimeStyle::since_first};
            if (times_ == styles.size()) return fail("only -t, -tt, -ttt, -tttt and -ttttt have a meaning");
            out.time_style = styles[times_++];
            break;
        }
        case Option::color:
            if (!is_one_of(value, {"auto", "never", "always"})) return fail_value(value, "auto, never or always");
            out.color = value == "never" ? Color::never : value == "always" ? Color::always : Color::automatic;
            break;
        default: break;
    }
}

void Builder::apply_saving(Option id, const std::string& value) {
    switch (id) {
        case Option::write_file:
            if (value.empty()) return fail_value(value, "a file name, or `-` for standard output,");
            once(out.write_path, value, "the packets are saved to one place");
            break;
        case Option::format:
            if (!is_one_of(value, {"pcap", "pcapng"})) return fail_value(value, "pcap or pcapng");
            out.format = value == "pcap" ? capture::FileFormat::pcap : capture::FileFormat::pcapng;
            break;
        case Option::print: out.print_too = true; break;
        case Option::packet_buffered: out.packet_buffered = true; break;
        case Option::file_size: {
            const auto octets_wanted = capture::parse_file_size(value);
            if (!octets_wanted.ok())
                return fail_value(value, "a size of at least 1, in millions of octets or with k, m, g,");
            out.rotate_octets = *octets_wanted;
            break;
        }
        case Option::file_count: number<std::uint32_t>(value, 1, 1'000'000, out.rotate_files); break;
        case Option::rotate_or_listing: listing_or_seconds(value); break;
        case Option::rotate_command: out.rotate_command = value; break;
        default: break;
    }
}

void Builder::apply_other(Option id, const std::string& value) {
    switch (id) {
        case Option::user: out.user = value; break;
        case Option::help: list(Listing::help); break;
        case Option::version: list(Listing::version); break;
        default: break;
    }
}

void Builder::apply_type(std::string_view value) {
    if (value == "text")
        out.form = Form::text;
    else if (value == "fields")
        out.form = Form::fields;
    else if (value == "json")
        out.form = Form::json;
    else if (value == "ek")
        out.form = Form::ek;
    else
        fail_value(value, "text, fields, json or ek");
}

void Builder::listing_or_seconds(const std::string& value) {
    const bool word = !value.empty() && (value[0] < '0' || value[0] > '9');
    if (value == "fields")
        list(Listing::fields);
    else if (word)
        fail_value(value, "a number of seconds, or `fields`,");
    else
        number<std::uint32_t>(value, 1, std::numeric_limits<std::int32_t>::max(), out.rotate_seconds);
}

void Builder::apply_fields_format(std::string_view setting) {
    fields_format_given_ = true;
    const std::size_t equals = setting.find('=');
    if (equals == std::string_view::npos) return fail_value(setting, "KEY=VALUE, such as header=y,");
    const std::string_view key = setting.substr(0, equals);
    const std::string_view value = setting.substr(equals + 1);
    FieldsFormat& format = out.fields_format;
    const auto character = [&](char& into) {
        if (value == "/t")
            into = '\t';
        else if (value == "/s")
            into = ' ';
        else if (value.size() == 1)
            into = value[0];
        else
            fail_value(setting, "/t, /s or one character");
    };
    const auto yes_or_no = [&](bool& into) {
        if (!is_one_of(value, {"y", "n"})) return fail_value(setting, "y or n");
        into = value == "y";
    };
    if (key == "header") return yes_or_no(format.header);
    if (key == "bom") return yes_or_no(format.bom);
    if (key == "separator") return character(format.separator);
    if (key == "aggregator") return character(format.aggregator);
    if (key == "occurrence") {
        if (!is_one_of(value, {"f", "l", "a"})) return fail_value(setting, "f (first), l (last) or a (all)");
        format.occurrence = value[0];
    } else if (key == "quote") {
        if (!is_one_of(value, {"d", "s", "n"})) return fail_value(setting, "d (double), s (single) or n (none)");
        format.quote = value == "d" ? '"' : value == "s" ? '\'' : '\0';
    } else {
        fail_value(setting, "one of header, separator, occurrence, aggregator, quote and bom");
    }
}

void Builder::finish(std::string expression) {
    if (tree_ && out.form == Form::text) out.form = Form::tree;
    if (!out.expression_path) out.expression = std::move(expression);  // as tcpdump: -F goes first
    if (out.listing != Listing::help && out.listing != Listing::version) check();
}

void Builder::check() {
    if (out.read_path && !out.interfaces.empty()) fail("-i and -r are given: packets come from one or the other");
    if (out.listing != Listing::none) return;
    if (out.read_path == "-" && out.expression_path == "-")
        fail("-r - and -F - both want standard input: one of them has to be a file");
    if (out.kernel_events && out.read_path) fail("--kernel-events is of what happens now: beside -i, not -r");
    if (out.kernel_events && (out.form != Form::text || !out.prints()))
        fail(
            "--kernel-events prints lines of text between packets: leave out -T, -V and --count, and add --print to "
            "-w");
    if (out.kernel_events && (out.time_style == TimeStyle::since_previous || out.time_style == TimeStyle::since_first))
        fail("-ttt and -ttttt count from packet to packet: with --kernel-events take -tt or -tttt");
    if (out.form == Form::fields && out.fields.empty())
        fail("-T fields needs at least one -e FIELD; `rdmascope dump -G fields` lists them");
    if (fields_format_given_ && out.form != Form::fields) fail("-E says how -T fields prints: add -T fields");
    if (!out.write_path) {
        if (out.rotate_octets != 0) fail("-C needs -w FILE");
        if (out.rotate_seconds != 0) fail("-G needs -w FILE");
        if (!out.rotate_command.empty()) fail("-z needs -w FILE, and -C or -G");
        if (out.format) fail("--format says how -w saves: add -w FILE");
    } else if (out.rotate_octets == 0 && out.rotate_seconds == 0) {
        if (out.rotate_files != 0) fail("-W needs -C or -G");
        if (!out.rotate_command.empty()) fail("-z needs -C or -G");
    } else if (*out.write_path == "-") {
        fail("-C and -G make several files: -w - cannot hold them");
    }
    if (out.write_path == "-" && (out.print_too || out.count_only))
        fail("-w - and printing both want standard output: save to a file");
}

}  // namespace

bool wants_fields(const std::vector<std::string>& arguments) {
    // Read as if -e were a flag: what would be its value is then a word of the expression, and -T is found all the
    // same.
    bool wanted = false;
    OptionScanner scanner = scanner_of(arguments, false);
    for (;;) {
        const OptionScanner::Found found = scanner.next();
        if (found.index < 0 && found.error.empty()) return wanted;
        if (found.index >= 0 && row_at(found.index).id == Option::type)
            wanted = is_one_of(found.value, {"fields", "json", "ek"});
    }
}

wire::Result<DumpOptions, UsageError> parse_options(const std::vector<std::string>& arguments) {
    Builder builder;
    OptionScanner scanner = scanner_of(arguments, wants_fields(arguments));
    for (;;) {
        OptionScanner::Found found = scanner.next();
        if (found.error.starts_with(no_connect)) found.error += no_packets_of_daemons;
        if (!found.error.empty()) return wire::Failure{UsageError{std::move(found.error)}};
        if (found.index < 0) break;
        builder.apply(row_at(found.index), found.value);
        if (!builder.error.empty()) return wire::Failure{UsageError{std::move(builder.error)}};
    }
    builder.finish(scanner.rest());
    if (!builder.error.empty()) return wire::Failure{UsageError{std::move(builder.error)}};
    return std::move(builder.out);
}

}  // namespace cli::dump
