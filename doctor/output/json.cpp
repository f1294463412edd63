#include "doctor/output/json.h"

#include <array>
#include <fmt/core.h>

namespace doctor::inline output {

namespace {

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class Value>
Json value_or_null(const std::optional<Value>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json to_json(const Status& status) {
    return {{"mode", fmt::format("{:04o}", status.mode)}, {"user", status.user}, {"group", status.group}};
}

Json to_json(const std::optional<Status>& status) { return status ? to_json(*status) : Json(nullptr); }

std::string_view name_of(Part part) {
    switch (part) {
        case Part::verbs: return "libibverbs";
        case Part::connections: return "librdmacm";
        case Part::provider: return "provider";
    }
    return "";
}

Json to_json(const Library& library) {
    Json json = {{"path", library.path},
                 {"part", name_of(library.part)},
                 {"preferred", library.preferred},
                 {"soname", text_or_null(library.soname)},
                 {"build_id", text_or_null(library.build_id)},
                 {"package", text_or_null(library.package)},
                 {"problem", text_or_null(library.problem)},
                 {"names", library.names},
                 {"defined", library.defined},
                 {"needed", library.needed},
                 {"private_abi", value_or_null(library.private_abi)},
                 {"kernel_abi", nullptr}};
    if (library.kernel_abi) json["kernel_abi"] = {library.kernel_abi->least, library.kernel_abi->most};
    if (library.part == Part::verbs) {
        json["provider_folder"] = text_or_null(library.provider_folder);
        json["provider_suffix"] = value_or_null(library.provider_suffix);
    }
    return json;
}

Json to_json(const Module& module) {
    return {{"name", module.name},
            {"loaded", module.loaded},
            {"built_in", module.built_in},
            {"file", text_or_null(module.file)},
            {"in_tree", value_or_null(module.in_tree)},
            {"taint", text_or_null(module.taint)},
            {"loaded_srcversion", text_or_null(module.loaded_srcversion)},
            {"file_srcversion", text_or_null(module.file_srcversion)},
            {"file_vermagic", text_or_null(module.file_vermagic)},
            {"problem", text_or_null(module.problem)}};
}

Json to_json(const Port& port) {
    Json gids = Json::array();
    for (const Gid& gid : port.gids)
        gids.push_back({{"index", gid.index},
                        {"gid", gid.value},
                        {"type", text_or_null(gid.type)},
                        {"netdev", text_or_null(gid.netdev)}});
    return {{"port", port.number},
            {"state", text_or_null(port.state)},
            {"physical_state", text_or_null(port.physical)},
            {"link_layer", text_or_null(port.link_layer)},
            {"rate", text_or_null(port.rate)},
            {"default_roce_mode", text_or_null(port.default_mode)},
            {"counters", port.hardware_counters},
            {"gids", std::move(gids)}};
}

Json to_json(const Device& device) {
    Json ports = Json::array();
    for (const Port& port : device.ports) ports.push_back(to_json(port));
    return {{"name", device.name},
            {"node_type", text_or_null(device.node_type)},
            {"firmware", text_or_null(device.firmware)},
            {"board", text_or_null(device.board)},
            {"kernel_driver", text_or_null(device.kernel_driver)},
            {"provider", text_or_null(device.provider)},
            {"uverbs", text_or_null(device.uverbs)},
            {"abi", value_or_null(device.abi)},
            {"node", to_json(device.node)},
            {"netdevs", device.netdevs},
            {"ports", std::move(ports)}};
}

Json to_json(const NetDevice& device) {
    Json ecn = Json::object();
    for (const auto& [name, value] : device.ecn) ecn[name] = value;
    return {{"name", device.name},
            {"mtu", value_or_null(device.mtu)},
            {"state", text_or_null(device.state)},
            {"speed_mbit", value_or_null(device.speed_mbit)},
            {"driver", text_or_null(device.driver)},
            {"trust", text_or_null(device.trust)},
            {"pfc", text_or_null(device.pfc)},
            {"ecn", std::move(ecn)}};
}

Json to_json(const Kernel& kernel) {
    Json modules = Json::array(), adapters = Json::array();
    for (const Module& module : kernel.modules) modules.push_back(to_json(module));
    for (const PciFunction& function : kernel.adapters)
        adapters.push_back({{"slot", function.slot},
                            {"vendor", fmt::format("{:04x}", function.vendor)},
                            {"device", fmt::format("{:04x}", function.device)},
                            {"driver", text_or_null(function.driver)}});
    return {{"modular", kernel.modular},
            {"taint", value_or_null(kernel.taint)},
            {"verbs_abi", value_or_null(kernel.verbs_abi)},
            {"modules", std::move(modules)},
            {"adapters", std::move(adapters)}};
}

Json to_json(const Limits& limits) {
    Json configured = Json::array();
    for (const LimitLine& line : limits.configured)
        configured.push_back({{"file", line.file}, {"line", line.text}, {"octets", value_or_null(line.octets)}});
    return {{"memlock", !limits.seen     ? Json(nullptr)
                        : limits.memlock ? Json(*limits.memlock)
                                         : Json("unlimited")},
            {"exempt", limits.exempt},
            {"configured", std::move(configured)}};
}

Json to_json(const Observation& seen) {
    Json programs = Json::object();
    for (const auto& [program, capabilities] : seen.file_capabilities)
        programs[program] = fmt::format("{:x}", capabilities);
    return {{"tracefs", text_or_null(seen.tracefs)},
            {"events", seen.events},
            {"uprobes", seen.uprobes},
            {"btf", seen.btf},
            {"perf_event_paranoid", value_or_null(seen.perf_paranoid)},
            {"kptr_restrict", value_or_null(seen.kptr_restrict)},
            {"capabilities", seen.capabilities ? Json(fmt::format("{:x}", *seen.capabilities)) : Json(nullptr)},
            {"clock", text_or_null(seen.clock)},
            {"file_capabilities", std::move(programs)}};
}

template <class Items>
Json array_of(const Items& items) {
    Json array = Json::array();
    for (const auto& item : items) array.push_back(to_json(item));
    return array;
}

}  // namespace

Json to_json(const Inventory& machine) {
    Json drivers = Json::array(), processes = Json::array();
    for (const DriverEntry& entry : machine.drivers)
        drivers.push_back({{"file", entry.file}, {"driver", entry.name}, {"library", text_or_null(entry.library)}});
    for (const ProcessLibraries& process : machine.processes)
        processes.push_back({{"pid", process.pid},
                             {"command", process.command},
                             {"libraries", process.paths},
                             {"replaced", process.replaced},
                             {"other_mount_namespace", process.elsewhere}});
    const Host& host = machine.host;
    return {{"format", "rdmascope-doctor-inventory"},
            {"version", 1},
            {"host",
             {{"name", host.name},
              {"kernel", text_or_null(host.kernel)},
              {"system", text_or_null(host.system)},
              {"ofed", text_or_null(host.ofed)},
              {"running", host.running}}},
            {"libraries", array_of(machine.libraries)},
            {"drivers", std::move(drivers)},
            {"processes", std::move(processes)},
            {"headers", {{"installed", machine.headers.installed}, {"package", text_or_null(machine.headers.package)}}},
            {"kernel", to_json(machine.kernel)},
            {"devices", array_of(machine.devices)},
            {"netdevs", array_of(machine.netdevs)},
            {"cm_node", to_json(machine.cm_node)},
            {"limits", to_json(machine.limits)},
            {"observation", to_json(machine.observation)},
            {"unseen", machine.unseen}};
}

Json to_json(const Host& host, std::span<const Finding> findings) {
    Json array = Json::array();
    std::array<std::size_t, 5> counts{};
    for (const Finding& finding : findings) {
        ++counts[static_cast<std::size_t>(finding.severity)];
        array.push_back({{"host", host.name},
                         {"check", finding.check},
                         {"severity", name_of(finding.severity)},
                         {"subject", text_or_null(finding.subject)},
                         {"observed", finding.observed},
                         {"expected", text_or_null(finding.expected)},
                         {"command", text_or_null(finding.command)}});
    }
    Json counted = Json::object();
    for (std::size_t i = counts.size(); i-- > 0;) counted[std::string(name_of(static_cast<Severity>(i)))] = counts[i];
    return {{"host", host.name},
            {"kernel", text_or_null(host.kernel)},
            {"system", text_or_null(host.system)},
            {"worst", name_of(worst_of(findings))},
            {"counts", std::move(counted)},
            {"findings", std::move(array)}};
}

Json to_json(const BinaryReport& report) {
    Json libraries = Json::array();
    for (const auto& [name, path] : report.libraries)
        libraries.push_back({{"name", name}, {"path", text_or_null(path)}});
    return {{"path", report.path},
            {"examined", report.examined},
            {"starts", report.examined ? Json(report.starts) : Json(nullptr)},
            {"verdict", report.verdict},
            {"libraries", std::move(libraries)}};
}

std::string dumped(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace doctor::output
