// The kernels of engnn on the CPU. Read `hidden` first: rows = nodes (times channels), a block of them at a time,
//     hidden[i,c] = sum_p W_p part_p[i,c] + bias + table[index[i],c]
// then what becomes of them (`Ending`), forward and backward. A block's rows live in the first-level cache and are never
// written to memory; backward makes them again. Everything is built on one small matrix product, `gemm`.
// Each thread takes a contiguous range of rows, sorted by the set that they are summed into, and results depend only on
// the number of threads.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>
#ifdef _OPENMP
#include <omp.h>
#endif

typedef int64_t Int;
enum Ending { PRODUCT, LINEAR, CHANNELS, SETS };
constexpr Int MAX_PARTS = 8;

extern "C" struct Call {  // mirrored by `_Call` in cpu.py; every pointer may be null where the thing is absent
  Int rows, channels, hidden, width, out, parts, ending, num, threads;
  const Int *index, *owner;       // [rows]: which row of the table, which set
  Int table_rows, table_wide;     // table is [table_rows, channels or 1, hidden]
  const void *weight, *bias, *table, *weight2, *bias2, *grad;  // weight is [hidden, width]
  void *result, *of_weight, *of_bias, *of_table, *of_weight2, *of_bias2;
  const void *part[MAX_PARTS];    // [rows, channels or 1, size]
  void *of_part[MAX_PARTS];
  Int column[MAX_PARTS], size[MAX_PARTS], wide[MAX_PARTS];
};

namespace {

#ifdef __AVX512F__
constexpr int VECTOR = 64;
#else
constexpr int VECTOR = 32;
#endif
template <class T, int W> struct Vector { typedef T type __attribute__((vector_size(W * sizeof(T)), aligned(alignof(T)), may_alias)); };

template <class T> struct Aligned {  // vectors that lie across two cache lines cost twice
  typedef T value_type;
  T* allocate(size_t n) { return (T*)::operator new(n * sizeof(T), std::align_val_t(VECTOR)); }
  void deallocate(T* p, size_t) { ::operator delete(p, std::align_val_t(VECTOR)); }
  bool operator==(const Aligned&) const { return true; }
  bool operator!=(const Aligned&) const { return false; }
};
template <class T> using Space = std::vector<T, Aligned<T>>;

// C[R, V*W] += A B with C in registers; A(i,k) = a[i*si + k*sk], so that A may be a transpose.
template <class T, int R, int V, int W>
inline void tile(Int depth, const T* a, Int si, Int sk, const T* b, Int ldb, T* c, Int ldc) {
  typedef typename Vector<T, W>::type vec;
  vec sum[R][V];
#pragma GCC unroll 16
  for (int i = 0; i < R; i++)
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) sum[i][v] = *(const vec*)(c + i * ldc + v * W);
  for (Int k = 0; k < depth; k++) {
    vec right[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) right[v] = *(const vec*)(b + k * ldb + v * W);
#pragma GCC unroll 16
    for (int i = 0; i < R; i++)
#pragma GCC unroll 4
      for (int v = 0; v < V; v++) sum[i][v] += a[i * si + k * sk] * right[v];
  }
#pragma GCC unroll 16
  for (int i = 0; i < R; i++)
#pragma GCC unroll 4
    for (int v = 0; v < V; v++) *(vec*)(c + i * ldc + v * W) = sum[i][v];
}

template <class T, int R, int V, int W>
inline void strip(Int m, Int depth, const T* a, Int si, Int sk, const T* b, Int ldb, T* c, Int ldc) {
  Int i = 0;
  for (; i + R <= m; i += R) tile<T, R, V, W>(depth, a + i * si, si, sk, b, ldb, c + i * ldc, ldc);
  if constexpr (R > 1)
    if (i < m) strip<T, R / 2, V, W>(m - i, depth, a + i * si, si, sk, b, ldb, c + i * ldc, ldc);
}

