/* Assigns points to the nearest mean, or the first of equally near ones, and sums the points of each mean. A
   point has COLUMNS numbers of WIDTH bytes.
   arg0: the number of means; broadcast: their numbers, mean by mean
   arg1: bins of a sum, each of 32 bits, as in the engine's Binned; arg2: the number of the first bin
   partial: the number of points of each mean; then for each mean and column its bins; then for each of these the
   bin of the largest number's highest bit, plus 1 */
#ifndef F64_OF_BITS
#error "k-means needs double precision, which this device does not have"
#endif

/* The most sums that a group of threads keeps in its own memory, in halves: a bin is added as its lower and upper
   16 bits, to words of 32 bits, because additions of 64 bits to local memory are loops of comparisons on most
   devices. After this number of points of a group, which are as many additions to a sum at most, the halves go to
   the partial before they overflow. */
#define LOCAL_SUMS 2048
#define POINTS_HELD 32767
/* The most numbers of a point that a thread keeps. */
#define HELD_COLUMNS 32

/* Returns a number of the unit, as the bits of an f64. */
FUNCTION u64 number(GLOBAL const u8 *unit, u64 place) {
#if WIDTH == 4
  u32 bits = ((GLOBAL const u32 *)unit)[place];
  u64 sign = (u64)(bits >> 31) << 63, magnitude = bits & 0x7fffffffu;
  /* Done by hand, because a device may treat numbers below 2^-126 as 0: a multiple of 2^-149. */
  if (magnitude < 0x800000)
    return sign | BITS_OF_F64((f64)(i64)magnitude * F64_OF_BITS((u64)(1023 - 149) << 52));
  return sign | ((magnitude << 29) + ((u64)(1023 - 127) << 52));
#else
  return ((GLOBAL const u64 *)unit)[place];
#endif
}

/* Adds a group's sums to the partial, and makes them 0. */
FUNCTION void flush(TO_LOCAL u32 *lower, TO_LOCAL u32 *upper, u64 words, GLOBAL u64 *partial) {
  for (u64 i = LID; i < words; i += LSIZE) {
    i64 sum = (i64)(i32)lower[i] + (i64)(i32)upper[i] * 65536;
    if (sum) GLOBAL_ADD64(&partial[i], (u64)sum);
    lower[i] = upper[i] = 0;
  }
}

KERNEL void kmeans(OFFLOAD) {
  LOCAL u32 lower[LOCAL_SUMS], upper[LOCAL_SUMS];
  u64 means = arg0, bins = arg1, first = arg2;
  u64 words = means * (1 + COLUMNS * bins);
  int is_local = words <= LOCAL_SUMS;
  GLOBAL u64 *tops = partial + words;
  if (is_local)
    for (u64 i = LID; i < words; i += LSIZE) lower[i] = upper[i] = 0;
  BARRIER;
  u64 rows = bytes / (COLUMNS * WIDTH), held = 0;
  /* All threads of a group go round equally often. */
  for (u64 from = GID - LID; from < rows; from += GSIZE) {
    held += LSIZE;
    if (is_local && held > POINTS_HELD) {
      BARRIER;
      flush(lower, upper, words, partial);
      BARRIER;
      held = LSIZE;
    }
    u64 row = from + LID;
    if (row >= rows) continue;
#if COLUMNS <= HELD_COLUMNS
    f64 point[COLUMNS];
    for (u32 c = 0; c < COLUMNS; c++) point[c] = F64_OF_BITS(number(UNIT, row * COLUMNS + c));
#define POINT(c) point[c]
#else
#define POINT(c) F64_OF_BITS(number(UNIT, row * COLUMNS + (c)))
#endif
    f64 least = F64_OF_BITS((u64)0x7ff << 52);
    u64 nearest = 0;
    for (u64 m = 0; m < means; m++) {
      f64 apart = 0;
      for (u32 c = 0; c < COLUMNS; c++) {
        f64 step = F64_OF_BITS(broadcast[m * COLUMNS + c]) - POINT(c);
        apart += step * step;
      }
      if (apart < least) {
        least = apart;
        nearest = m;
      }
    }
    if (is_local) LOCAL_ADD32(&lower[nearest], 1u);
    else GLOBAL_ADD64(&partial[nearest], (u64)1);
    for (u32 c = 0; c < COLUMNS; c++) {
      u64 bits = BITS_OF_F64(POINT(c)), sum = nearest * COLUMNS + c;
      u32 field = (u32)(bits >> 52) & 0x7ff;
      u64 mantissa = (bits & (((u64)1 << 52) - 1)) | (u64)(field != 0) << 52;
      if (mantissa == 0) continue;
      u32 lowest = field ? field - 1 : 0, shift = lowest % 32;
      u64 top = (lowest + 52) / 32 + 1;
      for (u64 known = tops[sum]; known < top;) {
        u64 was = GLOBAL_SWAP64(&tops[sum], known, top);
        if (was == known) break;
        known = was;
      }
      u64 low = mantissa << shift, high = shift ? mantissa >> (64 - shift) : 0;
      /* Parts below the first bin or above the last are 0. */
      u64 place = means + sum * bins + lowest / 32 - first;
      for (u32 i = 0; i < 3; i++, place++) {
        u64 part = i == 0 ? low & 0xffffffffu : i == 1 ? low >> 32 : high;
        if (part == 0) continue;
        u64 is_negative = bits >> 63;
        if (is_local) {
          u32 low_half = part & 0xffff, high_half = part >> 16;
          if (low_half) LOCAL_ADD32(&lower[place], is_negative ? 0u - low_half : low_half);
          if (high_half) LOCAL_ADD32(&upper[place], is_negative ? 0u - high_half : high_half);
        } else {
          GLOBAL_ADD64(&partial[place], is_negative ? (u64)0 - part : part);
        }
      }
    }
  }
  BARRIER;
  if (is_local) flush(lower, upper, words, partial);
}
