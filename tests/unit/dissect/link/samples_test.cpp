// Frames of every link type and tunnel, against what tshark says of them; and each of them cut at every octet.
#include "tests/unit/dissect/link/samples.h"

#include <gtest/gtest.h>
#include <random>

#include "dissect/registry.h"
#include "tests/unit/dissect/link/support.h"

namespace {

using dissect::LayerId;
using dissect::Outcome;
using dissect::Reason;
using support::Octets;

class EverySample : public testing::TestWithParam<samples::Sample> {
protected:
    const Octets octets_ = support::from_hex(GetParam().octets);
    std::uint32_t size() const { return static_cast<std::uint32_t>(octets_.size()); }
    dissect::Dissection whole() const { return support::dissect_octets(octets_, size(), GetParam().link_type); }
};

TEST_P(EverySample, FindsTheRdmaInside) {
    const auto dissection = whole();
    EXPECT_EQ(dissection.has(LayerId::bth), GetParam().psn != samples::none) << support::chain(dissection);
    if (GetParam().psn != samples::none) {
        EXPECT_EQ(dissection.bth.psn, GetParam().psn);
    }
    EXPECT_EQ(dissection.stop.outcome, Outcome::complete) << dissect::text(dissection.stop.reason);
}

TEST_P(EverySample, PrintsWhatTsharkPrints) {
    const auto dissection = whole();
    const support::Collected collected{dissection, octets_};
    EXPECT_TRUE(collected.balanced());
    EXPECT_TRUE(collected.within);
    std::string_view rest = GetParam().fields;
    while (!rest.empty()) {
        const std::string_view pair = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(pair.size() + 1, rest.size()));
        const std::string_view name = pair.substr(0, pair.find('='));
        const auto found = collected.values.find(name);
        if (found == collected.values.end())
            ADD_FAILURE() << name << " is missing";
        else
            EXPECT_EQ(found->second, pair.substr(name.size() + 1)) << name;
    }
}

TEST_P(EverySample, CutByTheSnapLengthIsTruncated) {
    const auto expected = whole();
    for (std::uint32_t captured = 0; captured < size(); ++captured) {
        const Octets cut(octets_.begin(), octets_.begin() + captured);
        const auto dissection = support::dissect_octets(cut, size(), GetParam().link_type);
        EXPECT_TRUE(dissection.stop.outcome == Outcome::truncated || dissection.stop.outcome == Outcome::complete)
            << captured << ": " << dissect::text(dissection.stop.reason);
        if (dissection.stop.outcome == Outcome::complete) {
            EXPECT_EQ(support::chain(dissection), support::chain(expected));
        }
        EXPECT_EQ(support::chain(expected).substr(0, support::chain(dissection).size()), support::chain(dissection))
            << captured;
        const support::Collected collected{dissection, cut};
        EXPECT_TRUE(collected.balanced());
        EXPECT_TRUE(collected.within) << captured;
    }
}

TEST_P(EverySample, CutOnTheWireIsSurvived) {
    for (std::uint32_t length = 0; length < size(); ++length) {
        const Octets cut(octets_.begin(), octets_.begin() + length);
        const auto dissection = support::dissect_octets(cut, length, GetParam().link_type);
        EXPECT_NE(dissection.stop.reason, Reason::unknown_opcode);
        const support::Collected collected{dissection, cut};
        EXPECT_TRUE(collected.balanced());
        EXPECT_TRUE(collected.within) << length;
    }
}

TEST_P(EverySample, AnyOctetWrongIsSurvived) {
    std::mt19937 random{size()};
    for (unsigned round = 0; round < 3000; ++round) {
        Octets wrong = octets_;
        for (unsigned i = 0; i <= round % 4; ++i)
            wrong[random() % wrong.size()] = static_cast<std::byte>(random() & 0xff);
        const auto captured = round % 3 == 0 ? random() % (wrong.size() + 1) : wrong.size();
        wrong.resize(captured);
        wrong.shrink_to_fit();
        const auto dissection = support::dissect_octets(wrong, size(), GetParam().link_type);
        const support::Collected collected{dissection, wrong};
        EXPECT_TRUE(collected.balanced());
        EXPECT_TRUE(collected.within);
    }
}

INSTANTIATE_TEST_SUITE_P(Link, EverySample, testing::ValuesIn(samples::frames), [](const auto& tested) {
    std::string name{tested.param.name};
    for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
    return name;
});

/// Cut short after its IP header, a datagram whose headers agree was cut by a mirror.
TEST(Lengths, ShorterThanTheHeaderSaysIsTruncated) {
    const Octets octets = support::from_hex(samples::frames[0].octets);
    for (std::uint32_t length = 0; length < octets.size(); ++length) {
        const Octets cut(octets.begin(), octets.begin() + length);
        const auto dissection = support::dissect_octets(cut, length);
        const bool header_there = length >= 34;
        EXPECT_EQ(dissection.stop.outcome, header_there ? Outcome::truncated : Outcome::malformed) << length;
        EXPECT_EQ(dissection.stop.reason, header_there ? Reason::snapped : Reason::too_short) << length;
    }
}

/// Every field that a description visits is one that the registry knows, the very same object.
TEST(Registry, KnowsEveryVisitedField) {
    struct Checker : dissect::Visitor {
        const dissect::FieldRegistry registry;
        void open(const wire::FieldInfo& info, const wire::Value&, dissect::Extent) override { check(info); }
        void field(const wire::FieldInfo& info, const wire::Value&, dissect::Extent) override { check(info); }
        void close() override {}
        void check(const wire::FieldInfo& info) const { EXPECT_NE(registry.find(info), nullptr) << info.name; }
    } checker;
    for (const auto& sample : samples::frames) {
        const Octets octets = support::from_hex(sample.octets);
        const auto dissection =
            support::dissect_octets(octets, static_cast<std::uint32_t>(octets.size()), sample.link_type);
        dissect::describe(dissection, octets, checker);
    }
}

}  // namespace
