#include <algorithm>
#include <map>
#include <set>

#include "doctor/inventory/readers.h"
#include "doctor/strings.h"

namespace doctor::inline inventory {

namespace {

constexpr std::size_t longest_library = std::size_t{64} << 20;
constexpr std::size_t most_libraries = 512;
constexpr std::string_view private_prefix = "IBVERBS_PRIVATE_";

std::optional<Part> part_of(std::string_view name) {
    if (name.starts_with("libibverbs.so")) return Part::verbs;
    if (name.starts_with("librdmacm.so")) return Part::connections;
    if (name.starts_with("lib") && name.ends_with(".so") && name.find("-rdmav") != std::string_view::npos)
        return Part::provider;
    return std::nullopt;
}

std::optional<unsigned> private_abi(std::string_view version) {
    if (!version.starts_with(private_prefix)) return std::nullopt;
    const auto number = number_in(version.substr(private_prefix.size()));
    return number ? std::optional(static_cast<unsigned>(*number)) : std::nullopt;
}

/// A path of a printable text within a library that ends with `ending`; the text begins after a zero byte.
std::string text_ending(std::string_view octets, std::string_view ending) {
    for (std::size_t at = octets.find(ending); at != std::string_view::npos; at = octets.find(ending, at + 1)) {
        const std::size_t begin = octets.rfind('\0', at) + 1;
        if (at - begin < 4096 && begin < at && octets[begin] == '/')
            return std::string(octets.substr(begin, at - begin));
    }
    return {};
}

/// Where a core looks for providers is compiled into it: ".../libibverbs/lib%s-rdmav34.so" and "/etc/libibverbs.d".
void read_core(const base::ElfImage& file, Library& library) {
    constexpr std::string_view pattern = "/lib%s-rdmav";
    library.provider_folder = text_ending(file.octets(), pattern);
    constexpr std::string_view plain = "lib%s-rdmav";
    if (const std::size_t at = file.octets().find(plain); at != std::string_view::npos)
        if (const auto suffix = number_in(file.octets().substr(at + plain.size(), 4)))
            library.provider_suffix = static_cast<unsigned>(*suffix);
    constexpr std::string_view folder = "/libibverbs.d";
    if (const std::string beginning = text_ending(file.octets(), folder); !beginning.empty())
        library.configuration_folder = beginning + std::string(folder);
}

std::string provider_name(std::string_view file_name) {
    return std::string(file_name.substr(3, file_name.find("-rdmav") - 3));
}

/// Fills in what the file itself says.
void read_library(const Root& root, Library& library) {
    Content content = root.read(library.path, longest_library);
    if (content.sight == Sight::denied)
        library.problem = "it may not be read by this user";
    else if (content.sight != Sight::seen)
        library.problem = "it cannot be read";
    else if (content.cut)
        library.problem = "it is longer than 64 MiB: no library of the RDMA stack is";
    if (!library.problem.empty()) return;
    const base::ElfImage file(std::move(content.octets));
    library.problem = !file.error().empty() ? file.error() : file.damage();
    library.soname = file.soname();
    library.build_id = file.build_id();
    for (std::string_view version : file.version_definitions()) {
        library.defined.emplace_back(version);
        if (const auto abi = private_abi(version); abi && library.part == Part::verbs) library.private_abi = abi;
    }
    for (const base::ElfVersionNeed& need : file.version_needs()) {
        if (!need.file.starts_with("libibverbs.so")) continue;
        for (std::string_view version : need.versions) {
            library.needed.emplace_back(version);
            if (const auto abi = private_abi(version); abi && library.part != Part::verbs) library.private_abi = abi;
        }
    }
    if (library.part == Part::verbs) read_core(file, library);
    if (library.part == Part::provider)
        for (const std::string& name : library.names)
            if (!library.kernel_abi) library.kernel_abi = provider_range(file, provider_name(name));
}

class Search {
public:
    explicit Search(const Root& root) : root_(root) {}

    void add(const std::string& path) {
        const std::size_t slash = path.rfind('/');
        const std::string name = path.substr(slash + 1);
        const auto part = part_of(name);
        const std::string real = part ? root_.resolve(path) : std::string{};
        if (real.empty()) return;
        auto at = found_.find(real);
        if (at == found_.end()) {
            if (found_.size() >= most_libraries) return;
            at = found_.emplace(real, Library{}).first;
            at->second.path = real;
            at->second.part = *part;
        }
        std::vector<std::string>& names = at->second.names;
        // A provider with an interface of its own lies next to the others as a link; as a provider it is what counts.
        if (*part == Part::provider) at->second.part = Part::provider;
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }

