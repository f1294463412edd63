#include "exporters/report/sequence_plot.h"

#include <algorithm>

namespace exporters::report {

MarkThinner::MarkThinner(std::size_t most, std::uint64_t column_ns)
    : most_(std::max<std::size_t>(most, 64)), column_ns_(std::max<std::uint64_t>(column_ns, 1)) {}

bool MarkThinner::stands_out(const SequenceMark& mark) const {
    switch (mark.kind) {
        case MarkKind::repeated:
        case MarkKind::nak:
        case MarkKind::rnr_nak:
        case MarkKind::cnp:
        case MarkKind::duplicate_ack: return true;
        default: return named_.contains(mark.frame);
    }
}

void MarkThinner::add(const SequenceMark& mark) {
    const Placed placed{seen_++, mark};
    ++seen_by_kind_[static_cast<std::size_t>(mark.kind)];
    if (thins_) {
        choose(placed);
        return;
    }
    all_.push_back(placed);
    if (all_.size() <= most_) return;
    thins_ = true;
    for (const Placed& each : all_) choose(each);
    all_ = {};
}

void MarkThinner::choose(const Placed& placed) {
    const SequenceMark& mark = placed.mark;
    add_to_overview(placed);
    const bool named = !named_.empty() && named_.contains(mark.frame);
    // Half of the room is for marks that stand out and for their neighbours; a named frame always finds room.
    if (special_.size() >= most_ / 2 && !named) return;
    if (named || stands_out(mark)) {
        special_.insert(special_.end(), before_.begin(), before_.end());
        before_.clear();
        special_.push_back(placed);
        after_ = neighbours;
    } else if (after_ > 0) {
        --after_;
        special_.push_back(placed);
    } else {
        before_.push_back(placed);
        if (before_.size() > neighbours) before_.pop_front();
    }
}

void MarkThinner::merge(Column& into, const Column& later) {
    into.corners[1] = later.corners[1];
    if (later.corners[2].mark.sequence < into.corners[2].mark.sequence) into.corners[2] = later.corners[2];
    if (later.corners[3].mark.sequence > into.corners[3].mark.sequence) into.corners[3] = later.corners[3];
}

void MarkThinner::add_to_overview(const Placed& placed) {
    const auto length = static_cast<std::int64_t>(column_ns_);
    const auto kind = static_cast<std::size_t>(placed.mark.kind);
    const Column alone{placed.mark.time_ns / length, kind, {placed, placed, placed, placed}};
    if (open_[kind] != 0 && columns_[open_[kind] - 1].number == alone.number) {
        merge(columns_[open_[kind] - 1], alone);
        return;
    }
    columns_.push_back(alone);
    open_[kind] = columns_.size();
    if (columns_.size() > most_columns()) widen();
}

void MarkThinner::widen() {
    std::vector<Column> fewer;
    fewer.reserve(columns_.size());
    while (columns_.size() > most_columns() && column_ns_ <= std::uint64_t{1} << 61) {
        column_ns_ *= 2;
        fewer.clear();
        open_ = {};
        for (Column& column : columns_) {
            column.number /= 2;
            if (open_[column.kind] != 0 && fewer[open_[column.kind] - 1].number == column.number) {
                merge(fewer[open_[column.kind] - 1], column);
                continue;
            }
            fewer.push_back(column);
            open_[column.kind] = fewer.size();
        }
        const bool same = fewer.size() == columns_.size();
        columns_.swap(fewer);
        // One column of each kind is the least.
        if (same && columns_.size() <= mark_letters.size()) break;
    }
}

std::vector<SequenceMark> MarkThinner::take() {
    std::vector<Placed> all = thins_ ? std::move(special_) : std::move(all_);
    for (const Column& column : columns_) all.insert(all.end(), column.corners.begin(), column.corners.end());
    std::sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) { return a.place < b.place; });
    all.erase(std::unique(all.begin(), all.end(), [](const Placed& a, const Placed& b) { return a.place == b.place; }),
              all.end());
    std::vector<SequenceMark> marks;
    marks.reserve(all.size());
    for (const Placed& placed : all) marks.push_back(placed.mark);
    return marks;
}

}  // namespace exporters::report
