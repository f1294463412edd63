// A line that is typed: filters, which take effect while they are typed, and jumps.
#include <algorithm>
#include <fmt/core.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "exporters/flow_fields.h"
#include "tui/model/key_row.h"

namespace tui::inline model {

namespace {

constexpr std::size_t longest_prompt = 4096;  ///< octets
constexpr std::size_t most_remembered = 50;

bool continues_letter(char octet) { return (static_cast<unsigned char>(octet) & 0xc0U) == 0x80U; }

std::size_t letter_before(const std::string& text, std::size_t at) {
    if (at == 0) return 0;
    do --at;
    while (at > 0 && continues_letter(text[at]));
    return at;
}
std::size_t letter_behind(const std::string& text, std::size_t at) {
    if (at >= text.size()) return text.size();
    do ++at;
    while (at < text.size() && continues_letter(text[at]));
    return at;
}

bool is_of_name(char c) { return base::is_alphanumeric(c) || c == '_' || c == '.'; }

std::vector<std::string_view> known_names(const Workings& w) {
    if (w.state.prompt.purpose == Prompt::Purpose::filter) return exporters::field_names();
    std::vector<std::string_view> names;
    if (w.state.prompt.purpose == Prompt::Purpose::packet_filter)
        for (const dissect::RegisteredField& field : w.registry.fields()) names.push_back(field.info->name);
    return names;
}

std::string_view common_beginning(std::string_view a, std::string_view b) {
    const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return a.substr(0, static_cast<std::size_t>(ends.first - a.begin()));
}

}  // namespace

void Workings::open_prompt(Prompt::Purpose purpose, std::string text) {
    text_before = text;
    typed_ago = 0;
    const std::size_t end = text.size();
    state.prompt = {purpose, std::move(text), end, {}};
    state.overlay = Overlay::prompt;
}

void Workings::edit_prompt(std::string text, std::size_t cursor) {
    if (text.size() > longest_prompt) return;
    Prompt& prompt = state.prompt;
    const bool changed = text != prompt.text;
    prompt.text = std::move(text);
    prompt.cursor = cursor;
    if (!changed) return;
    prompt.error.clear();
    if (prompt.purpose == Prompt::Purpose::filter) apply_filter(prompt.text, prompt.error);
    if (prompt.purpose == Prompt::Purpose::packet_filter) apply_packet_filter(prompt.text, prompt.error);
}

void Workings::type(char32_t character) {
    const bool letter = character >= 0x20 && character != 0x7f && character <= 0x10ffff &&
                        !(character >= 0x80 && character < 0xa0) && !(character >= 0xd800 && character < 0xe000);
    if (!letter) return;
    std::string octets;
    base::append_utf8(octets, character);
    std::string text = state.prompt.text;
    text.insert(state.prompt.cursor, octets);
    edit_prompt(std::move(text), state.prompt.cursor + octets.size());
}

namespace prompt {

namespace {
/// Without the octets from `from` to `to`.
void cut(Workings& w, std::size_t from, std::size_t to) {
    std::string text = w.state.prompt.text;
    text.erase(from, to - from);
    w.edit_prompt(std::move(text), from);
}

std::vector<std::string>& typed_before(Workings& w) {
    return w.typed_before[static_cast<std::size_t>(w.state.prompt.purpose)];
}

void remember(Workings& w, const Prompt& accepted) {
    std::vector<std::string>& typed = typed_before(w);
    if (accepted.text.empty()) return;
    std::erase(typed, accepted.text);
    typed.push_back(accepted.text);
    if (typed.size() > most_remembered) typed.erase(typed.begin());
}

/// What was typed so many times ago; 0: what the prompt began with.
void recall(Workings& w, std::size_t ago) {
    const std::vector<std::string>& typed = typed_before(w);
    w.typed_ago = std::min(ago, typed.size());
    const std::string text = w.typed_ago == 0 ? w.text_before : typed[typed.size() - w.typed_ago];
    w.edit_prompt(text, text.size());
}
}  // namespace

void accept(Workings& w) {
    const Prompt prompt = w.state.prompt;
    if (prompt.purpose == Prompt::Purpose::jump) {
        if (!prompt.text.empty() && !time::jump_to(w, prompt.text)) return;
        remember(w, prompt);
        return w.close_overlay();
    }
    // What is wrong is not in force: the line stays open until it is right, or given up.
    if (!prompt.error.empty()) return;
    remember(w, prompt);
    w.close_overlay();
}

void cancel(Workings& w) {
    std::string error;
    if (w.state.prompt.purpose == Prompt::Purpose::filter && w.state.filter_text != w.text_before)
        w.apply_filter(w.text_before, error);
    if (w.state.prompt.purpose == Prompt::Purpose::packet_filter && w.state.packet_filter_text != w.text_before)
        w.apply_packet_filter(w.text_before, error);
    w.close_overlay();
}

void left(Workings& w) { w.state.prompt.cursor = letter_before(w.state.prompt.text, w.state.prompt.cursor); }
void right(Workings& w) { w.state.prompt.cursor = letter_behind(w.state.prompt.text, w.state.prompt.cursor); }
void home(Workings& w) { w.state.prompt.cursor = 0; }
void end(Workings& w) { w.state.prompt.cursor = w.state.prompt.text.size(); }

void erase_before(Workings& w) {
    const Prompt& prompt = w.state.prompt;
    if (prompt.text.empty()) return cancel(w);
    cut(w, letter_before(prompt.text, prompt.cursor), prompt.cursor);
}
void erase_at(Workings& w) {
    const Prompt& prompt = w.state.prompt;
    cut(w, prompt.cursor, letter_behind(prompt.text, prompt.cursor));
}
void erase_word(Workings& w) {
    const Prompt& prompt = w.state.prompt;
    std::size_t from = prompt.cursor;
    while (from > 0 && prompt.text[from - 1] == ' ') --from;
    while (from > 0 && prompt.text[from - 1] != ' ') --from;
    cut(w, from, prompt.cursor);
}
void erase_all(Workings& w) { w.edit_prompt({}, 0); }

void earlier(Workings& w) {
    // What the prompt began with may be the latest itself.
    const bool same = w.typed_ago == 0 && !typed_before(w).empty() && typed_before(w).back() == w.state.prompt.text;
    recall(w, w.typed_ago + (same ? 2 : 1));
}
void later(Workings& w) {
    if (w.typed_ago > 0) recall(w, w.typed_ago - 1);
}

void complete(Workings& w) {
    const Prompt& prompt = w.state.prompt;
    std::size_t from = prompt.cursor;
    while (from > 0 && is_of_name(prompt.text[from - 1])) --from;
    const std::string begun = prompt.text.substr(from, prompt.cursor - from);
    std::string_view common;
    std::size_t found = 0;
    for (const std::string_view name : known_names(w)) {
        if (begun.empty() || !name.starts_with(begun)) continue;
        common = found++ == 0 ? name : common_beginning(common, name);
    }
    if (common.size() <= begun.size()) {
        w.say(found == 0 ? "nothing begins so" : fmt::format("{} names begin so", found));
        return;
    }
    std::string text = prompt.text;
    text.replace(from, begun.size(), common);
    w.edit_prompt(std::move(text), from + common.size());
}

}  // namespace prompt

}  // namespace tui::model
