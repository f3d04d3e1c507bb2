// What the kernels are built on: one small matrix product, `gemm`, whose sums stay in registers, and loops over vectors.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <vector>
#ifdef _OPENMP
#include <omp.h>
#endif

typedef int64_t Int;

namespace {

#ifdef __AVX512F__
constexpr int VECTOR = 64;
#else
constexpr int VECTOR = 32;
#endif
constexpr Int BLOCK = 96;  // rows at a time; the heights of the tiles below divide it
template <class T, int W> struct Vector {
  typedef T type __attribute__((vector_size(W * sizeof(T)), aligned(alignof(T)), may_alias));
};

template <class T> struct Aligned {  // vectors that lie across two cache lines cost twice
  typedef T value_type;
  T* allocate(size_t n) { return (T*)::operator new(n * sizeof(T), std::align_val_t(VECTOR)); }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(VECTOR)); }
  template <class U> void construct(U* p) { ::new ((void*)p) U; }  // nothing is written where nothing is given
  bool operator==(const Aligned&) const { return true; }
  bool operator!=(const Aligned&) const { return false; }
};
template <class T> using Space = std::vector<T, Aligned<T>>;

template <class T> struct Product {  // A B with A(i,k) = a[i*si + k*sk], so that A may be a transpose
  const T* a;
  Int si, sk;
  const T* b;
  Int ldb, depth;
};

// What a sum of products begins and ends with, each where it is there. A NaN stays one.
template <class T> struct Ends {
  const T *start = nullptr, *plus = nullptr;  // [m, lds] and [n]: what it is added to, in the place of C
  const T *low = nullptr, *mask = nullptr;    // [n]: the least it may be; [m, ldm]: it is 0 where this is not positive
  Int lds = 0, ldm = 0;
};

// C[R, V*W] = (start + plus, or C, or 0 where that is fresh) + sum of products, with C in registers, then low and mask.
template <class T, int R, int V, int W>
inline void tile(const Product<T>* p, Int count, Int i, Int j, T* c, Int ldc, const Ends<T>& ends, bool fresh) {
  typedef typename Vector<T, W>::type vec;
  vec sum[R][V] = {};
  if (const T* start = ends.start) {
    start += i * ends.lds + j;
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) {
      const vec plus = ends.plus ? *(const vec*)(ends.plus + j + v * W) : vec{};
#pragma GCC unroll 24
      for (int r = 0; r < R; r++) sum[r][v] = *(const vec*)(start + r * ends.lds + v * W) + plus;
    }
  } else if (!fresh)
#pragma GCC unroll 24
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
      for (int v = 0; v < V; v++) sum[r][v] = *(const vec*)(c + r * ldc + v * W);
  for (const Product<T>* end = p + count; p < end; p++) {
    const T *a = p->a + i * p->si, *b = p->b + j;
    const Int si = p->si, sk = p->sk, ldb = p->ldb, depth = p->depth;
    for (Int k = 0; k < depth; k++) {
      vec right[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; v++) right[v] = *(const vec*)(b + k * ldb + v * W);
#pragma GCC unroll 24
      for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int v = 0; v < V; v++) sum[r][v] += a[r * si + k * sk] * right[v];
    }
  }
  if (ends.low)
#pragma GCC unroll 4
  for (int v = 0; v < V; v++) {
    const vec least = *(const vec*)(ends.low + j + v * W);
#pragma GCC unroll 24
    for (int r = 0; r < R; r++) sum[r][v] = sum[r][v] < least ? least : sum[r][v];
  }
  if (ends.mask)
#pragma GCC unroll 24
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int v = 0; v < V; v++)
      sum[r][v] = *(const vec*)(ends.mask + (i + r) * ends.ldm + j + v * W) <= 0 ? vec{} : sum[r][v];
#pragma GCC unroll 24
  for (int r = 0; r < R; r++)
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) *(vec*)(c + r * ldc + v * W) = sum[r][v];
}

template <class T, int R, int V, int W>
inline Int strip(Int i, Int m, const Product<T>* p, Int count, Int j, T* c, Int ldc, const Ends<T>& ends, bool fresh) {
  for (; i + R <= m; i += R) tile<T, R, V, W>(p, count, i, j, c + i * ldc + j, ldc, ends, fresh);
  constexpr int less = R > 16 ? 16 : R > 8 ? 8 : R > 4 ? 4 : R / 2;
  if constexpr (R > 1) return strip<T, less, V, W>(i, m, p, count, j, c, ldc, ends, fresh);
  return i;
}

