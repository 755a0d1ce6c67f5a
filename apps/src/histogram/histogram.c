/* Counts of 256 levels for each of three channels.
   arg0: the offset of the piece, in bytes from the first pixel on (below 0: before it)
   arg1: bytes of a row's pixels; arg2: bytes from one row to the next; arg3: rows
   arg4: the channels of a pixel's three bytes, two bits each */
#define CHANNEL(place) (256u * (u32)((arg4 >> (2 * (place))) & 3))

KERNEL void histogram(OFFLOAD) {
  LOCAL u32 counts[768];
  for (u32 i = LID; i < 768; i += LSIZE) counts[i] = 0;
  BARRIER;
  i64 first = (i64)arg0;
  if (arg1 == arg2) {
    /* Rows have no padding, so every three bytes are a pixel. */
    i64 end = (i64)(arg1 * arg3) - first;
    u64 from = first < 0 ? (u64)-first : 0;
    u64 to = end < 0 ? 0 : (u64)end < bytes ? (u64)end : bytes;
    u32 phase = (u32)((first % 3 + 3) % 3);
    u32 c0 = CHANNEL(phase), c1 = CHANNEL((phase + 1) % 3), c2 = CHANNEL((phase + 2) % 3);
    /* Twelve bytes are four pixels and three words. */
    u64 first_group = (from + 11) / 12, last_group = to / 12;
    GLOBAL const u32 *words = (GLOBAL const u32 *)UNIT;
    for (u64 g = first_group + GID; g < last_group; g += GSIZE) {
      u32 a = words[3 * g], b = words[3 * g + 1], c = words[3 * g + 2];
      LOCAL_ADD32(&counts[c0 + (a & 255)], 1u);
      LOCAL_ADD32(&counts[c1 + (a >> 8 & 255)], 1u);
      LOCAL_ADD32(&counts[c2 + (a >> 16 & 255)], 1u);
      LOCAL_ADD32(&counts[c0 + (a >> 24)], 1u);
      LOCAL_ADD32(&counts[c1 + (b & 255)], 1u);
      LOCAL_ADD32(&counts[c2 + (b >> 8 & 255)], 1u);
      LOCAL_ADD32(&counts[c0 + (b >> 16 & 255)], 1u);
      LOCAL_ADD32(&counts[c1 + (b >> 24)], 1u);
      LOCAL_ADD32(&counts[c2 + (c & 255)], 1u);
      LOCAL_ADD32(&counts[c0 + (c >> 8 & 255)], 1u);
      LOCAL_ADD32(&counts[c1 + (c >> 16 & 255)], 1u);
      LOCAL_ADD32(&counts[c2 + (c >> 24)], 1u);
    }
    u64 head = first_group < last_group ? 12 * first_group : to;
    u64 tail = first_group < last_group ? 12 * last_group : to;
    for (u64 at = from + GID; at < head; at += GSIZE)
      LOCAL_ADD32(&counts[CHANNEL((phase + at) % 3) + UNIT[at]], 1u);
    for (u64 at = tail + GID; at < to; at += GSIZE)
      LOCAL_ADD32(&counts[CHANNEL((phase + at) % 3) + UNIT[at]], 1u);
  } else {
    for (u64 at = GID; at < bytes; at += GSIZE) {
      i64 place = first + (i64)at;
      if (place < 0) continue;
      u64 row = (u64)place / arg2, column = (u64)place % arg2;
      if (row < arg3 && column < arg1) LOCAL_ADD32(&counts[CHANNEL(column % 3) + UNIT[at]], 1u);
    }
  }
  BARRIER;
  for (u32 i = LID; i < 768; i += LSIZE)
    if (counts[i]) GLOBAL_ADD64(&partial[i], (u64)counts[i]);
}
