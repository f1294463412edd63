#include <gtest/gtest.h>

#include "exporters/prometheus/front_page.h"
#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {
namespace {

TEST(PrometheusFrontPage, TheFrontPageShowsNoForeignMarkup) {
    ProgramFigures figures;
    figures.version = "1.2.3";
    figures.uptime_seconds = 90'000;
    figures.interfaces = {{"<script>&\"", false, 5, 1, 2, {}}};
    const std::string page = front_page(figures);
    EXPECT_EQ(page.find("<script>"), std::string::npos);
    EXPECT_NE(page.find("&lt;script&gt;&amp;&quot;"), std::string::npos);
    EXPECT_NE(page.find("25.0 h"), std::string::npos);
    EXPECT_NE(page.find("rdmascope 1.2.3"), std::string::npos);
}

TEST(PrometheusProgram, InterfacesAreShownOnceAndTheRestAddedUp) {
    ProgramFigures figures;
    for (int i = 0; i < 200; ++i) figures.interfaces.push_back({"eth" + std::to_string(i), true, 1, 0, 0, 8'000});
    figures.interfaces.push_back({"eth0", false, 10, 0, 0, {}});
    int found = 0;
    for (const auto& family : families(figures)) {
        if (family.name == "rdmascope_interface_received_packets_total") {
            ++found;
            ASSERT_EQ(family.metric.size(), 64u);
            EXPECT_EQ(family.metric.front().counter.value, 11);
            EXPECT_EQ(family.metric.back().label.front().value, "other");
            EXPECT_EQ(family.metric.back().counter.value, 200 - 63);
        }
        if (family.name == "rdmascope_interface_speed_bytes_per_second") {
            ++found;
            ASSERT_FALSE(family.metric.empty());
            EXPECT_EQ(family.metric.front().gauge.value, 1000);
        }
    }
    EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace exporters::prometheus
