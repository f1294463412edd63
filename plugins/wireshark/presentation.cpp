// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugins/wireshark/presentation.h"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/quantities.h"
#include "exporters/flow_fields.h"
#include "plugins/wireshark/names.h"

namespace plugins::wireshark {

using metrics::FrameNote;

namespace {

/// Adds generated items: what is not in the frame's bytes but known about them.
class Adder {
public:
    Adder(const Registrations& registered, tvbuff_t* tvb, proto_tree* tree)
        : registered_(registered), tvb_(tvb), tree_(tree) {}

    proto_item* number(FieldId field, std::uint64_t value) {
        return mark(proto_tree_add_uint64(tree_, registered_.fields[field], tvb_, 0, 0, value));
    }
    void frame(FieldId field, std::uint64_t value) {
        if (value == 0) return;
        mark(proto_tree_add_uint(tree_, registered_.fields[field], tvb_, 0, 0, static_cast<guint32>(value)));
    }
    proto_item* text(FieldId field, const std::string& value) {
        return mark(proto_tree_add_string(tree_, registered_.fields[field], tvb_, 0, 0, value.c_str()));
    }
    void time(FieldId field, std::uint64_t ns) {
        constexpr std::uint64_t second = 1'000'000'000;
        const nstime_t value{static_cast<time_t>(ns / second), static_cast<int>(ns % second)};
        mark(proto_tree_add_time(tree_, registered_.fields[field], tvb_, 0, 0, &value));
    }
    Adder below(proto_item* item) const { return {registered_, tvb_, proto_item_add_subtree(item, registered_.fold)}; }
    proto_tree* tree() const { return tree_; }

private:
    static proto_item* mark(proto_item* item) {
        proto_item_set_generated(item);
        return item;
    }

    const Registrations& registered_;
    tvbuff_t* tvb_;
    proto_tree* tree_;
};

bool has(const FrameNote& note, metrics::EventKind kind) {
    return std::any_of(note.events.begin(), note.events.end(),
                       [&](const FrameNote::Event& event) { return event.kind == kind && event.flow == note.flow; });
}

/// What was lost before the tap and comes now for the first time is transmitted again, too, though it repeats nothing.
/// What the network has doubled is not.
bool is_retransmission(const FrameNote& note) {
    return (note.repeats || note.sent_again || has(note, metrics::EventKind::retransmission)) &&
           !has(note, metrics::EventKind::duplicate);
}

class Presentation {
public:
    Presentation(const Analysis& analysis, const Registrations& registered, tvbuff_t* tvb, packet_info* pinfo)
        : analysis_(analysis), registered_(registered), tvb_(tvb), pinfo_(pinfo) {}

    void note(const FrameNote& note, proto_tree* tree) {
        Adder add(registered_, tvb_, tree);
        flow(note, add);
        for (const FrameNote::Message& message : note.messages) posted(message, add);
        for (const FrameNote::Message& message : note.answers) answered(message, add);
        if (is_retransmission(note)) add.frame(FieldId::retransmission_of, note.repeats_frame);
        if (note.repair) recovery(*note.repair, add);
        if (note.gap_state) {
            add.text(FieldId::gap_state, std::string(metrics::name_of(*note.gap_state)));
            add.time(FieldId::gap_time, note.gap_ns);
        }
        if (note.wire_ns != 0) add.time(FieldId::wire_time, note.wire_ns);
        if (!note.packet) return;
        add.number(FieldId::outstanding_messages, note.outstanding_messages);
        add.number(FieldId::outstanding_bytes, note.outstanding_bytes);
    }

    void events(const FrameNote& note, proto_tree* tree) {
        Adder add(registered_, tvb_, tree);
        for (const FrameNote::Event& event : note.events) {
            proto_item* item = add.text(FieldId::event, std::string(metrics::name_of(event.kind)));
            Adder below = add.below(item);
            below.number(FieldId::event_flow, event.flow);
            registered_.events.show(event, below.tree(), item, tvb_, pinfo_);
        }
        if (is_retransmission(note)) registered_.events.show_retransmission(tree, tvb_, pinfo_);
    }

private:
    void flow(const FrameNote& note, Adder& add) {
        proto_item* item = add.number(FieldId::flow, note.flow);
        const metrics::FlowSnapshot* flow = analysis_.flow(note.flow);
        if (flow == nullptr) return;
        const WiresharkNames names;
        const std::string source = exporters::endpoint_text(flow->source, &names);
        const std::string destination = exporters::endpoint_text(flow->destination, &names);
        proto_item_append_text(item, ": %s to %s", source.c_str(), destination.c_str());
        Adder below = add.below(item);
        below.text(FieldId::flow_source, source);
        below.text(FieldId::flow_destination, destination);
        if (flow->vantage != metrics::Vantage::unknown)
            below.text(FieldId::flow_vantage, std::string(metrics::name_of(flow->vantage)));
        if (flow->reverse) below.number(FieldId::flow_reverse, *flow->reverse);
    }

