// Keys for the program itself.
#include "tui/model/key_row.h"

namespace tui::inline model::program {

void theme(Workings& w) { w.open_menu(Menu::Purpose::theme); }

void names(Workings& w) {
    w.state.settings.names = !w.state.settings.names;
    w.state.names = w.state.settings.names ? w.names : nullptr;
    w.keep();
    w.rebuild();
    w.rebuild_packets();
    if (!w.state.settings.names) return w.say("addresses");
    w.say(w.names != nullptr ? "names" : "no names are known here");
}

void save(Workings& w) { w.ask(Request::Kind::save); }
void help(Workings& w) { w.open_text(Overlay::help, key_texts().size()); }
void quit(Workings& w) { w.ask(Request::Kind::quit); }
void suspend(Workings& w) { w.ask(Request::Kind::suspend); }
void redraw(Workings& w) { w.ask(Request::Kind::redraw); }

}  // namespace tui::model::program
