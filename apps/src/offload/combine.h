/* COMBINE(index, value) takes a value in at an index of the partial: by a sum, the least or the greatest,
   as the spec says. An index beyond the partial is counted in the word behind it, and fails the job.

   Words are zeros at first. So the least and the greatest are kept as unsigned words of which the greatest
   counts, and no value ranks below 0. */
#if SIGNED && COMBINE_BY
#define RANK(value) ((u64)(i64)(value) ^ (u64)1 << 63)
#elif SIGNED
#define RANK(value) ((u64)(i64)(value))
#else
#define RANK(value) ((u64)(value))
#endif
FUNCTION void combine(GLOBAL u64 *partial, u64 index, u64 word) {
  if (index >= VALUES) {
    GLOBAL_ADD64(&partial[VALUES], (u64)1);
    return;
  }
#if COMBINE_BY == 0
  GLOBAL_ADD64(&partial[index], word);
#elif COMBINE_BY == 1
  global_max64(&partial[index], ~word);
#else
  global_max64(&partial[index], word);
#endif
}
#define COMBINE(index, value) combine(partial, (u64)(index), RANK(value))
