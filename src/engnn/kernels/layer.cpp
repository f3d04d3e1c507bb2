// A whole message-passing layer on the CPU (`engnn.nn.conv`, which has the equations), forward and backward, some graphs
// at a time: a block is a range of nodes that has neither an edge nor a graph in common with another. All that a block
// needs lies in the second-level cache, and threads take blocks each by itself. Weights come as in the layer's
// `parameters()`; where no activation stands between two Linears they are made one here. Kept for the way back is what
// graphs and nodes make, never a row of the noise.
#include "tiles.h"

enum Weights {  // each but EDGE and LINEAR followed by its bias
  PSI, PSI1 = 2, PSI2 = 4, PHI = 6, PHI1 = 8, PHI2 = 10, VARPHI = 12, VARPHI1 = 14, VARPHI2 = 16, EDGE = 18,
  G = 19, G2 = 21, H = 23, H2 = 25, LINEAR = 27, WEIGHTS
};

extern "C" struct LayerCall {  // as `layer` of cpu.py lays it out; a pointer is null where the thing is absent
  Int nodes, channels, width, features, graphs, edge_width, messages, residual, threads;
  const void *x, *z, *edge;                                          // edge: [edges, edge_width]
  const Int *pointer, *source, *order, *back_pointer, *back_source;  // as in `Adjacency`
  const Int *owner, *sizes;                                          // of the graphs
  void *x2, *z2, *kept, *of_x, *of_z;                                // x2, z2: backward, the gradients of them
  Int size[WEIGHTS];                                                 // the outputs of each Linear
  const void* weight[WEIGHTS];
  void* of_weight[WEIGHTS];
};

