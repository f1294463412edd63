#include "cli/top/settings_file.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/core.h>
#include <optional>
#include <sstream>
#include <string_view>
#include <toml++/toml.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/file.h"
#include "base/open_file.h"
#include "base/quantities.h"
#include "cli/console.h"
#include "cli/top/options.h"
#include "tui/model/columns.h"
#include "tui/view/theme.h"

namespace cli::top {

namespace {

using tui::Settings;

constexpr std::size_t most_octets = std::size_t{1} << 20;
constexpr std::string_view heading =
    "# What was last chosen in `rdmascope top`, which writes this file at its end.\n\n";

constexpr std::array stored_groupings{tui::Grouping::none,          tui::Grouping::source,
                                      tui::Grouping::destination,   tui::Grouping::transport,
                                      tui::Grouping::traffic_class, tui::Grouping::process};

/// A key of the file. `take` returns what is expected instead of the value; `give` stores it.
struct Key {
    const char* name;
    std::string (*take)(const toml::node& node, Settings& settings);
    void (*give)(toml::table& table, const Settings& settings);
    bool (*same)(const Settings& one, const Settings& other);
};

std::string take_columns(const toml::node& node, Settings& settings) {
    const toml::array* const list = node.as_array();
    std::vector<std::string> names;
    if (list != nullptr)
        for (const toml::node& item : *list) {
            const auto name = item.value_exact<std::string>();
            if (!name || !tui::column_named(*name)) return "a list of columns";
            names.push_back(*name);
        }
    if (list == nullptr) return "a list of columns";
    settings.columns = std::move(names);
    return {};
}

std::string take_sort(const toml::node& node, Settings& settings) {
    const auto name = node.value_exact<std::string>();
    const std::string_view column = name ? std::string_view(*name).substr(name->starts_with('-') ? 1 : 0) : "";
    if (!name || (!name->empty() && !tui::column_named(column))) return "a column";
    settings.sort = *name;
    return {};
}

std::string take_group(const toml::node& node, Settings& settings) {
    const auto name = node.value_exact<std::string>();
    for (const tui::Grouping grouping : stored_groupings)
        if (name && *name == tui::name_of(grouping)) {
            settings.grouping = grouping;
            return std::string{};
        }
    std::string names;
    for (const tui::Grouping& grouping : stored_groupings)
        names += fmt::format("{}{}",
                             names.empty()                           ? ""
                             : &grouping == &stored_groupings.back() ? " or "
                                                                     : ", ",
                             tui::name_of(grouping));
    return names;
}

std::string take_window(const toml::node& node, Settings& settings) {
    const auto name = node.value_exact<std::string>();
    if (!name || (*name != "interval" && *name != "total")) return "interval or total";
    settings.window = *name == "total" ? tui::Window::total : tui::Window::interval;
    return {};
}

std::string take_theme(const toml::node& node, Settings& settings) {
    const auto name = node.value_exact<std::string>();
    if (!name || tui::find_theme(*name) == nullptr) return "the name of a theme";
    settings.theme = *name;
    return {};
}

std::string take_time(const toml::node& node, Settings& settings) {
    return take_interval(node.value_exact<std::string>().value_or(""), settings.interval_ns);
}

std::string take_names(const toml::node& node, Settings& settings) {
    const auto wanted = node.value_exact<bool>();
    if (!wanted) return "true or false";
    settings.names = *wanted;
    return {};
}

const std::array<Key, 7> keys{{
    {"columns", take_columns,
     [](toml::table& table, const Settings& s) {
         toml::array list;
         for (const std::string& name : s.columns) list.push_back(name);
         table.insert_or_assign("columns", std::move(list));
     },
     [](const Settings& a, const Settings& b) { return a.columns == b.columns; }},
    {"sort", take_sort, [](toml::table& table, const Settings& s) { table.insert_or_assign("sort", s.sort); },
     [](const Settings& a, const Settings& b) { return a.sort == b.sort; }},
    {"group", take_group,
     [](toml::table& table, const Settings& s) { table.insert_or_assign("group", tui::name_of(s.grouping)); },
     [](const Settings& a, const Settings& b) { return a.grouping == b.grouping; }},
    {"window", take_window,
     [](toml::table& table, const Settings& s) {
         table.insert_or_assign("window", s.window == tui::Window::total ? "total" : "interval");
     },
     [](const Settings& a, const Settings& b) { return a.window == b.window; }},
    {"theme", take_theme, [](toml::table& table, const Settings& s) { table.insert_or_assign("theme", s.theme); },
     [](const Settings& a, const Settings& b) { return a.theme == b.theme; }},
    {"interval", take_time,
     [](toml::table& table, const Settings& s) {
         table.insert_or_assign("interval", base::spell_duration(s.interval_ns));
     },
     [](const Settings& a, const Settings& b) { return a.interval_ns == b.interval_ns; }},
    {"names", take_names, [](toml::table& table, const Settings& s) { table.insert_or_assign("names", s.names); },
     [](const Settings& a, const Settings& b) { return a.names == b.names; }},
}};

/// Returns what is wrong; empty where nothing is.
std::string take(std::string_view name, const toml::node& node, Settings& settings) {
    for (const Key& key : keys) {
        if (name != key.name) continue;
        const std::string wanted = key.take(node, settings);
        return wanted.empty() ? wanted : fmt::format("{}: {} is expected", name, wanted);
    }
    return fmt::format("{} is no setting", name);
}

/// The file as a table; empty if absent. The error is a line.
std::optional<toml::table> parsed(const std::string& path, std::string& error) {
    auto file = base::open_regular_file(path);
    if (!file) {
        if (file.error().code == ENOENT || file.error().code == ENOTDIR) return toml::table{};
        error = fmt::format("{}: {}", path, file.error().reason);
        return std::nullopt;
    }
    const auto text = base::read_file(file->number(), most_octets + 1);
    if (!text || text->size() > most_octets) {
        const char* const why = text ? "is too large to be a file of settings" : std::strerror(errno);
        error = fmt::format("{}: {}", path, why);
        return std::nullopt;
    }
    try {
        return toml::parse(*text);
    } catch (const toml::parse_error& mistake) {
        error = fmt::format("{}: line {}: {}", path, mistake.source().begin.line, mistake.description());
        return std::nullopt;
    }
}

/// Writes a new file and renames it to `path`, so that there is always a whole one.
std::string replace(const std::string& path, const std::string& text) {
    std::error_code code;
    const std::filesystem::path given(path);
    std::filesystem::create_directories(given.parent_path(), code);
    // A link to a file that is kept elsewhere stays one.
    const std::filesystem::path real = std::filesystem::exists(given, code) ? canonical(given, code) : given;
    std::string beside = (code ? given : real).string() + ".XXXXXX";
    const auto failed = [&] { return fmt::format("{}: {}", path, std::strerror(errno)); };
    base::Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));
    if (!file) return failed();
    const bool written = base::write_all(file.number(), text) && ::fsync(file.number()) == 0;
    std::string error = written ? std::string{} : failed();
    file.reset();
    if (error.empty() && ::rename(beside.c_str(), real.c_str()) != 0) error = failed();
    if (!error.empty()) ::unlink(beside.c_str());
    return error;
}

}  // namespace