    void add_folder(const std::string& folder) {
        for (const std::string& name : root_.list(folder))
            if (part_of(name)) add(folder / name);
    }

    std::map<std::string, Library>& found() { return found_; }

private:
    const Root& root_;
    std::map<std::string, Library> found_ = {};
};

/// Where libraries lie that are in no path until LD_LIBRARY_PATH or an RPATH names them.
std::vector<std::string> outlying_folders(const Root& root) {
    std::vector<std::string> folders;
    const auto add = [&](const std::string& prefix) {
        for (const char* name : {"lib", "lib64", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu"})
            if (root.has(prefix / name)) folders.push_back(prefix / name);
    };
    add("/usr/local");
    constexpr std::size_t most = 256;
    for (const std::string& vendor : root.list("/opt")) {
        add("/opt/" + vendor);
        for (const std::string& product : root.list("/opt/" + vendor))
            if (folders.size() < most) add("/opt/" + vendor + "/" + product);
    }
    return folders;
}

}  // namespace

std::vector<Library> look_at_libraries(const Root& root, const LoaderPath& path,
                                       const std::vector<ProcessLibraries>& processes) {
    Search search(root);
    for (const auto& [name, file] : path.cache()) search.add(file);
    std::vector<std::string> folders = path.environment();
    folders.insert(folders.end(), path.folders().begin(), path.folders().end());
    for (const std::string& folder : outlying_folders(root)) folders.push_back(folder);
    for (const std::string& folder : folders) {
        search.add_folder(folder);
        search.add_folder(folder / "libibverbs");
    }
    for (const ProcessLibraries& process : processes)
        for (const std::string& file : process.paths)
            if (!process.elsewhere) search.add(file);

    std::vector<std::string> paths;
    std::set<std::string> provider_folders, looked_into;
    for (auto& [file, library] : search.found()) {
        read_library(root, library);
        looked_into.insert(file);
        if (!library.provider_folder.empty()) provider_folders.insert(library.provider_folder);
    }
    // A core may look for its providers where nothing else led.
    for (const std::string& folder : provider_folders) search.add_folder(folder);
    for (auto& [file, library] : search.found()) {
        if (!looked_into.contains(file)) read_library(root, library);
        paths.push_back(file);
    }
    const auto owners = debian_owners(root, paths);
    const std::string verbs = root.resolve(path.find(root, "libibverbs.so.1"));
    const std::string connections = root.resolve(path.find(root, "librdmacm.so.1"));
    std::vector<Library> libraries;
    for (auto& [file, library] : search.found()) {
        if (const auto owner = owners.find(file); owner != owners.end()) library.package = owner->second;
        library.preferred = file == verbs || file == connections;
        libraries.push_back(std::move(library));
    }
    return libraries;
}

Library look_at_library(const Root& root, const std::string& path) {
    Library library;
    library.path = root.resolve(path);
    const std::string name = library.path.substr(library.path.rfind('/') + 1);
    library.part = part_of(name).value_or(Part::verbs);
    library.names.push_back(name);
    read_library(root, library);
    return library;
}

std::vector<DriverEntry> look_at_drivers(const Root& root, const LoaderPath& path,
                                         const std::vector<Library>& libraries) {
    const auto core = std::find_if(libraries.begin(), libraries.end(),
                                   [](const Library& l) { return l.part == Part::verbs && l.preferred; });
    const bool known = core != libraries.end();
    const std::string folder =
        known && !core->configuration_folder.empty() ? core->configuration_folder : "/etc/libibverbs.d";
    const std::string suffix =
        known && core->provider_suffix ? "-rdmav" + std::to_string(*core->provider_suffix) + ".so" : std::string{};
    std::vector<DriverEntry> entries;
    for (const std::string& name : root.list(folder)) {
        const std::string file = folder / name;
        const Content content = root.read(file);
        for (std::string_view line : lines(content.octets)) {
            const auto parts = words(line.substr(0, line.find('#')));
            if (parts.size() != 2 || parts[0] != "driver" || entries.size() >= most_libraries) continue;
            DriverEntry entry{file, std::string(parts[1]), {}};
            // As load_driver() of rdma-core does: an absolute path, else its own folder, else wherever the loader finds
            // it.
            if (!suffix.empty()) {
                const std::string own = core->provider_folder + "/lib" + entry.name + suffix;
                if (entry.name.starts_with('/'))
                    entry.library = root.resolve(entry.name + suffix);
                else if (!core->provider_folder.empty() && root.has(own))
                    entry.library = root.resolve(own);
                else
                    entry.library = root.resolve(path.find(root, "lib" + entry.name + suffix));
            }
            entries.push_back(std::move(entry));
        }
    }
    return entries;
}

}  // namespace doctor::inventory
