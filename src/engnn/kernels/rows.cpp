// The kernels of engnn on the CPU. Rows are nodes times channels, a block of them at a time:
//     hidden[i,c] = sum_p W_p part_p[i,c] + bias + own[i] + table[entry[i],c], then relu in the first `active` columns
// and what becomes of them (`Ending`), forward and backward. A block's hidden rows live in the first-level cache and are
// never written to memory; backward makes them again. Everything is built on one small matrix product, `gemm`.
// Each thread takes a contiguous range of rows, sorted by the set that they are summed into, and results depend only on
// the number of threads.
#include "tiles.h"

enum Ending { PRODUCT, LINEAR, CHANNELS, SETS };
constexpr Int MAX_PARTS = 4;

extern "C" struct Call {  // as `_call` of cpu.py lays it out; every pointer may be null where the thing is absent
  Int rows, channels, hidden, width, active, out, parts, ending, num, threads;
  Int own_size, table_rows, table_wide;
  const Int *entry, *owner;      // [rows]: which row of the table, which set
  const void *weight, *bias;     // [hidden, width], [hidden]
  const void *own, *table;       // [rows, own_size <= hidden], [table_rows, channels or 1, hidden]
  const void *weight2, *bias2;   // [out, active], [out]
  void *result;                  // or, backward, the gradient of it
  void *of_weight, *of_bias, *of_own, *of_table, *of_weight2, *of_bias2;
  Int column[MAX_PARTS], size[MAX_PARTS];
  const void* part[MAX_PARTS];   // [rows, channels, size]
  void* of_part[MAX_PARTS];
};

