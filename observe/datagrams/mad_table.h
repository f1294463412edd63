#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "observe/datagrams/mad_transactions.h"
#include "trace/process.h"

namespace observe::datagrams {

/// Tables for a person, with a newline after each line: of each process what it asked, what it answered, and what it
/// sent and received without answers. `processes`: by number.
std::string mad_tables(const MadTransactions& transactions, const std::map<std::uint32_t, trace::Process>& processes);

}  // namespace observe::datagrams
