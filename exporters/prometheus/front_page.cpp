#include "exporters/prometheus/front_page.h"

#include <fmt/core.h>

#include "base/quantities.h"
#include "exporters/prometheus/labels.h"

namespace exporters::prometheus {
namespace {

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : label_value(text)) switch (c) {
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '&': out += "&amp;"; break;
            case '"': out += "&quot;"; break;
            default: out += c;
        }
    return out;
}

constexpr std::string_view head = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>rdmascope</title>
<style>
body { font-family: sans-serif; margin: 2em; max-width: 50em; }
table { border-collapse: collapse; }
th, td { text-align: left; padding: 0.2em 1em 0.2em 0; }
td.n, th.n { text-align: right; }
.off { color: #b00; }
</style>
</head>
<body>
)";

constexpr std::string_view links = R"(<ul>
<li><a href="/metrics">/metrics</a>: for Prometheus; rdmascope-prometheus(7) lists the series</li>
<li><a href="/healthz">/healthz</a>: 200 while an interface is captured from, else 503</li>
</ul>
)";

}  // namespace

std::string front_page(const ProgramFigures& figures, std::string_view note) {
    std::string out(head);
    out += fmt::format(
        "<h1>rdmascope {}</h1>\n<p>Has captured RDMA traffic on this machine for {}: {} packets, {} flows "
        "in the table.</p>\n",
        escaped(figures.version), base::format_duration(figures.uptime_seconds * 1e9), figures.captured_packets,
        figures.flows);
    if (!note.empty()) out += fmt::format("<p>{}</p>\n", escaped(note));
    out += links;
    out +=
        "<table>\n<tr><th>interface</th><th>state</th><th class=\"n\">packets</th><th class=\"n\">dropped</th></tr>\n";
    for (const auto& interface : figures.interfaces)
        out += fmt::format("<tr><td>{}</td><td{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
                           escaped(interface.name), interface.open ? ">captured" : " class=\"off\">not there",
                           interface.received_packets,
                           interface.kernel_dropped_packets + interface.interface_dropped_packets);
    if (figures.interfaces.empty()) out += "<tr><td colspan=\"4\" class=\"off\">none</td></tr>\n";
    out += "</table>\n</body>\n</html>\n";
    return out;
}

}  // namespace exporters::prometheus
