/* SPDX-License-Identifier: Apache-2.0 */
#include "xdg.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *variable;
    const char *otherwise; /* below $HOME */
} places[] = {
    [XDG_CONFIG] = {"XDG_CONFIG_HOME", "/.config"},
    [XDG_DATA] = {"XDG_DATA_HOME", "/.local/share"},
    [XDG_STATE] = {"XDG_STATE_HOME", "/.local/state"},
};

const char *xdg_environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != 0 ? value : NULL;
}

bool xdg_folder(enum xdg_kind kind, char out[XDG_PATH_BYTES])
{
    const char *home = xdg_environment(places[kind].variable);
    const char *below = "";
    if (!home || home[0] != '/') {
        home = xdg_environment("HOME");
        below = places[kind].otherwise;
    }
    if (!home) return false;
    int len = snprintf(out, XDG_PATH_BYTES, "%s%s/weir", home, below);
    return len > 0 && len < XDG_PATH_BYTES;
}
