#include "exporters/csv.h"

namespace exporters {

void append_csv_header(std::string& out, const FlowColumns& columns) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += ',';
        append_csv(out, Value{columns[i]->path});
    }
    out += '\n';
}

void append_csv_row(std::string& out, const FlowColumns& columns, const FlowRow& row) {
    const std::size_t begin = out.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (i > 0) out += ',';
        append_csv(out, columns[i]->value(row));
    }
    // A line of one empty field would be an empty line, which readers pass over.
    if (out.size() == begin) out += "\"\"";
    out += '\n';
}

}  // namespace exporters
