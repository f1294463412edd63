#pragma once
// ncurses with wide characters, and without the macros that would take the names of others. Of this folder alone.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