std::string SettingsFile::usual_path() {
    const char* const config = std::getenv("XDG_CONFIG_HOME");
    // The specification of base directories: one that is not absolute is as good as none.
    if (config != nullptr && *config == '/') return std::string(config) + "/rdmascope/top.toml";
    const char* const home = std::getenv("HOME");
    if (home == nullptr || *home != '/') return {};
    return std::string(home) + "/.config/rdmascope/top.toml";
}

Settings SettingsFile::read() {
    Settings settings;
    complaint_.clear();
    if (path_.empty()) return settings;
    const auto table = parsed(path_, complaint_);
    if (!table) return settings;
    std::vector<std::pair<std::uint32_t, std::string>> faults;
    for (const auto& [name, node] : *table) {
        const std::string fault = take(name.str(), node, settings);
        if (!fault.empty()) faults.emplace_back(name.source().begin.line, fault);
    }
    // The table is in the order of names.
    std::sort(faults.begin(), faults.end());
    for (const auto& [line, fault] : faults)
        complaint_ += fmt::format("{}line {}: {}", complaint_.empty() ? path_ + ": " : "; ", line, fault);
    return settings;
}

std::string SettingsFile::write(const Settings& began, const Settings& now) const {
    if (began == now || path_.empty()) return {};
    std::string error;
    auto table = parsed(path_, error);
    if (!table) return error;
    for (const Key& key : keys)
        if (!key.same(began, now)) key.give(*table, now);
    std::ostringstream text;
    text << heading << *table << '\n';
    return replace(path_, text.str());
}

}  // namespace cli::top
