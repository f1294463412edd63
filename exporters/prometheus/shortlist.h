#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

namespace exporters::prometheus {

/// Decides which of many keys have a place of their own: the weightiest, with a preference for those that have one,
/// because losing a place ends a series. A key loses its place to another that weighs four times as much, and to any
/// other after half an hour of silence. Weight is bytes; half of it is forgotten every ten minutes. Memory is bounded
/// by the number of places.
template <class Key>
class Shortlist {
public:
    static constexpr double half_life_seconds = 600;
    static constexpr double outweighed = 4;         ///< a key must weigh this many times as much to replace another
    static constexpr double safe_seconds = 300;     ///< a new holder of a place is not replaced within this time
    static constexpr double silent_seconds = 1800;  ///< after this time a silent holder can be replaced by any key

    explicit Shortlist(std::size_t places) : places_(places) {}

    void set_places(std::size_t places) { places_ = places; }
    /// Adds weight in this round; at least 1 counts as activity.
    void weigh(const Key& key, std::uint64_t octets) { round_[key] += static_cast<double>(octets); }
    bool holds(const Key& key) const { return held_.contains(key); }
    std::vector<Key> held() const {
        std::vector<Key> keys;
        for (const auto& [key, place] : held_) keys.push_back(key);
        std::sort(keys.begin(), keys.end());
        return keys;
    }

    /// Ends a round, `elapsed_seconds` after the one before. Returns the keys that lost their places.
    std::vector<Key> settle(double elapsed_seconds) {
        age(elapsed_seconds);
        std::vector<Key> lost;
        while (held_.size() > places_) lost.push_back(drop(weakest(true)));
        std::vector<std::pair<double, Key>> waiting;
        for (const auto& [key, weight] : candidates_) waiting.push_back({weight, key});
        // Equal weights in the order of keys: what is exported must not depend on a hash.
        std::sort(waiting.begin(), waiting.end(), [](const auto& a, const auto& b) {
            return a.first != b.first ? a.first > b.first : a.second < b.second;
        });
        std::size_t next = 0;
        for (; next < waiting.size() && places_ > 0; ++next) {
            if (held_.size() >= places_) {
                const auto weak = weakest(false);
                if (weak == held_.end() || !gives_way(weak->second, waiting[next].first)) break;
                lost.push_back(drop(weak));
            }
            held_.emplace(waiting[next].second, Place{waiting[next].first, 0, 0});
        }
        candidates_.clear();
        const std::size_t kept = std::min(waiting.size(), next + 4 * places_ + 64);
        for (; next < kept; ++next) candidates_.emplace(waiting[next].second, waiting[next].first);
        return lost;
    }

private:
    struct Place {
        double weight = 0;
        double age_seconds = 0;
        double silent_for = 0;
    };
    using Held = std::unordered_map<Key, Place>;

    static bool gives_way(const Place& place, double challenger) {
        return place.silent_for >= silent_seconds ||
               (place.age_seconds >= safe_seconds && challenger > outweighed * place.weight);
    }

    void age(double elapsed_seconds) {
        const double remains = std::exp2(-elapsed_seconds / half_life_seconds);
        for (auto& [key, place] : held_) {
            place.weight *= remains;
            place.age_seconds += elapsed_seconds;
            place.silent_for += elapsed_seconds;
        }
        for (auto& [key, weight] : candidates_) weight *= remains;
        for (const auto& [key, octets] : round_) {
            const auto found = held_.find(key);
            if (found == held_.end()) {
                candidates_[key] += octets;
                continue;
            }
            found->second.weight += octets;
            found->second.silent_for = 0;
        }
        round_.clear();
        std::erase_if(candidates_, [](const auto& candidate) { return candidate.second < 1; });
    }

    /// Among all, or among those that are no longer safe.
    typename Held::iterator weakest(bool of_all) {
        auto found = held_.end();
        for (auto at = held_.begin(); at != held_.end(); ++at) {
            const bool weaker = found == held_.end() || at->second.weight < found->second.weight ||
                                (at->second.weight == found->second.weight && found->first < at->first);
            if ((of_all || at->second.age_seconds >= safe_seconds) && weaker) found = at;
        }
        return found;
    }
    Key drop(typename Held::iterator at) {
        Key key = at->first;
        held_.erase(at);
        return key;
    }

    std::size_t places_;
    Held held_;
    std::unordered_map<Key, double> candidates_;
    std::unordered_map<Key, double> round_;
};

}  // namespace exporters::prometheus
