// A line that is typed: filters, which take effect while they are typed, and jumps.
#include <algorithm>
#include <fmt/core.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "exporters/flow_fields.h"
#include "tui/model/key_row.h"

namespace tui::inline model {

namespace {

constexpr std::size_t longest_prompt = 4096;  ///< in bytes
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

std::vector<std::string_view> known_names(const Controller& controller) {
    if (controller.state.prompt.purpose == Prompt::Purpose::filter) return exporters::field_names();
    std::vector<std::string_view> names;
    if (controller.state.prompt.purpose == Prompt::Purpose::packet_filter)
        for (const dissect::RegisteredField& field : controller.registry.fields()) names.push_back(field.info->name);
    return names;
}

std::string_view common_beginning(std::string_view a, std::string_view b) {
    const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    return a.substr(0, static_cast<std::size_t>(ends.first - a.begin()));
}

}  // namespace

void Controller::open_prompt(Prompt::Purpose purpose, std::string text) {
    text_before = text;
    typed_ago = 0;
    const std::size_t end = text.size();
    state.prompt = {purpose, std::move(text), end, {}};
    state.overlay = Overlay::prompt;
}

void Controller::edit_prompt(std::string text, std::size_t cursor) {
    if (text.size() > longest_prompt) return;
    Prompt& prompt = state.prompt;
    const bool changed = text != prompt.text;
    prompt.text = std::move(text);
    prompt.cursor = cursor;
    if (!changed) return;
    prompt.error.clear();
    base::Result<void> applied;
    if (prompt.purpose == Prompt::Purpose::filter) applied = apply_filter(prompt.text);
    if (prompt.purpose == Prompt::Purpose::packet_filter) applied = apply_packet_filter(prompt.text);
    if (!applied) prompt.error = applied.error().text();
}

void Controller::type(char32_t character) {
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
/// Removes the bytes from `from` to `to`.
void cut(Controller& controller, std::size_t from, std::size_t to) {
    std::string text = controller.state.prompt.text;
    text.erase(from, to - from);
    controller.edit_prompt(std::move(text), from);
}

std::vector<std::string>& typed_before(Controller& controller) {
    return controller.typed_before[static_cast<std::size_t>(controller.state.prompt.purpose)];
}

void remember(Controller& controller, const Prompt& accepted) {
    std::vector<std::string>& typed = typed_before(controller);
    if (accepted.text.empty()) return;
    std::erase(typed, accepted.text);
    typed.push_back(accepted.text);
    if (typed.size() > most_remembered) typed.erase(typed.begin());
}

/// Shows the text that was typed `ago` entries before; 0: the text that the prompt began with.
void recall(Controller& controller, std::size_t ago) {
    const std::vector<std::string>& typed = typed_before(controller);
    controller.typed_ago = std::min(ago, typed.size());
    const std::string text =
        controller.typed_ago == 0 ? controller.text_before : typed[typed.size() - controller.typed_ago];
    controller.edit_prompt(text, text.size());
}
}  // namespace

void accept(Controller& controller) {
    const Prompt prompt = controller.state.prompt;
    if (prompt.purpose == Prompt::Purpose::jump) {
        if (!prompt.text.empty())
            if (const auto jumped = time::jump_to(controller, prompt.text); !jumped) {
                controller.state.prompt.error = jumped.error().text();
                return;
            }
        remember(controller, prompt);
        return controller.close_overlay();
    }
    // What is wrong is not in force: the line stays open until it is right, or given up.
    if (!prompt.error.empty()) return;
    remember(controller, prompt);
    controller.close_overlay();
}

void cancel(Controller& controller) {
    // The text before was in force: it cannot fail.
    if (controller.state.prompt.purpose == Prompt::Purpose::filter &&
        controller.state.filter_text != controller.text_before)
        static_cast<void>(controller.apply_filter(controller.text_before));
    if (controller.state.prompt.purpose == Prompt::Purpose::packet_filter &&
        controller.state.packet_filter_text != controller.text_before)
        static_cast<void>(controller.apply_packet_filter(controller.text_before));
    controller.close_overlay();
}

void left(Controller& controller) {
    controller.state.prompt.cursor = letter_before(controller.state.prompt.text, controller.state.prompt.cursor);
}
void right(Controller& controller) {
    controller.state.prompt.cursor = letter_behind(controller.state.prompt.text, controller.state.prompt.cursor);
}
void home(Controller& controller) { controller.state.prompt.cursor = 0; }
void end(Controller& controller) { controller.state.prompt.cursor = controller.state.prompt.text.size(); }

void erase_before(Controller& controller) {
    const Prompt& prompt = controller.state.prompt;
    if (prompt.text.empty()) return cancel(controller);
    cut(controller, letter_before(prompt.text, prompt.cursor), prompt.cursor);
}
void erase_at(Controller& controller) {
    const Prompt& prompt = controller.state.prompt;
    cut(controller, prompt.cursor, letter_behind(prompt.text, prompt.cursor));
}
void erase_word(Controller& controller) {
    const Prompt& prompt = controller.state.prompt;
    std::size_t from = prompt.cursor;
    while (from > 0 && prompt.text[from - 1] == ' ') --from;
    while (from > 0 && prompt.text[from - 1] != ' ') --from;
    cut(controller, from, prompt.cursor);
}
void erase_all(Controller& controller) { controller.edit_prompt({}, 0); }

void earlier(Controller& controller) {
    // What the prompt began with may be the latest itself.
    const bool same = controller.typed_ago == 0 && !typed_before(controller).empty() &&
                      typed_before(controller).back() == controller.state.prompt.text;
    recall(controller, controller.typed_ago + (same ? 2 : 1));
}
void later(Controller& controller) {
    if (controller.typed_ago > 0) recall(controller, controller.typed_ago - 1);
}

void complete(Controller& controller) {
    const Prompt& prompt = controller.state.prompt;
    std::size_t from = prompt.cursor;
    while (from > 0 && is_of_name(prompt.text[from - 1])) --from;
    const std::string begun = prompt.text.substr(from, prompt.cursor - from);
    std::string_view common;
    std::size_t found = 0;
    for (const std::string_view name : known_names(controller)) {
        if (begun.empty() || !name.starts_with(begun)) continue;
        common = found++ == 0 ? name : common_beginning(common, name);
    }
    if (common.size() <= begun.size()) {
        controller.say(found == 0 ? "nothing begins so" : fmt::format("{} names begin so", found));
        return;
    }
    std::string text = prompt.text;
    text.replace(from, begun.size(), common);
    controller.edit_prompt(std::move(text), from + common.size());
}

}  // namespace prompt

}  // namespace tui::model
