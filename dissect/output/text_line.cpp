#include "dissect/output/text_line.h"

#include <algorithm>

#include "base/text_format.h"
#include "dissect/output/text_command.h"
#include "dissect/output/text_parts.h"
#include "dissect/output/tree.h"
#include "dissect/output/unit_names.h"

namespace dissect::output {

namespace {
/// Wider pairs of addresses are not waited for: two IPv6 addresses in full would push all else off the screen.
constexpr std::size_t endpoints_width_most = 56;
constexpr unsigned number_width = 5;

/// A packet that was on its way to a BTH when the capture or the packet ended: no unit, but no other traffic either.
bool breaks_off_before_bth(const Dissection& dissection) {
    const LayerId at = dissection.stop.layer;
    return dissection.stop.outcome != Outcome::complete &&
           (at == LayerId::bth || at == LayerId::grh || at == LayerId::lrh || at == LayerId::rwh);
}
}  // namespace

void TextPrinter::on_frame(const wire::Frame& frame, const Dissection& dissection) {
    frame_ = &frame;
    dissection_ = &dissection;
    lines_.clear();
    parts_.clear();
    has_units_ = false;
}

void TextPrinter::end_line() {
    while (lines_.size() > line_begin_ && lines_.back() == ' ') lines_.pop_back();
    lines_ += '\n';
    parts_.push_back({line_begin_, lines_.size()});
}

void TextPrinter::pad_endpoints(std::size_t begin) {
    const std::size_t width = lines_.size() - begin;
    endpoints_width_ = std::max(endpoints_width_, std::min(width, endpoints_width_most));
    text::pad(lines_, begin, endpoints_width_);
}

void TextPrinter::on_unit(const Unit& unit) {
    has_units_ = true;
    const bool iwarp = unit.transport == Transport::iwarp;
    // A datagram put together from fragments has its addresses in its own bytes or in those of its last frame.
    const bool own = !iwarp && unit.dissection.network.family != Network::Family::none;
    const Dissection& addressed = own ? unit.dissection : unit.frame_dissection;
    const base::Bytes bytes = own ? unit.bytes : unit.frame.bytes;
    if (options_.commands_only) {
        endpoints_.clear();
        return text::endpoints(endpoints_, addressed, bytes, iwarp, options_);
    }

    begin_line();
    text::endpoints(lines_, addressed, bytes, iwarp, options_);
    pad_endpoints(line_begin_);
    lines_ += ' ';
    const std::size_t transport = lines_.size();
    lines_ += name_of(unit.transport);
    text::pad(lines_, transport, text::transport_width);
    lines_ += ' ';
    const std::size_t operation = lines_.size();
    if (iwarp)
        text::segment_operation(lines_, unit);
    else
        text::packet_operation(lines_, unit);
    text::pad(lines_, operation, text::operation_width);
    if (iwarp)
        text::segment_details(lines_, unit, options_);
    else
        text::packet_details(lines_, unit, options_);
    if (addressed.network.ecn() == 3) lines_ += " CE";
    if (unit.repeats_frame != 0) text::word(lines_, "retransmission of frame", unit.repeats_frame);
    text::diagnostics(lines_, unit.dissection, options_);
    if (options_.verbosity > 0) text::network_details(lines_, addressed, bytes, options_);
    end_line();
    if (options_.verbosity > 0 && unit.rmpp != nullptr) {
        std::string records;
        text::joined_record_lines(records, unit);
        indent(records);
    }
    if (options_.verbosity > 2) write_tree(unit);
}

/// -vvv: the headers from the transport's on, below the line.
void TextPrinter::write_tree(const Unit& unit) {
    std::string tree;
    TreeVisitor visitor{tree};
    LayerSet wanted;
    for (unsigned i = unit.dissection.layer_count; i-- > 0;) {
        const LayerId id = unit.dissection.layers[i].id;
        if (id == LayerId::udp || id == LayerId::ipv4 || id == LayerId::ipv6 || id == LayerId::ethernet) break;
        wanted.insert(id);
    }
    describe(unit.dissection, unit.bytes, visitor, wanted);
    indent(tree);
}

/// Adds to the last part: what stands below a line has no time of its own.
void TextPrinter::indent(std::string_view tree) {
    for (std::size_t at = 0; at < tree.size();) {
        const std::size_t end = std::min(tree.find('\n', at), tree.size() - 1) + 1;
        (lines_ += "    ").append(tree, at, end - at);
        at = end;
    }
    parts_.back().end = lines_.size();
}

void TextPrinter::begin_message_line() {
    begin_line();
    lines_ += endpoints_;
    pad_endpoints(line_begin_);
    lines_ += ' ';
}

void TextPrinter::on_message(const UpperMessage& message) {
    if (options_.quiet || (parts_.empty() && !options_.commands_only)) return;
    command_.clear();
    text::command(command_, message);
    if (command_.empty()) return;
    if (options_.commands_only) {
        begin_message_line();
        parts_.push_back({line_begin_, lines_.size()});
        command_.erase(0, command_.find_first_not_of(' '));
    }
    lines_ += command_;
    // Captures of headers alone cut most of them.
    if (options_.verbosity > 0 || message.dissection.stop.outcome != Outcome::truncated)
        text::diagnostics(lines_, message.dissection, options_);
    lines_ += '\n';
    parts_.back().end = lines_.size();
    if (options_.verbosity <= 2) return;
    std::string tree;
    TreeVisitor visitor{tree};
    describe(message.dissection, message.bytes, visitor);
    indent(tree);
}

void TextPrinter::on_notice(const Notice& notice) {
    const bool of_icmp = notice.kind == Notice::Kind::icmp_error;
    if (options_.commands_only) return;
    if (options_.quiet && !of_icmp) return;
    begin_line();
    text::endpoints(lines_, notice.frame_dissection, notice.frame.bytes, notice.frame_dissection.has(LayerId::tcp),
                    options_);
    pad_endpoints(line_begin_);
    lines_ += ' ';
    if (of_icmp) {
        text::icmp_error(lines_, notice.frame_dissection, notice.frame.bytes, options_);
        if (options_.verbosity > 0)
            text::network_details(lines_, notice.frame_dissection, notice.frame.bytes, options_);
    } else {
        text::notice(lines_, notice);
    }
    end_line();
}

bool TextPrinter::has_lines() const {
    if (options_.commands_only) return frame_ != nullptr && !parts_.empty();
    return frame_ != nullptr && (!parts_.empty() || options_.all || text::is_mac_control(*dissection_) ||
                                 breaks_off_before_bth(*dissection_));
}

void TextPrinter::write_head(std::string& out) {
    if (options_.number) {
        const std::size_t begin = out.size();
        base::append_decimal(out, frame_->number);
        const std::size_t written = out.size() - begin;
        if (written < number_width) out.insert(begin, number_width - written, ' ');
        out += "  ";
    }
    times_.append(out, frame_->time_ns);
    if (options_.link_header) text::link_header(out, *frame_, *dissection_, options_);
}

void TextPrinter::end_frame(bool shown) {
    if (!shown || !has_lines()) return;
    TcpSequences::Numbers numbers{dissection_->tcp.sequence, dissection_->tcp.acknowledgment};
    const bool counts = options_.all && !options_.absolute_sequence && dissection_->has(LayerId::tcp);
    if (counts) numbers = sequences_.next(*dissection_, frame_->bytes);
    if (parts_.empty()) {
        begin_line();
        if (text::is_mac_control(*dissection_))
            text::mac_control(lines_, *frame_, *dissection_);
        else
            text::other_frame(lines_, *frame_, *dissection_, numbers, options_);
        text::diagnostics(lines_, *dissection_, options_);
        if (options_.verbosity > 0) text::network_details(lines_, *dissection_, frame_->bytes, options_);
        end_line();
    }
    for (const Line& part : parts_) {
        write_head(out_);
        out_.append(lines_, part.begin, part.end - part.begin);
    }
    const std::size_t skipped =
        options_.octets_of_link ? 0 : std::min<std::size_t>(link_length(*dissection_), frame_->bytes.size());
    append_dump(out_, frame_->bytes.subspan(skipped), options_.octets);
    frame_ = nullptr;
}

}  // namespace dissect::output
