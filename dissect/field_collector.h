#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "dissect/arena.h"
#include "dissect/describe.h"
#include "dissect/layer_id.h"
#include "dissect/registry.h"

namespace dissect {

/// One occurrence of a field in a frame.
struct FoundValue {
    const wire::FieldInfo* info = nullptr;
    wire::Value value;
    std::uint32_t layer =
        1;  ///< the ordinal of its layer among those of its protocol; kept if `number_layers` was called
    base::Bytes packet = {};  ///< of a protocol, kept if `want_packets` was called: its own bytes and all that it
                              ///< carries
};

/// Gathers the occurrences of chosen fields in a frame and in the units that it completed, for the display filter and
/// for `-e`. Before the first frame, choose the fields with `want`. Then for each frame call `begin_frame`, and `add`
/// for the frame and for each unit that has layers of its own; the owner of `frame.*` and `rdma.*` visits the collector
/// with them. Values are valid until the next `begin_frame`, as long as the frame's own bytes are. Allocates nothing
/// after warm-up; occurrences beyond `max_values` of one field and `max_octets` in all are left out and counted.
class FieldCollector final : public Visitor {
public:
    static constexpr std::size_t max_values = 1 << 14;
    static constexpr std::size_t max_octets = std::size_t{16} << 20;

    explicit FieldCollector(const FieldRegistry& registry);

    /// Chooses a field of the registry and returns its slot. A field that is chosen twice has one slot.
    std::uint32_t want(const RegisteredField& field);
    /// Whether the declaration is of a chosen field.
    bool wants(const wire::FieldInfo& info) const { return find(&info) != nullptr; }
    /// Keeps what a chosen protocol carries in addition to its own bytes.
    void want_packets(std::uint32_t slot) { slots_with_packets_[slot] = true; }
    /// Numbers the layers of each protocol within a frame, at a small cost.
    void number_layers() { numbers_layers_ = true; }

    /// The layers of the chosen fields.
    const LayerSet& layers() const { return layers_; }
    /// Whether a chosen field belongs to the frame, not to a layer.
    bool wants_frame_fields() const { return wants_frame_fields_; }

    void begin_frame(base::Bytes frame);
    void add(const Dissection& dissection, base::Bytes described);

    std::span<const FoundValue> values(std::uint32_t slot) const { return slots_[slot]; }
    /// Occurrences left out since the beginning.
    std::uint64_t omitted() const { return omitted_; }

    void open(const wire::FieldInfo& heading, const wire::Value& value, Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, Extent extent) override;
    void close() override {}

private:
    struct Wanted {
        const wire::FieldInfo* info = nullptr;
        std::uint32_t slot = 0;
    };
    struct ProtocolCount {
        const wire::FieldInfo* protocol = nullptr;
        std::uint32_t count = 0;
    };
    /// How a layer is read: its fields at their places, or through its own `describe`.
    struct Plan {
        bool describes = false;
        bool has_heading = false;
        std::uint32_t heading_slot = 0;
        bool has_protocol = false;
        std::uint32_t protocol_slot = 0;
        std::vector<Wanted> fields;
    };

    void plan(LayerId id);
    void insert(const wire::FieldInfo* info, std::uint32_t slot);
    const Wanted* find(const wire::FieldInfo* info) const;
    void enter_protocol(const Dissection& dissection, unsigned first, const wire::FieldInfo* protocol);
    void read(const Plan& plan, const LayerView& view);
    void store(std::uint32_t slot, const wire::FieldInfo& info, wire::Value value);
    base::Bytes kept(base::Bytes octets);

    std::vector<std::uint32_t> slot_of_id_;
    std::vector<std::vector<FoundValue>> slots_;
    std::vector<bool> slots_with_packets_;  ///< parallel to slots_
    std::vector<Wanted> table_;             ///< open addressing, a power of two long
    std::size_t table_used_ = 0;
    std::array<Plan, layer_count> plans_;
    LayerSet layers_;
    LayerSet describing_;  ///< the layers that describe themselves
    bool wants_frame_fields_ = false;
    bool wants_protocols_ = false;
    bool numbers_layers_ = false;

    base::Bytes frame_;
    base::Bytes described_;
    Arena arena_{max_octets};
    std::array<ProtocolCount, 32> protocols_{};
    std::size_t protocol_count_ = 0;
    std::uint32_t layer_ = 1;
    std::uint64_t omitted_ = 0;
};

}  // namespace dissect
