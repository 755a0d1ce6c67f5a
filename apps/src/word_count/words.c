/* Counts each word of the piece: runs of letters, in lower case, if ALPHA, else runs of all bytes that are not
   white space.
   arg0: ALPHA, for the twin
   partial: other than 0 if there was no room, and three words that are not used; then slots for words of up
   to 21 bytes, of four words; then slots for longer ones, up to 217 bytes, of 32. The last word of a slot
   is a count. The others have the word's bytes, seven each, lowest first, and above them their number, with
   the highest bit set in the last one; 0 if the slot is vacant.

   A slot is taken word by word, each from 0 to its final value. A thread that finds or sets all words of a slot
   to its own has the slot. A thread that finds another word goes on to the next slot, and leaves the words that it
   set to the words with the same beginning, one of which took the next one.

   A group of threads copies a tile of the text to its own memory, lists the beginnings of words in it, and counts
   these one by one, so that all threads have words to count. It counts words of up to seven bytes in its own
   memory first, in as many places as there are; the frequent ones are among them. Otherwise all threads would
   wait for the few counts of these in the table. */
#define HEAD 4
#define SHORT_WORDS 4
#define LONG_WORDS 32
#define BYTES_PER_WORD 7
#define SHORT_BYTES ((SHORT_WORDS - 1) * BYTES_PER_WORD)
#define LONG_BYTES ((LONG_WORDS - 1) * BYTES_PER_WORD)
/* Slots that are probed for one word. */
#define PROBES 64
/* Bytes in which a thread searches the beginnings of words: an odd number of banks of local memory, so that
   threads do not wait for each other's. */
#define SPAN 68
/* The most threads of a group. */
#define GROUP 256
#define TILE (SPAN * GROUP)
/* Words that a group counts in its own memory, as a power of two. */
#define OWN_BITS 9
#define OWN (1 << OWN_BITS)

#if ALPHA
#define IS_LETTER(c) ((u32)((c) | 32) - 'a' < 26)
#define FOLDED(c) ((c) | 32)
#else
#define IS_LETTER(c) ((c) != ' ' && (u32)(c) - 9 > 4)
#define FOLDED(c) (c)
#endif

/* Returns a byte of a text whose first bytes are in a tile. */
FUNCTION u32 byte_of(TO_LOCAL const u8 *tile, u32 tile_bytes, GLOBAL const u8 *text, u32 at) {
  return at < tile_bytes ? tile[at] : text[at];
}

/* Returns up to seven bytes from `from` on of a word that ends before `end`, as they are in a slot. */
FUNCTION u64 packed(TO_LOCAL const u8 *tile, u32 tile_bytes, GLOBAL const u8 *text, u32 from, u32 end) {
  u32 left = end - from, count = left < BYTES_PER_WORD ? left : BYTES_PER_WORD;
  u64 bytes = (u64)(count | (left <= BYTES_PER_WORD ? 0x80 : 0)) << 56;
  for (u32 i = 0; i < count; i++)
    bytes |= (u64)FOLDED(byte_of(tile, tile_bytes, text, from + i)) << (8 * i);
  return bytes;
}

FUNCTION u64 mixed(u64 hash, u64 word) {
  hash = (hash ^ word) * (((u64)0x9e3779b9 << 32) | 0x7f4a7c15);
  return hash ^ hash >> 32;
}

/* Returns whether a word of a slot is a thread's own, or has become it. It never changes once it is not 0. */
FUNCTION int is_own(GLOBAL u64 *place, u64 own) {
  u64 known = *(volatile GLOBAL u64 *)place;
  if (known == 0) known = GLOBAL_SWAP64(place, (u64)0, own);
  return known == 0 || known == own;
}

/* Adds `count` to a word of up to three packed words, 0 if there are fewer; returns whether there was room. */
FUNCTION int short_counted(u64 first, u64 second, u64 third, u64 count, GLOBAL u64 *table, u64 slots) {
  if (slots == 0) return 0;
  u64 hash = mixed(mixed(mixed(0, first), second), third);
  u64 place = (hash >> 32) * slots >> 32;
  for (u32 probe = 0; probe < PROBES; probe++) {
    GLOBAL u64 *slot = table + place * SHORT_WORDS;
    if (is_own(slot, first) && (second == 0 || is_own(slot + 1, second))
        && (third == 0 || is_own(slot + 2, third))) {
      GLOBAL_ADD64(slot + SHORT_WORDS - 1, count);
      return 1;
    }
    place = place + 1 == slots ? 0 : place + 1;
  }
  return 0;
}

