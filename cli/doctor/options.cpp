#include "cli/doctor/options.h"

#include <array>
#include <fmt/core.h>

#include "cli/doctor/doctor.h"

namespace cli::doctor {

namespace {

using options::Section;
using Row = options::Option<DoctorOptions>;
using ::doctor::Severity;

std::string take_severity(DoctorOptions& options, const std::string& value) {
    options.never_fail = value == "never";
    if (options.never_fail) return {};
    for (const Severity severity : {Severity::broken, Severity::warning, Severity::note}) {
        if (value != name_of(severity)) continue;
        options.fail_on = severity;
        return {};
    }
    return "broken, warning, note or never";
}

template <auto Path>
constexpr options::Setter<DoctorOptions> path = options::store_nonempty<"the path of a file", Path>;

constexpr std::array rows{
    Row{{0, "binary", "FILE", "whether this program will work with this machine's stack, and why not"},
        Section::subject,
        path<&DoctorOptions::binary>},
    Row{{0, "compare", "FILE", "what this host and another disagree on; FILE is what the other's --export wrote"},
        Section::subject,
        path<&DoctorOptions::compare_path>},
    Row{{0, "root", "DIR", "examine the machine whose / is there: a mounted image, a container's tree"},
        Section::subject,
        path<&DoctorOptions::root>},
    Row{{0, "list", {}, "list the checks and exit"}, Section::subject, options::turn_on<&DoctorOptions::list>},
    Row{{0, "json", {}, "print the findings as one JSON object"},
        Section::printing,
        options::turn_on<&DoctorOptions::json>},
    Row{{'v', "verbose", {}, "also print what is right, and what is not visible"},
        Section::printing,
        options::turn_on<&DoctorOptions::verbose>},
    options::color<DoctorOptions>,
    Row{{0, "fail-on", "SEVERITY", "exit with 1 from this severity on: broken (the default), warning, note, never"},
        Section::printing,
        take_severity},
    Row{{0, "export", "FILE", "write what there is on this machine as JSON, for --compare on another; - prints it"},
        Section::files,
        path<&DoctorOptions::export_path>},
    Row{{0, "bundle", "FILE", "write a .tar.gz for a bug report, without addresses and names"},
        Section::files,
        path<&DoctorOptions::bundle_path>},
    under(Section::printing, options::help<DoctorOptions>),
    under(Section::printing, options::version<DoctorOptions>),
};

std::string contradiction(const DoctorOptions& options) {
    if (!options.binary.empty() && !options.compare_path.empty())
        return "--binary and --compare are given: one or the other";
    if (!options.bundle_path.empty() && (!options.binary.empty() || !options.compare_path.empty()))
        return "--bundle is about the whole machine: give it without --binary and --compare";
    if (!options.bundle_path.empty() && options.bundle_path == options.export_path)
        return "--export and --bundle name the same file: the one would overwrite the other";
    return {};
}

}  // namespace

options::OptionTable<DoctorOptions> option_table() { return options::OptionTable<DoctorOptions>().add(rows); }

std::optional<options::UsageError> parse(const std::vector<std::string>& arguments, DoctorOptions& out) {
    std::vector<std::string> words;
    if (auto error = option_table().parse(arguments, out, words)) return error;
    if (!words.empty())
        return options::UsageError{
            fmt::format("'{}' is no option; for a program: --binary FILE", options::joined(words))};
    return options::usage_error_if(contradiction(out));
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
    return options::help_page(usage, option_table().options(),
                              "\nManual: rdmascope-doctor(1), which lists all checks.\n");
}

std::vector<options::CommandOptions> option_lists() { return {{"doctor", option_table().options()}}; }

}  // namespace cli::doctor
