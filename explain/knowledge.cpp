#include "explain/knowledge.h"

#include <algorithm>
#include <fmt/core.h>
#include <span>
#include <toml++/toml.h>

namespace explain {

extern const std::span<const unsigned char> patterns_bytes;
extern const std::span<const unsigned char> codes_bytes;

namespace {

std::string_view text_of(std::span<const unsigned char> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string word_at(const toml::table& row, std::string_view key) { return row[key].value_or(std::string()); }

std::vector<std::string> words_at(const toml::table& row, std::string_view key) {
    std::vector<std::string> out;
    if (const toml::array* const list = row[key].as_array())
        for (const toml::node& each : *list) out.push_back(each.value_or(std::string()));
    return out;
}

std::optional<unsigned> number_at(const toml::table& row, std::string_view key) {
    const auto value = row[key].value<std::int64_t>();
    return value ? std::optional(static_cast<unsigned>(*value)) : std::nullopt;
}

Wait wait_named(std::string_view name) {
    if (name == "answer") return Wait::answer;
    return name == "receiver" ? Wait::receiver : Wait::none;
}

Status read_status(const toml::table& row) {
    Status status;
    status.number = number_at(row, "number").value_or(0);
    status.name = word_at(row, "name");
    status.texts = words_at(row, "texts");
    status.syndrome = number_at(row, "syndrome");
    if (const toml::array* const codes = row["vendor"].as_array())
        for (const toml::node& code : *codes)
            status.vendor.push_back(static_cast<unsigned>(code.value_or(std::int64_t{0})));
    status.wait = wait_named(word_at(row, "wait"));
    status.consequence = row["consequence"].value_or(false);
    status.meaning = word_at(row, "meaning");
    status.causes = words_at(row, "causes");
    status.look_for = word_at(row, "look_for");
    status.next = word_at(row, "next");
    return status;
}

Pattern read_pattern(const toml::table& row) {
    Pattern pattern;
    pattern.id = word_at(row, "id");
    pattern.software = word_at(row, "software");
    pattern.needle = word_at(row, "needle");
    pattern.regex = word_at(row, "regex");
    pattern.sample = word_at(row, "sample");
    pattern.meaning = word_at(row, "meaning");
    pattern.causes = words_at(row, "causes");
    pattern.look_for = word_at(row, "look_for");
    pattern.next = word_at(row, "next");
    pattern.consequence = row["consequence"].value_or(false);
    pattern.continues = row["continues"].value_or(false);
    pattern.defaults.timeout = number_at(row, "timeout");
    pattern.defaults.retries = number_at(row, "retries");
    if (pattern.defaults.timeout) pattern.defaults.origin = "the defaults of " + word_at(row, "settings_of");
    pattern.seconds_default = number_at(row, "seconds_default");
    return pattern;
}

template <class Row, class Read>
void read_rows(const toml::table& root, std::string_view key, std::vector<Row>& into, const Read& read) {
    const toml::array* const rows = root[key].as_array();
    if (rows == nullptr) return;
    into.reserve(rows->size());
    for (const toml::node& row : *rows)
        if (const toml::table* const table = row.as_table()) into.push_back(read(*table));
}

void read_codes(const toml::table& root, Knowledge& into) {
    read_rows(root, "status", into.statuses, read_status);
    read_rows(root, "reject", into.rejects, [](const toml::table& row) {
        return Reject{static_cast<int>(number_at(row, "number").value_or(0)), word_at(row, "name"),
                      words_at(row, "causes")};
    });
    read_rows(root, "event", into.events, [](const toml::table& row) {
        return Event{word_at(row, "name"), word_at(row, "meaning"), words_at(row, "causes"), word_at(row, "look_for"),
                     word_at(row, "next")};
    });
    read_rows(root, "errno", into.error_numbers, [](const toml::table& row) {
        return ErrorNumber{static_cast<int>(number_at(row, "number").value_or(0)), word_at(row, "name"),
                           word_at(row, "meaning")};
    });
    read_rows(root, "terminate", into.terminates, [](const toml::table& row) {
        return TerminateKind{number_at(row, "layer").value_or(0), number_at(row, "type").value_or(0),
                             word_at(row, "meaning")};
    });
}

template <class Row, class Fits>
const Row* find_row(const std::vector<Row>& rows, const Fits& fits) {
    const auto found = std::ranges::find_if(rows, fits);
    return found == rows.end() ? nullptr : &*found;
}

std::string_view without(std::string_view text, std::string_view prefix) {
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace

const Status* Knowledge::status(unsigned number) const {
    return find_row(statuses, [&](const Status& row) { return row.number == number; });
}

const Status* Knowledge::status_named(std::string_view name) const {
    name = without(without(name, "IBV_WC_"), "IB_WC_");
    return find_row(statuses, [&](const Status& row) { return without(row.name, "IBV_WC_") == name; });
}

const Status* Knowledge::status_of_text(std::string_view text) const {
    while (text.ends_with(' ') || text.ends_with('.')) text.remove_suffix(1);
    return find_row(statuses, [&](const Status& row) { return std::ranges::find(row.texts, text) != row.texts.end(); });
}

const Status* Knowledge::status_of_syndrome(unsigned syndrome) const {
    return find_row(statuses, [&](const Status& row) { return row.syndrome == syndrome; });
}

const Status* Knowledge::status_of_vendor(unsigned code) const {
    return find_row(statuses,
                    [&](const Status& row) { return std::ranges::find(row.vendor, code) != row.vendor.end(); });
}

const Reject* Knowledge::reject(int number) const {
    return find_row(rejects, [&](const Reject& row) { return row.number == number; });
}

const Event* Knowledge::event(std::string_view name) const {
    std::string plain(without(name, "RDMA_CM_EVENT_"));
    std::ranges::replace(plain, ' ', '_');
    return find_row(events, [&](const Event& row) { return row.name == plain; });
}

const ErrorNumber* Knowledge::error_number(int number) const {
    return find_row(error_numbers,
                    [&](const ErrorNumber& row) { return row.number == number || -row.number == number; });
}

const TerminateKind* Knowledge::terminate(unsigned layer, unsigned type) const {
    return find_row(terminates, [&](const TerminateKind& row) { return row.layer == layer && row.type == type; });
}

base::Result<Knowledge> parse_knowledge(std::string_view codes, std::string_view patterns) {
    Knowledge knowledge;
    try {
        read_codes(toml::parse(codes, std::string_view("codes.toml")), knowledge);
        const toml::table root = toml::parse(patterns, std::string_view("patterns.toml"));
        read_rows(root, "pattern", knowledge.patterns, read_pattern);
        read_rows(root, "setting", knowledge.settings, read_pattern);
    } catch (const toml::parse_error& error) {
        const auto& source = error.source();
        return base::failure(fmt::format("line {}: {}", source.begin.line, error.description()),
                             source.path ? *source.path : std::string());
    }
    return knowledge;
}

base::Result<Knowledge> built_in_knowledge() { return parse_knowledge(text_of(codes_bytes), text_of(patterns_bytes)); }

base::Result<dissect::filter::Regex> compile_pattern(const Pattern& pattern) {
    auto regex = dissect::filter::Regex::compile("(?-i)(?J)" + pattern.regex);
    if (regex) return std::move(*regex);
    return base::failure(
        fmt::format("the expression of {}: {} at {}", pattern.id, regex.error().message, regex.error().offset));
}

}  // namespace explain
