/* Counts each word of the piece: runs of letters, in lower case, if ALPHA, else runs of all bytes that are not
   white space.
   arg0: ALPHA, for the twin
   partial: other than 0 if there was no room, and three words that are not used; then slots for words of up
   to 21 bytes, of four words; then slots for longer ones, up to 217 bytes, of 32. The last word of a slot
   is a count. The others have the word's bytes, seven each, lowest first, and above them their number, with
   the highest bit set in the last one; 0 if the slot is vacant.

   A slot is taken word by word, each from 0 to its final value. A thread that finds or sets all words of a slot
   to its own has the slot. A thread that finds another word goes on to the next slot, and leaves the words that it
   set to the words with the same beginning, one of which took the next one. */
#define HEAD 4
#define SHORT_WORDS 4
#define LONG_WORDS 32
#define BYTES_PER_WORD 7
#define SHORT_BYTES ((SHORT_WORDS - 1) * BYTES_PER_WORD)
#define LONG_BYTES ((LONG_WORDS - 1) * BYTES_PER_WORD)
/* Slots that are probed for one word. */
#define PROBES 64
/* Bytes in which a thread searches the beginnings of words. */
#define SPAN 64

#if ALPHA
#define IS_LETTER(c) ((u32)((c) | 32) - 'a' < 26)
#define FOLDED(c) ((c) | 32)
#else
#define IS_LETTER(c) ((c) != ' ' && (u32)(c) - 9 > 4)
#define FOLDED(c) (c)
#endif

/* Counts a word in slots of slot_words words; returns whether there was room. */
FUNCTION int counted(GLOBAL const u8 *word, u64 length, u64 hash, GLOBAL u64 *table, u64 slots,
                     u32 slot_words) {
  if (slots == 0) return 0;
  u64 place = (hash >> 32) * slots >> 32;
  for (u32 probe = 0; probe < PROBES; probe++) {
    GLOBAL u64 *slot = table + place * slot_words;
    int is_same = 1;
    u32 number = 0;
    for (u64 from = 0; is_same && from < length; from += BYTES_PER_WORD, number++) {
      u64 left = length - from, count = left < BYTES_PER_WORD ? left : BYTES_PER_WORD;
      u64 own = (count | (left <= BYTES_PER_WORD ? 0x80 : 0)) << 56;
      for (u32 i = 0; i < count; i++) own |= (u64)FOLDED(word[from + i]) << (8 * i);
      /* It never changes once it is not 0. */
      u64 known = *(volatile GLOBAL u64 *)&slot[number];
      if (known == 0) known = GLOBAL_SWAP64(&slot[number], (u64)0, own);
      is_same = known == 0 || known == own;
    }
    if (is_same) {
      GLOBAL_ADD64(&slot[slot_words - 1], (u64)1);
      return 1;
    }
    place = place + 1 == slots ? 0 : place + 1;
  }
  return 0;
}

KERNEL void words_counted(OFFLOAD) {
  if (partial[0] != 0) return;
  u64 short_slots = partial_words < HEAD ? 0 : (partial_words - HEAD) / 4 * 3 / SHORT_WORDS;
  u64 long_from = HEAD + short_slots * SHORT_WORDS;
  u64 long_slots = partial_words < long_from ? 0 : (partial_words - long_from) / LONG_WORDS;
  for (u64 from = GID * SPAN; from < bytes; from += GSIZE * SPAN) {
    u64 to = from + SPAN < bytes ? from + SPAN : bytes, at = from;
    /* A word that began before belongs to another thread. */
    if (from > 0 && IS_LETTER(UNIT[from - 1]))
      while (at < to && IS_LETTER(UNIT[at])) at++;
    while (at < to) {
      if (!IS_LETTER(UNIT[at])) {
        at++;
        continue;
      }
      u64 begin = at, hash = 0;
      for (; at < bytes && at - begin <= LONG_BYTES && IS_LETTER(UNIT[at]); at++)
        hash = (hash ^ FOLDED(UNIT[at])) * (((u64)0x9e3779b9 << 32) | 0x7f4a7c15);
      u64 length = at - begin;
      hash = (hash ^ hash >> 32) * (((u64)0xd6e8feb8 << 32) | 0x6659fd93);
      int has_room = length <= SHORT_BYTES
        ? counted(UNIT + begin, length, hash, partial + HEAD, short_slots, SHORT_WORDS)
        : length <= LONG_BYTES
          && counted(UNIT + begin, length, hash, partial + long_from, long_slots, LONG_WORDS);
      if (!has_room) {
        GLOBAL_SWAP64(&partial[0], (u64)0, (u64)1);
        return;
      }
    }
  }
}