// C[m,n] += A[m,depth] B[depth,n]
template <class T> void gemm(Int m, Int n, Int depth, const T* a, Int si, Int sk, const T* b, Int ldb, T* c, Int ldc) {
  constexpr int W = VECTOR / sizeof(T);
  Int j = 0;
  for (; VECTOR == 64 && j + 4 * W <= n; j += 4 * W) strip<T, 6, 4, W>(m, depth, a, si, sk, b + j, ldb, c + j, ldc);
  for (; j + 2 * W <= n; j += 2 * W) strip<T, VECTOR == 64 ? 12 : 4, 2, W>(m, depth, a, si, sk, b + j, ldb, c + j, ldc);
  for (; j + W <= n; j += W) strip<T, VECTOR / 8, 1, W>(m, depth, a, si, sk, b + j, ldb, c + j, ldc);
  for (; W > 8 && j + 8 <= n; j += 8) strip<T, 8, 1, 8>(m, depth, a, si, sk, b + j, ldb, c + j, ldc);
  for (; W > 4 && j + 4 <= n; j += 4) strip<T, 8, 1, 4>(m, depth, a, si, sk, b + j, ldb, c + j, ldc);
  for (; j < n; j++) strip<T, 8, 1, 1>(m, depth, a, si, sk, b + j, ldb, c + j, ldc);
}

// f(k, vector) for every vector of n values, then for what is left of them.
template <class T, class F> inline void lanes(Int n, F f) {
  constexpr int W = VECTOR / sizeof(T);
  Int k = 0;
  for (; k + W <= n; k += W) f(k, Vector<T, W>());
  for (; k < n; k++) f(k, Vector<T, 1>());
}

template <class T> inline void add(Int n, const T* a, T* to) {
  for (Int k = 0; k < n; k++) to[k] += a[k];
}

// to[n] += sum of the rows of a[m,n]
template <class T> inline void add_rows(Int m, Int n, const T* a, T* to) {
  lanes<T>(n, [=](Int k, auto vector) {
    typedef typename decltype(vector)::type vec;
    vec sum = *(const vec*)(to + k);
    for (Int i = 0; i < m; i++) sum += *(const vec*)(a + i * n + k);
    *(vec*)(to + k) = sum;
  });
}

// to[m,n] = row[n], plus table[m,n] where there is one
template <class T> inline void spread(Int m, Int n, const T* row, const T* table, T* to) {
  lanes<T>(n, [=](Int k, auto vector) {
    typedef typename decltype(vector)::type vec;
    const vec one = *(const vec*)(row + k);
    if (table)
      for (Int i = 0; i < m; i++) *(vec*)(to + i * n + k) = one + *(const vec*)(table + i * n + k);
    else
      for (Int i = 0; i < m; i++) *(vec*)(to + i * n + k) = one;
  });
}

// Rows in the order of what they are summed into; empty where they already are.
std::vector<Int> sorted(const Int* key, Int n, Int keys) {
  if (!key || std::is_sorted(key, key + n)) return {};
  std::vector<Int> start(keys + 1, 0), order(n);
  for (Int i = 0; i < n; i++) start[key[i] + 1]++;
  for (Int k = 0; k < keys; k++) start[k + 1] += start[k];
  for (Int i = 0; i < n; i++) order[start[key[i]]++] = i;
  return order;
}

// Sums of consecutive rows into to[set]. The first set of a thread may be the last of another: it is kept back for `finish`.
template <class T> struct Sums {
  T* to;
  Int size, current = -1, first = -1;
  Space<T> sum, kept;
  Sums(T* to, Int size) : to(to), size(size), sum(to ? size : 0) {}
  T* of(Int set) {
    if (set != current) {
      flush();
      current = set;
      std::fill(sum.begin(), sum.end(), T(0));
    }
    return sum.data();
  }
  void flush() {
    if (current < 0) return;
    if (first < 0) first = current, kept = sum;
    else add(size, sum.data(), to + current * size);
    current = -1;
  }
  void finish() {
    if (first >= 0) add(size, kept.data(), to + first * size);
  }
};

