#include "fabric/node_names.h"

#include <charconv>
#include <fmt/format.h>
#include <utility>

#include "base/ascii.h"
#include "base/text_format.h"

namespace fabric {

namespace {

constexpr int hexadecimal = 16;

std::string_view without_blanks(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// The GUID at the beginning of a line; moves past it.
std::optional<Guid> take_guid(std::string_view& line) {
    if (!line.starts_with("0x") && !line.starts_with("0X")) return {};
    Guid guid = 0;
    const char* const end = line.data() + line.size();
    const auto [last, error] = std::from_chars(line.data() + 2, end, guid, hexadecimal);
    if (error != std::errc{} || last == line.data() + 2) return {};
    line.remove_prefix(static_cast<std::size_t>(last - line.data()));
    return guid;
}

/// `lid 4` at the beginning of a line; moves past it.
std::optional<Lid> take_lid(std::string_view& line) {
    constexpr std::string_view word = "lid ";
    if (!line.starts_with(word)) return {};
    std::string_view rest = without_blanks(line.substr(word.size()));
    Lid lid = 0;
    const auto [last, error] = std::from_chars(rest.data(), rest.data() + rest.size(), lid);
    if (error != std::errc{} || lid == 0) return {};
    rest.remove_prefix(static_cast<std::size_t>(last - rest.data()));
    line = rest;
    return lid;
}

/// A name between quotes; no value without quotes, or if something other than a comment follows.
std::optional<std::string> take_name(std::string_view line) {
    line = without_blanks(line);
    if (!line.starts_with('"')) return {};
    const std::size_t closing = line.find('"', 1);
    if (closing == std::string_view::npos) return {};
    const std::string_view rest = without_blanks(line.substr(closing + 1));
    if (!rest.empty() && !rest.starts_with('#')) return {};
    return std::string(line.substr(1, closing - 1));
}

}  // namespace

base::Result<NodeNames, base::Errors> NodeNames::parse(std::string_view text, const std::string& path) {
    constexpr std::size_t most_errors = 10;
    NodeNames names;
    base::Errors errors;
    for (std::size_t number = 1; !text.empty() && errors.size() < most_errors; ++number) {
        const std::size_t end = text.find('\n');
        std::string_view line = without_blanks(text.substr(0, end));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        if (line.empty() || line.starts_with('#')) continue;
        const auto guid = take_guid(line);
        const auto lid = guid ? std::nullopt : take_lid(line);
        auto name = guid || lid ? take_name(line) : std::nullopt;
        if (!name)
            errors.push_back(
                {"a GUID or a LID, and a name in quotes, are expected: 0x0002c90300a1b2c3 \"spine 4\", or "
                 "lid 7 \"spine 4\"",
                 fmt::format("{}:{}", path, number)});
        else if (guid)
            names.add(*guid, std::move(*name));
        else
            names.add_lid(*lid, std::move(*name));
    }
    if (!errors.empty()) return base::Failure{std::move(errors)};
    return names;
}

std::string_view NodeNames::find(Guid guid) const {
    const auto found = names_.find(guid);
    return found == names_.end() ? std::string_view{} : std::string_view(found->second);
}

std::string_view NodeNames::find_lid(Lid lid) const {
    const auto found = lids_.find(lid);
    return found == lids_.end() ? std::string_view{} : std::string_view(found->second);
}

std::string NodeLabels::of(const Node& node) const {
    if (form_ == Form::numbers) return text_of(node.guid);
    std::string_view given = names_.find(node.guid);
    if (const auto lid = node.lid(); given.empty() && lid) given = names_.find_lid(*lid);
    std::string text;
    base::append_printable(text, given.empty() ? std::string_view(node.description) : given);
    return text.empty() ? text_of(node.guid) : text;
}

std::string NodeLabels::of(const Node& node, std::uint8_t port) const {
    return port == 0 ? of(node) : fmt::format("{} port {}", of(node), port);
}

std::string text_of(Guid guid) { return fmt::format("{:#018x}", guid); }

}  // namespace fabric
