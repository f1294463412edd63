// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dissect/describe.h"
#include "dissect/dissector.h"
#include "wire/field.h"

namespace plugins::wireshark {

/// What a visitor was shown of each frame, kept to show it again: some tens of bytes for each message. TCP streams can
/// be reassembled only once, but frames are shown in any order and often.
class Journal final : public dissect::Visitor {
public:
    static constexpr std::size_t max_octets = 256;  ///< of one value; only the place of a longer one is kept

    /// The entries that follow belong to the frame; frames come in ascending order. Places in `described` bytes become
    /// places in `frame`, if they lie in it.
    void begin(std::uint64_t frame, base::Bytes frame_octets);
    void describing(base::Bytes described);
    /// The frame is one packet that can be parsed again whenever it is shown: the values that the packet alone does not
    /// contain.
    struct Packet {
        wire::Transport transport{};
        std::uint64_t repeats_frame = 0;
    };
    /// False if something of the frame is kept already; the packet then has to be shown like the rest.
    bool keep(const Packet& packet);
    /// Layers of the frame follow: Wireshark's own fields are looked up in them.
    void mark_layers();

    void open(const wire::FieldInfo& heading, const wire::Value& value, dissect::Extent extent) override;
    void field(const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent) override;
    void close() override;

    bool holds(std::uint64_t frame) const;
    bool holds_layers(std::uint64_t frame) const;
    std::optional<Packet> packet(std::uint64_t frame) const;
    /// Shows what was kept of a frame, in addition to its Packet. An extent without bytes has no place in the frame.
    void replay(std::uint64_t frame, dissect::Visitor& visitor) const;
    std::size_t memory_octets() const;

private:
    enum class Step : std::uint8_t { open, field, close };
    struct Entry {
        std::uint32_t frame;
        bool layers = false;
        bool packet = false;
        wire::Transport transport{};
        std::uint64_t begin = 0;
    };
    class Reader;

    std::vector<Entry>::const_iterator find(std::uint64_t frame) const;

    void put(std::uint64_t value);
    void put(Step step, const wire::FieldInfo& info, const wire::Value& value, dissect::Extent extent);
    std::uint32_t index_of(const wire::FieldInfo& info);
    std::uint32_t index_of(std::string_view text);
    dissect::Extent in_frame(dissect::Extent extent) const;
    std::uint64_t end_of(std::vector<Entry>::const_iterator entry) const;

    std::vector<std::uint8_t> octets_;
    std::vector<Entry> entries_;  ///< ascending
    std::vector<const wire::FieldInfo*> fields_;
    std::unordered_map<const wire::FieldInfo*, std::uint32_t> field_index_;
    std::vector<std::string> texts_;
    std::unordered_map<std::string, std::uint32_t> text_index_;
    base::Bytes frame_octets_;
    base::Bytes described_;
};

}  // namespace plugins::wireshark
