#include "cli/doctor/doctor.h"

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/open_file.h"
#include "cli/console.h"
#include "cli/doctor/options.h"
#include "cli/doctor/page.h"
#include "cli/overwriting.h"
#include "doctor/bundle/bundle.h"
#include "doctor/compare/compare.h"
#include "doctor/output/json.h"

namespace cli::doctor {

namespace {

using ::doctor::dumped;
using ::doctor::Finding;
using ::doctor::Inventory;
using ::doctor::Json;
using ::doctor::Severity;

constexpr std::size_t longest_inventory = std::size_t{16} << 20;

bool write_file(const std::string& path, std::string_view text) {
    constexpr mode_t mode = 0644;
    auto file = base::open_output_file(path, mode);
    if (!file) {
        print_message("rdmascope doctor: {}: {}; name a file in a folder that may be written to", path,
                      file.error().reason);
        return false;
    }
    const bool written = base::write_all(file->number(), text);
    const int code = errno;
    const bool closed = ::close(file->release()) == 0;
    if (written && closed) return true;
    print_message("rdmascope doctor: {}: writing failed: {}", path, std::strerror(written ? errno : code));
    return false;
}

/// The path in the examined machine; below --root, paths are already such paths.
std::string inside(const std::string& path, const std::string& root) {
    if (path.starts_with('/') || !root.empty()) return path;
    std::string folder(4096, '\0');
    if (::getcwd(folder.data(), folder.size()) == nullptr) return path;
    folder.resize(std::strlen(folder.c_str()));
    return folder + "/" + path;
}

/// The exit status, for scripts.
int status_of(std::span<const Finding> findings, const DoctorOptions& options) {
    return !options.never_fail && worst_of(findings) >= options.fail_on ? exit_failed : exit_done;
}

PageStyle style_for(const DoctorOptions& options) {
    PageStyle style = style_for_terminal(STDOUT_FILENO);
    if (options.color != options::Color::automatic) style.color = options.color == options::Color::always;
    style.verbose = options.verbose;
    return style;
}

int print_findings(const Inventory& machine, std::span<const Finding> findings, const DoctorOptions& options) {
    const int printed = print(options.json ? dumped(to_json(machine.host, findings))
                                           : page(machine.host, findings, style_for(options)));
    return printed != exit_done ? printed : status_of(findings, options);
}

int examine_program(const ::doctor::Root& root, const Inventory& machine, const DoctorOptions& options) {
    const ::doctor::BinaryReport report = examine_binary(root, machine, inside(options.binary, options.root));
    if (!report.examined) {
        print_message("rdmascope doctor: {}: {}", options.binary, report.findings.front().observed);
        return exit_failed;
    }
    Json json = to_json(machine.host, report.findings);
    json["binary"] = to_json(report);
    const int printed = print(options.json ? dumped(json) : binary_page(machine.host, report, style_for(options)));
    return printed != exit_done ? printed : status_of(report.findings, options);
}

int compare_hosts(const Inventory& machine, const DoctorOptions& options) {
    const ::doctor::Content file = ::doctor::Root().read(inside(options.compare_path, ""), longest_inventory);
    const auto fail = [&options](std::string_view error) {
        print_message("rdmascope doctor: {}: {}", options.compare_path, error);
        return exit_failed;
    };
    const std::string error = file.sight == ::doctor::Sight::absent   ? "there is no such file"
                              : file.sight == ::doctor::Sight::denied ? "it may not be read by this user"
                              : file.sight != ::doctor::Sight::seen   ? "it is not a readable file"
                              : file.cut                              ? "it is longer than 16 MiB: no inventory is"
                                                                      : "";
    if (!error.empty()) return fail(error);
    const auto other = ::doctor::parse_inventory(file.octets);
    if (!other) return fail(other.error().text());
    return print_findings(machine, ::doctor::compare_inventories(to_json(machine), *other), options);
}

int examine_machine(const ::doctor::Root& root, const Inventory& machine, const ::doctor::Transcript& transcript,
                    const DoctorOptions& options, std::string_view version) {
    const std::vector<Finding> findings = examine(machine);
    if (!options.bundle_path.empty()) {
        PageStyle plain;
        plain.verbose = true;
        const auto bundle = make_bundle(root, machine, findings, transcript, page(machine.host, findings, plain),
                                        version, static_cast<std::int64_t>(std::time(nullptr)));
        if (!bundle) {
            print_message("rdmascope doctor: {}: {}", options.bundle_path, bundle.error().text());
            return exit_failed;
        }
        if (!write_file(options.bundle_path, *bundle)) return exit_failed;
        print_message("rdmascope doctor: {} is for a bug report; look through it before you pass it on",
                      options.bundle_path);
    }
    return print_findings(machine, findings, options);
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Environment& environment) {
    DoctorOptions options;
    const auto error = parse(arguments, options);
    if (const auto status = answered(environment, "doctor", error, options, help)) return *status;
    if (options.list) return print(list_of_checks());
    struct stat folder {};
    if (!options.root.empty() && (::stat(options.root.c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode))) {
        print_message("rdmascope doctor: --root {}: there is no such folder", options.root);
        return exit_failed;
    }
    const std::string program = options.binary.empty() ? "" : options.root + inside(options.binary, options.root);
    for (const std::string& path : {options.export_path, options.bundle_path})
        if (const std::string refusal = refuse_overwriting(path, {options.compare_path, program}); !refusal.empty()) {
            print_message("rdmascope doctor: {}: {}", path, refusal);
            return exit_failed;
        }
    ::doctor::Transcript transcript;
    const ::doctor::Root root(options.root, options.bundle_path.empty() ? nullptr : &transcript);
    const Inventory machine = take_inventory(root);
    if (!options.export_path.empty()) {
        const std::string text = dumped(to_json(machine));
        if (options.export_path == "-") return print(text);
        if (!write_file(options.export_path, text)) return exit_failed;
    }
    if (!options.binary.empty()) return examine_program(root, machine, options);
    if (!options.compare_path.empty()) return compare_hosts(machine, options);
    return examine_machine(root, machine, transcript, options, environment.version);
}

}  // namespace cli::doctor
