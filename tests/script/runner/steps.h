#pragma once
#include <map>
#include <string>

#include "tests/script/runner/world.h"

/// What the first word of a line does. README.md next to the scripts describes the language.
namespace script {

using Step = void (*)(World&, Words&);
using Steps = std::map<std::string, Step>;

void add_setup_steps(Steps&);       ///< devices, memory, queues
void add_connection_steps(Steps&);  ///< listening, connecting, ending
void add_peer_steps(Steps&);        ///< `<`: what the peer sends
void add_stack_steps(Steps&);       ///< `>`: what the stack must send
void add_posting_steps(Steps&);     ///< work requests
void add_expect_steps(Steps&);

/// `on` and `off` and fields of a start frame, over what `frame` has.
void read_start_frame(World&, Words&, StartFrame& frame);
/// The peer sends octets, in pieces of `chunk` octets where that is not 0.
void peer_sends(World&, Connection&, View octets, std::size_t chunk);
void peer_sends_start(World&, Connection&, const StartFrame&, std::size_t chunk);
/// A whole message in one segment, right in every field.
void peer_sends_write(World&, Connection&);
StartFrame expect_start_frame(Connection&);
/// The first event of this kind, taken out of those that have come. Throws Failure where there is none.
iwarp::Event take_event(World&, iwarp::Event::Kind);
iwarp::Event::Kind event_kind(const std::string& name);
std::string_view event_word(iwarp::Event::Kind);
iwarp::Access access_of(Words& words);
/// Of a region: with local_write, unless the line says no_local_write.
iwarp::Access region_access(Words& words);

}  // namespace script
