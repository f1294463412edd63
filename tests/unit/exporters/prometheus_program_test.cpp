/// Which interfaces have series of their own, where there were more than there is room for.
#include <gtest/gtest.h>
#include <string>

#include "exporters/prometheus/tables.h"
#include "exporters/prometheus/traffic_totals.h"

namespace exporters::prometheus {
namespace {

TEST(PrometheusProgram, InterfacesThatAreOpenGoFirst) {
    ProgramFigures figures;
    for (int i = 0; i < 200; ++i) {
        figures.interfaces.emplace_back();
        figures.interfaces.back().name = "veth" + std::to_string(i);
        figures.interfaces.back().received_packets = 1;
    }
    for (const char* const name : {"eth0", "eth1"}) {
        figures.interfaces.emplace_back();
        figures.interfaces.back().name = name;
        figures.interfaces.back().open = true;
        figures.interfaces.back().received_packets = 7;
    }
    const std::string page = text(families(figures));
    EXPECT_NE(page.find("rdmascope_interface_up{interface=\"eth0\"} 1"), std::string::npos);
    EXPECT_NE(page.find("rdmascope_interface_up{interface=\"eth1\"} 1"), std::string::npos);
    EXPECT_NE(page.find("rdmascope_interface_up{interface=\"veth0\"} 0"), std::string::npos) << "there is room";
    std::size_t series = 0;
    for (std::size_t at = 0; (at = page.find("rdmascope_interface_up{", at)) != std::string::npos; ++at) ++series;
    EXPECT_EQ(series, most_program_interfaces);
}

}  // namespace
}  // namespace exporters::prometheus