template <class T> struct Kernel {
  const Call& call;
  const Int C, H;
  std::vector<Int> order;
  Space<T> turned, turned2;  // the weights as [in, out]

  Kernel(const Call& call, bool back) : call(call), C(call.channels), H(call.hidden) {
    order = back ? (call.of_table ? sorted(call.index, call.rows, call.table_rows) : order)
                 : (call.ending == SETS ? sorted(call.owner, call.rows, call.num) : order);
    turned = turn((const T*)call.weight, H, call.width);
    if (call.ending == LINEAR) turned2 = turn((const T*)call.weight2, call.out, H);
  }
  static Space<T> turn(const T* w, Int rows, Int columns) {
    Space<T> out(rows * columns);
    for (Int i = 0; i < rows; i++)
      for (Int k = 0; k < columns; k++) out[k * rows + i] = w[i * columns + k];
    return out;
  }
  Int at(Int i) const { return order.empty() ? i : order[i]; }
  Int wide(Int p) const { return call.wide[p] ? C : 1; }

  // Rows i, i+1, … of `from`, in order: where they lie, or brought together in `space`.
  const T* gather(const void* from, Int i, Int count, Int size, Space<T>& space) const {
    if (order.empty()) return (const T*)from + i * size;
    space.resize(count * size);
    for (Int r = 0; r < count; r++) memcpy(space.data() + r * size, (const T*)from + at(i + r) * size, size * sizeof(T));
    return space.data();
  }

  struct Block {
    Int start, count;
    const T* part[MAX_PARTS];
    Space<T> space[MAX_PARTS], hidden, common;
  };

  void make(Block& b, T* hidden) const {
    const T *bias = (const T*)call.bias, *table = (const T*)call.table;
    b.common.resize(b.count * H);
    T* common = C == 1 ? hidden : b.common.data();  // what the channels of a row have in common
    for (Int i = 0; i < b.count; i++) {
      T* row = common + i * H;
      if (bias) memcpy(row, bias, H * sizeof(T));
      else memset(row, 0, H * sizeof(T));
      if (table && wide_table() == 1) add(H, table + entry(b.start + i) * H, row);
    }
    for (Int p = 0; p < call.parts; p++) {
      b.part[p] = gather(call.part[p], b.start, b.count, wide(p) * call.size[p], b.space[p]);
      if (wide(p) == 1) product(b.count, p, b, common);
    }
    if (C == 1) return activate(b.count * H, hidden);
    for (Int i = 0; i < b.count; i++)
      spread(C, H, common + i * H, table && wide_table() == C ? table + entry(b.start + i) * C * H : nullptr, hidden + i * C * H);
    for (Int p = 0; p < call.parts; p++)
      if (wide(p) > 1) product(b.count * C, p, b, hidden);
    activate(b.count * C * H, hidden);
  }
  void activate(Int n, T* values) const {
    for (Int k = 0; call.ending != PRODUCT && k < n; k++) values[k] = values[k] <= 0 ? T(0) : values[k];  // keeps not-a-number
  }
  Int entry(Int i) const { return call.index ? call.index[at(i)] : 0; }
  Int wide_table() const { return call.table_wide ? C : 1; }
  void product(Int rows, Int p, const Block& b, T* to) const {
    gemm(rows, H, call.size[p], b.part[p], call.size[p], Int(1), turned.data() + call.column[p] * H, H, to, H);
  }

  template <class F, class G> void blocks(F prepare, G each) const {
    const Int step = std::max<Int>(1, 64 / C), total = (call.rows + step - 1) / step;
#pragma omp parallel num_threads(int(std::max<Int>(1, std::min(call.threads, total))))
    {
      Int threads = 1, thread = 0;
#ifdef _OPENMP
      threads = omp_get_num_threads(), thread = omp_get_thread_num();
#endif
      auto&& mine = prepare(thread, threads);
      Block b;
      b.hidden.resize(step * C * H);
      const Int last = std::min(call.rows, total * (thread + 1) / threads * step);
      for (b.start = total * thread / threads * step; b.start < last; b.start += step) {
        b.count = std::min(step, last - b.start);
        each(b, mine);
      }
    }
  }

  void forward() const {
    T* result = (T*)call.result;
    const bool sets = call.ending == SETS;
    std::vector<Sums<T>> sums(std::max<Int>(1, call.threads), Sums<T>(sets ? result : nullptr, C * H));
    blocks([&](Int thread, Int) -> Sums<T>& { return sums[thread]; }, [&](Block& b, Sums<T>& sum) {
      if (call.ending == PRODUCT) return make(b, result + b.start * C * H);
      const T* hidden = b.hidden.data();
      make(b, b.hidden.data());
      if (call.ending == LINEAR) {
        T* out = result + b.start * C * call.out;
        if (call.bias2) spread(b.count * C, call.out, (const T*)call.bias2, (const T*)nullptr, out);
        else memset(out, 0, b.count * C * call.out * sizeof(T));
        gemm(b.count * C, call.out, H, hidden, H, Int(1), turned2.data(), call.out, out, call.out);
      } else
        for (Int i = 0; i < b.count; i++)
          if (sets) add(C * H, hidden + i * C * H, sum.of(call.owner ? call.owner[at(b.start + i)] : 0));
          else {
            T* out = result + (b.start + i) * H;
            memset(out, 0, H * sizeof(T));
            add_rows(C, H, hidden + i * C * H, out);
          }
    });
    for (auto& sum : sums) sum.flush();
    for (auto& sum : sums) sum.finish();
  }

  struct Grads {  // one thread's share
    Space<T> weight, bias, weight2, bias2, inner, narrow, outer, space;
    Sums<T> table;
    Grads(const Call& c) : table((T*)c.of_table, (c.table_wide ? c.channels : 1) * c.hidden) {
      if (c.of_weight) weight.assign(c.width * c.hidden, T(0));
      if (c.of_bias) bias.assign(c.hidden, T(0));
      if (c.of_weight2) weight2.assign(c.out * c.hidden, T(0));
      if (c.of_bias2) bias2.assign(c.out, T(0));
    }
  };

  void backward() const {
    std::vector<Grads> all(std::max<Int>(1, call.threads), Grads(call));
    blocks([&](Int thread, Int) -> Grads& { return all[thread]; }, [&](Block& b, Grads& g) { backward(b, g); });
    for (auto& g : all) {
      g.table.flush();
      for (Int h = 0; call.of_weight && h < H; h++)
        for (Int k = 0; k < call.width; k++) ((T*)call.of_weight)[h * call.width + k] += g.weight[k * H + h];
      if (call.of_bias) add(H, g.bias.data(), (T*)call.of_bias);
      if (call.of_weight2) add(call.out * H, g.weight2.data(), (T*)call.of_weight2);
      if (call.of_bias2) add(call.out, g.bias2.data(), (T*)call.of_bias2);
    }
    for (auto& g : all) g.table.finish();
  }

  void backward(Block& b, Grads& g) const {
    const Int rows = b.count * C, O = call.out;
    T* hidden = b.hidden.data();
    make(b, hidden);
    const T *grad = (const T*)call.grad, *inner = nullptr;  // inner: the gradient of the hidden rows
    g.inner.resize(rows * H);
    if (call.ending == LINEAR) {
      const T* outer = gather(grad, b.start, b.count, C * O, g.outer);
      if (call.of_weight2) gemm(O, H, rows, outer, Int(1), O, hidden, H, g.weight2.data(), H);
      if (call.of_bias2) add_rows(rows, O, outer, g.bias2.data());
      std::fill(g.inner.begin(), g.inner.end(), T(0));
      gemm(rows, H, O, outer, O, Int(1), (const T*)call.weight2, H, g.inner.data(), H);
    } else if (call.ending != PRODUCT) {
      for (Int i = 0; i < b.count; i++) {
        const Int row = at(b.start + i);
        T* to = g.inner.data() + i * C * H;
        if (call.ending == CHANNELS) spread(C, H, grad + row * H, (const T*)nullptr, to);
        else memcpy(to, grad + (call.owner ? call.owner[row] : 0) * C * H, C * H * sizeof(T));
      }
    }
    if (call.ending == PRODUCT)
      inner = gather(grad, b.start, b.count, C * H, g.outer);
    else {
      T* to = g.inner.data();
      for (Int k = 0; k < rows * H; k++) to[k] = hidden[k] <= 0 ? T(0) : to[k];
      inner = to;
    }
    if (call.of_bias) add_rows(rows, H, inner, g.bias.data());
    const T* narrow = inner;  // the sum over channels
    if (C > 1) {
      g.narrow.assign(b.count * H, T(0));
      for (Int i = 0; i < b.count; i++) add_rows(C, H, inner + i * C * H, g.narrow.data() + i * H);
      narrow = g.narrow.data();
    }
    for (Int i = 0; call.of_table && i < b.count; i++)
      add(g.table.size, (call.table_wide ? inner : narrow) + i * g.table.size, g.table.of(entry(b.start + i)));
    for (Int p = 0; p < call.parts; p++) {
      const Int k = call.size[p], count = b.count * wide(p);
      const T* from = wide(p) == C ? inner : narrow;
      if (call.of_weight) gemm(k, H, count, b.part[p], Int(1), k, from, H, g.weight.data() + call.column[p] * H, H);
      if (!call.of_part[p]) continue;
      T* to = (T*)call.of_part[p] + b.start * wide(p) * k;
      if (!order.empty()) g.space.resize(count * k), to = g.space.data();
      memset(to, 0, count * k * sizeof(T));
      gemm(count, k, H, from, H, Int(1), (const T*)call.weight + call.column[p], call.width, to, k);
      for (Int i = 0; !order.empty() && i < b.count; i++)
        memcpy((T*)call.of_part[p] + at(b.start + i) * wide(p) * k, to + i * wide(p) * k, wide(p) * k * sizeof(T));
    }
  }
};

