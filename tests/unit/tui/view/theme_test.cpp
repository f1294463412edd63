// Themes: everything can be read, and in the themes that promise it, what matters differs for people who do not tell
// red from green.
#include "tui/view/theme.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tui {
namespace {

struct Rgb {
    double red;
    double green;
    double blue;
};

/// xterm's palette, by its definition (256colres.pl): a cube of six steps, then 24 greys. The first 16 are the user's.
Rgb of_xterm(int number) {
    const auto step = [](int value) { return value == 0 ? 0.0 : 55.0 + 40.0 * value; };
    if (number >= 232) return {8.0 + 10 * (number - 232), 8.0 + 10 * (number - 232), 8.0 + 10 * (number - 232)};
    const int cube = number - 16;
    return {step(cube / 36), step(cube / 6 % 6), step(cube % 6)};
}

/// sRGB, IEC 61966-2-1, to linear light.
Rgb linear(Rgb color) {
    const auto curve = [](double value) {
        const double share = value / 255;
        return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
    };
    return {curve(color.red), curve(color.green), curve(color.blue)};
}

using Matrix = std::array<std::array<double, 3>, 3>;
constexpr Matrix usual_sight{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
/// Machado, Oliveira, Fernandes: "A Physiologically-based Model for Simulation of Color Vision Deficiency", IEEE TVCG
/// 15 (2009), severity 1.0; on linear RGB.
constexpr Matrix protanopia{
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix deuteranopia{
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};

Rgb seen_with(const Matrix& sight, Rgb color) {
    const std::array<double, 3> in{color.red, color.green, color.blue};
    std::array<double, 3> out{};
    for (std::size_t row = 0; row < 3; ++row) {
        for (std::size_t i = 0; i < 3; ++i) out[row] += sight[row][i] * in[i];
        out[row] = std::clamp(out[row], 0.0, 1.0);
    }
    return {out[0], out[1], out[2]};
}

struct Lab {
    double l;
    double a;
    double b;
};

/// CIE 1976 L*a*b* with the white of D65.
Lab lab_of(Rgb color) {
    const double x = (0.4124 * color.red + 0.3576 * color.green + 0.1805 * color.blue) / 0.9505;
    const double y = 0.2126 * color.red + 0.7152 * color.green + 0.0722 * color.blue;
    const double z = (0.0193 * color.red + 0.1192 * color.green + 0.9505 * color.blue) / 1.089;
    const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
    return {116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))};
}

double distance(Rgb one, Rgb other, const Matrix& sight) {
    const Lab a = lab_of(seen_with(sight, linear(one)));
    const Lab b = lab_of(seen_with(sight, linear(other)));
    return std::hypot(a.l - b.l, a.a - b.a, a.b - b.b);
}

double luminance(Rgb color) {
    const Rgb light = linear(color);
    return 0.2126 * light.red + 0.7152 * light.green + 0.0722 * light.blue;
}

/// WCAG 2, 1.4.3: from 1, the same, to 21, black on white.
double contrast(Rgb one, Rgb other) {
    const double a = luminance(one);
    const double b = luminance(other);
    return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

/// A theme's background and letters where it leaves them to the terminal.
Rgb own_back(const Theme& theme) { return theme.name == "light" ? Rgb{255, 255, 255} : Rgb{0, 0, 0}; }
Rgb own_fore(const Theme& theme) { return theme.name == "light" ? Rgb{0, 0, 0} : Rgb{204, 204, 204}; }

Rgb fore_of(const Theme& theme, const Paint& paint) { return paint.fore < 0 ? own_fore(theme) : of_xterm(paint.fore); }
Rgb back_of(const Theme& theme, const Paint& paint) { return paint.back < 0 ? own_back(theme) : of_xterm(paint.back); }
const Paint& paint_of(const Theme& theme, Role role) { return theme.paints[static_cast<std::size_t>(role)]; }

/// What one sees of a role from afar: its block where it has one.
Rgb face_of(const Theme& theme, Role role) {
    const Paint& paint = paint_of(theme, role);
    return paint.back < 0 ? fore_of(theme, paint) : of_xterm(paint.back);
}

TEST(Themes, are_found_by_name) {
    ASSERT_EQ(themes().size(), 4U);
    EXPECT_EQ(themes().front().name, "safe");
    for (const Theme& theme : themes()) {
        EXPECT_EQ(find_theme(theme.name), &theme);
    }
    EXPECT_EQ(find_theme("saf"), nullptr);
    EXPECT_EQ(find_theme(""), nullptr);
}

TEST(Themes, every_role_can_be_read_on_its_background) {
    for (const Theme& theme : themes())
        for (std::size_t i = 0; i < role_count; ++i) {
            const Paint& paint = theme.paints[i];
            // Charts of heat are areas, not letters.
            const bool area =
                i >= static_cast<std::size_t>(Role::heat_0) && i <= static_cast<std::size_t>(Role::heat_6);
            EXPECT_GE(contrast(fore_of(theme, paint), back_of(theme, paint)), area ? 1.9 : 3.0)
                << theme.name << ", role " << i;
            if (paint.fore_16 >= 0 || paint.back_16 >= 0) {
                EXPECT_NE(paint.fore_16, paint.back_16) << theme.name << ", role " << i;
            }
        }
}

TEST(Themes, the_selected_row_can_be_read) {
    for (const Theme& theme : themes()) {
        EXPECT_GE(contrast(fore_of(theme, theme.selected), back_of(theme, theme.selected)), 4.5) << theme.name;
        EXPECT_TRUE(theme.selected.reverse || theme.selected.back >= 0) << theme.name;
    }
}

TEST(Themes, plain_has_no_colours_and_still_shows_what_matters) {
    const Theme& plain = *find_theme("plain");
    for (const Paint& paint : plain.paints)
        EXPECT_TRUE(paint.fore == -1 && paint.back == -1 && paint.fore_16 == -1 && paint.back_16 == -1);
    for (const Role role : {Role::bad, Role::warning, Role::title}) EXPECT_TRUE(paint_of(plain, role).bold);
    EXPECT_TRUE(paint_of(plain, Role::alarm).reverse);
    EXPECT_TRUE(paint_of(plain, Role::bar).reverse);
    EXPECT_FALSE(paint_of(plain, Role::normal).reverse);
}

struct Pair {
    Role one;
    Role other;
};

class SafeThemes : public testing::TestWithParam<const char*> {};

/// A just noticeable difference is about 2.3 (Mahy 1994); small letters need several of them.
TEST_P(SafeThemes, what_matters_differs_without_red_and_green) {
    const Theme& theme = *find_theme(GetParam());
    constexpr std::array pairs{
        Pair{Role::good, Role::bad},     Pair{Role::good, Role::warning},     Pair{Role::warning, Role::bad},
        Pair{Role::normal, Role::bad},   Pair{Role::normal, Role::warning},   Pair{Role::normal, Role::good},
        Pair{Role::normal, Role::dim},   Pair{Role::dim, Role::bad},          Pair{Role::chart, Role::chart_second},
        Pair{Role::chart, Role::bad},    Pair{Role::chart_second, Role::bad}, Pair{Role::alarm, Role::bar},
        Pair{Role::chart, Role::warning}};
    for (const Matrix& sight : {usual_sight, protanopia, deuteranopia})
        for (const Pair& pair : pairs)
            EXPECT_GE(distance(face_of(theme, pair.one), face_of(theme, pair.other), sight), 18)
                << "roles " << static_cast<int>(pair.one) << " and " << static_cast<int>(pair.other);
}

TEST_P(SafeThemes, states_of_different_groups_differ_without_red_and_green) {
    using metrics::State;
    const Theme& theme = *find_theme(GetParam());
    for (const Matrix& sight : {usual_sight, protanopia, deuteranopia})
        for (std::size_t i = 0; i < metrics::state_count; ++i)
            for (std::size_t j = 0; j < i; ++j) {
                const auto one = static_cast<State>(i);
                const auto other = static_cast<State>(j);
                if (metrics::group_of(one) == metrics::group_of(other)) continue;
                const bool bleak = metrics::group_of(one) == metrics::StateGroup::application &&
                                   metrics::group_of(other) == metrics::StateGroup::unknown;
                EXPECT_GE(distance(face_of(theme, role_of(one)), face_of(theme, role_of(other)), sight), bleak ? 4 : 15)
                    << theme.name << ": " << metrics::name_of(one) << " and " << metrics::name_of(other);
            }
}

TEST_P(SafeThemes, heat_grows_with_every_step) {
    const Theme& theme = *find_theme(GetParam());
    const double back = luminance(own_back(theme));
    double before = 0;
    for (unsigned step = 0; step < 7; ++step) {
        const double away = std::abs(luminance(fore_of(theme, paint_of(theme, heat(step)))) - back);
        EXPECT_GT(away, before) << theme.name << ", step " << step;
        before = away;
    }
}

INSTANTIATE_TEST_SUITE_P(By, SafeThemes, testing::Values("safe", "light"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace
}  // namespace tui
