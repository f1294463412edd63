// What the table of keys says to people: the reference, the manual, and what a reload changes.
#include <algorithm>
#include <fmt/core.h>

#include "daemon/config/config_file.h"
#include "daemon/config/config_table.h"

namespace service::inline config {

namespace {

constexpr std::size_t line_width = 98;

std::string_view effect_of(const Key& key) {
    return key.effect == Effect::at_once ? "takes effect at a reload" : "takes effect at a restart";
}

/// "A size from 96 to 256KiB, or 0; takes effect at a restart."
std::string form_of(const Key& key) {
    std::string form = key.kind == Kind::toggle ? "Either true or false" : accepted_values(key);
    if (form.ends_with(',')) form.pop_back();
    if (form.front() >= 'a' && form.front() <= 'z') form.front() = static_cast<char>(form.front() - 'a' + 'A');
    return fmt::format("{}; {}.", form, effect_of(key));
}

void append_comment(std::string& out, std::string_view text) {
    while (!text.empty()) {
        std::size_t cut = text.size() <= line_width ? text.size() : text.rfind(' ', line_width);
        if (cut == std::string_view::npos || cut == 0) cut = text.size();
        out += fmt::format("# {}\n", text.substr(0, cut));
        text.remove_prefix(std::min(cut + 1, text.size()));
    }
}

/// Indented, so that it stays a comment where somebody takes the mark off every key.
constexpr std::string_view trigger_examples =
    "#     [[recorder.trigger]]\n"
    "#     name = \"retransmissions\"\n"
    "#     when = \"retransmitted_packets > 100\"\n"
    "#\n"
    "#     [[recorder.trigger]]\n"
    "#     name = \"slow-writes\"\n"
    "#     when = \"latency_ns.write.p99 >= 2ms and wire_bytes > 1MiB\"\n"
    "#\n"
    "#     [[recorder.trigger]]\n"
    "#     name = \"receiver-not-ready\"\n"
    "#     verdict = \"rnr\"\n";

void append_triggers(std::string& out) {
    for (const Key& key : keys()) {
        if (key.section != trigger_section) continue;
        append_comment(out, fmt::format("{}: {} {}", key.name, key.help, form_of(key)));
    }
    out += trigger_examples;
}

/// Roff: a dash is a dash, a quote no macro's, and a line does not begin with a dot.
std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else if (c == '\'')
            out += "\\(aq";
        else if (c == '"')
            out += "\\(dq";
        else
            out += c;
    }
    return out.starts_with('.') ? "\\&" + out : out;
}

}  // namespace

std::string config_reference() {
    Config defaults;
    std::string out =
        "# rdmascope.toml: every key with its default; take the mark off a key to change it.\n"
        "# A time has a unit (ns, us, ms, s, m, h, d), a size may have one (KiB, MiB, GiB, TiB; without,\n"
        "# it is bytes), a rate has one (k, M, G, T; bits per second). See rdmascope.toml(5).\n";
    for (const Section& section : sections()) {
        out += '\n';
        append_comment(out, section.help);
        if (section.name == trigger_section) {
            append_triggers(out);
            continue;
        }
        out += fmt::format("[{}]\n", section.name);
        for (const Key& key : keys()) {
            if (key.section != section.name) continue;
            append_comment(out, key.help);
            append_comment(out, form_of(key));
            out += fmt::format("#{} = {}\n", key.name, format(key, defaults));
        }
    }
    return out;
}

std::string config_manual() {
    Config defaults;
    std::string out;
    for (const Section& section : sections()) {
        const bool triggers = section.name == trigger_section;
        out += fmt::format(".SS {0}{1}{2}\n{3}\n", triggers ? "[[" : "[", section.name, triggers ? "]]" : "]",
                           roff(section.help));
        for (const Key& key : keys()) {
            if (key.section != section.name) continue;
            out += fmt::format(".TP\n.B {}{}\n{}\n{}\n", roff(key.name),
                               triggers ? "" : " \\fR= " + roff(format(key, defaults)), roff(key.help),
                               roff(form_of(key)));
        }
    }
    return out;
}

namespace {

void copy_value(const Key& key, Config& from, Config& to) {
    visit_value(key, to, nullptr, [&](auto& target) {
        visit_value(key, from, nullptr, [&](auto& source) {
            if constexpr (std::is_same_v<decltype(target), decltype(source)>) target = source;
        });
    });
}

}  // namespace

ConfigChange compare(const Config& running, const Config& wanted) {
    Config before = running;
    Config after = wanted;
    ConfigChange change;
    change.in_force = running;
    change.in_force.recorder.triggers = wanted.recorder.triggers;
    for (const Key& key : keys()) {
        if (key.section == trigger_section || format(key, before) == format(key, after)) continue;
        const bool at_once = key.effect == Effect::at_once;
        (at_once ? change.applied : change.needs_restart).push_back(key.path());
        if (at_once) copy_value(key, after, change.in_force);
    }
    if (running.recorder.triggers != wanted.recorder.triggers) change.applied.emplace_back(trigger_section);
    return change;
}

}  // namespace service::config
