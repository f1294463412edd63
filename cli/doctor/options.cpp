#include "cli/doctor/options.h"

#include <array>
#include <fmt/core.h>

#include "cli/doctor/doctor.h"
#include "cli/option_table.h"

namespace cli::doctor {

namespace {

enum class Group { subject, printing, files };
using Row = OptionRow<DoctorOptions, Group>;
using ::doctor::Severity;

std::string take_path(const std::string& value, std::string& into) {
    if (value.empty()) return "the path of a file";
    into = value;
    return {};
}

constexpr std::array rows{
    Row{{0, "binary", "FILE", "whether this program will work with this machine's stack, and why not"},
        Group::subject,
        [](DoctorOptions& o, const std::string& v) { return take_path(v, o.binary); }},
    Row{{0, "compare", "FILE", "what this host and another disagree on; FILE is what the other's --export wrote"},
        Group::subject,
        [](DoctorOptions& o, const std::string& v) { return take_path(v, o.compare_path); }},
    Row{{0, "root", "DIR", "examine the machine whose / is there: a mounted image, a container's tree"},
        Group::subject,
        [](DoctorOptions& o, const std::string& v) { return take_path(v, o.root); }},
    Row{{0, "list", "", "list the checks and exit"},
        Group::subject,
        [](DoctorOptions& o, const std::string&) { return o.list = true, std::string{}; }},
    Row{{0, "json", "", "print the findings as one JSON object"},
        Group::printing,
        [](DoctorOptions& o, const std::string&) { return o.json = true, std::string{}; }},
    Row{{'v', "verbose", "", "also what is as it should be, and what cannot be told"},
        Group::printing,
        [](DoctorOptions& o, const std::string&) { return o.verbose = true, std::string{}; }},
    Row{{0, "color", "WHEN", "auto (the default), never or always"},
        Group::printing,
        [](DoctorOptions& o, const std::string& v) -> std::string {
            if (v != "auto" && v != "never" && v != "always") return "auto, never or always";
            o.color = v;
            return {};
        }},
    Row{{0, "fail-on", "SEVERITY", "exit with 1 from this severity on: broken (the default), warning, note, never"},
        Group::printing,
        [](DoctorOptions& o, const std::string& v) -> std::string {
            o.never_fail = v == "never";
            if (o.never_fail) return {};
            for (const Severity severity : {Severity::broken, Severity::warning, Severity::note})
                if (v == name_of(severity)) return o.fail_on = severity, std::string{};
            return "broken, warning, note or never";
        }},
    Row{{0, "export", "FILE", "write what there is on this machine as JSON, for --compare on another; - prints it"},
        Group::files,
        [](DoctorOptions& o, const std::string& v) { return take_path(v, o.export_path); }},
    Row{{0, "bundle", "FILE", "write a .tar.gz for a bug report, without addresses and names"},
        Group::files,
        [](DoctorOptions& o, const std::string& v) { return take_path(v, o.bundle_path); }},
    Row{{'h', "help", "", "print this and exit"},
        Group::printing,
        [](DoctorOptions& o, const std::string&) { return o.help = true, std::string{}; }},
    Row{{0, "version", "", "print the version and exit"},
        Group::printing,
        [](DoctorOptions& o, const std::string&) { return o.version = true, std::string{}; }},
};
constexpr std::span<const Row> none{};
constexpr std::array headings{
    std::pair{Group::subject, std::string_view("What is examined")},
    std::pair{Group::files, std::string_view("What is written")},
    std::pair{Group::printing, std::string_view("What is printed")},
};

}  // namespace

std::string parse(const std::vector<std::string>& arguments, DoctorOptions& out) {
    std::string words;
    if (std::string reason = parse_options(arguments, std::span<const Row>(rows), none, out, words); !reason.empty())
        return reason;
    if (!words.empty()) return fmt::format("'{}' is no option; for a program: --binary FILE", words);
    if (!out.binary.empty() && !out.compare_path.empty()) return "--binary and --compare are given: one or the other";
    if (!out.bundle_path.empty() && (!out.binary.empty() || !out.compare_path.empty()))
        return "--bundle is about the whole machine: give it without --binary and --compare";
    if (!out.bundle_path.empty() && out.bundle_path == out.export_path)
        return "--export and --bundle name the same file: the one would overwrite the other";
    return {};
}

std::string help() {
    constexpr std::string_view usage =
        "Usage: rdmascope doctor [OPTION]...\n"
        "       rdmascope doctor --binary FILE [OPTION]...\n"
        "       rdmascope doctor --compare FILE [OPTION]...\n\n"
        "Says what is wrong with this machine's RDMA stack: libraries, providers, kernel modules, devices, limits and\n"
        "network settings, and what stands in the way of observing it; with the command that mends each. It reads "
        "files\n"
        "alone: it runs nothing, loads nothing and changes nothing.\n";
    return help_page<Group>(usage, joined(std::span<const Row>(rows), none), headings,
                            "\nManual: rdmascope-doctor(1), which lists all checks.\n");
}

}  // namespace cli::doctor
