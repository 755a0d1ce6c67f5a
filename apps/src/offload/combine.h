/* The functions with which a kernel combines values, as the spec says:
     COMBINE(index, value)               an array: a value at an index
     COMBINE_KEY(key, value)             a table with numbers for keys
     COMBINE_BYTES(place, length, value) a table with bytes for keys, which are in UNIT

   A word of the partial is a sum; for a least or greatest it is an unsigned rank, of which the greatest counts.
   Words are zeros at first, and no valid value ranks below 0. */
#if FLOAT == 64 && !defined(F64_OF_BITS)
#error "values of type f64 need double precision, which this device does not have; use f32"
#endif
#if FLOAT
/* Returns bits that order like the floats; 0 for a value that is not finite. */
FUNCTION u64 float_rank(u64 bits) {
  u64 sign = (u64)1 << (FLOAT - 1), exponent = FLOAT == 64 ? (u64)0x7ff << 52 : (u64)0xff << 23;
  if ((bits & exponent) == exponent) return 0;
  return bits & sign ? ~bits & ((sign << 1) - 1) : bits | sign;
}
#if FLOAT == 64
#define RANK(value) float_rank(BITS_OF_F64((f64)(value)))
#else
#define RANK(value) float_rank(BITS_OF_F32((f32)(value)))
#endif
#elif SIGNED && COMBINE_BY
#define RANK(value) ((u64)(i64)(value) ^ (u64)1 << 63)
#elif SIGNED
#define RANK(value) ((u64)(i64)(value))
#else
#define RANK(value) ((u64)(value))
#endif

FUNCTION void take_in(GLOBAL u64 *place, u64 word) {
#if COMBINE_BY == 0
  GLOBAL_ADD64(place, word);
#elif COMBINE_BY == 1
  global_max64(place, ~word);
#else
  global_max64(place, word);
#endif
}

#if KEYED
/* Words before the slots: not 0 if a key found no room; the number of keys that were too long; zeros. */
#define HEAD 8
/* Words of a key's bytes, seven each, lowest first, and above them their number, with the highest bit set in the
   last one. So none is 0, which marks a vacant word. A slot has one more word, the value. */
#define KEY_WORDS ((LONGEST_KEY + 6) / 7 + (LONGEST_KEY == 0))
#define SLOT_WORDS (KEY_WORDS + 1)
/* Slots that are probed for one key. */
#define PROBES 64
#define MIX(hash, more) (((hash) ^ (more)) * (((u64)0x9e3779b9 << 32) | 0x7f4a7c15))

/* Returns whether a word of a slot is this one, or becomes it. It never changes once it is not 0. A thread that finds
   or sets all words of a slot to its key's has the slot. A thread that finds another word goes on to the next slot, and
   leaves the words that it set to keys with the same beginning, one of which set the word that it could not. */
FUNCTION int is_own(GLOBAL u64 *place, u64 own) {
  u64 known = *(volatile GLOBAL u64 *)place;
  if (known == 0) known = GLOBAL_SWAP64(place, (u64)0, own);
  return known == 0 || known == own;
}

FUNCTION int is_full(GLOBAL u64 *table) { return *(volatile GLOBAL u64 *)table != 0; }

/* Returns the first slot for a hash, of this number of slots. */
FUNCTION u64 first_slot(u64 hash, u64 slots) {
  hash = MIX(hash, hash >> 32);
  return (hash >> 32) * slots >> 32;
}

#if KEYED == 1
FUNCTION void combine_bytes(GLOBAL u64 *table, u64 words, GLOBAL const u8 *key, u64 length, u64 word) {
  u64 slots = (words - HEAD) / SLOT_WORDS, hash = length;
  if (is_full(table)) return;
  if (length > LONGEST_KEY) {
    GLOBAL_ADD64(&table[1], (u64)1);
    return;
  }
  for (u64 i = 0; i < length; i++) hash = MIX(hash, key[i]);
  u64 place = first_slot(hash, slots);
  for (u32 probe = 0; probe < PROBES && probe < slots; probe++) {
    GLOBAL u64 *slot = table + HEAD + place * SLOT_WORDS;
    u64 from = 0;
    u32 number = 0;
    for (int is_same = 1; is_same; number++, from += 7) {
      u64 left = length - from, count = left < 7 ? left : 7;
      u64 own = (count | (left <= 7 ? 0x80 : 0)) << 56;
      for (u32 i = 0; i < count; i++) own |= (u64)key[from + i] << (8 * i);
      is_same = is_own(&slot[number], own);
      if (is_same && left <= 7) {
        take_in(&slot[KEY_WORDS], word);
        return;
      }
    }
    place = place + 1 == slots ? 0 : place + 1;
  }
  GLOBAL_SWAP64(&table[0], (u64)0, (u64)1);
}
#define COMBINE_BYTES(place, length, value) \
  combine_bytes(partial, partial_words, (place), (u64)(length), RANK(value))
#else
FUNCTION void combine_key(GLOBAL u64 *table, u64 words, u64 key, u64 word) {
  u64 slots = (words - HEAD) / SLOT_WORDS, low = (key & (((u64)1 << 56) - 1)) | (u64)7 << 56;
  u64 high = key >> 56 | (u64)0x81 << 56;
  if (is_full(table)) return;
  u64 place = first_slot(MIX(MIX(0, low), high), slots);
  for (u32 probe = 0; probe < PROBES && probe < slots; probe++) {
    GLOBAL u64 *slot = table + HEAD + place * SLOT_WORDS;
    if (is_own(&slot[0], low) && is_own(&slot[1], high)) {
      take_in(&slot[KEY_WORDS], word);
      return;
    }
    place = place + 1 == slots ? 0 : place + 1;
  }
  GLOBAL_SWAP64(&table[0], (u64)0, (u64)1);
}
#define COMBINE_KEY(key, value) combine_key(partial, partial_words, (u64)(i64)(key), RANK(value))
#endif

#else
/* An index beyond the partial is counted in the word after it, a value that is not finite in the next one. Either
   fails the job. */
FUNCTION void combine(GLOBAL u64 *partial, u64 index, u64 word) {
  if (index >= VALUES) {
    GLOBAL_ADD64(&partial[VALUES], (u64)1);
    return;
  }
#if FLOAT
  if (word == 0) {
    GLOBAL_ADD64(&partial[VALUES + 1], (u64)1);
    return;
  }
#endif
  take_in(&partial[index], word);
}
#define COMBINE(index, value) combine(partial, (u64)(index), RANK(value))
#endif
