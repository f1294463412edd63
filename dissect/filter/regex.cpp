#include "dissect/filter/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <array>
#include <cstdint>
#include <pcre2.h>
#include <utility>

namespace dissect::filter {

namespace {
constexpr std::uint32_t match_limit = 200'000;
constexpr std::uint32_t depth_limit = 2'000;
constexpr std::uint32_t heap_limit_kib = 4'096;
constexpr std::uint32_t parenthesis_limit = 100;
/// Translating a long pattern to machine code costs more than it brings.
constexpr std::size_t longest_translated = 1'024;

struct Free {
    void operator()(pcre2_code* p) const { pcre2_code_free(p); }
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
    void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
    void operator()(pcre2_compile_context* p) const { pcre2_compile_context_free(p); }
};
}  // namespace

struct Regex::State {
    std::unique_ptr<pcre2_code, Free> code;
    std::unique_ptr<pcre2_match_data, Free> match;
    std::unique_ptr<pcre2_match_data, Free> groups;  ///< made when groups are first asked for
    std::unique_ptr<pcre2_match_context, Free> limits;

    bool matches(std::string_view subject, pcre2_match_data& into) const {
        const auto* octets = reinterpret_cast<PCRE2_SPTR>(subject.empty() ? "" : subject.data());
        const auto run = [&](std::uint32_t options) {
            return pcre2_match(code.get(), octets, subject.size(), 0, options, &into, limits.get());
        };
        const int result = run(0);
        // The translated code has a small fixed stack; the interpreter continues if that is exhausted.
        return (result == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : result) >= 0;
    }
};

Regex::Regex(std::unique_ptr<State> state) : state_(std::move(state)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

base::Result<Regex, Regex::Error> Regex::compile(std::string_view pattern) {
    const std::unique_ptr<pcre2_compile_context, Free> context{pcre2_compile_context_create(nullptr)};
    pcre2_set_parens_nest_limit(context.get(), parenthesis_limit);
    int number = 0;
    PCRE2_SIZE offset = 0;
    auto state = std::make_unique<State>();
    state->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                    PCRE2_CASELESS | PCRE2_NEVER_UTF | PCRE2_NEVER_BACKSLASH_C, &number, &offset,
                                    context.get()));
    if (!state->code) {
        std::array<char, 256> message{};
        pcre2_get_error_message(number, reinterpret_cast<PCRE2_UCHAR*>(message.data()), message.size());
        return base::Failure<Error>{{message.data(), offset}};
    }
    if (pattern.size() <= longest_translated) pcre2_jit_compile(state->code.get(), PCRE2_JIT_COMPLETE);
    state->match.reset(pcre2_match_data_create(1, nullptr));
    state->limits.reset(pcre2_match_context_create(nullptr));
    pcre2_set_match_limit(state->limits.get(), match_limit);
    pcre2_set_depth_limit(state->limits.get(), depth_limit);
    pcre2_set_heap_limit(state->limits.get(), heap_limit_kib);
    return Regex{std::move(state)};
}

bool Regex::search(std::string_view subject) const { return state_->matches(subject, *state_->match); }

std::optional<std::vector<Regex::Group>> Regex::find_groups(std::string_view subject) const {
    if (!state_->groups) state_->groups.reset(pcre2_match_data_create_from_pattern(state_->code.get(), nullptr));
    if (!state_->groups || !state_->matches(subject, *state_->groups)) return std::nullopt;
    return named_groups(subject);
}

/// Of the last match. pcre2api(3), "Extracting substrings by name": an entry of the table is the group's number in two
/// bytes, and its name with a zero after it.
std::vector<Regex::Group> Regex::named_groups(std::string_view subject) const {
    std::uint32_t count = 0;
    std::uint32_t entry_size = 0;
    PCRE2_SPTR table = nullptr;
    pcre2_pattern_info(state_->code.get(), PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(state_->code.get(), PCRE2_INFO_NAMEENTRYSIZE, &entry_size);
    pcre2_pattern_info(state_->code.get(), PCRE2_INFO_NAMETABLE, static_cast<void*>(&table));
    const PCRE2_SIZE* const bounds = pcre2_get_ovector_pointer(state_->groups.get());
    std::vector<Group> found;
    for (std::uint32_t i = 0; i < count; ++i) {
        const PCRE2_SPTR entry = table + static_cast<std::size_t>(i) * entry_size;
        const std::size_t number = static_cast<std::size_t>(entry[0]) << 8 | entry[1];
        const PCRE2_SIZE begin = bounds[2 * number];
        const PCRE2_SIZE end = bounds[2 * number + 1];
        if (begin == PCRE2_UNSET || begin > end || end > subject.size()) continue;
        found.push_back({reinterpret_cast<const char*>(entry + 2), subject.substr(begin, end - begin)});
    }
    return found;
}

std::string_view text_of_group(const std::vector<Regex::Group>& groups, std::string_view name) {
    for (const Regex::Group& each : groups)
        if (each.name == name) return each.text;
    return {};
}

}  // namespace dissect::filter
