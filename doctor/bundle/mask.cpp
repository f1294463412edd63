#include "doctor/bundle/mask.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <fmt/core.h>

#include "base/ascii.h"
#include "doctor/strings.h"

namespace doctor::inline bundle {

namespace {

bool groups_are(const std::vector<std::string_view>& groups, std::size_t count, std::size_t digits) {
    return groups.size() == count &&
           std::all_of(groups.begin(), groups.end(), [digits](std::string_view g) { return g.size() == digits; });
}

bool is_address(int family, std::string_view text) {
    std::array<unsigned char, 16> octets{};
    const std::string terminated(text);
    return ::inet_pton(family, terminated.c_str(), octets.data()) == 1;
}

/// The kind of address in a run of hexadecimal digits, colons and dots; empty if it is not an address.
std::string_view kind_of(std::string_view run) {
    const auto groups = split(run, ':');
    if (groups.size() > 1) {
        // Hardware addresses of Ethernet, of EUI-64, and of IPoIB.
        if (groups_are(groups, 6, 2) || groups_are(groups, 8, 2) || groups_are(groups, 20, 2)) return "mac";
        if (groups_are(groups, 4, 4)) return "guid";
        // "::" and "::1" are everybody's.
        return run.size() > 3 && is_address(AF_INET6, run) ? "ip" : "";
    }
    if (run.starts_with("127.") || run == "0.0.0.0") return "";
    return std::count(run.begin(), run.end(), '.') == 3 && is_address(AF_INET, run) ? "ip" : "";
}

/// Names that say nothing.
bool is_common(std::string_view name) {
    return name.size() < 2 || name == "localhost" || name.starts_with("ip6-") || name == "local" ||
           name == "localdomain" || name == "root" || name == "nobody";
}

}  // namespace

Mask::Mask(const Root& root) {
    for (const char* path : {"/proc/sys/kernel/hostname", "/etc/hostname", "/proc/sys/kernel/domainname"})
        if (const auto name = root.line(path); name && *name != "(none)") add_host(*name);
    constexpr std::size_t most = std::size_t{4} << 20;
    for (std::string_view line : lines(root.read("/etc/hosts", most).octets)) {
        const auto parts = words(line.substr(0, line.find('#')));
        for (std::size_t i = 1; i < parts.size(); ++i) add_host(parts[i]);
    }
    for (std::string_view line : lines(root.read("/etc/resolv.conf").octets)) {
        const auto parts = words(line);
        if (!parts.empty() && (parts[0] == "search" || parts[0] == "domain"))
            for (std::size_t i = 1; i < parts.size(); ++i) add_host(parts[i]);
    }
    for (std::string_view line : lines(root.read("/etc/passwd", most).octets)) {
        // Below 1000 are users that packages make.
        const auto parts = split(line, ':');
        constexpr std::uint64_t first_person = 1000, nobody = 65534;
        const auto id = parts.size() > 6 ? number_in(parts[2]) : std::nullopt;
        if (id && *id >= first_person && *id != nobody) {
            add_user(parts[0]);
            // "Full Name,room,phone"
            add_user(base::trimmed(parts[4].substr(0, parts[4].find(','))));
        }
    }
    for (const std::string& name : root.list("/home")) add_user(name);
    for (const std::string& name : root.list("/sys/class/net"))
        add_hardware_address(root.line("/sys/class/net/" + name + "/address").value_or(""));
}

void Mask::add_word(std::string_view word, std::string_view kind) {
    if (!is_common(word)) words_.emplace(base::lowered(word), kind);
}

void Mask::add_host(std::string_view name) {
    name = base::trimmed(name);
    add_word(name, "host");
    // Of node7.example.org, both node7 and example.org are telling.
    const std::size_t dot = name.find('.');
    if (dot == std::string_view::npos) return;
    add_word(name.substr(0, dot), "host");
    if (name.find('.', dot + 1) != std::string_view::npos) add_word(name.substr(dot + 1), "domain");
}

void Mask::add_user(std::string_view name) { add_word(base::trimmed(name), "user"); }

void Mask::add_hardware_address(std::string_view address) {
    std::string bare;
    for (const char c : base::lowered(base::trimmed(address)))
        if (c != ':') bare += c;
    if (bare.size() >= 12 && bare.find_first_not_of('0') != std::string::npos) bare_.insert(std::move(bare));
}

std::string Mask::placeholder(std::string_view kind, std::string_view original) {
    // A name and an address are one whatever letters they are written in.
    const std::string key = fmt::format("{} {}", kind, base::lowered(original));
    const auto at = given_.find(key);
    if (at != given_.end()) return at->second;
    return given_[key] = fmt::format("{}-{}", kind, ++counts_[std::string(kind)]);
}

std::pair<std::size_t, std::string_view> Mask::private_at(std::string_view text, std::size_t at) const {
    const bool begins_word = at == 0 || !base::is_alphanumeric(text[at - 1]);
    if (begins_word) {
        // The longest name of those that stand here.
        std::size_t longest = 0;
        std::string_view kind;
        for (const auto& [word, of] : words_) {
            if (word.size() <= longest || text.size() - at < word.size()) continue;
            const std::size_t end = at + word.size();
            if ((end < text.size() && base::is_alphanumeric(text[end])) ||
                base::lowered(text.substr(at, word.size())) != word)
                continue;
            longest = word.size();
            kind = of;
        }
        if (longest > 0) return {longest, kind};
    }
    if (!base::is_hex_digit(text[at]) && text[at] != ':') return {};
    // An address in the name of an interface: enx001122334455.
    for (const std::string& bare : bare_)
        if (text.size() - at >= bare.size() && base::lowered(text.substr(at, bare.size())) == bare)
            return {bare.size(), "mac"};
    // A version stands after a letter, a dot or a dash: libibverbs.so.1.14.44.0, LINUX-5.8-1.1.2.1.
    if (at > 0 &&
        (base::is_alphanumeric(text[at - 1]) || std::string_view(".-_:").find(text[at - 1]) != std::string_view::npos))
        return {};
    std::size_t end = at;
    while (end < text.size() && (base::is_hex_digit(text[end]) || text[end] == ':' || text[end] == '.')) ++end;
    if (end < text.size() && base::is_alphanumeric(text[end])) return {};
    // A sentence may end after it.
    while (end > at && (text[end - 1] == '.' || (text[end - 1] == ':' && !text.substr(at, end - at).ends_with("::"))))
        --end;
    const std::string_view kind = kind_of(text.substr(at, end - at));
    return kind.empty() ? std::pair<std::size_t, std::string_view>{} : std::pair{end - at, kind};
}

std::string Mask::text(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
        const auto [size, kind] = private_at(text, at);
        if (size == 0) {
            out += text[at++];
            continue;
        }
        out += placeholder(kind, text.substr(at, size));
        at += size;
    }
    return out;
}

Json Mask::json(const Json& document) {
    if (document.is_string()) return text(document.get_ref<const std::string&>());
    if (!document.is_structured()) return document;
    Json out = document.is_array() ? Json::array() : Json::object();
    if (document.is_array())
        for (const Json& element : document) out.push_back(json(element));
    else
        for (const auto& [name, value] : document.items()) out[name] = json(value);
    return out;
}

}  // namespace doctor::bundle
