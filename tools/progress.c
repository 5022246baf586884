// The progress bar. It is drawn once a percent, so that its cost does not depend on the number of ticks, and leaves the
// line as it was.
#include "progress.h"

#include <unistd.h>

enum { BAR_WIDTH = 40 };

progress progress_start(int64_t total) {
    return (progress){.file = isatty(STDERR_FILENO) ? stderr : NULL, .total = total, .shown = -1};
}

void progress_show(progress *bar, int64_t done) {
    const int32_t percent = bar->total <= 0 ? 100 : (int32_t)(done * 100 / bar->total);
    if (bar->file == NULL || percent == bar->shown) {
        return;
    }
    char drawn[BAR_WIDTH + 1];
    for (int32_t i = 0; i < BAR_WIDTH; i++) {
        drawn[i] = i < percent * BAR_WIDTH / 100 ? '#' : '.';
    }
    drawn[BAR_WIDTH] = '\0';
    (void)fprintf(bar->file, "\r[%s] %3d%%  tick %lld of %lld", drawn, percent, (long long)done, (long long)bar->total);
    (void)fflush(bar->file);
    bar->shown = percent;
}

void progress_end(progress *bar) {
    if (bar->file != NULL && bar->shown >= 0) {
        (void)fputs("\r\x1b[K", bar->file); // erase the line
        (void)fflush(bar->file);
    }
}
