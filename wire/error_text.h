#pragma once
#include <cstdint>
#include <string>

/// Codes of errors in words, the same in lines, verdicts and events. Each function appends to `out`.
namespace wire {

/// `PSN sequence error`, `code 7`: a NAK's code. IBTA vol. 1, 9.7.5.2.
void append_nak_code(std::string& out, unsigned code);
/// `RDMAP remote protection error: invalid STag`, from the words of the specification. RFC 5040 section 4.8.
void append_terminate_reason(std::string& out, std::uint8_t layer, std::uint8_t type, std::uint8_t code);

}  // namespace wire
