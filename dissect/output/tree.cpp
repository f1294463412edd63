#include "dissect/output/tree.h"

#include <algorithm>
#include <numeric>

#include "base/text_format.h"
#include "dissect/output/value_format.h"

namespace dissect::output {

namespace {

/// A field whose value stands after the heading of its protocol too.
struct Highlight {
    std::string_view field;
    unsigned place;  ///< among the highlights of the heading
    std::string_view before;
    std::string_view after = {};
};

constexpr Highlight highlights[] = {
    {"eth.src", 0, ", Src: "},          {"eth.dst", 1, ", Dst: "},          {"vlan.priority", 0, ", PRI: "},
    {"vlan.dei", 1, ", DEI: "},         {"vlan.id", 2, ", ID: "},           {"ip.src", 0, ", Src: "},
    {"ip.dst", 1, ", Dst: "},           {"ipv6.src", 0, ", Src: "},         {"ipv6.dst", 1, ", Dst: "},
    {"udp.srcport", 0, ", Src Port: "}, {"udp.dstport", 1, ", Dst Port: "}, {"tcp.srcport", 0, ", Src Port: "},
    {"tcp.dstport", 1, ", Dst Port: "}, {"tcp.len", 2, ", Len: "},          {"geneve.vni", 0, ", VNI: "},
    {"data.len", 0, " (", " bytes)"},
};

/// `322 bytes on wire (2576 bits)`
void append_length(std::string& out, std::uint64_t octets, std::string_view where) {
    base::append_decimal(out, octets);
    (out += octets == 1 ? " byte " : " bytes ") += where;
    out += " (";
    base::append_decimal(out, 8 * octets);
    out += " bits)";
}

}  // namespace

void TreeVisitor::highlight(const wire::FieldInfo& info, const wire::Value& value) {
    if (level_ != 1 || hidden_level_ != 0) return;
    const auto* found = std::ranges::find(highlights, info.name, &Highlight::field);
    if (found == std::end(highlights) || highlight_lengths_[found->place] != 0) return;
    const std::size_t end = out_->size();
    *out_ += found->before;
    append_value(*out_, info, value, base::OctetStyle::plain);
    *out_ += found->after;
    highlight_lengths_[found->place] = out_->size() - end;
    const auto length =
        std::accumulate(highlight_lengths_.begin(), highlight_lengths_.begin() + found->place, heading_end_);
    const auto at = [this](std::size_t offset) { return out_->begin() + static_cast<std::ptrdiff_t>(offset); };
    std::rotate(at(length), at(end), out_->end());
}

void TreeVisitor::line(const wire::FieldInfo& info, const wire::Value& value, bool with_value) {
    out_->append(4 * static_cast<std::size_t>(level_), ' ');
    if (with_value)
        append_tree_line(*out_, info, value);
    else
        *out_ += info.label;
    *out_ += '\n';
}

void TreeVisitor::open(const wire::FieldInfo& heading, const wire::Value& value, Extent) {
    // The bytes of a header are shown by its fields.
    const bool with_value = heading.kind != wire::Kind::bytes;
    highlight(heading, value);
    if (heading.hidden && hidden_level_ == 0) hidden_level_ = level_ + 1;
    if (hidden_level_ == 0) line(heading, value, with_value);
    if (level_ == 0) {
        heading_end_ = out_->size() - 1;
        highlight_lengths_ = {};
    }
    ++level_;
}

void TreeVisitor::field(const wire::FieldInfo& info, const wire::Value& value, Extent) {
    if (hidden_level_ != 0 || info.hidden) return;
    highlight(info, value);
    line(info, value, true);
}

void TreeVisitor::close() {
    if (level_ != 0) --level_;
    if (hidden_level_ == level_ + 1) hidden_level_ = 0;
}

void TreePrinter::show(const FrameView& view) {
    std::string& out = out_;
    out += "Frame ";
    base::append_decimal(out, view.frame.number);
    out += ": ";
    append_length(out, view.frame.wire_length, "on wire");
    out += ", ";
    append_length(out, view.frame.bytes.size(), "captured");
    out += '\n';
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