    void posted(const FrameNote::Message& message, Adder& add) {
        Adder below = add.below(add.text(FieldId::message, text_of(message)));
        figures(message, below);
        below.frame(FieldId::message_first_frame, message.first_frame == pinfo_->num ? 0 : message.first_frame);
        below.frame(FieldId::response_in, message.response_frame);
        if (message.latency_ns) below.time(FieldId::message_latency, *message.latency_ns);
    }
    void answered(const FrameNote::Message& message, Adder& add) {
        Adder below = add.below(add.text(FieldId::answer, text_of(message)));
        below.frame(FieldId::request_in, message.last_frame);
        if (message.latency_ns) below.time(FieldId::response_time, *message.latency_ns);
    }
    void recovery(const metrics::Repair& repair, Adder& add) {
        const std::string cause(metrics::name_of(repair.cause));
        const std::string total = repair.total_ns ? ", " + base::format_duration(repair.total_ns) : std::string();
        Adder below = add.below(add.text(FieldId::recovery, cause + total));
        below.text(FieldId::recovery_cause, cause);
        if (repair.nak_generation_ns) below.time(FieldId::recovery_nak_generation, *repair.nak_generation_ns);
        if (repair.nak_reaction_ns) below.time(FieldId::recovery_nak_reaction, *repair.nak_reaction_ns);
        if (repair.total_ns) below.time(FieldId::recovery_total, *repair.total_ns);
        below.frame(FieldId::recovery_lost_frame, repair.lost_frame);
        below.frame(FieldId::recovery_first_out_of_sequence_frame, repair.first_out_of_sequence_frame);
        below.frame(FieldId::recovery_nak_frame, repair.nak_frame);
    }
    void figures(const FrameNote::Message& message, Adder& below) {
        below.number(FieldId::message_number, message.number);
        below.text(FieldId::message_operation, std::string(metrics::name_of(message.operation)));
        below.number(FieldId::message_bytes, message.bytes);
    }

    const Analysis& analysis_;
    const Registrations& registered_;
    tvbuff_t* tvb_;
    packet_info* pinfo_;
};

/// What happened at the frame, for the heading of the tree and the Info column.
void append_brief(const FrameNote& note, std::vector<std::string>& pieces) {
    for (const FrameNote::Event& event : note.events)
        if (std::string piece = Events::brief(event); !piece.empty()) pieces.push_back(std::move(piece));
    if (is_retransmission(note) && note.repeats_frame != 0)
        pieces.push_back(fmt::format("Retransmission of frame {}", note.repeats_frame));
    else if (is_retransmission(note))
        pieces.emplace_back("Retransmission");
}

/// Whether a filter, a column or an open tree asks for a protocol's fields.
bool is_wanted(proto_tree* tree, std::span<const int> protocols) {
    return std::any_of(protocols.begin(), protocols.end(),
                       [tree](int protocol) { return proto_field_is_referenced(tree, protocol) != 0; });
}

}  // namespace

void show(const Analysis& analysis, const Registrations& registered, const ShowOptions& options,
          const wire::Frame& frame, tvbuff_t* tvb, packet_info* pinfo, proto_tree* tree) {
    const std::vector<const FrameNote*> notes = analysis.notes(pinfo->num);
    std::vector<std::string> events;
    for (const FrameNote* note : notes) append_brief(*note, events);
    if (options.info_column)
        for (const std::string& event : events) col_append_fstr(pinfo->cinfo, COL_INFO, " [%s]", event.c_str());
    const bool wanted = is_wanted(tree, {&registered.protocol, 1});
    const bool layers = analysis.describes_layers(pinfo->num) && is_wanted(tree, registered.filled_protocols);
    const bool units = layers || (wanted && options.units && analysis.describes(pinfo->num));
    // Expert Information is gathered without a tree, too.
    const bool eventful = std::any_of(notes.begin(), notes.end(), [](const FrameNote* note) {
        return !note->events.empty() || is_retransmission(*note);
    });
    const std::vector<CommandEvent>& of_commands = analysis.command_events(pinfo->num);
    if (!units && !eventful && of_commands.empty() && (!wanted || notes.empty())) return;

    proto_item* heading = proto_tree_add_item(tree, registered.protocol, tvb, 0, 0, ENC_NA);
    proto_item_set_generated(heading);
    if (!events.empty()) proto_item_append_text(heading, ": %s", fmt::to_string(fmt::join(events, ", ")).c_str());
    proto_tree* below = proto_item_add_subtree(heading, registered.fold);
    Presentation presentation(analysis, registered, tvb, pinfo);
    for (const FrameNote* note : notes) {
        if (wanted) presentation.note(*note, below);
        presentation.events(*note, below);
    }
    for (const CommandEvent& event : of_commands) registered.command_experts.show(event, heading, pinfo);
    if (!units) return;
    const auto hidden = static_cast<std::uint32_t>(frame.bytes.size() - captured_octets(tvb));
    TreeWriter writer(registered.house_fields, below, tvb, registered.fold, hidden);
    analysis.describe(frame, writer);
}

}  // namespace plugins::wireshark
