#pragma once
// ncurses with wide characters, and without macros whose names would collide with others. Only for this folder.
#define NCURSES_NOMACROS 1
#define NCURSES_WIDECHAR 1
#include <curses.h>
