#include "fabric/discovery/read_counters.h"

#include "base/clock.h"
#include "fabric/discovery/attributes.h"
#include "wire/mad_attribute_id.h"

namespace fabric::discovery {

namespace {

namespace mad = wire::mad;

class CounterReader {
public:
    CounterReader(QueryPool& pool, Subnet& subnet, Pass pass) : pool_(pool), subnet_(subnet), pass_(pass) {}

    base::Result<void> run() {
        for (const Node& node : subnet_.nodes) ask_about(node);
        return pool_.run();
    }

private:
    static Query query_of(std::uint16_t attribute, PortId id, Lid lid) {
        Query query;
        query.agent = umad::Agent::performance;
        query.attribute = attribute;
        query.lid = lid;
        query.port_select = id.number;
        return query;
    }

    /// A switch has one agent for all ports, an adapter one at each port.
    void ask_about(const Node& node) {
        bool asked = false;
        for (const Port& port : node.ports) {
            const auto lid = node.lid(port.number);
            if (!port.peer || !lid) continue;
            if (asked && node.type == NodeType::switch_node) continue;
            asked = true;
            ask_abilities({node.guid, port.number}, *lid);
        }
    }

    void ask_abilities(PortId id, Lid lid) {
        pool_.ask(query_of(mad::attribute_id::class_port_info, id, lid), [this, id, lid](const Answer& answer) {
            if (answer.outcome != Outcome::answered) return note(mad::attribute_id::class_port_info, id, lid, answer);
            const PerformanceAbilities abilities = read_abilities(answer.attribute);
            const Node& node = *subnet_.find(id.node);
            if (node.type != NodeType::switch_node) return ask_counters(id, lid, abilities);
            for (const Port& port : node.ports)
                if (port.peer) ask_counters({id.node, port.number}, lid, abilities);
        });
    }

    void ask_counters(PortId id, Lid lid, PerformanceAbilities abilities) {
        pool_.ask(query_of(mad::performance_attribute_id::port_counters, id, lid),
                  [this, id, lid, abilities](const Answer& answer) {
                      if (answer.outcome != Outcome::answered)
                          return note(mad::performance_attribute_id::port_counters, id, lid, answer);
                      CounterReading reading;
                      reading.time_ns = base::wall_ns();
                      read_port_counters(answer.attribute, abilities, reading);
                      reading_of(id) = reading;
                      if (abilities.wide_counters) ask_wide_counters(id, lid, abilities);
                  });
    }

    void ask_wide_counters(PortId id, Lid lid, PerformanceAbilities abilities) {
        pool_.ask(query_of(mad::performance_attribute_id::port_counters_extended, id, lid),
                  [this, id, lid, abilities](const Answer& answer) {
                      if (answer.outcome != Outcome::answered)
                          return note(mad::performance_attribute_id::port_counters_extended, id, lid, answer);
                      read_wide_counters(answer.attribute, abilities, *reading_of(id));
                  });
    }

    std::optional<CounterReading>& reading_of(PortId id) {
        Port& port = *subnet_.find(id);
        return pass_ == Pass::first ? port.counters : port.later_counters;
    }

    void note(std::uint16_t attribute, PortId id, Lid lid, const Answer& answer) {
        subnet_.unanswered.push_back({text_of(query_of(attribute, id, lid)), answer.reason});
    }

    QueryPool& pool_;
    Subnet& subnet_;
    Pass pass_;
};

}  // namespace

base::Result<void> read_counters(QueryPool& pool, Subnet& subnet, Pass pass) {
    return CounterReader(pool, subnet, pass).run();
}

}  // namespace fabric::discovery