// C[m,n] += sum of products (= where C is fresh), with these ends.
template <class T>
void gemm(Int m, Int n, const Product<T>* p, Int count, T* c, Int ldc, const Ends<T>& ends = {}, bool fresh = false) {
  constexpr int W = VECTOR / sizeof(T);
  constexpr bool wide = VECTOR == 64;  // 32 registers, else 16
  Int j = 0;
  if constexpr (wide)
    for (; j + 4 * W <= n; j += 4 * W) strip<T, 6, 4, W>(0, m, p, count, j, c, ldc, ends, fresh);
  if constexpr (wide)
    for (; j + 3 * W <= n; j += 3 * W) strip<T, 8, 3, W>(0, m, p, count, j, c, ldc, ends, fresh);
  for (; j + 2 * W <= n; j += 2 * W) strip<T, wide ? 8 : 6, 2, W>(0, m, p, count, j, c, ldc, ends, fresh);
  for (; j + W <= n; j += W) strip<T, wide ? 8 : 12, 1, W>(0, m, p, count, j, c, ldc, ends, fresh);
  for (; W > 8 && j + 8 <= n; j += 8) strip<T, 8, 1, 8>(0, m, p, count, j, c, ldc, ends, fresh);
  for (; W > 4 && j + 4 <= n; j += 4) strip<T, 8, 1, 4>(0, m, p, count, j, c, ldc, ends, fresh);
  for (; j < n; j++) strip<T, 8, 1, 1>(0, m, p, count, j, c, ldc, ends, fresh);
}
template <class T> void gemm(Int m, Int n, const Product<T>& p, T* c, Int ldc, const Ends<T>& ends) {
  gemm<T>(m, n, &p, 1, c, ldc, ends, true);
}
template <class T> void gemm(Int m, Int n, const Product<T>& p, T* c, Int ldc, bool fresh = false) {
  gemm<T>(m, n, &p, 1, c, ldc, {}, fresh);
}

// f(k, vector) for every vector of n values, then for what is left of them.
template <class T, class F> inline void lanes(Int n, F f) {
  constexpr int W = VECTOR / sizeof(T);
  Int k = 0;
  for (; k + W <= n; k += W) f(k, Vector<T, W>());
  for (; W > 8 && k + 8 <= n; k += 8) f(k, Vector<T, 8>());
  for (; W > 4 && k + 4 <= n; k += 4) f(k, Vector<T, 4>());
  for (; k < n; k++) f(k, Vector<T, 1>());
}
#define VEC typedef typename decltype(vector)::type vec

template <class T> inline void add(Int n, const T* a, T* to) {
  lanes<T>(n, [=](Int k, auto vector) {
    VEC;
    *(vec*)(to + k) += *(const vec*)(a + k);
  });
}

// to[n] += sum of the rows of a[m, lda]
template <class T> inline void add_rows(Int m, Int n, const T* a, Int lda, T* to) {
  lanes<T>(n, [=](Int k, auto vector) {
    VEC;
    vec sum[4] = {*(const vec*)(to + k)};  // one alone would wait for itself
    Int i = 0;
    for (; i + 4 <= m; i += 4)
      for (int r = 0; r < 4; r++) sum[r] += *(const vec*)(a + (i + r) * lda + k);
    for (; i < m; i++) sum[0] += *(const vec*)(a + i * lda + k);
    *(vec*)(to + k) = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  });
}

// to[m,n] = row[n], plus table[m,n] where there is one
template <class T> inline void spread(Int m, Int n, const T* row, const T* table, T* to) {
  lanes<T>(n, [=](Int k, auto vector) {
    VEC;
    const vec one = *(const vec*)(row + k);
    if (table)
      for (Int i = 0; i < m; i++) *(vec*)(to + i * n + k) = one + *(const vec*)(table + i * n + k);
    else
      for (Int i = 0; i < m; i++) *(vec*)(to + i * n + k) = one;
  });
}

// to[m, ldt] = from[m, ldf] in n columns, 0 where there is no from
template <class T> inline void copy(Int m, Int n, const T* from, Int ldf, T* to, Int ldt) {
  lanes<T>(n, [=](Int k, auto vector) {
    VEC;
    for (Int i = 0; i < m; i++) *(vec*)(to + i * ldt + k) = from ? *(const vec*)(from + i * ldf + k) : vec{};
  });
}

// to[n, ldt] = from[m, ldf] turned round
template <class T> inline void turn(Int m, Int n, const T* from, Int ldf, T* to, Int ldt) {
  for (Int some = 0; some < m; some += 16)
    for (Int k = 0; k < n; k++)
      for (Int i = some; i < std::min(m, some + 16); i++) to[k * ldt + i] = from[i * ldf + k];
}

// to[m,n] = from[m, ldf] where hidden[m,n] is positive, else 0; ldf = 0 takes the same row again and again.
template <class T> inline void pass(Int m, Int n, const T* from, Int ldf, const T* hidden, Int ldh, T* to) {
  lanes<T>(n, [=](Int k, auto vector) {
    VEC;
    for (Int i = 0; i < m; i++) {
      const vec h = *(const vec*)(hidden + i * ldh + k), g = *(const vec*)(from + i * ldf + k);
      *(vec*)(to + i * ldh + k) = h <= 0 ? vec{} : g;
    }
  });
}

}  // namespace
