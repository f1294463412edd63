#include "dissect/output/tree.h"

#include "dissect/output/value_format.h"

namespace dissect::output {

void TreeVisitor::line(const wire::FieldInfo& info, const wire::Value& value, bool with_value) {
    out_->append(4 * static_cast<std::size_t>(level_), ' ');
    if (with_value)
        append_tree_line(*out_, info, value);
    else
        *out_ += info.label;
    *out_ += '\n';
}

void TreeVisitor::open(const wire::FieldInfo& heading, const wire::Value& value, Extent) {
    // The octets of a header are shown by its fields.
    const bool with_value = heading.kind != wire::Kind::bytes;
    if (heading.hidden && hidden_level_ == 0) hidden_level_ = level_ + 1;
    if (hidden_level_ == 0) line(heading, value, with_value);
    ++level_;
}

void TreeVisitor::field(const wire::FieldInfo& info, const wire::Value& value, Extent) {
    if (hidden_level_ == 0 && !info.hidden) line(info, value, true);
}

void TreeVisitor::close() {
    if (level_ != 0) --level_;
    if (hidden_level_ == level_ + 1) hidden_level_ = 0;
}

void TreePrinter::show(const FrameView& view) {
    std::string& out = out_;
    out += "Frame ";
    append_decimal(out, view.frame.number);
    out += ": ";
    append_decimal(out, view.frame.wire_length);
    out += " octets on the wire, ";
    append_decimal(out, view.frame.bytes.size());
    out += " captured\n";
    // The heading is written already; its fields lie one level below it.
    const auto heading_end = out.size();
    TreeVisitor visitor{out};
    describe_frame(view, visitor);
    const auto line_end = out.find('\n', heading_end);
    out.erase(heading_end, line_end + 1 - heading_end);
    out += body_;
    out += '\n';
}

}  // namespace dissect::output
