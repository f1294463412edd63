// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <array>
#include <string>

#include "metrics/measure/notes/frame_notes.h"
#include "plugins/wireshark/compat.h"

namespace plugins::wireshark {

/// The events of metrics, each as a field of its own and as an item of Expert Information.
class Events {
public:
    Events();
    /// Call it once in a process.
    void register_fields(int protocol);
    /// Adds the event's field to `tree`, and its expert item to `item`.
    void show(const metrics::FrameNote::Event& event, proto_tree* tree, proto_item* item, tvbuff_t* tvb,
              packet_info* pinfo) const;
    void show_retransmission(proto_tree* tree, tvbuff_t* tvb, packet_info* pinfo) const;
    /// "RNR NAK, 640 us to wait": for the Info column; empty for unimportant events.
    static std::string brief(const metrics::FrameNote::Event& event);

private:
    std::array<int, metrics::event_kind_count> ids_;
    std::array<expert_field, metrics::event_kind_count> experts_;
    int again_id_ = -1;
    expert_field again_expert_ = EI_INIT;
    std::array<hf_register_info, metrics::event_kind_count + 1> registrations_{};
    std::array<ei_register_info, metrics::event_kind_count + 1> expert_registrations_{};
    std::array<std::string, metrics::event_kind_count> expert_names_;
};

}  // namespace plugins::wireshark
