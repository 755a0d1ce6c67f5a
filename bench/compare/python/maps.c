/* The maps of `native_maps.py` in C: words with 1, and the bytes of each request by its host. */
#include "tegula.h"

TEGULA_LIBRARY

int32_t words(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)state;
    const uint8_t *data = split->data;
    size_t at = split->done, len = split->len;
    while (at < len) {
        size_t end = at;
        while (end < len && data[end] > 32) end++;
        if (end > at && !tegula_emit_i64(pairs, data + at, (uint32_t)(end - at), 1)) {
            split->done = at;
            return 1;
        }
        at = end + 1;
    }
    return 0;
}

/* The end of the field that begins at `at`. */
static size_t field_end(const uint8_t *data, size_t at, size_t len) {
    while (at < len && data[at] != ' ' && data[at] != '\n') at++;
    return at;
}

int32_t host_and_bytes(tegula_split *split, tegula_pairs *pairs, void *state) {
    (void)state;
    const uint8_t *data = split->data;
    size_t at = split->done, len = split->len;
    while (at < len) {
        size_t host_end = field_end(data, at, len), end = host_end;
        for (int field = 1; field < 3; field++) end = field_end(data, end + 1, len);
        int64_t bytes = 0;
        for (end++; end < len && data[end] != '\n'; end++) bytes = bytes * 10 + (data[end] - '0');
        if (!tegula_emit_i64(pairs, data + at, (uint32_t)(host_end - at), bytes)) {
            split->done = at;
            return 1;
        }
        at = end + 1;
    }
    return 0;
}
