/* Maps in C for Tegula: what `.map_native` of the Python package calls. C, C++, Rust and Zig can write one, and so can
 * Numba (`tegula.numba`).
 *
 * A map is called with a piece of the input, a split, which holds whole records: lines, or records of fixed length. It
 * writes pairs of a key and a value into columns. It is called on many threads at once, each with its own arguments;
 * what it emits may depend on the records alone, for where the input is cut may change from run to run. */

#ifndef TEGULA_H
#define TEGULA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEGULA_ABI 1

/* Write this once in a shared library: it says for which version of this file the library was compiled. */
#ifdef __cplusplus
#define TEGULA_LIBRARY extern "C" const uint32_t tegula_abi; const uint32_t tegula_abi = TEGULA_ABI;
#else
#define TEGULA_LIBRARY extern const uint32_t tegula_abi; const uint32_t tegula_abi = TEGULA_ABI;
#endif

typedef struct {
    const uint8_t *data; /* The records. Nothing before them may be read. */
    size_t len;          /* Their bytes. 64 more may be read, which are any bytes, so that a vector may end there. */
    uint64_t offset;     /* Where they begin in their file, in bytes. */
    uint32_t file;       /* The number of their file. */
    size_t done;         /* Bytes that are done with: where to begin. The map moves it on to the end of a record. */
} tegula_split;

typedef struct {
    uint32_t *key_len;     /* The length of each key, in bytes. */
    void *value;           /* The value of each pair: int64_t or double, as `map_native` was told. */
    uint8_t *key;          /* The bytes of the keys, one behind the other. */
    size_t pairs;          /* Pairs written; 0 at each call. */
    size_t pairs_most;     /* Pairs that there is room for, at least 4096. */
    size_t key_bytes;      /* Bytes of keys written; 0 at each call. */
    size_t key_bytes_most; /* Bytes of keys that there is room for, at least 65536. */
} tegula_pairs;

/* Returns 0 when the split is done. 1: there is no room for more pairs; the caller takes those that are there and calls
 * again, from split->done. Less than 0: the record at split->done is bad, and nothing of it was written; the caller
 * fails the job with the record's place, or counts the record and calls again behind it.
 *
 * It must not write beyond the columns, keep pointers, throw, or unwind. `state` is what SYMBOL_open returned, else
 * null; no two calls at once have the same. */
typedef int32_t (*tegula_map)(tegula_split *split, tegula_pairs *pairs, void *state);

/* A library may export them beside a map that is called SYMBOL: SYMBOL_open is called before the first call of a
 * worker, SYMBOL_close after its last. */
typedef void *(*tegula_open)(void);
typedef void (*tegula_close)(void *state);

/* Adds a pair with an integer value. Returns 0 if there is no room for it. */
static inline int tegula_emit_i64(tegula_pairs *pairs, const void *key, uint32_t len, int64_t value) {
    if (pairs->pairs == pairs->pairs_most || len > pairs->key_bytes_most - pairs->key_bytes) return 0;
    const uint8_t *from = (const uint8_t *)key;
    uint8_t *to = pairs->key + pairs->key_bytes;
    for (uint32_t i = 0; i < len; i++) to[i] = from[i];
    pairs->key_len[pairs->pairs] = len;
    ((int64_t *)pairs->value)[pairs->pairs] = value;
    pairs->pairs++;
    pairs->key_bytes += len;
    return 1;
}

/* Adds a pair with a float value. Returns 0 if there is no room for it. */
static inline int tegula_emit_f64(tegula_pairs *pairs, const void *key, uint32_t len, double value) {
    if (!tegula_emit_i64(pairs, key, len, 0)) return 0;
    ((double *)pairs->value)[pairs->pairs - 1] = value;
    return 1;
}

#ifdef __cplusplus
}
#endif

#endif