namespace {

bool within(const Int* key, Int n, Int keys) {
  bool all = true;
  for (Int i = 0; key && i < n; i++) all &= key[i] >= 0 && key[i] < keys;
  return all;
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

// Sums of consecutive rows into to[set]. The first set of a thread may be the last of another: it is kept for `finish`.
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
  const Int C, H, A, O;
  std::vector<Int> order;
  Space<T> turned, turned2, low;  // the weights as [in, out]; 0 in the active columns, else minus infinity

  Kernel(const Call& call, bool back) : call(call), C(call.channels), H(call.hidden), A(call.active), O(call.out) {
    order = back ? (call.of_table ? sorted(call.entry, call.rows, call.table_rows) : order)
                 : (call.ending == SETS ? sorted(call.owner, call.rows, call.num) : order);
    turned = turn((const T*)call.weight, H, call.width);
    if (call.ending == LINEAR) turned2 = turn((const T*)call.weight2, O, A);
    low.assign(H, -std::numeric_limits<T>::infinity());
    std::fill(low.begin(), low.begin() + (call.ending == PRODUCT ? 0 : A), T(0));
  }
  static Space<T> turn(const T* w, Int rows, Int columns) {
    Space<T> out(rows * columns);
    for (Int i = 0; i < rows; i++)
      for (Int k = 0; k < columns; k++) out[k * rows + i] = w[i * columns + k];
    return out;
  }
  Int at(Int i) const { return order.empty() ? i : order[i]; }
  Int entry(Int i) const { return call.entry ? call.entry[at(i)] : 0; }
  Int wide_table() const { return call.table_wide ? C : 1; }

  // Rows i, i+1, … of `from`, in order: where they lie (and the next block is fetched), or brought together in `space`.
  const T* gather(const void* from, Int i, Int count, Int size, Space<T>& space) const {
    if (order.empty()) {
      const T *here = (const T*)from + i * size, *end = (const T*)from + std::min(i + 2 * count, call.rows) * size;
      for (const T* next = here + count * size; next < end; next += 64 / sizeof(T)) __builtin_prefetch(next);
      return here;
    }
    space.resize(count * size);
    for (Int r = 0; r < count; r++)
      memcpy(space.data() + r * size, (const T*)from + at(i + r) * size, size * sizeof(T));
    return space.data();
  }

  struct Block {
    Int start, count;
    const T* part[MAX_PARTS];
    Space<T> space[MAX_PARTS], hidden, common;
  };

  // The hidden rows of a block (their first columns): what they begin with, then the products.
  void make(Block& b, T* hidden, Int columns) const {
    const T *bias = (const T*)call.bias, *table = (const T*)call.table, *own = (const T*)call.own;
    b.common.resize(H);
    for (Int i = 0; i < b.count; i++) {
      T* common = C == 1 ? hidden + i * H : b.common.data();  // what the channels of a row have in common
      if (bias) memcpy(common, bias, H * sizeof(T));
      else memset(common, 0, H * sizeof(T));
      if (own) add(call.own_size, own + at(b.start + i) * call.own_size, common);
      if (table && wide_table() == 1) add(H, table + entry(b.start + i) * H, common);
      if (C > 1) spread(C, H, common, table && wide_table() > 1 ? table + entry(b.start + i) * C * H : nullptr, hidden + i * C * H);
    }
    Product<T> products[MAX_PARTS];
    for (Int p = 0; p < call.parts; p++) {
      const Int k = call.size[p];
      b.part[p] = gather(call.part[p], b.start, b.count, C * k, b.space[p]);
      products[p] = {b.part[p], k, 1, turned.data() + call.column[p] * H, H, k};
    }
    Ends<T> ends;
    if (call.ending != PRODUCT) ends.low = low.data();
    gemm(b.count * C, columns, products, call.parts, hidden, H, ends);
  }

  template <class F, class G> void blocks(F prepare, G each) const {
    const Int step = std::max<Int>(1, BLOCK / C), total = (call.rows + step - 1) / step;
#pragma omp parallel num_threads(int(std::max<Int>(1, std::min(call.threads, total))))
    {
      Int threads = 1, thread = 0;
#ifdef _OPENMP
      threads = omp_get_num_threads(), thread = omp_get_thread_num();
#endif
      auto&& mine = prepare(thread);
      Block b;
      b.hidden.resize(step * C * H);
      const Int last = std::min(call.rows, total * (thread + 1) / threads * step);
      for (b.start = total * thread / threads * step; b.start < last; b.start += step) {
        b.count = std::min(step, last - b.start);
        each(b, mine);
      }
    }
  }

  static void zero(void* to, Int size) {
    if (to) memset(to, 0, size * sizeof(T));
  }

  void forward() const {
    T* result = (T*)call.result;
    const bool sets = call.ending == SETS;
    if (sets) zero(result, call.num * C * H);
    std::vector<Sums<T>> sums(std::max<Int>(1, call.threads), Sums<T>(sets ? result : nullptr, C * H));
    blocks([&](Int thread) -> Sums<T>& { return sums[thread]; }, [&](Block& b, Sums<T>& sum) {
      if (call.ending == PRODUCT) return make(b, result + b.start * C * H, H);
      const T* hidden = b.hidden.data();
      make(b, b.hidden.data(), H);
      if (call.ending == LINEAR) return second(b, hidden, result + b.start * C * O);
      for (Int i = 0; i < b.count; i++)
        if (sets) add(C * H, hidden + i * C * H, sum.of(call.owner ? call.owner[at(b.start + i)] : 0));
        else {
          T* out = result + (b.start + i) * H;
          memset(out, 0, H * sizeof(T));
          add_rows(C, H, hidden + i * C * H, H, out);
        }
    });
    for (auto& sum : sums) sum.flush();
    for (auto& sum : sums) sum.finish();
  }

  // W2 relu(hidden) + bias2, plus the columns of hidden that are not active
  void second(const Block& b, const T* hidden, T* out) const {
    const Int rows = b.count * C;
    copy(rows, O, A < H ? hidden + A : (const T*)call.bias2, A < H ? H : 0, out, O);
    for (Int r = 0; A < H && call.bias2 && r < rows; r++) add(O, (const T*)call.bias2, out + r * O);
    gemm(rows, O, {hidden, H, 1, turned2.data(), O, A}, out, O);
  }

  struct Grads {  // one thread's share
    Space<T> weight, bias, weight2, bias2, inner, narrow, outer, space;
    Sums<T> table;
    Grads(const Call& c) : table((T*)c.of_table, (c.table_wide ? c.channels : 1) * c.hidden) {
      if (c.of_weight) weight.assign(c.width * c.hidden, T(0));
      if (c.of_bias) bias.assign(c.hidden, T(0));
      if (c.of_weight2) weight2.assign(c.out * c.active, T(0));
      if (c.of_bias2) bias2.assign(c.out, T(0));
    }
  };

  void backward() const {
    zero(call.of_weight, H * call.width), zero(call.of_bias, H), zero(call.of_weight2, O * A), zero(call.of_bias2, O);
    zero(call.of_table, call.table_rows * wide_table() * H);
    std::vector<Grads> all(std::max<Int>(1, call.threads), Grads(call));
    blocks([&](Int thread) -> Grads& { return all[thread]; }, [&](Block& b, Grads& g) { backward(b, g); });
    for (auto& g : all) {
      g.table.flush();
      for (Int h = 0; call.of_weight && h < H; h++)
        for (Int k = 0; k < call.width; k++) ((T*)call.of_weight)[h * call.width + k] += g.weight[k * H + h];
      if (call.of_bias) add(H, g.bias.data(), (T*)call.of_bias);
      if (call.of_weight2) add(O * A, g.weight2.data(), (T*)call.of_weight2);
      if (call.of_bias2) add(O, g.bias2.data(), (T*)call.of_bias2);
    }
    for (auto& g : all) g.table.finish();
  }

  void backward(Block& b, Grads& g) const {
    const T* inner = gradient(b, g);  // of the hidden rows before the activation
    const T* narrow = inner;          // its sum over channels
    const bool wide = wide_table() == C;
    if (C > 1 && (call.of_bias || call.of_own || (call.of_table && !wide))) {
      g.narrow.assign(b.count * H, T(0));
      for (Int i = 0; i < b.count; i++) add_rows(C, H, inner + i * C * H, H, g.narrow.data() + i * H);
      narrow = g.narrow.data();
    }
    if (call.of_bias) add_rows(b.count, H, narrow, H, g.bias.data());
    for (Int i = 0; call.of_own && i < b.count; i++)
      memcpy((T*)call.of_own + at(b.start + i) * call.own_size, narrow + i * H, call.own_size * sizeof(T));
    for (Int i = 0; call.of_table && i < b.count; i++)
      add(g.table.size, (wide ? inner : narrow) + i * g.table.size, g.table.of(entry(b.start + i)));
    for (Int p = 0; p < call.parts; p++) {
      const Int k = call.size[p], rows = b.count * C;
      if (call.of_weight) gemm(k, H, {b.part[p], 1, k, inner, H, rows}, g.weight.data() + call.column[p] * H, H);
      if (!call.of_part[p]) continue;
      T* to = (T*)call.of_part[p] + b.start * C * k;
      if (!order.empty()) g.space.resize(rows * k), to = g.space.data();
      gemm(rows, k, {inner, H, 1, (const T*)call.weight + call.column[p], call.width, H}, to, k, true);
      for (Int i = 0; !order.empty() && i < b.count; i++)
        memcpy((T*)call.of_part[p] + at(b.start + i) * C * k, to + i * C * k, C * k * sizeof(T));
    }
  }

  const T* gradient(Block& b, Grads& g) const {
    const Int rows = b.count * C;
    const T* grad = (const T*)call.result;
    if (call.ending == PRODUCT) {
      for (Int p = 0; p < call.parts; p++)
        b.part[p] = gather(call.part[p], b.start, b.count, C * call.size[p], b.space[p]);
      return gather(grad, b.start, b.count, C * H, g.outer);
    }
    T* hidden = b.hidden.data();
    make(b, hidden, A);
    g.inner.resize(rows * H);
    T* inner = g.inner.data();
    if (call.ending == LINEAR) {
      const T* outer = gather(grad, b.start, b.count, C * O, g.outer);
      if (call.of_weight2) gemm(O, A, {outer, 1, O, hidden, H, rows}, g.weight2.data(), A);
      if (call.of_bias2) add_rows(rows, O, outer, O, g.bias2.data());
      copy(rows, H - A, outer, O, inner + A, H);
      gemm(rows, A, {outer, O, 1, (const T*)call.weight2, A, O}, inner, H, true);
      pass(rows, A, inner, H, hidden, H, inner);
      return inner;
    }
    for (Int i = 0; i < b.count; i++) {
      const Int row = at(b.start + i), at = i * C * H;
      if (call.ending == CHANNELS) pass(C, H, grad + row * H, 0, hidden + at, H, inner + at);
      else pass(C, H, grad + (call.owner ? call.owner[row] : 0) * C * H, H, hidden + at, H, inner + at);
    }
    return inner;
  }
};

// out[i] = outer[i] * sum of inner[j] values[j] over j = source[pointer[i]], …, source[pointer[i+1]-1]
template <class T>
void neighbours(Int n, Int size, Int threads, const T* values, const Int* pointer, const Int* source, const T* inner,
                const T* outer, T* out) {
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

#define KERNELS(T, NAME)                                                                                            \
  bool forward_##NAME(const Call* call) {                                                                           \
    if (!within(call->entry, call->rows, call->table_rows) || !within(call->owner, call->rows, call->num)) return false; \
    Kernel<T>(*call, false).forward();                                                                              \
    return true;                                                                                                    \
  }                                                                                                                 \
  bool backward_##NAME(const Call* call) {                                                                          \
    Kernel<T>(*call, true).backward();                                                                              \
    return true;                                                                                                    \
  }                                                                                                                 \
  void neighbours_##NAME(Int n, Int size, Int threads, const T* values, const Int* pointer, const Int* source,      \
                         const T* inner, const T* outer, T* out) {                                                  \
    neighbours(n, size, threads, values, pointer, source, inner, outer, out);                                       \
  }
extern "C" {
KERNELS(float, float32)
KERNELS(double, float64)
}
