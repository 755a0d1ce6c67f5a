/* Sums over points of two signed bytes: points, x, y, xx, xy, yy. */
KERNEL void linreg(OFFLOAD) {
  LOCAL u64 sums[6];
  if (LID < 6) sums[LID] = 0;
  BARRIER;
  i64 n = 0, x1 = 0, y1 = 0, xx = 0, xy = 0, yy = 0;
  GLOBAL const u32x4 *vectors = (GLOBAL const u32x4 *)UNIT;
  for (u64 g = GID; g < bytes / 16; g += GSIZE) {
    u32x4 v = vectors[g];
    u32 words[4];
    words[0] = v.x; words[1] = v.y; words[2] = v.z; words[3] = v.w;
    i32 ax = 0, ay = 0, axx = 0, axy = 0, ayy = 0;
    for (int i = 0; i < 4; i++)
      for (int part = 0; part < 2; part++) {
        u32 point = words[i] >> (16 * part);
        i32 x = (i32)(i8)(point & 255), y = (i32)(i8)(point >> 8 & 255);
        ax += x; ay += y; axx += x * x; axy += x * y; ayy += y * y;
      }
    n += 8; x1 += ax; y1 += ay; xx += axx; xy += axy; yy += ayy;
  }
  for (u64 at = bytes / 16 * 16 + 2 * GID; at + 1 < bytes; at += 2 * GSIZE) {
    i64 x = (i64)(i8)UNIT[at], y = (i64)(i8)UNIT[at + 1];
    n += 1; x1 += x; y1 += y; xx += x * x; xy += x * y; yy += y * y;
  }
  LOCAL_ADD64(&sums[0], (u64)n);
  LOCAL_ADD64(&sums[1], (u64)x1);
  LOCAL_ADD64(&sums[2], (u64)y1);
  LOCAL_ADD64(&sums[3], (u64)xx);
  LOCAL_ADD64(&sums[4], (u64)xy);
  LOCAL_ADD64(&sums[5], (u64)yy);
  BARRIER;
  if (LID < 6) GLOBAL_ADD64(&partial[LID], sums[LID]);
}