namespace {

template <class T> struct Matrix {  // of a Linear, or the gradient of it
  Int in, out;
  Space<T> turned, straight;  // [in, out], then the bias; and [out, in]
  Matrix(Int in, Int out) : in(in), out(out), turned((in + 1) * out, T(0)) {}
  T* row(Int i) { return turned.data() + i * out; }
  const T* row(Int i) const { return turned.data() + i * out; }
  T* bias() { return row(in); }
  const T* bias() const { return row(in); }
  void straighten() {
    straight.resize(in * out);
    turn(in, out, row(0), out, straight.data(), in);
  }
};

template <class T> struct Matrices {
  const Int near;
  Matrix<T> psi, psi1, psi2, phi1, phi2, varphi1, varphi2, edge, g2, h2;
  Matrix<T> noise;  // of Z¹, into φ, h and its linear part
  Matrix<T> x0, x1;  // of x⁰ into the message, g and h; of x¹ into g and h
  Matrix<T> table, node, after;  // psi2 and noise as one; phi2 and x0, then x; varphi2 and x1

  Matrices(const LayerCall& c)
      : near(c.messages ? 2 * c.width : c.width), psi(c.width, c.size[PSI]),
        psi1(c.size[PSI] + 1, c.size[PSI1]), psi2(c.size[PSI1], c.size[PSI2]), phi1(c.size[PHI], c.size[PHI1]),
        phi2(c.size[PHI1], c.size[PHI2]), varphi1(c.size[VARPHI] + 1, c.size[VARPHI1]),
        varphi2(c.size[VARPHI1], c.size[VARPHI2]), edge(c.edge_width, c.size[VARPHI]), g2(c.size[G], c.size[G2]),
        h2(c.size[H], c.size[H2]), noise(near + c.size[PSI2], c.size[PHI] + c.size[H] + c.size[H2]),
        x0(c.size[PHI2] + c.features, c.size[VARPHI] + c.size[G] + c.size[H]), x1(c.size[VARPHI2], c.size[G] + c.size[H]),
        table(psi2.in, noise.out), node(phi2.in + c.features, x0.out), after(varphi2.in, x1.out) {}

  std::vector<Matrix<T>*> used() {  // all but those that are one with another, which `table`, `node`, `after` are for
    return {&psi, &psi1, &phi1, &varphi1, &edge, &g2, &h2, &noise, &table, &node, &after};
  }

  // f(weight, its width, in, out, to, width of to) for every piece of a weight and where in the matrices it goes.
  template <class F> void pieces(const LayerCall& c, F f) {
    auto put = [&](Int of, Int width, Int column, Int in, Matrix<T>& to, Int row, Int offset) {
      f(of, column, width, in, c.size[of], to.row(row) + offset, to.out);
    };
    auto whole = [&](Int of, Matrix<T>& to) { put(of, to.in, 0, to.in, to, 0, 0), put(of + 1, 1, 0, 1, to, to.in, 0); };
    const Int all = noise.in, into_g = x1.in + x0.in, into_h = all + into_g;
    whole(PSI, psi), whole(PSI1, psi1), whole(PSI2, psi2), whole(PHI1, phi1), whole(PHI2, phi2), whole(VARPHI1, varphi1);
    whole(VARPHI2, varphi2), whole(G2, g2), whole(H2, h2), put(EDGE, edge.in, 0, edge.in, edge, 0, 0);
    put(PHI, all, 0, all, noise, 0, 0), put(PHI + 1, 1, 0, 1, noise, all, 0);
    put(H, into_h, 0, all, noise, 0, c.size[PHI]), put(LINEAR, all, 0, all, noise, 0, c.size[PHI] + c.size[H]);
    put(VARPHI, x0.in, 0, x0.in, x0, 0, 0), put(VARPHI + 1, 1, 0, 1, x0, x0.in, 0);
    put(G, into_g, x1.in, x0.in, x0, 0, c.size[VARPHI]), put(G + 1, 1, 0, 1, x0, x0.in, c.size[VARPHI]);
    put(H, into_h, all + x1.in, x0.in, x0, 0, x0.out - c.size[H]), put(H + 1, 1, 0, 1, x0, x0.in, x0.out - c.size[H]);
    put(G, into_g, 0, x1.in, x1, 0, 0), put(H, into_h, all, x1.in, x1, 0, c.size[G]);
  }
};

template <class T> struct Layer {
  const LayerCall& c;
  const T degree, typical, share, root;  // τ of neighbours and of graphs; what φ's sum is multiplied by; √degree
  Matrices<T> w;
  const Int C, L, P, F, D, A, O, own, W, N;  // widths: z, ψ, φ, a message, h, z²; g and h; columns of noise, node
  const T *x, *z;
  T *sums, *encoded, *outer, *messages, *mixed;  // what is kept: of graphs, then of nodes
  Space<T> low, low_h, low_g;  // what activations leave at least: 0 in all columns, or in the first of h's and of g's
  std::vector<Int> starts;

  Layer(const LayerCall& c, double degree, double typical, double share)
      : c(c), degree(degree), typical(typical), share(share), root(std::sqrt(degree)), w(c), C(c.channels), L(c.width),
        P(c.size[PSI]), F(c.size[PHI]), D(c.size[VARPHI]), A(c.size[H]), O(c.size[H2]), own(w.x1.out), W(w.noise.out),
        N(w.x0.out),
        x((const T*)c.x), z((const T*)c.z) {
    sums = (T*)c.kept, encoded = sums + c.graphs * C * P, outer = encoded + c.nodes * F;
    messages = outer + c.nodes * N, mixed = messages + c.nodes * D;
    w.pieces(c, [&](Int of, Int column, Int width, Int in, Int out, T* to, Int ld) {
      turn(out, in, (const T*)c.weight[of] + column, width, to, ld);
    });
    for (Int k = 0; c.residual && k < L; k++) w.noise.row(k)[F + A + k] += 1;  // Z + Z²: h is linear in Z beside its MLP
    fold(w.psi2, w.noise.row(w.near), w.table, w.table.bias());
    fold(w.phi2, w.x0.row(0), w.node, w.node.bias());
    fold(w.varphi2, w.x1.row(0), w.after, w.node.bias() + D);
    std::copy_n(w.x0.row(w.phi2.out), c.features * N, w.node.row(w.phi2.in));
    add(W, w.noise.bias(), w.table.bias()), add(N, w.x0.bias(), w.node.bias());
    low.assign(std::max({W, N, P, w.psi1.out, w.phi1.out, w.varphi1.out}), T(0));
    low_h.assign(A + O, -std::numeric_limits<T>::infinity());
    std::fill_n(low_h.begin(), A, T(0));
    low_g.assign(own, -std::numeric_limits<T>::infinity());
    std::fill_n(low_g.begin(), own - A, T(0));
    cut();
  }

  // Two Linears as one, with the bias of the second added to another.
  static void fold(const Matrix<T>& last, const T* next, Matrix<T>& to, T* bias) {
    gemm(last.in, to.out, {last.row(0), last.out, 1, next, to.out, last.out}, to.row(0), to.out, true);
    gemm(1, to.out, {last.bias(), 0, 1, next, to.out, last.out}, bias, to.out);
  }
  static void unfold(const Matrix<T>& last, const T* next, Int out, const T* of, const T* of_bias, Matrix<T>& of_last,
                     T* of_next) {
    Space<T> turned(out * last.out);
    turn(last.out, out, next, out, turned.data(), last.out);
    gemm(last.in, last.out, {of, out, 1, turned.data(), last.out, out}, of_last.row(0), last.out);
    gemm(1, last.out, {of_bias, 0, 1, turned.data(), last.out, out}, of_last.bias(), last.out);
    gemm(last.out, out, {last.row(0), 1, last.out, of, out, last.in}, of_next, out);
    gemm(last.out, out, {last.bias(), 1, 0, of_bias, out, 1}, of_next, out);
  }

  // Where blocks start: no edge and no graph reaches over it, and there is enough to do before it.
  void cut() {
    std::vector<Int> last(c.graphs, 0);
    for (Int i = 0; i < c.nodes; i++) last[c.owner[i]] = i;
    Int reach = 0;
    starts.push_back(0);
    for (Int i = 0; i < c.nodes; i++) {
      reach = std::max(reach, last[c.owner[i]]);
      for (Int e = c.pointer[i]; e < c.pointer[i + 1]; e++) reach = std::max(reach, c.source[e]);
      for (Int e = c.back_pointer[i]; e < c.back_pointer[i + 1]; e++) reach = std::max(reach, c.back_source[e]);
      if (i + 1 == c.nodes || (reach <= i && (i + 1 - starts.back()) * C >= ROWS)) starts.push_back(i + 1);
    }
  }
  static constexpr Int ROWS = 512;

  struct Block {  // what a thread works with
    std::vector<Int> place;  // which each graph is among those of the block
    Matrices<T> of;
    Int begin = 0, count = 0;
    std::vector<Int> graphs;
    Space<T> z1, logs, scales, inner, sized, hidden, table, plus, features, space, noise;
    Space<T> of_z1, of_sized, of_hidden, of_table, of_node, of_deep, of_sums;
    explicit Block(const LayerCall& c) : place(c.graphs, -1), of(c) {}
  };

  void enter(Block& b, Int begin, Int end) const {
    b.begin = begin, b.count = end - begin;
    for (Int g : b.graphs) b.place[g] = -1;
    b.graphs.clear();
    for (Int i = begin; i < end; i++)
      if (Int g = c.owner[i]; b.place[g] < 0) b.place[g] = b.graphs.size(), b.graphs.push_back(g);
  }
  // f(first node, how many) for as many nodes as the first-level cache holds
  template <class G> void pieces(const Block& b, G f) const {
    const Int step = std::max<Int>(1, BLOCK / C);
    for (Int i = b.begin; i < b.begin + b.count; i += step) f(i, std::min(step, b.begin + b.count - i));
  }
  // to[m, out] = from[m, in] of + bias, then the activation
  void dense(Int m, const T* from, Int ldf, const Matrix<T>& of, T* to, bool active) const {
    Ends<T> ends;
    ends.start = of.bias(), ends.low = active ? low.data() : nullptr;
    gemm(m, of.out, {from, ldf, 1, of.row(0), of.out, of.in}, to, of.out, ends);
  }
  // The way back of it: the gradients of the Linear and of its (first) inputs, 0 where a `mask` is not positive.
  void undense(Int m, const T* from, Int ldf, const T* grad, Int ldg, const Matrix<T>& by, Matrix<T>& of, T* of_from,
               Int ldo, const T* mask, Int inputs = 0) const {
    Ends<T> ends;
    ends.mask = mask, ends.ldm = ldf;
    inputs = inputs ? inputs : by.in;
    gemm(inputs, by.out, {from, 1, ldf, grad, ldg, m}, of.row(0), by.out);
    add_rows(m, by.out, grad, ldg, of.bias());
    gemm(m, inputs, {grad, ldg, 1, by.straight.data(), by.in, by.out}, of_from, ldo, ends);
  }

  // to[C, L] = start + the rows of `from` of the nodes list[first..last], each times its scale; four channels at a time
  template <class S>
  void neighbours(const T* start, const Int* list, Int first, Int last, const T* from, S scale, T* to, Int ldt) const {
    const Int channels = C, near = w.near;
    lanes<T>(L, [=](Int k, auto vector) {
      VEC;
      auto some = [=](Int r, auto count) {
        vec sum[count()] = {};
        for (int q = 0; start && q < count(); q++) sum[q] = *(const vec*)(start + (r + q) * near + k);
        for (Int e = first; e < last; e++) {
          const T *here = from + (list[e] * channels + r) * near + k, by = scale(list[e]);
          for (int q = 0; q < count(); q++) sum[q] += by * *(const vec*)(here + q * near);
        }
        for (int q = 0; q < count(); q++) *(vec*)(to + (r + q) * ldt + k) = sum[q];
      };
      Int r = 0;
      for (; r + 4 <= channels; r += 4) some(r, std::integral_constant<int, 4>());
      for (; r < channels; r++) some(r, std::integral_constant<int, 1>());
    });
  }
  // Z¹: the noise, and its sums over neighbours.
  void bring(Block& b) const {
    const Int near = w.near;
    b.z1.resize(b.count * C * near), b.logs.resize(b.count), b.scales.resize(b.count);
    T* z1 = b.z1.data() - b.begin * C * near;
    for (Int i = b.begin; i < b.begin + b.count; i++) {
      const T size = c.pointer[i + 1] - c.pointer[i];
      b.logs[i - b.begin] = std::log1p(size), b.scales[i - b.begin] = 1 / std::max(degree, size);
      copy(C, L, z + i * C * L, L, z1 + i * C * near, near);
    }
    for (Int i = b.begin; c.messages && i < b.begin + b.count; i++) {
      const T scale = root * b.scales[i - b.begin];
      const auto same = [=](Int) { return scale; };
      neighbours(nullptr, c.source, c.pointer[i], c.pointer[i + 1], z1, same, z1 + i * C * near + L, near);
    }
  }
  // ψ's MLP of each graph's sums, and what it adds to the rows of noise.
  void prepare(Block& b) const {
    const Int count = b.graphs.size() * C, in = P + 1;
    b.sized.resize(count * in), b.hidden.resize(count * w.psi1.out), b.table.resize(count * W);
    for (Int r = 0; r < count; r++) {
      const Int g = b.graphs[r / C];
      const T size = c.sizes[g], scale = 1 / std::max(typical, size);
      for (Int k = 0; k < P; k++) b.sized[r * in + k] = scale * sums[(g * C + r % C) * P + k];
      b.sized[r * in + P] = std::log1p(size);
    }
    dense(count, b.sized.data(), in, w.psi1, b.hidden.data(), true);
    dense(count, b.hidden.data(), w.table.in, w.table, b.table.data(), false);
  }
  // Columns of the rows of noise, with what h is told of the node, down to `least`.
  void rows(Block& b, Int i, Int count, Int column, Int columns, T* to, Int ld, const T* least) const {
    b.plus.assign(W, T(0));
    for (Int k = 0; k < count; k++) {
      Ends<T> ends;
      ends.start = b.table.data() + b.place[c.owner[i + k]] * C * W + column, ends.lds = W, ends.low = least;
      if (column + columns > F) {
        memcpy(b.plus.data() + F, outer + (i + k) * N + N - A, A * sizeof(T));
        ends.plus = b.plus.data() + column;
      }
      const T* from = b.z1.data() + (i + k - b.begin) * C * w.near;
      gemm(C, columns, {from, w.near, 1, w.noise.row(0) + column, W, w.near}, to + k * C * ld, ld, ends);
    }
  }

  // f(first edge, its target, how many, their messages before the activation) for edges in the order of their targets
  template <class G> void edges(Block& b, G f) const {
    const Int last = c.pointer[b.begin + b.count], K = c.edge_width;
    b.features.resize(BLOCK * K);
    T* to = b.space.data();
    for (Int e = c.pointer[b.begin], i = b.begin; e < last; e += BLOCK) {
      const Int count = std::min(BLOCK, last - e);
      for (Int k = 0; k < count; k++) {
        memcpy(to + k * D, outer + c.source[e + k] * N, D * sizeof(T));
        if (K) memcpy(b.features.data() + k * K, (const T*)c.edge + c.order[e + k] * K, K * sizeof(T));
      }
      Ends<T> ends;
      ends.low = low.data();
      const Product<T> one = {b.features.data(), K, 1, w.edge.row(0), D, K};
      gemm(count, D, &one, 1, to, D, ends);
      while (c.pointer[i + 1] <= e) i++;
      f(e, i, count, to);
    }
  }

  void forward(Block& b) const {
    const Int begin = b.begin, n = b.count;
    b.space.resize(std::max(std::max<Int>(BLOCK, C) * std::max(P, W), BLOCK * D));
    T* space = b.space.data();
    bring(b);
    pieces(b, [&](Int i, Int count) {  // ψ
      dense(count * C, b.z1.data() + (i - begin) * C * w.near, w.near, w.psi, space, true);
      for (Int k = 0; k < count; k++) add(C * P, space + k * C * P, sums + c.owner[i + k] * C * P);
    });
    prepare(b);
    memset(encoded + begin * F, 0, n * F * sizeof(T));
    pieces(b, [&](Int i, Int count) {  // φ
      rows(b, i, count, 0, F, space, F, low.data());
      for (Int k = 0; k < count; k++) {
        T* to = encoded + (i + k) * F;
        add_rows(C, F, space + k * C * F, F, to);
        for (Int f = 0; f < F; f++) to[f] *= share;
      }
    });
    T *node = outer + begin * N, *told = messages + begin * D, *deep = mixed + begin * w.after.in;
    b.inner.resize(n * w.phi1.out);
    dense(n, encoded + begin * F, F, w.phi1, b.inner.data(), true);
    Ends<T> ends;  // x⁰ into messages, g and h
    ends.start = w.node.bias();
    const Product<T> both[2] = {{b.inner.data(), w.phi1.out, 1, w.node.row(0), N, w.phi1.out},
                                {x + begin * c.features, c.features, 1, w.node.row(w.phi1.out), N, c.features}};
    gemm(n, N, both, 2, node, N, ends);
    memset(told, 0, n * D * sizeof(T));
    edges(b, [&](Int e, Int i, Int count, const T* message) {  // ϕ
      for (Int k = 0; k < count; k++) {
        while (c.pointer[i + 1] <= e + k) i++;
        const T scale = b.scales[i - begin];
        T* to = messages + i * D;
        lanes<T>(D, [=](Int h, auto vector) {
          VEC;
          *(vec*)(to + h) += scale * *(const vec*)(message + k * D + h);
        });
      }
    });
    ends.start = w.varphi1.bias(), ends.low = low.data();
    const Product<T> sized[2] = {{told, D, 1, w.varphi1.row(0), w.varphi1.out, D},
                                 {b.logs.data(), 1, 1, w.varphi1.row(D), w.varphi1.out, 1}};
    gemm(n, w.varphi1.out, sized, 2, deep, w.varphi1.out, ends);
    ends.start = nullptr, ends.low = low_g.data();
    const Product<T> one = {deep, w.after.in, 1, w.after.row(0), own, w.after.in};
    gemm(n, own, &one, 1, node + D, N, ends);
    ends.start = w.g2.bias(), ends.low = nullptr;  // x²
    gemm(n, w.g2.out, {node + D, N, 1, w.g2.row(0), w.g2.out, w.g2.in}, (T*)c.x2 + begin * w.g2.out, w.g2.out, ends);
    ends.plus = w.h2.bias(), ends.start = space + A, ends.lds = A + O;
    pieces(b, [&](Int i, Int count) {  // Z²
      rows(b, i, count, F, A + O, space, A + O, low_h.data());
      gemm(count * C, O, {space, A + O, 1, w.h2.row(0), O, A}, (T*)c.z2 + i * C * O, O, ends);
    });
  }

  void backward(Block& b) const {
    const Int begin = b.begin, n = b.count, near = w.near;
    const T *grad_x = (const T*)c.x2 + begin * w.g2.out, *grad_z = (const T*)c.z2, *node = outer + begin * N;
    T* of_z = (T*)c.of_z;
    bring(b);
    prepare(b);
    b.noise.resize(n * C * W), b.of_z1.resize(n * C * near), b.of_node.assign(n * N, T(0));
    b.of_table.assign(b.table.size(), T(0)), b.of_hidden.resize(b.hidden.size()), b.of_sized.resize(b.sized.size());
    b.of_deep.resize(n * std::max(w.after.in, w.phi1.out)), b.of_sums.resize(n * std::max(F, D));
    b.space.resize(std::max(std::max<Int>(BLOCK, C) * P, BLOCK * D));
    T *space = b.space.data(), *of_node = b.of_node.data(), *of_deep = b.of_deep.data(), *of_sums = b.of_sums.data();
    // h: φ's and h's hidden rows again, then the gradient of h's in their place
    pieces(b, [&](Int i, Int count) {
      const Int m = count * C;
      T *hidden = b.noise.data() + (i - begin) * C * W, *active = hidden + F;
      const T* grad = grad_z + i * C * O;
      rows(b, i, count, 0, F + A, hidden, W, low.data());
      undense(m, active, W, grad, O, w.h2, b.of.h2, active, W, active);
      copy(m, O, grad, O, active + A, W);
      for (Int k = 0; k < count; k++) add_rows(C, A, active + k * C * W, W, of_node + (i + k - begin) * N + N - A);
    });
    // g, ϕ and the messages
    undense(n, node + D, N, grad_x, w.g2.out, w.g2, b.of.g2, of_node + D, N, node + D);
    const T *deep = mixed + begin * w.after.in, *told = messages + begin * D;
    undense(n, deep, w.after.in, of_node + D, N, w.after, b.of.after, of_deep, w.after.in, deep);
    undense(n, told, D, of_deep, w.after.in, w.varphi1, b.of.varphi1, of_sums, D, nullptr, D);
    gemm(1, w.varphi1.out, {b.logs.data(), 0, 1, of_deep, w.varphi1.out, n}, b.of.varphi1.row(D), w.varphi1.out);
    edges(b, [&](Int e, Int i, Int count, T* message) {
      for (Int k = 0; k < count; k++) {
        while (c.pointer[i + 1] <= e + k) i++;
        const T scale = b.scales[i - begin], *grad = of_sums + (i - begin) * D;
        T *to = of_node + (c.source[e + k] - begin) * N, *here = message + k * D;
        lanes<T>(D, [=](Int h, auto vector) {
          VEC;
          const vec of = *(const vec*)(here + h) <= 0 ? vec{} : scale * *(const vec*)(grad + h);
          *(vec*)(here + h) = of, *(vec*)(to + h) += of;
        });
      }
      gemm(c.edge_width, D, {b.features.data(), 1, c.edge_width, message, D, count}, b.of.edge.row(0), D);
    });
    // x⁰
    b.inner.resize(n * w.phi1.out);
    dense(n, encoded + begin * F, F, w.phi1, b.inner.data(), true);
    const T *p = b.inner.data(), *here = x + begin * c.features, *straight = w.node.straight.data();
    gemm(w.phi1.out, N, {p, 1, w.phi1.out, of_node, N, n}, b.of.node.row(0), N);
    gemm(c.features, N, {here, 1, c.features, of_node, N, n}, b.of.node.row(w.phi1.out), N);
    add_rows(n, N, of_node, N, b.of.node.bias());
    Ends<T> ends;
    ends.mask = p, ends.ldm = w.phi1.out;
    gemm(n, w.phi1.out, {of_node, N, 1, straight, w.node.in, N}, of_deep, w.phi1.out, ends);
    T* of_x = (T*)c.of_x + begin * c.features;
    gemm(n, c.features, {of_node, N, 1, straight + w.phi1.out, w.node.in, N}, of_x, c.features, true);
    undense(n, encoded + begin * F, F, of_deep, w.phi1.out, w.phi1, b.of.phi1, of_sums, F, nullptr);
    for (Int k = 0; k < n * F; k++) of_sums[k] *= share;
    // φ; then all that reads Z¹ at once
    pieces(b, [&](Int i, Int count) {
      const Int m = count * C, row = (i - begin) * C;
      T* hidden = b.noise.data() + row * W;
      for (Int k = 0; k < count; k++) {
        T* to = hidden + k * C * W;
        pass(C, F, of_sums + (i + k - begin) * F, 0, to, W, to);
        add(C * W, to, b.of_table.data() + b.place[c.owner[i + k]] * C * W);
      }
      gemm(near, W, {b.z1.data() + row * near, 1, near, hidden, W, m}, b.of.noise.row(0), W);
      gemm(m, near, {hidden, W, 1, w.noise.straight.data(), w.noise.in, W}, b.of_z1.data() + row * near, near, true);
    });
    // ψ, and what neighbours and graphs were told
    const Int all = b.graphs.size() * C, in = P + 1;
    T *of_hidden = b.of_hidden.data(), *of_sized = b.of_sized.data();
    const T* told_graphs = b.hidden.data();
    undense(all, told_graphs, w.psi1.out, b.of_table.data(), W, w.table, b.of.table, of_hidden, w.psi1.out, told_graphs);
    undense(all, b.sized.data(), in, of_hidden, w.psi1.out, w.psi1, b.of.psi1, of_sized, in, nullptr);
    for (Int r = 0; r < all; r++) {
      const T scale = 1 / std::max(typical, T(c.sizes[b.graphs[r / C]]));
      for (Int k = 0; k < P; k++) of_sized[r * P + k] = scale * of_sized[r * in + k];
    }
    const T *scales = b.scales.data() - begin, *of_z1 = b.of_z1.data() - begin * C * near;
    const auto scale = [=](Int j) { return root * scales[j]; };
    pieces(b, [&](Int i, Int count) {
      const Int m = count * C;
      const T* from = b.z1.data() + (i - begin) * C * near;
      dense(m, from, near, w.psi, space, true);
      for (Int k = 0; k < count; k++) {
        T* hidden = space + k * C * P;
        pass(C, P, of_sized + b.place[c.owner[i + k]] * C * P, P, hidden, P, hidden);
        const Int j = i + k, first = c.back_pointer[j], last = c.messages ? c.back_pointer[j + 1] : first;
        neighbours(of_z1 + j * C * near, c.back_source, first, last, of_z1 + L, scale, of_z + j * C * L, L);
      }
      gemm(L, P, {from, 1, near, space, P, m}, b.of.psi.row(0), P);
      add_rows(m, P, space, P, b.of.psi.bias());
      gemm(m, L, {space, P, 1, w.psi.straight.data(), L, P}, of_z + i * C * L, L);
    });
  }

  void run(bool back) {
    const Int blocks = starts.size() - 1, threads = std::max<Int>(1, std::min(c.threads, blocks));
    if (back)
      for (Matrix<T>* one : w.used()) one->straighten();
    else std::fill_n(sums, c.graphs * C * P, T(0));
    std::vector<Block> all;
    all.reserve(threads);
    for (Int t = 0; t < threads; t++) all.emplace_back(c);
#pragma omp parallel for schedule(static) num_threads(int(threads))
    for (Int t = 0; t < threads; t++)
      for (Int k = blocks * t / threads; k < blocks * (t + 1) / threads; k++) {
        enter(all[t], starts[k], starts[k + 1]);
        back ? backward(all[t]) : forward(all[t]);
      }
    if (back) collect(all);
  }

  // The gradients of all threads together, of the Linears as they were before they were made one.
  void collect(std::vector<Block>& all) {
    Matrices<T>& of = all[0].of;
    for (size_t t = 1; t < all.size(); t++)
      for (size_t k = 0; k < of.used().size(); k++)
        add(of.used()[k]->turned.size(), all[t].of.used()[k]->row(0), of.used()[k]->row(0));
    std::copy_n(of.node.row(w.phi2.in), c.features * N, of.x0.row(w.phi2.out));
    add(N, of.node.bias(), of.x0.bias()), add(W, of.table.bias(), of.noise.bias());
    unfold(w.psi2, w.noise.row(w.near), W, of.table.row(0), of.table.bias(), of.psi2, of.noise.row(w.near));
    unfold(w.phi2, w.x0.row(0), N, of.node.row(0), of.node.bias(), of.phi2, of.x0.row(0));
    unfold(w.varphi2, w.x1.row(0), own, of.after.row(0), of.node.bias() + D, of.varphi2, of.x1.row(0));
    of.pieces(c, [&](Int weight, Int column, Int width, Int in, Int out, const T* from, Int ld) {
      turn(in, out, from, ld, (T*)c.of_weight[weight] + column, width);
    });
  }
};

}  // namespace

#define LAYER(T, NAME)                                                                                     \
  void layer_##NAME(const LayerCall* call, Int back, double degree, double typical, double share) {        \
    Layer<T>(*call, degree, typical, share).run(back);                                                     \
  }
extern "C" {
LAYER(float, float32)
LAYER(double, float64)
}
