#include "dissect/output/ek.h"

#include <array>

#include "base/text_format.h"
#include "dissect/output/json.h"
#include "dissect/output/value_format.h"

namespace dissect::output {

namespace {

void append_milliseconds(std::string& out, std::int64_t time_ns) {
    constexpr std::int64_t millisecond = 1'000'000;
    if (time_ns < 0) out += '-';
    base::append_decimal(out,
                         static_cast<std::uint64_t>(time_ns < 0 ? -(time_ns / millisecond) : time_ns / millisecond));
}

/// `2026-11-21T01:40:49.473152000Z`: the same digits as frame.time, in the order of RFC 3339.
void append_rfc3339(std::string& out, std::int64_t time_ns) {
    std::array<char, 64> scratch;
    const std::string_view text = utc_text(time_ns, scratch);
    append_date(out, time_ns);
    out += 'T';
    constexpr std::size_t clock_width = 18;  // 01:40:49.473152000
    constexpr std::size_t zone_width = 4;    // " UTC"
    out += text.substr(text.size() - zone_width - clock_width, clock_width);
    out += 'Z';
}

void append_ek_value(std::string& out, const wire::FieldInfo& info, const wire::Value& value) {
    if (info.kind == wire::Kind::none) {
        out += "null";
    } else if (info.kind == wire::Kind::boolean) {
        out += value.number != 0 ? "true" : "false";
    } else if (&info == &frame_time_field) {
        out += '"';
        append_rfc3339(out, static_cast<std::int64_t>(value.number));
        out += '"';
    } else if (info.kind == wire::Kind::string) {
        append_json_string(out, value.text);
    } else {
        out += '"';
        append_value(out, info, value, base::OctetStyle::colons);
        out += '"';
    }
}

}  // namespace

void open_ek_record(std::string& out, std::int64_t time_ns) {
    out += "{\"index\":{\"_index\":\"packets-";
    append_date(out, time_ns);
    out += "\",\"_type\":\"doc\"}}\n{\"timestamp\":\"";
    append_milliseconds(out, time_ns);
    out += "\",\"layers\":{";
}

void close_ek_record(std::string& out) { out += "}}\n"; }

void append_ek_name(std::string& out, std::string_view name) {
    for (const char c : name) out += c == '.' ? '_' : c;
}

EkVisitor::EkVisitor(const FieldRegistry& registry)
    : registry_(registry), last_entry_(registry.fields().size()), last_protocol_(registry.fields().size()) {}

void EkVisitor::clear() {
    text_.clear();
    entries_.clear();
    protocols_.clear();
    level_ = 0;
    ++frame_stamp_;
    ++protocol_stamp_;
}

void EkVisitor::enter(const RegisteredField& field) {
    const auto index = static_cast<std::uint32_t>(protocols_.size());
    const auto first = static_cast<std::uint32_t>(entries_.size());
    protocols_.push_back({&field, first, first});
    ++protocol_stamp_;
    Last& last = last_protocol_[field.id];
    if (last.protocol == frame_stamp_) {
        protocols_[last.index].next = index;
        protocols_[index].chained = true;
    }
    last = {frame_stamp_, index};
}

void EkVisitor::add(const wire::FieldInfo& info, const wire::Value& value) {
    const RegisteredField* field = registry_.find(info);
    if (field == nullptr || protocols_.empty()) return;
    const auto index = static_cast<std::uint32_t>(entries_.size());
    const auto first = static_cast<std::uint32_t>(text_.size());
    append_ek_value(text_, info, value);
    entries_.push_back({field, first, static_cast<std::uint32_t>(text_.size()) - first});
    Last& last = last_entry_[field->id];
    if (last.protocol == protocol_stamp_) {
        entries_[last.index].next = index;
        entries_[index].chained = true;
    }
    last = {protocol_stamp_, index};
    protocols_.back().end = index + 1;
}

void EkVisitor::open(const wire::FieldInfo& heading, const wire::Value& value, Extent) {
    const RegisteredField* field = level_++ == 0 ? registry_.find(heading) : nullptr;
    if (field != nullptr)
        enter(*field);
    else
        add(heading, value);
}

void EkVisitor::field(const wire::FieldInfo& info, const wire::Value& value, Extent) { add(info, value); }

void EkVisitor::close() {
    if (level_ != 0) --level_;
}

void EkVisitor::write_protocol(std::string& out, const Protocol& protocol) const {
    out += '{';
    bool first = true;
    for (std::uint32_t i = protocol.first; i < protocol.end; ++i) {
        const Entry& entry = entries_[i];
        if (entry.chained) continue;
        out += first ? "\"" : ",\"";
        first = false;
        append_ek_name(out, entry.field->protocol);
        out += '_';
        append_ek_name(out, entry.field->info->name);
        out += "\":";
        if (entry.next != none) out += '[';
        for (std::uint32_t at = i; at != none; at = entries_[at].next) {
            if (at != i) out += ',';
            out += text(entries_[at]);
        }
        if (entry.next != none) out += ']';
    }
    out += '}';
}

void EkVisitor::write(std::string& out) {
    bool first = true;
    for (std::uint32_t i = 0; i < protocols_.size(); ++i) {
        if (protocols_[i].chained) continue;
        out += first ? "\"" : ",\"";
        first = false;
        append_ek_name(out, protocols_[i].field->info->name);
        out += "\":";
        if (protocols_[i].next != none) out += '[';
        for (std::uint32_t at = i; at != none; at = protocols_[at].next) {
            if (at != i) out += ',';
            write_protocol(out, protocols_[at]);
        }
        if (protocols_[i].next != none) out += ']';
    }
}

void EkPrinter::show(const FrameView& view) {
    head_.clear();
    describe_frame(view, head_);
    open_ek_record(out_, view.frame.time_ns);
    head_.write(out_);
    const std::size_t before = out_.size();
    out_ += ',';
    body_.write(out_);
    if (out_.size() == before + 1) out_.pop_back();
    close_ek_record(out_);
}

}  // namespace dissect::output
