#pragma once
#include "wire/layout.h"

namespace wire {

namespace mac_control_opcode {
inline constexpr std::uint16_t pause = 0x0001;
inline constexpr std::uint16_t priority_pause = 0x0101;
}  // namespace mac_control_opcode

inline constexpr ValueName mac_control_opcodes[] = {
    {mac_control_opcode::pause, "Pause"},
    {mac_control_opcode::priority_pause, "Priority-based flow control"},
};

/// A pause frame's MAC control parameters. IEEE 802.3, annex 31B.
struct Pause {
    std::uint16_t opcode = mac_control_opcode::pause;
    std::uint16_t quanta{};  ///< of 512 bit times each; 0 ends the pause
    bool operator==(const Pause&) const = default;
};

template <>
inline constexpr auto layout_of<Pause> = layout("macc", "MAC Control",
    bits<&Pause::opcode, 16>("macc.opcode", "Opcode").hex().named(mac_control_opcodes),
    bits<&Pause::quanta, 16>("macc.pause_time", "Pause time"));
static_assert(size_of<Pause> == 4);

/// Priority-based flow control. IEEE 802.1Q, 36; IEEE 802.3, annex 31D.
struct PriorityPause {
    std::uint16_t opcode = mac_control_opcode::priority_pause;
    std::uint8_t reserved_classes{};
    bool enable7{}, enable6{}, enable5{}, enable4{}, enable3{}, enable2{}, enable1{}, enable0{};
    std::uint16_t quanta0{}, quanta1{}, quanta2{}, quanta3{}, quanta4{}, quanta5{}, quanta6{}, quanta7{};
    bool operator==(const PriorityPause&) const = default;
};

template <>
inline constexpr auto layout_of<PriorityPause> = layout("macc", "MAC Control",
    bits<&PriorityPause::opcode, 16>("macc.opcode", "Opcode").hex().named(mac_control_opcodes),
    bits<&PriorityPause::reserved_classes, 8>("", ""),
    bits<&PriorityPause::enable7, 1>("macc.cbfc.enbv.c7", "Class 7"),
    bits<&PriorityPause::enable6, 1>("macc.cbfc.enbv.c6", "Class 6"),
    bits<&PriorityPause::enable5, 1>("macc.cbfc.enbv.c5", "Class 5"),
    bits<&PriorityPause::enable4, 1>("macc.cbfc.enbv.c4", "Class 4"),
    bits<&PriorityPause::enable3, 1>("macc.cbfc.enbv.c3", "Class 3"),
    bits<&PriorityPause::enable2, 1>("macc.cbfc.enbv.c2", "Class 2"),
    bits<&PriorityPause::enable1, 1>("macc.cbfc.enbv.c1", "Class 1"),
    bits<&PriorityPause::enable0, 1>("macc.cbfc.enbv.c0", "Class 0"),
    bits<&PriorityPause::quanta0, 16>("macc.cbfc.pause_time.c0", "Class 0"),
    bits<&PriorityPause::quanta1, 16>("macc.cbfc.pause_time.c1", "Class 1"),
    bits<&PriorityPause::quanta2, 16>("macc.cbfc.pause_time.c2", "Class 2"),
    bits<&PriorityPause::quanta3, 16>("macc.cbfc.pause_time.c3", "Class 3"),
    bits<&PriorityPause::quanta4, 16>("macc.cbfc.pause_time.c4", "Class 4"),
    bits<&PriorityPause::quanta5, 16>("macc.cbfc.pause_time.c5", "Class 5"),
    bits<&PriorityPause::quanta6, 16>("macc.cbfc.pause_time.c6", "Class 6"),
    bits<&PriorityPause::quanta7, 16>("macc.cbfc.pause_time.c7", "Class 7"));
static_assert(size_of<PriorityPause> == 20);

}  // namespace wire
