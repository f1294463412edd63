#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "capture/files/file_source.h"
#include "cli/options/option.h"
#include "cli/options/setters.h"

/// Rows that several commands have. A row sets members of the settings by their names, so that every command may put
/// the row where its help has it.
namespace cli::options {

/// The settings of the rows `help` and `version`.
struct HelpOptions {
    bool help = false;
    bool version = false;
};

enum class Color : std::uint8_t { automatic, never, always };

inline constexpr std::array color_choices{
    std::pair<std::string_view, Color>{"auto", Color::automatic},
    std::pair<std::string_view, Color>{"never", Color::never},
    std::pair<std::string_view, Color>{"always", Color::always},
};

inline constexpr OptionText help_text{'h', "help", {}, "print this and exit"};
inline constexpr OptionText version_text{0, "version", {}, "print the version and exit"};

template <class Settings>
inline constexpr Option<Settings> help{help_text, Section::other, turn_on<&Settings::help>};
template <class Settings>
inline constexpr Option<Settings> version{version_text, Section::other, turn_on<&Settings::version>};

// Sources.

template <class Settings>
inline constexpr Option<Settings> interface {
    {'i', "interface", "IFACE", "capture on IFACE, or on `any`; repeatable"}, Section::source,
        append<&Settings::interfaces>
};

template <class Settings>
inline constexpr Option<Settings> read_file{
    {'r', "read-file", "FILE",
     "read a pcap, pcapng or ERF file, also compressed; `-` is standard input; repeatable: files are merged by time"},
    Section::source,
    append<&Settings::read_paths>};

inline constexpr std::uint64_t most_packets = std::numeric_limits<std::int64_t>::max();

template <class Settings>
inline constexpr Option<Settings> packet_count{
    {'c', {}, "COUNT", "stop after COUNT packets that the expression selects"},
    Section::selection,
    number<1, most_packets, &Settings::max_packets>};

template <class Settings>
inline constexpr Option<Settings> seconds{
    {0, "seconds", "N", "stop N seconds after the beginning; of a file, by its own clock"},
    Section::selection,
    duration<&Settings::duration_ns>};

// Capturing.

template <class Settings>
std::string take_snapshot_length(Settings& settings, const std::string& value) {
    std::string expected = number<0, capture::max_snaplen, &Settings::snaplen>(settings, value);
    if (settings.snaplen == 0) settings.snaplen = capture::max_snaplen;
    return expected;
}

template <class Settings>
inline constexpr Option<Settings> snapshot_length{
    {'s', "snapshot-length", "BYTES", "capture at most BYTES of each frame (default 262144; 0 is the default)"},
    Section::source,
    take_snapshot_length<Settings>};

/// libpcap keeps the size as an int of bytes.
inline constexpr std::uint64_t max_buffer_kib = std::numeric_limits<std::int32_t>::max() / 1024;

template <class Settings>
inline constexpr Option<Settings> buffer_size{{'B', "buffer-size", "KIB", "the kernel's capture buffer, in KiB"},
                                              Section::source,
                                              number<1, max_buffer_kib, &Settings::buffer_kib>};

template <class Settings>
inline constexpr Option<Settings> no_promiscuous{
    {'p', "no-promiscuous-mode", {}, "no promiscuous mode"}, Section::source, turn_off<&Settings::promiscuous>};

template <class Settings>
inline constexpr Option<Settings> expression_file{
    {'F', {}, "FILE", "take the pcap-filter expression from FILE"},
    Section::selection,
    store_nonempty<"the name of a file with an expression", &Settings::expression_path>};

// Printing.

template <class Settings>
inline constexpr Option<Settings> no_names{
    {'n', {}, {}, "addresses as numbers, not as names"}, Section::printing, turn_off<&Settings::names>};

template <class Settings>
inline constexpr Option<Settings> node_names{
    {0, "node-names", "FILE",
     "names for the nodes of an InfiniBand subnet: lines of GUIDs and LIDs, or what `fabric --json` printed (default: "
     "the names that the capture shows)"},
    Section::printing,
    store_nonempty<"the name of a file", &Settings::node_names_path>};

template <class Settings>
inline constexpr Option<Settings> color{{0, "color", "WHEN", "auto (the default), never or always"},
                                        Section::printing,
                                        choice<color_choices, &Settings::color>};

template <class Settings>
inline constexpr Option<Settings> json_at_end{
    {0, "json", {}, "one JSON object at the end instead of text"}, Section::printing, turn_on<&Settings::json>};

/// `--sort`: a column's name, with `-` before it for the reverse order. The columns are known later.
std::string take_sort(const std::string& value, std::string& into);

template <class Settings>
inline constexpr Option<Settings> sort{
    {0, "sort", "COLUMN", "begin with the greatest number or the first text; -COLUMN the other way round"},
    Section::printing,
    [](Settings& settings, const std::string& value) { return take_sort(value, settings.sort); }};

// Options of iWARP connections. `endpoint` uses them, `run` passes them to the library.

inline constexpr OptionText mpa_crc{0, "crc", "on|off",
                                    "ask for the CRC of MPA (default on); it is used if either end asks"};
inline constexpr OptionText mpa_markers{0, "markers", "on|off",
                                        "ask for MPA markers in what is received (default off)"};
inline constexpr OptionText mpa_revision{0, "mpa-revision", "1|2",
                                         "MPA revision asked for, or at most answered (default 2)"};

// Lists.

/// Appends the words of a list with commas between them.
void append_words(std::vector<std::string>& words, std::string_view list);

/// `--kernel-events`: groups, or GROUP:EVENT; without a value, `usual`. Returns what is expected instead of the value.
std::string take_kernel_events(const std::string& value, std::vector<std::string> usual,
                               std::optional<std::vector<std::string>>& into);

}  // namespace cli::options
