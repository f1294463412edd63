#pragma once
#include <array>
#include <cstdint>

#include "wire/infiniband.h"

namespace wire {

/// ACK Extended Transport Header. IBTA vol. 1, 9.3.5.
struct Aeth {
    std::uint8_t syndrome = 0;
    std::uint32_t msn = 0;
};

template <>
inline constexpr auto layout_of<Aeth> = layout(
    "infiniband.aeth", "ACK Extended Transport Header",
    bits<&Aeth::syndrome, 8>("infiniband.aeth.syndrome", "Syndrome"),
    bits<&Aeth::msn, 24>("infiniband.aeth.msn", "Message Sequence Number"));
static_assert(size_of<Aeth> == 4);

/// Bits 6 and 5 of the syndrome. IBTA vol. 1, 9.7.5.2.
enum class AethKind : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

constexpr AethKind kind_of_syndrome(std::uint8_t syndrome) { return static_cast<AethKind>(syndrome >> 5 & 3); }
/// A credit count, an RNR timer or a NAK code, as the kind says.
constexpr std::uint8_t value_of_syndrome(std::uint8_t syndrome) { return syndrome & 0x1f; }

/// NAK codes. IBTA vol. 1, 9.7.5.2.
enum class NakCode : std::uint8_t {
    psn_sequence_error = 0,
    invalid_request = 1,
    remote_access_error = 2,
    remote_operational_error = 3,
    invalid_rd_request = 4,
};

/// The credit count that says credits are not used. IBTA vol. 1, 9.7.7.2.
inline constexpr std::uint8_t no_credit_limit = 31;

/// How long an RNR NAK asks the requester to wait, in microseconds, by the timer's code. IBTA vol. 1, 9.7.5.2.8.
inline constexpr std::array<std::uint32_t, 32> rnr_timer_us{
    655360, 10,   20,   30,   40,   60,    80,    120,   160,   240,   320,   480,    640,    960,    1280,   1920,
    2560,   3840, 5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};

/// Receive work requests that a credit count stands for; codes 0 to 30. IBTA vol. 1, 9.7.7.2.
inline constexpr std::array<std::uint32_t, 31> credits_of_code{
    0,  1,   2,   3,   4,   6,   8,   12,   16,   24,   32,   48,   64,   96,   128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

inline constexpr std::array<ValueName, 4> aeth_kind_names{{{0, "Ack"}, {1, "RNR Nak"}, {2, "Reserved"}, {3, "Nak"}}};

inline constexpr std::array<ValueName, 5> nak_code_names{{
    {0, "PSN Sequence Error"},
    {1, "Invalid Request"},
    {2, "Remote Access Error"},
    {3, "Remote Operational Error"},
    {4, "Invalid RD Request"},
}};

inline constexpr std::array<ValueName, 32> rnr_timer_names{{
    {0, "655.36 ms"}, {1, "0.01 ms"},   {2, "0.02 ms"},   {3, "0.03 ms"},   {4, "0.04 ms"},   {5, "0.06 ms"},   {6, "0.08 ms"},   {7, "0.12 ms"},
    {8, "0.16 ms"},   {9, "0.24 ms"},   {10, "0.32 ms"},  {11, "0.48 ms"},  {12, "0.64 ms"},  {13, "0.96 ms"},  {14, "1.28 ms"},  {15, "1.92 ms"},
    {16, "2.56 ms"},  {17, "3.84 ms"},  {18, "5.12 ms"},  {19, "7.68 ms"},  {20, "10.24 ms"}, {21, "15.36 ms"}, {22, "20.48 ms"}, {23, "30.72 ms"},
    {24, "40.96 ms"}, {25, "61.44 ms"}, {26, "81.92 ms"}, {27, "122.88 ms"}, {28, "163.84 ms"}, {29, "245.76 ms"}, {30, "327.68 ms"}, {31, "491.52 ms"},
}};

/// The parts of the syndrome. The second part, the kind, decides which one of the last four follows; these stand in the
/// order of the kind's values.
inline constexpr FieldInfo aeth_reserved = reserved_bits("infiniband.aeth.syndrome.reserved", 0, 1);
inline constexpr FieldInfo aeth_kind{"infiniband.aeth.syndrome.opcode", "OpCode", 1, 2, Kind::uint8, Base::dec, false, aeth_kind_names};
inline constexpr FieldInfo aeth_credit_count{"infiniband.aeth.syndrome.credit_count", "Credit Count", 3, 5, Kind::uint8};
inline constexpr FieldInfo aeth_timer{"infiniband.aeth.syndrome.timer", "Timer", 3, 5, Kind::uint8, Base::dec, false, rnr_timer_names};
inline constexpr FieldInfo aeth_reserved_value = reserved_bits("infiniband.aeth.syndrome.reserved_value", 3, 5);
inline constexpr FieldInfo aeth_error_code{"infiniband.aeth.syndrome.error_code", "Error Code", 3, 5, Kind::uint8, Base::dec, false, nak_code_names};

}  // namespace wire
