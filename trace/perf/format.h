#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

/// The form of a trace event's records, as the running kernel describes it in `events/GROUP/NAME/format` of tracefs.
/// Nothing is assumed of any event: the same event has other fields, at other places, in another kernel. Linux,
/// Documentation/trace/events.rst, "Event formats".
namespace trace::inline perf {

/// One field of an event.
struct Field {
    /// Where its bytes are.
    enum class Place : std::uint8_t {
        fixed,     ///< at `offset`
        located,   ///< `__data_loc`: a word at `offset` has length << 16 | distance from the record's beginning
        relative,  ///< `__rel_loc`: the same, but the distance counts from the end of that word
    };

    std::string name;
    std::string type;            ///< as the kernel writes it, without the brackets of an array
    std::uint32_t offset = 0;    ///< bytes from the record's beginning
    std::uint32_t size = 0;      ///< bytes there, of all elements
    std::uint32_t elements = 1;  ///< of an array; 0: as many as the record says
    bool array = false;
    bool is_signed = false;
    bool characters = false;  ///< an array of char: a text
    bool pointer = false;
    bool socket_address = false;  ///< a sockaddr of IPv4 or IPv6, according to its print format
    Place place = Place::fixed;
    std::vector<std::pair<std::uint64_t, std::string>> names = {};  ///< of its values, by `__print_symbolic`

    /// Whether number() can have an answer: one integer of 1, 2, 4 or 8 bytes.
    bool is_number() const;
    /// The name of a value; empty if it has none.
    std::string_view name_of(std::uint64_t value) const;
};

/// All that `format` says about one event. Reading a record never fails, whatever its bytes: fields beyond its end are
/// absent.
class Format {
public:
    /// The text of a `format` file; at most 256 KiB and 1024 fields, records of at most 64 KiB. An error says the line.
    static base::Result<Format> parse(std::string_view text);
    /// The file itself; an error has its path.
    static base::Result<Format> read(const std::string& path);

    const std::string& name() const { return name_; }
    std::uint32_t id() const { return id_; }
    const std::vector<Field>& fields() const { return fields_; }
    /// The kernel's own expression, as it is.
    const std::string& print_format() const { return print_; }

    /// nullptr where the event has none of that name.
    const Field* find(std::string_view name) const;

    /// The value in the host's order, sign-extended to 64 bits where the field is signed.
    static std::optional<std::uint64_t> number(const Field& field, base::Bytes record);
    /// The bytes of any field; empty where the record is too short for them.
    static base::Bytes octets(const Field& field, base::Bytes record);
    /// A text up to its first NUL.
    static std::string_view text(const Field& field, base::Bytes record);

    /// `cm_id=7 event=REJECTED status=28 srcaddr=192.0.2.1:42188`: every field but the common ones. What cannot be
    /// printed in a terminal is escaped.
    std::string describe(base::Bytes record) const;

private:
    std::string name_ = {};
    std::uint32_t id_ = 0;
    std::vector<Field> fields_ = {};
    std::string print_ = {};
};

}  // namespace trace::perf
