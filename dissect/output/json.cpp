#include "dissect/output/json.h"

#include <chrono>

#include "base/text_format.h"
#include "base/utf8.h"
#include "dissect/output/value_format.h"

namespace dissect::output {

namespace {

constexpr unsigned layers_level = 4;  ///< of the members of `layers`, in steps of two columns

void append_escaped(std::string& out, char c) {
    constexpr std::string_view digits = "0123456789abcdef";
    const auto code = static_cast<unsigned char>(c);
    switch (c) {
        case '"': out += "\\\""; break;
        case '\\': out += "\\\\"; break;
        case '\n': out += "\\n"; break;
        case '\r': out += "\\r"; break;
        case '\t': out += "\\t"; break;
        default:
            if (code >= 0x20 && code != 0x7f) {
                out += c;
                break;
            }
            out += "\\u00";
            out += digits[code >> 4];
            out += digits[code & 15];
    }
}

void indent(std::string& out, unsigned level) { out.append(2 * static_cast<std::size_t>(level), ' '); }

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
    out += '"';
    while (!text.empty()) {
        const std::size_t length = base::utf8_length(text);
        if (length == 1)
            append_escaped(out, text.front());
        else
            out += length == 0 ? std::string_view{"\xef\xbf\xbd"} : text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
}

void append_date(std::string& out, std::int64_t time_ns) {
    using namespace std::chrono;
    const year_month_day date{sys_days{floor<days>(floor<seconds>(nanoseconds{time_ns}))}};
    const auto two_digits = [&out](unsigned value) {
        out += '-';
        out += static_cast<char>('0' + value / 10);
        out += static_cast<char>('0' + value % 10);
    };
    base::append_decimal(out, static_cast<std::uint64_t>(static_cast<int>(date.year())));
    two_digits(static_cast<unsigned>(date.month()));
    two_digits(static_cast<unsigned>(date.day()));
}

void JsonVisitor::member(std::string_view name, std::string_view suffix) {
    if (!first_) *out_ += ',';
    *out_ += '\n';
    first_ = false;
    indent(*out_, level_);
    *out_ += '"';
    *out_ += name;
    *out_ += suffix;
    *out_ += "\": ";
}

void JsonVisitor::write_value(const wire::FieldInfo& info, const wire::Value& value) {
    if (info.kind == wire::Kind::string) return append_json_string(*out_, value.text);
    *out_ += '"';
    if (info.kind != wire::Kind::none) append_value(*out_, info, value, base::OctetStyle::colons);
    *out_ += '"';
}

void JsonVisitor::open_pending() {
    if (pending_ == nullptr) return;
    member(pending_->name, pending_->kind == wire::Kind::none ? "" : "_tree");
    *out_ += '{';
    ++level_;
    first_ = true;
    pending_ = nullptr;
}

void JsonVisitor::open(const wire::FieldInfo& heading, const wire::Value& value, Extent) {
    open_pending();
    if (heading.kind != wire::Kind::none) {
        member(heading.name, "");
        write_value(heading, value);
    }
    pending_ = &heading;
}

void JsonVisitor::field(const wire::FieldInfo& info, const wire::Value& value, Extent) {
    open_pending();
    member(info.name, "");
    write_value(info, value);
}

void JsonVisitor::close() {
    if (pending_ != nullptr) {
        // Nothing below the heading: tshark shows one without a value as an empty string.
        if (pending_->kind == wire::Kind::none) {
            member(pending_->name, "");
            *out_ += "\"\"";
        }
        pending_ = nullptr;
        return;
    }
    if (level_ <= base_level_) return;
    --level_;
    *out_ += '\n';
    indent(*out_, level_);
    *out_ += '}';
    first_ = false;
}

void open_json_record(std::string& out, std::int64_t time_ns, bool first) {
    out += first ? "\n  {\n" : ",\n  {\n";
    out += "    \"_index\": \"packets-";
    append_date(out, time_ns);
    out += "\",\n    \"_type\": \"doc\",\n    \"_score\": null,\n    \"_source\": {\n      \"layers\": ";
}

void close_json_record(std::string& out) { out += "\n    }\n  }"; }

void JsonPrinter::start() {
    body_.clear();
    visitor_ = JsonVisitor{body_, layers_level};
}

void JsonPrinter::show(const FrameView& view) {
    std::string& out = out_;
    open_json_record(out, view.frame.time_ns, !any_);
    any_ = true;
    out += '{';
    JsonVisitor visitor{out, layers_level};
    describe_frame(view, visitor);
    if (!body_.empty()) out += ',';
    out += body_;
    out += "\n      }";
    close_json_record(out);
}

void JsonPrinter::finish() { out_ += any_ ? "\n]\n" : "]\n"; }

}  // namespace dissect::output
