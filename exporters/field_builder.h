#pragma once
#include <array>
#include <optional>
#include <utility>

#include "exporters/row_field.h"
#include "metrics/figures/histogram.h"

namespace exporters {

/// An absent value stays absent; all unsigned numbers get one type.
template <class T>
Value value(const std::optional<T>& known) {
    if (!known) return {};
    if constexpr (std::is_unsigned_v<T>)
        return static_cast<std::uint64_t>(*known);
    else
        return *known;
}

/// Gathers a table of fields.
template <class Row>
struct FieldBuilder {
    std::vector<Field<Row>> all = {};
    Presence presence = Presence::always;  ///< of the fields that are added from now on

    /// `family` may be empty if it is the path itself.
    template <class Accessor>
    Field<Row>& add(std::string path, std::string family, std::string title, Unit unit, std::string help,
                    Accessor accessor) {
        if (family.empty()) family = path;
        all.push_back({std::move(path), std::move(family), std::move(title), unit, std::move(help), presence,
                       [accessor](const Row& row) { return Value{accessor(row)}; }});
        return all.back();
    }

    /// The eight statistics of a distribution; `of` returns the Histogram. If it is not `known`, the number of samples
    /// is unknown too.
    template <class Of, class Known>
    void histogram(const std::string& path, std::string family, const std::string& title, Unit unit,
                   const std::string& what, Of of, Known known) {
        struct Quantile {
            const char* name;
            Statistic statistic;
            double share;
            const char* help;
        };
        constexpr std::array quantiles{Quantile{"p50", Statistic::p50, 0.5, "; half of them are at most that"},
                                       Quantile{"p90", Statistic::p90, 0.9, "; 90 % are at most that"},
                                       Quantile{"p99", Statistic::p99, 0.99, "; 99 % are at most that"},
                                       Quantile{"p999", Statistic::p999, 0.999, "; 99.9 % are at most that"}};
        if (family.empty()) family = path;
        const auto member = [&](const char* name, Statistic statistic, Unit of_member, const std::string& help,
                                auto accessor) {
            add(path + "." + name, family + "." + name, title + " " + name, of_member, help, accessor).statistic =
                statistic;
        };
        member("count", Statistic::samples, Unit::count, "samples: " + what,
               [of, known](const Row& row) { return known(row) ? Value{of(row).count()} : Value{}; });
        member("min", Statistic::min, unit, what + "; the least",
               [of](const Row& row) { return value(of(row).min()); });
        member("mean", Statistic::mean, unit, what + "; the mean",
               [of](const Row& row) { return value(of(row).mean()); });
        for (const Quantile& quantile : quantiles) {
            const double share = quantile.share;
            member(quantile.name, quantile.statistic, unit, what + quantile.help,
                   [of, share](const Row& row) { return value(of(row).quantile(share)); });
        }
        member("max", Statistic::max, unit, what + "; the greatest",
               [of](const Row& row) { return value(of(row).max()); });
    }
    template <class Of>
    void histogram(const std::string& path, std::string family, const std::string& title, Unit unit,
                   const std::string& what, Of of) {
        histogram(path, std::move(family), title, unit, what, of, [](const Row&) { return true; });
    }
};

}  // namespace exporters
