#include "cli/host_names.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <sstream>

#include "base/file.h"

namespace cli {

namespace {

/// The next word of the line, taken off it.
std::string_view take_word(std::string_view& line) {
    constexpr std::string_view blanks = " \t\r";
    line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size()));
    const std::string_view word = line.substr(0, line.find_first_of(blanks));
    line.remove_prefix(word.size());
    return word;
}

/// The bytes of an address; empty if the word is not an address.
std::string octets_of(std::string_view word) {
    const std::string text(word);
    std::array<char, 16> octets{};
    if (::inet_pton(AF_INET, text.c_str(), octets.data()) == 1) return {octets.data(), 4};
    if (::inet_pton(AF_INET6, text.c_str(), octets.data()) == 1) return {octets.data(), 16};
    return {};
}

bool is_printable(char c) { return c > ' ' && c < 0x7f; }

}  // namespace

HostNames HostNames::read(const std::string& path) {
    HostNames names;
    std::istringstream file(base::read_file(path).value_or(std::string()));
    for (std::string line; std::getline(file, line);) names.add_line(line);
    return names;
}

void HostNames::add_line(std::string_view line) {
    line = line.substr(0, line.find('#'));
    std::string octets = octets_of(take_word(line));
    const std::string_view name = take_word(line);
    if (octets.empty() || name.empty() || !std::all_of(name.begin(), name.end(), is_printable)) return;
    names_.try_emplace(std::move(octets), name);  // as the resolver: the first line counts
}

bool HostNames::append(std::string& out, base::Bytes address) const {
    const auto found = names_.find(std::string(reinterpret_cast<const char*>(address.data()), address.size()));
    if (found == names_.end()) return false;
    out += found->second;
    return true;
}

}  // namespace cli
