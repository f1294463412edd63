#include "wire/smb2.h"

namespace wire {

namespace {

constexpr Smb2Name command_names[smb2_command_count] = {
    {"negotiate", "Negotiate"},
    {"session_setup", "Session Setup"},
    {"logoff", "Logoff"},
    {"tree_connect", "Tree Connect"},
    {"tree_disconnect", "Tree Disconnect"},
    {"create", "Create"},
    {"close", "Close"},
    {"flush", "Flush"},
    {"read", "Read"},
    {"write", "Write"},
    {"lock", "Lock"},
    {"ioctl", "Ioctl"},
    {"cancel", "Cancel"},
    {"echo", "Echo"},
    {"query_directory", "Query Directory"},
    {"change_notify", "Change Notify"},
    {"query_info", "Query Info"},
    {"set_info", "Set Info"},
    {"oplock_break", "Oplock Break"},
};

constexpr std::uint32_t body = smb2_header_bytes;

void append_utf8(std::string& out, std::uint32_t character) {
    const auto octet = [&](std::uint32_t value) { out += static_cast<char>(value); };
    if (character < 0x80) return octet(character);
    if (character < 0x800) {
        octet(0xc0 | character >> 6);
    } else {
        if (character < 0x10000) {
            octet(0xe0 | character >> 12);
        } else {
            octet(0xf0 | character >> 18);
            octet(0x80 | (character >> 12 & 0x3f));
        }
        octet(0x80 | (character >> 6 & 0x3f));
    }
    octet(0x80 | (character & 0x3f));
}

/// Digits with leading zeros.
void append_digits(std::string& out, std::uint64_t value, unsigned digits, unsigned base = 10) {
    std::string text(digits, '0');
    for (unsigned i = digits; i-- > 0; value /= base) text[i] = "0123456789abcdef"[value % base];
    out += text;
}

}  // namespace

Smb2Name smb2_name(std::uint16_t command) {
    if (command >= smb2_command_count) return {"unknown", "unknown command"};
    return command_names[command];
}

std::optional<Smb2Header> parse_smb2(base::Bytes head) {
    constexpr std::uint32_t up_to_identifier = 32;
    if (head.size() < up_to_identifier || smb_header_of(head) != SmbHeader::plain) return std::nullopt;
    const std::byte* p = head.data();
    if (load_le16(p + 4) != smb2_header_bytes) return std::nullopt;
    Smb2Header header;
    header.credit_charge = load_le16(p + 6);
    header.status = load_le32(p + 8);
    header.command = load_le16(p + 12);
    header.credits = load_le16(p + 14);
    header.flags = load_le32(p + 16);
    header.next_command = load_le32(p + 20);
    header.message_id = load_le64(p + 24);
    header.has_tree = !header.is_async() && head.size() >= 40;
    if (header.has_tree) header.tree_id = load_le32(p + 36);
    return header;
}

std::optional<Smb2Transfer> parse_smb2_read(base::Bytes head) {
    constexpr std::uint32_t size = 48;
    if (head.size() < body + size) return std::nullopt;
    const std::byte* p = head.data() + body;
    return Smb2Transfer{load_le32(p + 4), load_le64(p + 8), load_le32(p + 36), 0, {load_le16(p + 44), load_le16(p + 46)}};
}

std::optional<Smb2Transfer> parse_smb2_write(base::Bytes head) {
    constexpr std::uint32_t size = 44;
    if (head.size() < body + size) return std::nullopt;
    const std::byte* p = head.data() + body;
    return Smb2Transfer{load_le32(p + 4),
                        load_le64(p + 8),
                        load_le32(p + 32),
                        load_le32(p + 36),
                        {load_le16(p + 40), load_le16(p + 42)}};
}

std::string smb_text(base::Bytes utf16, std::size_t most) {
    std::string text;
    const std::size_t size = std::min(utf16.size(), most) & ~std::size_t{1};
    for (std::size_t at = 0; at < size; at += 2) {
        const std::uint32_t unit = load_le16(utf16.data() + at);
        const bool is_pair = unit >= 0xd800 && unit < 0xdc00 && at + 4 <= size;
        const std::uint32_t low = is_pair ? load_le16(utf16.data() + at + 2) : 0u;
        if (is_pair && low >= 0xdc00 && low < 0xe000) {
            append_utf8(text, 0x10000 + ((unit & 0x3ff) << 10 | (low & 0x3ff)));
            at += 2;
        } else {
            append_utf8(text, unit >= 0xd800 && unit < 0xe000 ? 0xfffd : unit);
        }
    }
    return text;
}

std::string smb_guid_text(const std::byte* p) {
    std::string text;
    append_digits(text, load_le32(p), 8, 16);
    text += '-';
    append_digits(text, load_le16(p + 4), 4, 16);
    text += '-';
    append_digits(text, load_le16(p + 6), 4, 16);
    text += '-';
    append_digits(text, base::load_be16(p + 8), 4, 16);
    text += '-';
    append_digits(text, base::load_be16(p + 10), 4, 16);
    append_digits(text, base::load_be32(p + 12), 8, 16);
    return text;
}

std::string smb_time_text(std::uint64_t time) {
    constexpr std::uint64_t per_second = 10'000'000, seconds_to_1970 = 11'644'473'600;
    constexpr std::string_view months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    if (time == 0) time = seconds_to_1970 * per_second;
    const std::uint64_t seconds = time / per_second;
    // Days since the first of March of the year 1600, which begins a cycle of 400 years.
    constexpr std::uint64_t days_before = 306, days_of_cycle = 146097;
    const std::uint64_t days = seconds / 86400 + days_before;
    const std::uint64_t of_cycle = days % days_of_cycle;
    const std::uint64_t year_of_cycle =
        (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / (days_of_cycle - 1)) / 365;
    const std::uint64_t day_of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    const std::uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    const std::uint64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    const std::uint64_t month = (month_from_march + 2) % 12;
    const std::uint64_t year = 1600 + days / days_of_cycle * 400 + year_of_cycle + (month < 2 ? 1 : 0);
    std::string text(months[month]);
    text += day < 10 ? "  " : " ";
    text += std::to_string(day) + ", " + std::to_string(year) + " ";
    append_digits(text, seconds / 3600 % 24, 2);
    text += ':';
    append_digits(text, seconds / 60 % 60, 2);
    text += ':';
    append_digits(text, seconds % 60, 2);
    text += '.';
    append_digits(text, time % per_second * 100, 9);
    return text + " UTC";
}

}  // namespace wire
