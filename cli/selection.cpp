#include "cli/selection.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace cli {

bool Selection::compile(wire::LinkType link_type, std::uint32_t snaplen) {
    auto at =
        std::find_if(compiled_.begin(), compiled_.end(), [&](const ForLink& f) { return f.link_type == link_type; });
    if (at == compiled_.end()) {
        capture::FilterOptions options;
        options.link_type = link_type;
        options.optimise = optimize_;
        options.of_file = true;
        if (snaplen != 0) options.snaplen = std::min(snaplen, capture::max_snaplen);
        auto filter = capture::PacketFilter::compile(expression_, options);
        if (!filter) {
            error_ = filter.error();
            return false;
        }
        compiled_.push_back({link_type, std::move(filter).value()});
        at = compiled_.end() - 1;
    }
    last_ = &*at;
    return true;
}

bool is_mistaken(const std::string& expression) {
    return !capture::PacketFilter::compile(expression, {.of_file = true}).ok();
}

base::Result<std::string> expression_of(const std::string& words, const std::optional<std::string>& path) {
    if (!path) return words;
    const auto failure = [&](const char* what) {
        return base::Failure{
            base::Error{.message = std::string("the expression cannot be read: ") + what, .path = *path}};
    };
    const bool standard_input = *path == "-";
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
        standard_input ? stdin : std::fopen(path->c_str(), "re"),
        standard_input ? [](std::FILE*) { return 0; } : std::fclose);
    if (!file) return failure(std::strerror(errno));
    std::string text;
    std::array<char, 4096> part{};
    constexpr std::size_t limit = std::size_t{1} << 20;
    while (const std::size_t got = std::fread(part.data(), 1, part.size(), file.get())) {
        text.append(part.data(), got);
        if (text.size() > limit) return failure("it is longer than 1 MiB");
    }
    if (std::ferror(file.get()) != 0) return failure(std::strerror(errno));
    // As tcpdump reads it: a `#` begins a comment that ends with the line.
    for (std::size_t hash = text.find('#'); hash != std::string::npos; hash = text.find('#', hash))
        for (; hash < text.size() && text[hash] != '\n'; ++hash) text[hash] = ' ';
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    return text;
}

}  // namespace cli
