#include "daemon/config/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/core.h>
#include <map>
#include <set>
#include <toml++/toml.h>

#include "base/file.h"
#include "base/open_file.h"
#include "base/printable.h"
#include "base/similar.h"
#include "base/text_format.h"
#include "daemon/config/config_table.h"
#include "daemon/config/contradiction.h"

namespace service::inline config {

namespace {

using Place = toml::source_position;

struct Mistake {
    Place place;
    std::string text;
};

std::string given(const toml::node& node) {
    if (const auto* text = node.as_string()) return fmt::format("\"{}\"", base::excerpt(text->get()));
    if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
    if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
    if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
    if (node.is_table()) return "a table";
    return node.is_array() ? "a list" : "a date or time";
}

/// A value as the table's set() reads it; nothing where TOML's type is not the key's.
std::optional<std::string> scalar(const toml::node& node, const Key& key) {
    switch (key.kind) {
        case Kind::text:
        case Kind::choice:
        case Kind::list:
        case Kind::rate:
            if (const auto* text = node.as_string()) return text->get();
            return {};
        case Kind::number:
        case Kind::numbers:
            if (const auto* text = node.as_string(); text != nullptr && key.or_auto && text->get() == "auto")
                return "auto";
            if (const auto* number = node.as_integer()) return std::to_string(number->get());
            return {};
        case Kind::size:
            if (const auto* text = node.as_string()) return text->get();
            if (const auto* number = node.as_integer()) return std::to_string(number->get());
            return {};
        case Kind::duration:
            if (const auto* text = node.as_string()) return text->get();
            if (const auto* number = node.as_integer(); number != nullptr && key.or_zero && number->get() == 0)
                return "0";
            return {};
        case Kind::toggle:
            if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
            return {};
    }
    return {};
}

class TableReader {
public:
    explicit TableReader(std::string path) : path_(std::move(path)) {}

    base::Result<Config, ConfigErrors> read(std::string_view toml) {
        try {
            read_sections(toml::parse(toml, std::string_view(path_)));
        } catch (const toml::parse_error& error) {
            add_mistake(error.source().begin, syntax(error.description()));
        }
        if (!mistakes_.empty()) return base::Failure{ConfigErrors{lines()}};
        return std::move(config_);
    }

private:
    void add_mistake(Place place, std::string text) { mistakes_.push_back({place, std::move(text)}); }

    static std::string syntax(std::string_view description) {
        // "Error while parsing key-value pair: cannot redefine existing integer 'snaplen'"
        constexpr std::string_view redefined = "cannot redefine existing ";
        if (const std::size_t at = description.find(redefined); at != std::string_view::npos) {
            const std::string_view what = description.substr(at + redefined.size());
            const std::size_t quote = what.find('\'');
            const std::string_view name = what.substr(std::min(quote, what.size()));
            return fmt::format("{} is given twice", base::excerpt(name.substr(0, name.find('\'', 1) + 1)));
        }
        constexpr std::string_view where = "Error while parsing ";
        if (description.starts_with(where)) description.remove_prefix(where.size());
        std::string out = "this is no TOML: ";
        base::append_printable(out, description.substr(0, 400));
        return out;
    }

    void read_sections(const toml::table& root) {
        for (const auto& [key, node] : root) {
            places_[std::string(key.str())] = key.source().begin;
            const toml::table* table = node.as_table();
            if (!is_section(key.str()))
                add_mistake(key.source().begin, unknown_section(key.str(), table != nullptr));
            else if (table == nullptr)
                add_mistake(key.source().begin,
                            fmt::format("{0}: {1} is given, a section [{0}] is expected", key.str(), given(node)));
            else
                read_section(key.str(), *table, nullptr, std::string(key.str()));
        }
        read_contradictions();
    }

    static bool is_section(std::string_view name) {
        const auto all = sections();
        return std::any_of(all.begin(), all.end(), [&](const Section& section) { return section.name == name; });
    }

    /// `path` is what messages call the table: the section's name, or "recorder.trigger[0]".
    void read_section(std::string_view section, const toml::table& table, TriggerConfig* trigger,
                      const std::string& path) {
        for (const auto& [name, node] : table) {
            const std::string full = fmt::format("{}.{}", path, base::excerpt(name.str()));
            const Key* key = find_key(fmt::format("{}.{}", section, name.str()));
            places_[full] = node.source().begin;
            if (key != nullptr)
                read_value(*key, node, trigger, full);
            else if (fmt::format("{}.{}", section, name.str()) == trigger_section)
                read_triggers(node);
            else
                add_mistake_of(name.source().begin, full, unknown_key(section, name.str()));
        }
    }

    void read_triggers(const toml::node& node) {
        const toml::array* tables = node.as_array();
        if (tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) {
            if (tables != nullptr && tables->empty()) return;
            return add_mistake_of(node.source().begin, std::string(trigger_section),
                                  fmt::format("{} is given, tables [[{}]] are expected", given(node), trigger_section));
        }
        config_.recorder.triggers.resize(tables->size());
        for (std::size_t i = 0; i < tables->size(); ++i) {
            const toml::table& table = *tables->get(i)->as_table();
            places_[trigger_path(i)] = table.source().begin;
            read_section(trigger_section, table, &config_.recorder.triggers[i], trigger_path(i));
        }
    }

