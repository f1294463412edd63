#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "fleet/client/http_client.h"
#include "fleet/rows/row_table.h"

namespace fleet::questions {

/// The cells of an answer's rows, as texts.
using Rows = std::vector<std::vector<std::string>>;

/// Asks an engine. Answers come as tab-separated values, which carry any bytes.
class Engine {
public:
    explicit Engine(client::Access access) : client_(std::move(access)) {}

    /// `columns` is the number that every row of the answer must have. The totals of a query that asks for them are the
    /// last row.
    base::Result<Rows> ask(const std::string& query, std::size_t columns);

private:
    client::HttpClient client_;
};

/// Numbers as the engine writes them; 0 if the text is something else.
std::uint64_t number_of(const std::string& text);
std::int64_t signed_of(const std::string& text);
double decimal_of(const std::string& text);
/// "[1,2]".
std::vector<std::int64_t> list_of(const std::string& text);
rows::Cell cell_of(const std::string& text, rows::Type type);

}  // namespace fleet::questions