// out[i] = outer[i] * sum of inner[j] values[j] over j = source[pointer[i]], …, source[pointer[i+1]-1]
template <class T>
void neighbours(Int n, Int size, const T* values, const Int* pointer, const Int* source, const T* inner, const T* outer, T* out, Int threads) {
#pragma omp parallel for schedule(dynamic, 64) num_threads(int(std::max<Int>(1, threads)))
  for (Int i = 0; i < n; i++) {
    T* to = out + i * size;
    std::fill(to, to + size, T(0));
    for (Int e = pointer[i]; e < pointer[i + 1]; e++) {
      const T *from = values + source[e] * size, by = inner ? inner[source[e]] : T(1);
      for (Int k = 0; k < size; k++) to[k] += by * from[k];
    }
    for (Int k = 0; outer && k < size; k++) to[k] *= outer[i];
  }
}

}  // namespace

extern "C" {
void forward_float32(const Call* call) { Kernel<float>(*call, false).forward(); }
void forward_float64(const Call* call) { Kernel<double>(*call, false).forward(); }
void backward_float32(const Call* call) { Kernel<float>(*call, true).backward(); }
void backward_float64(const Call* call) { Kernel<double>(*call, true).backward(); }
void neighbours_float32(Int n, Int size, const float* v, const Int* p, const Int* s, const float* i, const float* o, float* out, Int t) {
  neighbours(n, size, v, p, s, i, o, out, t);
}
void neighbours_float64(Int n, Int size, const double* v, const Int* p, const Int* s, const double* i, const double* o, double* out, Int t) {
  neighbours(n, size, v, p, s, i, o, out, t);
}
}
