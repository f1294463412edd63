#include "dissect/output/text_command.h"

#include <array>

#include "base/quantities.h"
#include "base/text_format.h"
#include "dissect/output/text_parts.h"

namespace dissect::output::text {

namespace {

constexpr unsigned command_indent = 16;  ///< the line begins below the addresses
constexpr unsigned command_width = 26;

void add_words(std::string& out, std::string_view name, std::string_view value) {
    if (value.empty()) return;
    if (!name.empty()) (out += ' ') += name;
    (out += ' ') += value;
}

void begin_command(std::string& out, const CommandFacts& facts, std::string_view what, std::string_view more) {
    out.append(command_indent, ' ');
    const std::size_t begin = out.size();
    (out += facts.heading) += ' ';
    out += what;
    if (!more.empty()) (out += ' ') += more;
    pad(out, begin, command_width);
}

void request_words(std::string& out, const CommandFacts& facts) {
    begin_command(out, facts, facts.kind_text, {});
    if (facts.queue) word(out, "q", *facts.queue);
    add_words(out, facts.id_word, facts.id);
    add_words(out, {}, facts.target);
    if (facts.first_block) word(out, facts.block_word, *facts.first_block);
    if (facts.block_count) word(out, "blocks", *facts.block_count);
    if (facts.bytes && *facts.bytes != 0) word(out, "len", *facts.bytes);
    if (facts.key) word_hex(out, "key", *facts.key, 8);
}

void data_words(std::string& out, const CommandFacts& facts) {
    begin_command(out, facts, facts.role == CommandRole::data_in ? "data in" : "data out", {});
    add_words(out, facts.id_word, facts.id);
    if (!facts.data_offset) return;
    out += ' ';
    base::append_decimal(out, *facts.data_offset);
    out += "..";
    base::append_decimal(out, *facts.data_offset + facts.data_bytes);
    if (facts.bytes) word(out, "of", *facts.bytes);
}

/// `: target 3.88 ms, data 108 ms, target 56.0 us`: the parts that took time.
void part_words(std::string& out, const CommandParts& parts) {
    constexpr std::array<std::string_view, CommandParts::count> names{"request", "target", "data", "target",
                                                                      "response"};
    bool first = true;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (parts.ns[i] == 0) continue;
        out += first ? ": " : ", ";
        first = false;
        (out += names[i]) += ' ';
        out += base::format_duration(static_cast<double>(parts.ns[i]));
    }
}

void response_words(std::string& out, const CommandFacts& facts) {
    begin_command(out, facts, facts.kind_text.empty() ? "response" : facts.kind_text,
                  facts.kind_text.empty() ? "" : "done");
    add_words(out, facts.id_word, facts.id);
    add_words(out, {}, facts.status);
    if (facts.queue_head) word(out, "sqhd", *facts.queue_head);
    if (!facts.parts) {
        out += " to a request that was not captured";
        return;
    }
    add_words(out, "in", base::format_duration(static_cast<double>(facts.parts->latency_ns())));
    part_words(out, *facts.parts);
    out += "; asked in frame ";
    base::append_decimal(out, facts.request_frame);
}

void interim_words(std::string& out, const CommandFacts& facts) {
    begin_command(out, facts, facts.kind_text, facts.event);
    add_words(out, facts.id_word, facts.id);
    add_words(out, {}, facts.target);
    if (facts.request_frame == 0) return;
    out += " asked in frame ";
    base::append_decimal(out, facts.request_frame);
}

void other_words(std::string& out, const CommandFacts& facts) {
    begin_command(out, facts, facts.event, {});
    if (facts.words.empty()) out.erase(out.find_last_not_of(' ') + 1);
    out += facts.words;
}

}  // namespace

void command(std::string& out, const UpperMessage& message) {
    const CommandFacts& facts = message.facts;
    switch (facts.role) {
        case CommandRole::none:
            if (!facts.event.empty()) other_words(out, facts);
            return;
        case CommandRole::interim: return interim_words(out, facts);
        case CommandRole::request: return request_words(out, facts);
        case CommandRole::data_out:
        case CommandRole::data_in:
            if (facts.begins) data_words(out, facts);
            return;
        case CommandRole::response: return response_words(out, facts);
    }
}

}  // namespace dissect::output::text
