#include "iwarp/preload/engine.h"
