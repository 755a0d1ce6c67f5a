/* The dialect of kernels: one text that is OpenCL C 1.2 with 64-bit atomics, and CUDA C++.

   KERNEL void name(OFFLOAD) { ... } is launched for each piece of a work unit. It can use
     UNIT       the piece, bytes that begin at a multiple of 64
     bytes      the number of these bytes
     arg0..5    the job's numbers for the piece
     broadcast  words that are the same for all pieces
     partial    words to add to, zeros at first; launches follow each other, and each finds the sums of those before
     partial_words  the number of these words
   Functions beside the kernel are FUNCTION type name(...).
   Threads are GID of GSIZE in all, LID of LSIZE in a group, which shares LOCAL memory; a pointer to it is
   TO_LOCAL. Every order of threads must give the same words: add integers, never floats. f64 exists if
   F64_OF_BITS is defined; sums, differences and products of f64 and f32 are rounded one by one. */
#ifdef __OPENCL_VERSION__
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL FP_CONTRACT OFF
#ifdef cl_khr_fp64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
#define F64_OF_BITS(bits) as_double(bits)
#define BITS_OF_F64(value) as_ulong(value)
#endif
typedef uchar u8; typedef ushort u16; typedef uint u32; typedef ulong u64;
typedef char i8; typedef int i32; typedef long i64;
typedef uint4 u32x4; typedef float f32;
#define BITS_OF_F32(value) as_uint(value)
#define F32_OF_BITS(bits) as_float((u32)(bits))
#define KERNEL __kernel
#define FUNCTION static inline
#define GLOBAL __global
#define LOCAL __local
#define TO_LOCAL __local
#define GID ((u64)get_global_id(0))
#define GSIZE ((u64)get_global_size(0))
#define LID ((u32)get_local_id(0))
#define LSIZE ((u32)get_local_size(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
#define LOCAL_ADD32(place, value) atomic_add((place), (value))
#define LOCAL_ADD64(place, value) atom_add((place), (value))
#define LOCAL_SWAP64(place, known, value) atom_cmpxchg((place), (known), (value))
#define GLOBAL_ADD64(place, value) atom_add((place), (value))
#define GLOBAL_SWAP64(place, known, value) atom_cmpxchg((place), (known), (value))
#else
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32; typedef unsigned long long u64;
typedef signed char i8; typedef int i32; typedef long long i64;
typedef uint4 u32x4; typedef float f32; typedef double f64;
#define BITS_OF_F32(value) ((u32)__float_as_int(value))
#define F32_OF_BITS(bits) __int_as_float((i32)(bits))
#define F64_OF_BITS(bits) __longlong_as_double((i64)(bits))
#define BITS_OF_F64(value) ((u64)__double_as_longlong(value))
#define KERNEL extern "C" __global__
#define FUNCTION static __device__ inline
#define GLOBAL
#define LOCAL __shared__
#define TO_LOCAL
#define GID ((u64)blockIdx.x * blockDim.x + threadIdx.x)
#define GSIZE ((u64)gridDim.x * blockDim.x)
#define LID (threadIdx.x)
#define LSIZE (blockDim.x)
#define BARRIER __syncthreads()
#define LOCAL_ADD32(place, value) atomicAdd((place), (value))
#define LOCAL_ADD64(place, value) atomicAdd((place), (value))
#define LOCAL_SWAP64(place, known, value) atomicCAS((place), (known), (value))
#define GLOBAL_ADD64(place, value) atomicAdd((place), (value))
#define GLOBAL_SWAP64(place, known, value) atomicCAS((place), (known), (value))
#endif
#define OFFLOAD GLOBAL const u8 *slot, u64 start, u64 bytes, u64 arg0, u64 arg1, u64 arg2, u64 arg3, \
  u64 arg4, u64 arg5, GLOBAL const u64 *broadcast, GLOBAL u64 *partial, u64 partial_words
#define UNIT (slot + start)
/* Atomically replaces the word at place by the greater of itself and value. */
FUNCTION void global_max64(GLOBAL u64 *place, u64 value) {
  u64 known = *(volatile GLOBAL u64 *)place;
  while (known < value) {
    u64 found = GLOBAL_SWAP64(place, known, value);
    if (found == known) return;
    known = found;
  }
}
