#include "dissect/output/chosen_fields.h"

#include <algorithm>

#include "base/text_format.h"
#include "base/utf8.h"
#include "dissect/joined_records.h"
#include "dissect/output/command_fields.h"
#include "dissect/output/ek.h"
#include "dissect/output/json.h"
#include "dissect/output/value_format.h"

namespace dissect::output {

ChosenFields::ChosenFields(const FieldRegistry& registry, std::span<const RegisteredField* const> fields,
                           InterfaceNames names)
    : collector_(registry), names_(std::move(names)) {
    for (const RegisteredField* field : fields) {
        columns_.push_back({field, collector_.want(*field)});
        wants_protocols_ = wants_protocols_ || field->info->name == "frame.protocols";
    }
    wants_frame_ = collector_.wants_frame_fields();
}

void ChosenFields::on_frame(const wire::Frame& frame, const Dissection& dissection) {
    frame_ = &frame;
    dissection_ = &dissection;
    times_ = clock_.next(frame);
    has_units_ = false;
    complete_ = false;
    if (wants_protocols_) {
        protocols_.clear();
        append_protocols(protocols_, dissection);
    }
    collector_.begin_frame(frame.bytes);
    collector_.add(dissection, frame.bytes);
}

void ChosenFields::on_unit(const Unit& unit) {
    has_units_ = true;
    if (!unit.in_frame) {
        if (wants_protocols_) append_protocols(protocols_, unit.dissection);
        collector_.add(unit.dissection, unit.bytes);
    }
    if (wants_frame_) describe_unit(unit, collector_);
    visit_joined_records(unit, [this](const Dissection& record, base::Bytes bytes) { collector_.add(record, bytes); });
}

void ChosenFields::on_notice(const Notice& notice) {
    if (wants_frame_) describe_notice(notice, collector_);
}

void ChosenFields::on_message(const UpperMessage& message) {
    collector_.add(message.dissection, message.bytes);
    if (wants_frame_) describe_command(message, collector_);
}

FieldCollector& ChosenFields::collector() {
    wants_frame_ = wants_protocols_ = true;  // what else will be chosen is not known here
    return collector_;
}

void ChosenFields::complete() {
    if (complete_ || frame_ == nullptr) return;
    complete_ = true;
    wants_frame_ = collector_.wants_frame_fields();
    if (!wants_frame_) {
        wants_protocols_ = false;
        return;
    }
    if (!has_units_) describe_outcome(*dissection_, collector_);
    const InterfaceName interface = names_ ? names_(frame_->interface) : InterfaceName{};
    describe_frame({*frame_, *dissection_, times_, interface, protocols_}, collector_);
}

void ChosenFields::end_frame(bool shown) {
    if (frame_ == nullptr || !shown) return;
    complete();
    show(*frame_);
    clock_.shown();
    frame_ = nullptr;
}

namespace {
/// A protocol is printed as its name, as tshark prints protocols without further text.
void append_occurrence(std::string& out, const RegisteredField& field, const FoundValue& found) {
    const bool protocol = field.heading && field.info->name == field.protocol;
    if (protocol)
        out += field.info->name;
    else
        append_value(out, *found.info, found.value, base::OctetStyle::plain);
}

/// A text's line ends and tabs are escaped, as tshark does under any quote, so that a frame stays a line and a field a
/// column. What is not UTF-8 becomes U+FFFD, as in tshark; all else is as it is.
void append_text(std::string& out, std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = base::utf8_length(text);
        switch (text.front()) {
            case '\n': out += "\\n"; break;
            case '\r': out += "\\r"; break;
            case '\t': out += "\\t"; break;
            default: out += length == 0 ? std::string_view{"\xef\xbf\xbd"} : text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}
}  // namespace

void FieldsPrinter::begin() {
    if (format_.bom) out_ += "\xef\xbb\xbf";
    if (!format_.header) return;
    for (std::size_t i = 0; i < columns().size(); ++i) {
        if (i != 0) out_ += format_.separator;
        out_ += columns()[i].field->info->name;
    }
    out_ += '\n';
}

void FieldsPrinter::show(const wire::Frame&) {
    for (std::size_t i = 0; i < columns().size(); ++i) {
        if (i != 0) out_ += format_.separator;
        auto found = values(columns()[i]);
        if (found.empty()) continue;
        if (format_.occurrence == FieldsFormat::Occurrence::first) found = found.first(1);
        if (format_.occurrence == FieldsFormat::Occurrence::last) found = found.last(1);
        if (format_.quote != 0) out_ += format_.quote;
        for (std::size_t j = 0; j < found.size(); ++j) {
            if (j != 0) out_ += format_.aggregator;
            if (found[j].info->kind == wire::Kind::string)
                append_text(out_, found[j].value.text);
            else
                append_occurrence(out_, *columns()[i].field, found[j]);
        }
        if (format_.quote != 0) out_ += format_.quote;
    }
    out_ += '\n';
}

namespace {
/// One array member, as JSON.
void append_json_occurrence(std::string& out, const RegisteredField& field, const FoundValue& found) {
    if (found.info->kind == wire::Kind::string) return append_json_string(out, found.value.text);
    out += '"';
    append_occurrence(out, field, found);
    out += '"';
}
}  // namespace

void JsonFieldsPrinter::show(const wire::Frame& frame) {
    open_json_record(out_, frame.time_ns, !any_);
    any_ = true;
    bool first_column = true;
    out_ += '{';
    for (const Column& column : columns()) {
        const auto found = values(column);
        if (found.empty()) continue;
        out_ += first_column ? "\n        \"" : ",\n        \"";
        first_column = false;
        out_ += column.field->info->name;
        out_ += "\": [";
        for (std::size_t i = 0; i < found.size(); ++i) {
            out_ += i == 0 ? "\n          " : ",\n          ";
            append_json_occurrence(out_, *column.field, found[i]);
        }
        out_ += "\n        ]";
    }
    out_ += first_column ? "}" : "\n      }";
    close_json_record(out_);
}

void JsonFieldsPrinter::finish() { out_ += any_ ? "\n]\n" : "]\n"; }

void EkFieldsPrinter::show(const wire::Frame& frame) {
    open_ek_record(out_, frame.time_ns);
    bool first_column = true;
    for (const Column& column : columns()) {
        const auto found = values(column);
        if (found.empty()) continue;
        out_ += first_column ? "\"" : ",\"";
        first_column = false;
        append_ek_name(out_, column.field->info->name);
        out_ += "\":[";
        for (std::size_t i = 0; i < found.size(); ++i) {
            if (i != 0) out_ += ',';
            append_json_occurrence(out_, *column.field, found[i]);
        }
        out_ += ']';
    }
    close_ek_record(out_);
}

}  // namespace dissect::output
