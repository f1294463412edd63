#include "doctor/bundle/bundle.h"

#include <fmt/core.h>

#include "doctor/bundle/archive.h"
#include "doctor/bundle/mask.h"
#include "doctor/output/json.h"

namespace doctor::inline bundle {

namespace {

constexpr std::string_view about =
    "This is what `rdmascope doctor --bundle` of rdmascope {} saw of a machine.\n\n"
    "findings.txt    what is wrong, as the program shows it\n"
    "findings.json   the same for programs\n"
    "inventory.json  what there is: libraries, modules, devices, settings; `rdmascope doctor --compare` reads it\n"
    "files.txt       the small files of /sys and /proc that were read\n\n"
    "Addresses, GUIDs, and names of hosts, domains and users are replaced: the same one by the same word everywhere.\n"
    "Look through it before you pass it on.\n";

/// Paths and contents. What is no text (vpd, config) is left out.
std::string files_text(const Transcript& transcript, Mask& mask) {
    std::string text;
    for (const auto& [path, content] : transcript) {
        if (content.find('\0') != std::string::npos) continue;
        text += fmt::format("==> {} <==\n{}", mask.text(path), mask.text(content));
        if (!text.ends_with('\n')) text += '\n';
    }
    return text;
}

}  // namespace

base::Result<std::string> make_bundle(const Root& root, const Inventory& machine, std::span<const Finding> findings,
                                      const Transcript& transcript, std::string_view page, std::string_view version,
                                      std::int64_t now_s) {
    Mask mask(root);
    const std::string folder = "rdmascope-doctor/";
    return make_archive({{folder + "README", fmt::format(about, version)},
                         {folder + "findings.txt", mask.text(page)},
                         {folder + "findings.json", dumped(mask.json(to_json(machine.host, findings)))},
                         {folder + "inventory.json", dumped(mask.json(to_json(machine)))},
                         {folder + "files.txt", files_text(transcript, mask)}},
                        now_s);
}

}  // namespace doctor::bundle
