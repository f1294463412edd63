#include "explain/explainer.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <utility>

#include "base/text_format.h"
#include "explain/line_time.h"

namespace explain {

namespace {

using dissect::filter::Regex;
using Groups = std::vector<Regex::Group>;

constexpr std::size_t longest_shown = 300;

std::string shown(std::string_view line) {
    std::string out;
    base::append_printable(out, line.substr(0, longest_shown));
    return line.size() > longest_shown ? out + "..." : out;
}

std::string_view trimmed(std::string_view text) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

template <class Number = unsigned>
std::optional<Number> number(std::string_view text, int radix = 10) {
    if (text.starts_with("0x")) {
        text.remove_prefix(2);
        radix = 16;
    }
    Number value{};
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, radix);
    if (text.empty() || code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// By the number, else by the name, else by the words, else by the adapter's code: words may be unknown.
const Status* status_of(const Groups& groups, const Knowledge& knowledge) {
    if (const auto given = number(text_of_group(groups, "status"))) return knowledge.status(*given);
    if (const std::string_view name = text_of_group(groups, "status_name"); !name.empty())
        return knowledge.status_named(name);
    if (const std::string_view text = text_of_group(groups, "text"); !text.empty())
        if (const Status* const found = knowledge.status_of_text(text)) return found;
    if (const auto syndrome = number(text_of_group(groups, "syndrome"), 16))
        return knowledge.status_of_syndrome(*syndrome);
    return nullptr;
}

std::optional<std::uint64_t> waited_ns(const Groups& groups, const Pattern& pattern) {
    constexpr std::uint64_t ms = 1'000'000;
    constexpr std::uint64_t longest_ms = std::uint64_t{366} * 86'400 * 1'000;
    if (const auto given = number<std::uint64_t>(text_of_group(groups, "milliseconds")))
        return std::min(*given, longest_ms) * ms;
    if (const auto given = number<std::uint64_t>(text_of_group(groups, "seconds")))
        return std::min(*given, longest_ms / 1'000) * 1'000 * ms;
    if (pattern.seconds_default) return std::uint64_t{*pattern.seconds_default} * 1'000 * ms;
    return std::nullopt;
}

/// A negative reason is an error number: iWARP has no reasons of the communication manager.
void take_reason(std::string_view text, const Knowledge& knowledge, Facts& into) {
    const auto given = number<int>(text);
    if (!given) return;
    if (*given < 0)
        into.error_number = knowledge.error_number(*given);
    else
        into.reject = knowledge.reject(*given);
}

std::optional<std::uint32_t> queue_pair(std::string_view text, int radix) {
    constexpr std::uint32_t largest = 0xff'ffff;
    const auto given = number<std::uint32_t>(text, radix);
    return given && *given <= largest ? given : std::nullopt;
}

Facts facts_of(const Groups& groups, const Pattern& pattern, const Knowledge& knowledge) {
    Facts facts;
    facts.status = status_of(groups, knowledge);
    if (const std::string_view name = text_of_group(groups, "event"); !name.empty())
        facts.event = knowledge.event(name);
    take_reason(text_of_group(groups, "reason"), knowledge, facts);
    if (const auto given = number<int>(text_of_group(groups, "errno")))
        facts.error_number = knowledge.error_number(*given);
    const auto layer = number(text_of_group(groups, "layer"));
    const auto type = number(text_of_group(groups, "type"));
    if (layer && type) facts.terminate = knowledge.terminate(*layer, *type);
    facts.vendor = number(text_of_group(groups, "vendor"));
    if (!facts.vendor) facts.vendor = number(text_of_group(groups, "vendor_hex"), 16);
    facts.local = text_of_group(groups, "local");
    facts.remote = text_of_group(groups, "remote");
    if (facts.remote.empty()) facts.remote = text_of_group(groups, "peer");
    facts.qpn = queue_pair(text_of_group(groups, "qpn"), 16);
    if (!facts.qpn) facts.qpn = queue_pair(text_of_group(groups, "qpn_decimal"), 10);
    facts.remote_qpn = queue_pair(text_of_group(groups, "remote_qpn"), 16);
    facts.waited_ns = waited_ns(groups, pattern);
    facts.upper_reason = text_of_group(groups, "nvme_words");
    return facts;
}

std::string joined(const std::string& first, const std::string& second) {
    if (first.empty() || second.empty()) return first + second;
    return first + " " + second;
}

/// "The reason is 8, invalid service ID."
std::string reason_text(const Facts& facts) {
    std::string text;
    if (facts.reject != nullptr) text = fmt::format("The reason is {}, {}.", facts.reject->number, facts.reject->name);
    if (!facts.upper_reason.empty())
        text = joined(text, fmt::format("The program adds: {}.", shown(facts.upper_reason)));
    if (facts.terminate != nullptr) text = joined(text, fmt::format("It says: {}.", facts.terminate->meaning));
    if (facts.error_number != nullptr)
        text = joined(text, fmt::format("Error {} ({}): {}.", facts.error_number->number, facts.error_number->name,
                                        facts.error_number->meaning));
    return text;
}

/// The texts of the codes; what the pattern says itself has priority.
void fill_in(Explanation& explanation, const Pattern* pattern) {
    const Facts& facts = explanation.facts;
    if (pattern != nullptr) explanation.meaning = pattern->meaning;
    if (facts.status != nullptr) explanation.meaning = joined(explanation.meaning, facts.status->meaning);
    if (facts.event != nullptr) explanation.meaning = joined(explanation.meaning, facts.event->meaning);
    explanation.meaning = joined(explanation.meaning, reason_text(facts));
    explanation.consequence =
        (pattern != nullptr && pattern->consequence) || (facts.status != nullptr && facts.status->consequence);
    const auto take = [&](const std::vector<std::string>& causes, const std::string& look_for,
                          const std::string& next) {
        if (explanation.causes.empty()) explanation.causes = causes;
        if (explanation.look_for.empty()) explanation.look_for = look_for;
        if (explanation.next.empty()) explanation.next = next;
    };
    if (pattern != nullptr) take(pattern->causes, pattern->look_for, pattern->next);
    if (facts.reject != nullptr) take(facts.reject->causes, "", "");
    if (facts.status != nullptr) take(facts.status->causes, facts.status->look_for, facts.status->next);
    if (facts.event != nullptr) take(facts.event->causes, facts.event->look_for, facts.event->next);
    if (facts.reject != nullptr)
        take({},
             fmt::format("the REJ: -Y 'infiniband.cm.rej.reason == {}' (verdict connection_rejected)",
                         facts.reject->number),
             "Check on the peer that the service runs, and that it listens on this port and address.");
    explanation.give_up = give_up(facts, explanation.settings);
}

/// The two parts of "vendor err 129": words, and the number at the end.
struct Code {
    std::string words = {};
    std::string_view number = {};
};

Code split_code(std::string_view text) {
    const std::size_t space = text.find_last_of(" =:");
    Code code;
    code.number = space == std::string_view::npos ? text : text.substr(space + 1);
    if (space != std::string_view::npos)
        for (const char c : trimmed(text.substr(0, text.find_last_not_of(" =:", space) + 1)))
            code.words += c == '_' || c == '-' ? ' ' : static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return code;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, text) != words.end();
}

bool is_known(const Facts& facts) {
    return facts.status != nullptr || facts.reject != nullptr || facts.event != nullptr ||
           facts.error_number != nullptr;
}

Facts facts_of_code(std::string_view text, const Knowledge& knowledge) {
    Facts facts;
    const Code code = split_code(text);
    const auto value = number<int>(code.number);
    if (!value) {
        facts.status = knowledge.status_named(text);
        if (facts.status == nullptr) facts.status = knowledge.status_of_text(text);
        if (facts.status == nullptr) facts.event = knowledge.event(text);
    } else if (is_one_of(code.words, {"vendor err", "vendor error", "vendor", "vend err", "vend", "vendor syndrome"})) {
        facts.vendor = static_cast<unsigned>(*value);
        facts.status = *value >= 0 ? knowledge.status_of_vendor(*facts.vendor) : nullptr;
    } else if (is_one_of(code.words, {"rej", "reject", "reject reason", "cm reject", "reason"})) {
        facts.reject = knowledge.reject(*value);
        facts.event = facts.reject != nullptr ? knowledge.event("REJECTED") : nullptr;
    } else if (is_one_of(code.words, {"synd", "syndrome"})) {
        // Syndromes are written in hexadecimal, with 0x or without.
        const auto syndrome = number(code.number, 16);
        facts.status = syndrome ? knowledge.status_of_syndrome(*syndrome) : nullptr;
    } else if (is_one_of(code.words, {"errno", "error", "err"}) || (code.words.empty() && *value < 0)) {
        facts.error_number = knowledge.error_number(*value);
    } else if (is_one_of(code.words, {"", "status", "wc", "wc status"})) {
        facts.status = *value >= 0 ? knowledge.status(static_cast<unsigned>(*value)) : nullptr;
    }
    return facts;
}

}  // namespace

base::Result<Explainer> Explainer::make() {
    auto knowledge = built_in_knowledge();
    if (!knowledge) return base::Failure{knowledge.error()};
    return Explainer(std::move(*knowledge));
}

Explainer::Explainer(Knowledge knowledge)
    : knowledge_(std::make_unique<Knowledge>(std::move(knowledge))),
      patterns_(knowledge_->patterns.size()),
      settings_patterns_(knowledge_->settings.size()) {}

const Pattern* Explainer::match(std::string_view line, const std::vector<Pattern>& patterns,
                                std::vector<std::optional<Regex>>& compiled, Groups& groups) const {
    for (std::size_t i = 0; i < patterns.size(); ++i) {
        if (line.find(patterns[i].needle) == std::string_view::npos) continue;
        if (!compiled[i]) {
            auto regex = compile_pattern(patterns[i]);
            if (!regex) continue;
            compiled[i] = std::move(*regex);
        }
        if (auto found = compiled[i]->find_groups(line)) {
            groups = std::move(*found);
            return &patterns[i];
        }
    }
    return nullptr;
}

void Explainer::learn_setting(std::string_view line) {
    Groups groups;
    const Pattern* const pattern = match(line, knowledge_->settings, settings_patterns_, groups);
    if (pattern == nullptr) return;
    RetrySettings& settings = settings_[pattern->software];
    settings.origin = "the settings of the log";
    if (const auto timeout = number(text_of_group(groups, "timeout"))) settings.timeout = timeout;
    if (const auto retries = number(text_of_group(groups, "retries"))) settings.retries = std::min(*retries, 7U);
    if (const std::string_view seconds = text_of_group(groups, "seconds"); !seconds.empty()) {
        double value = 0;
        std::from_chars(seconds.data(), seconds.data() + seconds.size(), value);
        settings.timeout = timeout_of_seconds(value);
    }
}

std::optional<Explanation> Explainer::explain_line(std::string_view line, std::int64_t reference_ns) {
    Groups groups;
    const Pattern* const pattern = match(line, knowledge_->patterns, patterns_, groups);
    if (pattern == nullptr) {
        learn_setting(line);
        return std::nullopt;
    }
    Explanation explanation;
    explanation.line = shown(line);
    explanation.pattern = pattern->id;
    explanation.software = pattern->software;
    explanation.continues = pattern->continues;
    explanation.facts = facts_of(groups, *pattern, *knowledge_);
    explanation.facts.time_ns = time_of_line(line, reference_ns);
    explanation.settings = pattern->defaults;
    if (const auto learnt = settings_.find(pattern->software); learnt != settings_.end()) {
        if (learnt->second.timeout) explanation.settings.timeout = learnt->second.timeout;
        if (learnt->second.retries) explanation.settings.retries = learnt->second.retries;
        explanation.settings.origin = learnt->second.origin;
    }
    fill_in(explanation, pattern);
    return explanation;
}

std::optional<Explanation> Explainer::explain_code(std::string_view text) const {
    constexpr std::size_t longest_code = 64;
    text = trimmed(text);
    if (text.empty() || text.size() > longest_code) return std::nullopt;
    Explanation explanation;
    explanation.facts = facts_of_code(text, *knowledge_);
    if (!is_known(explanation.facts)) return std::nullopt;
    explanation.line = shown(text);
    explanation.pattern = "code";
    explanation.software = "code";
    if (explanation.facts.vendor)
        explanation.meaning = fmt::format(
            "Vendors do not document these codes. {} ({:#04x}) was seen with one status, and adds nothing to it.",
            *explanation.facts.vendor, *explanation.facts.vendor);
    fill_in(explanation, nullptr);
    return explanation;
}

}  // namespace explain