/* Adds 1 to a longer word; returns whether there was room. */
FUNCTION int long_counted(TO_LOCAL const u8 *tile, u32 tile_bytes, GLOBAL const u8 *text, u32 begin, u32 end,
                          GLOBAL u64 *table, u64 slots) {
  if (slots == 0) return 0;
  u64 hash = 0;
  for (u32 at = begin; at < end; at += BYTES_PER_WORD)
    hash = mixed(hash, packed(tile, tile_bytes, text, at, end));
  u64 place = (hash >> 32) * slots >> 32;
  for (u32 probe = 0; probe < PROBES; probe++) {
    GLOBAL u64 *slot = table + place * LONG_WORDS;
    int is_same = 1;
    u32 number = 0;
    for (u32 at = begin; is_same && at < end; at += BYTES_PER_WORD, number++)
      is_same = is_own(slot + number, packed(tile, tile_bytes, text, at, end));
    if (is_same) {
      GLOBAL_ADD64(slot + LONG_WORDS - 1, (u64)1);
      return 1;
    }
    place = place + 1 == slots ? 0 : place + 1;
  }
  return 0;
}

KERNEL void words_counted(OFFLOAD) {
  LOCAL u32x4 tile_parts[TILE / 16];
  LOCAL u16 begins[TILE / 2];
  LOCAL u64 own_words[OWN];
  LOCAL u32 own_counts[OWN];
  LOCAL u32 words, is_full;
  TO_LOCAL u8 *tile = (TO_LOCAL u8 *)tile_parts;
  u64 short_slots = partial_words < HEAD ? 0 : (partial_words - HEAD) / 4 * 3 / SHORT_WORDS;
  u64 long_from = HEAD + short_slots * SHORT_WORDS;
  u64 long_slots = partial_words < long_from ? 0 : (partial_words - long_from) / LONG_WORDS;
  for (u32 i = LID; i < OWN; i += LSIZE) {
    own_words[i] = 0;
    own_counts[i] = 0;
  }
  if (LID == 0) is_full = partial[0] != 0;
  for (u64 from = GID / LSIZE * TILE; from < bytes; from += GSIZE / LSIZE * TILE) {
    GLOBAL const u8 *text = UNIT + from;
    u32 tile_bytes = bytes - from < TILE ? bytes - from : TILE;
    for (u32 part = LID; part < TILE / 16; part += LSIZE) {
      if (part * 16 + 16 <= tile_bytes) tile_parts[part] = ((GLOBAL const u32x4 *)text)[part];
      else
        for (u32 at = part * 16; at < tile_bytes; at++) tile[at] = text[at];
    }
    if (LID == 0) words = 0;
    BARRIER;
    if (is_full) break;
    /* The beginnings of words, in any order. */
    for (u32 begin = LID * SPAN; begin < tile_bytes; begin += LSIZE * SPAN) {
      u32 end = begin + SPAN < tile_bytes ? begin + SPAN : tile_bytes, count = 0;
      /* A word that began before belongs to another thread. */
      int is_first_inside = begin > 0 ? IS_LETTER(tile[begin - 1]) : from > 0 && IS_LETTER(UNIT[from - 1]);
      int is_inside = is_first_inside;
      for (u32 at = begin; at < end; at++) {
        int is_letter = IS_LETTER(tile[at]);
        count += is_letter && !is_inside;
        is_inside = is_letter;
      }
      u32 place = count ? LOCAL_ADD32(&words, count) : 0;
      is_inside = is_first_inside;
      for (u32 at = begin; at < end; at++) {
        int is_letter = IS_LETTER(tile[at]);
        if (is_letter && !is_inside) begins[place++] = (u16)at;
        is_inside = is_letter;
      }
    }
    BARRIER;
    int has_room = 1;
    for (u32 word = LID; has_room && word < words; word += LSIZE) {
      u32 begin = begins[word], end = begin;
      u64 left = bytes - from;
      while (end < left && end - begin <= LONG_BYTES && IS_LETTER(byte_of(tile, tile_bytes, text, end))) end++;
      u32 length = end - begin;
      if (length > SHORT_BYTES) {
        has_room = length <= LONG_BYTES
          && long_counted(tile, tile_bytes, text, begin, end, partial + long_from, long_slots);
        continue;
      }
      u64 first = packed(tile, tile_bytes, text, begin, end), second = 0, third = 0;
      if (length <= BYTES_PER_WORD) {
        u32 place = mixed(0, first) >> (64 - OWN_BITS);
        u64 known = *(volatile TO_LOCAL u64 *)&own_words[place];
        if (known == 0) known = LOCAL_SWAP64(&own_words[place], (u64)0, first);
        if (known == 0 || known == first) {
          LOCAL_ADD32(&own_counts[place], 1u);
          continue;
        }
      } else {
        second = packed(tile, tile_bytes, text, begin + BYTES_PER_WORD, end);
        if (length > 2 * BYTES_PER_WORD)
          third = packed(tile, tile_bytes, text, begin + 2 * BYTES_PER_WORD, end);
      }
      has_room = short_counted(first, second, third, 1, partial + HEAD, short_slots);
    }
    if (!has_room) is_full = 1;
    BARRIER;
  }
  BARRIER;
  for (u32 i = LID; i < OWN; i += LSIZE)
    if (own_counts[i] && !short_counted(own_words[i], 0, 0, own_counts[i], partial + HEAD, short_slots)) is_full = 1;
  BARRIER;
  if (LID == 0 && is_full) GLOBAL_SWAP64(&partial[0], (u64)0, (u64)1);
}
