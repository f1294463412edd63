// Keys for the program itself.
#include "tui/model/key_row.h"

namespace tui::inline model::program {

void theme(Controller& controller) { controller.open_menu(Menu::Purpose::theme); }

void names(Controller& controller) {
    controller.state.settings.names = !controller.state.settings.names;
    controller.state.names = controller.state.settings.names ? controller.names : nullptr;
    controller.keep();
    controller.rebuild();
    controller.rebuild_packets();
    if (!controller.state.settings.names) return controller.say("addresses");
    controller.say(controller.names != nullptr ? "names" : "no names are known here");
}

void save(Controller& controller) { controller.ask(Request::Kind::save); }
void help(Controller& controller) { controller.open_text(Overlay::help, key_texts().size()); }
void letters(Controller& controller) { controller.open_text(Overlay::letters, metrics::state_count); }
void quit(Controller& controller) { controller.ask(Request::Kind::quit); }
void suspend(Controller& controller) { controller.ask(Request::Kind::suspend); }
void redraw(Controller& controller) { controller.ask(Request::Kind::redraw); }

}  // namespace tui::model::program