    void read_value(const Key& key, const toml::node& node, TriggerConfig* trigger, const std::string& full) {
        const toml::array* array = node.as_array();
        const bool many = key.kind == Kind::list || key.kind == Kind::numbers;
        std::vector<std::string> values;
        const auto add = [&](const toml::node& one) {
            const auto value = scalar(one, key);
            if (value) values.push_back(*value);
            // Each element by itself, so that the message can point at it.
            return value && (!many || set(key, scratch_, trigger, {*value}).ok());
        };
        if ((array != nullptr) != many) return add_mistake_of(node.source().begin, full, refused(node, key));
        if (array != nullptr)
            for (const toml::node& element : *array)
                if (!add(element)) return add_mistake_of(element.source().begin, full, refused(element, key));
        if (array == nullptr && !add(node)) return add_mistake_of(node.source().begin, full, refused(node, key));
        if (!set(key, config_, trigger, values)) add_mistake_of(node.source().begin, full, refused(node, key));
    }

    static std::string refused(const toml::node& node, const Key& key) {
        return fmt::format("{} is given, {} is expected", given(node), accepted_values(key));
    }

    void add_mistake_of(Place place, const std::string& full, const std::string& text) {
        mistaken_.insert(full);
        add_mistake(place, full + ": " + text);
    }

    static std::string unknown_section(std::string_view name, bool is_table) {
        std::vector<std::string_view> known;
        for (const Section& section : sections())
            if (section.name != trigger_section) known.push_back(section.name);
        if (!is_table)
            for (const Key& key : keys())
                if (key.name == name && key.section != trigger_section)
                    return fmt::format("{0}: this key is in no section, it belongs under [{1}]", name, key.section);
        return fmt::format("{}: there is no such section{}", base::excerpt(name), base::did_you_mean(name, known));
    }

    static std::string unknown_key(std::string_view section, std::string_view name) {
        std::vector<std::string_view> known;
        for (const Key& key : keys())
            if (key.section == section) known.push_back(key.name);
        if (section == "recorder") known.emplace_back("trigger");
        std::string meant = base::did_you_mean(name, known);
        for (const Key& key : keys())
            if (meant.empty() && key.name == name) meant = fmt::format(", did you mean '{}'?", key.path());
        return "there is no such key" + meant;
    }

    /// Not where a key that takes part is wrong by itself: its default is not what its writer meant.
    void read_contradictions() {
        for (const Contradiction& each : find_contradictions(config_)) {
            if (std::any_of(each.paths.begin(), each.paths.end(),
                            [&](const std::string& path) { return mistaken_.contains(path); }))
                continue;
            const auto known = std::find_if(each.paths.begin(), each.paths.end(),
                                            [&](const std::string& path) { return places_.contains(path); });
            const Place place = known == each.paths.end() ? Place{1, 1} : places_[*known];
            add_mistake(place, each.paths.front() + ": " + each.message);
        }
    }

    std::vector<std::string> lines() {
        std::stable_sort(mistakes_.begin(), mistakes_.end(),
                         [](const Mistake& a, const Mistake& b) { return a.place < b.place; });
        std::vector<std::string> out;
        for (const Mistake& mistake : mistakes_)
            out.push_back(fmt::format("{}:{}:{}: {}", path_, mistake.place.line, mistake.place.column, mistake.text));
        return out;
    }

    std::string path_;
    Config config_ = {};
    Config scratch_ = {};
    std::vector<Mistake> mistakes_ = {};
    std::map<std::string, Place> places_ = {};  ///< of keys and tables that are in the file
    std::set<std::string> mistaken_ = {};
};

/// What the caller of the command has open is the caller's to say: `daemon --config /dev/stdin`. Any other path must
/// not let a reload wait: it is a regular file.
base::Result<base::Descriptor, base::OpenFailure> open_config(const std::string& path) {
    if (path != "/dev/stdin" && !path.starts_with("/dev/fd/")) return base::open_regular_file(path);
    base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!file) return base::Failure{base::OpenFailure{errno, std::strerror(errno)}};
    return file;
}

ConfigErrors one_line(std::string line) { return {{std::move(line)}}; }

}  // namespace

base::Result<Config, ConfigErrors> parse_config(std::string_view toml, const std::string& path) {
    return TableReader(path).read(toml);
}

base::Result<Config, ConfigErrors> read_config(const std::string& path) {
    const auto file = open_config(path);
    if (!file)
        return base::Failure{one_line(fmt::format("{}: {}; `rdmascope daemon --print-config` prints a complete file",
                                                  path, file.error().reason))};
    const auto toml = base::read_file(file->number(), max_config_octets + 1);
    if (!toml) return base::Failure{one_line(fmt::format("{}: {}", path, std::strerror(errno)))};
    if (toml->size() > max_config_octets)
        return base::Failure{
            one_line(fmt::format("{}: more than {} bytes, this is no configuration", path, max_config_octets))};
    return parse_config(*toml, path);
}

base::Result<void> set_key(Config& config, std::string_view key, const std::vector<std::string>& values) {
    const Key* found = find_key(key);
    if (found == nullptr || found->section == trigger_section)
        return base::failure("a key that exists, in place of " + std::string(key) + ",");
    return set(*found, config, nullptr, values);
}

}  // namespace service::config
