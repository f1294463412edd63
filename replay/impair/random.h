#pragma once
#include <cstdint>

namespace replay::inline impair {

/// SplitMix64: the same sequence on every machine and with every library, unlike the distributions of <random>.
class Random {
public:
    /// `purpose` separates the sequences of one seed: a draw from one does not move the others.
    Random(std::uint64_t seed, std::uint64_t purpose) : state_(seed) {
        state_ = next() + purpose * 0x9e37'79b9'7f4a'7c15;
        state_ = next();
    }

    std::uint64_t next() {
        state_ += 0x9e37'79b9'7f4a'7c15;
        std::uint64_t mixed = state_;
        mixed = (mixed ^ mixed >> 30) * 0xbf58'476d'1ce4'e5b9;
        mixed = (mixed ^ mixed >> 27) * 0x94d0'49bb'1331'11eb;
        return mixed ^ mixed >> 31;
    }
    /// True with a probability of `share`; always draws.
    bool chance(double share) {
        constexpr double unit = 1.0 / 9007199254740992.0;  // 2^53: the integer precision of a double
        return static_cast<double>(next() >> 11) * unit < share;
    }
    /// From 0 to `most`, each as likely as the others (except 2^-64 of them).
    std::uint64_t up_to(std::uint64_t most) {
        __extension__ using Wide = unsigned __int128;
        if (most == ~std::uint64_t{0}) return next();
        return static_cast<std::uint64_t>(Wide{next()} * (most + 1) >> 64);
    }

private:
    std::uint64_t state_;
};

}  // namespace replay::impair
