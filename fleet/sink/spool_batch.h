#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "fleet/rows/row_table.h"

namespace fleet::sink {

/// The rows of one interval for one table, ready to be sent.
struct Section {
    std::string table;
    std::string columns;  ///< names with commas between: rows stay valid when later versions add columns
    std::string gzipped;  ///< RowBinary
    std::uint64_t rows = 0;

    /// "INSERT INTO flows (hour,...) FORMAT RowBinary".
    std::string statement() const;
    /// The RowBinary. Fails if it is damaged, or longer than any interval's.
    base::Result<std::string> plain() const;
};

/// All rows of one interval: a file of the spool.
struct Batch {
    std::vector<Section> sections;

    std::string encoded() const;
    /// Adds the rows of a later interval. Gzip files that follow one another are one file (RFC 1952, 2.2), so that
    /// a section grows by its bytes.
    void add(Batch&& later);
    /// Fails if a byte differs from what encoded() returned.
    static base::Result<Batch> decode(std::string_view octets);
};

/// Gathers the rows of a section.
class SectionWriter {
public:
    explicit SectionWriter(const rows::Table& table) : table_(table) {}

    void add(const rows::Row& row) {
        rows::append_row_binary(plain_, table_, row);
        ++rows_;
    }
    bool empty() const { return rows_ == 0; }
    Section finish() const;

private:
    const rows::Table& table_;
    std::string plain_ = {};
    std::uint64_t rows_ = 0;
};

}  // namespace fleet::sink
