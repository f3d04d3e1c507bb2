r"""Sub2Vec (Adhikari et al., "Sub2Vec: Feature Learning for Subgraphs", PAKDD 2018).

A subgraph is a paragraph whose words are what a random walk inside it meets: the nodes themselves (its neighbourhood),
or how many of the others each is joined to (its structure). For either it has the paragraph vector of a distributed bag
of words with negative sampling (Le and Mikolov 2014), and a classifier, here an MLP, goes by both:

.. math::

    p_S = \arg\max_p \sum_w c_S(w) \log \sigma(p \cdot u_w) + K \, \mathbb{E}_{w'} \log \sigma(-p \cdot u_{w'}), \qquad
    c_S = \frac{1}{L} \sum_{t=0}^{L-1} \frac{\mathbf{1}_S^{\top}}{|S|} (D_S^{-1} A_S)^t

where :math:`c_S(w)` is how often a walk of L steps meets w. It departs from the paper in two things. Visits are the
expected ones, not sampled, of which the paper's code takes 100,000 a subgraph. And the words' vectors are not fitted
together with the paragraphs', but before, to the whole graph, by skip-gram of a window of one step (labels of structure
are few, and have a dimension each): so a subgraph's vector hangs on no other's, and new subgraphs of the graph can be
asked about. Subgraphs of another graph cannot, whose nodes are other words. Features are not used.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from engnn import noise as noises
from engnn.baselines._egonets import ego_nets
from engnn.baselines._model import Given, NoisyBaseline, mlp
from engnn.errors import InputError

LABELS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 0.75)  # bounds between shares of the others, as in the paper's code
LENGTH = 32  # L
NEGATIVES = 5  # K
FITS, INFERENCES = 100, 50  # steps of gradient ascent
RATE = 0.1  # of the fit; twice as much is not stable


class Sub2Vec(NoisyBaseline):
    """An MLP of paragraph vectors; `noise_channels` is the dimension of nodes' vectors.

    >>> model = Sub2Vec(16, 2, level="subgraph", noise_channels=8)
    >>> targets = (torch.tensor([0, 1, 2]), torch.tensor([0, 0, 1]), 2)
    >>> model(torch.ones(4, 3), torch.tensor([[0, 1], [1, 0]]), targets=targets).shape
    torch.Size([2, 2])
    """

    kind = "normal"
    seed: Tensor
    graph: Tensor

    def __init__(
        self, hidden_channels: int, out_channels: int, *, level: str, noise_channels: int, dropout: float = 0.0
    ) -> None:
        super().__init__(0, hidden_channels, out_channels, level=level, levels=("subgraph",))
        self.noise_channels = noise_channels
        self.head = mlp(noise_channels + len(LABELS) + 1, hidden_channels, out_channels, dropout=dropout)
        self.register_buffer("seed", torch.randint(2**62, ()))
        self.register_buffer("graph", torch.zeros(3, dtype=torch.long))  # that it was trained on
        self.fitted: tuple[tuple[Tensor, ...], Tensor] | None = None

    def sample_noise(
        self,
        num_nodes: int,
        *,
        seed: noises.Word,
        draw: noises.Word = 0,
        batch: Tensor | None = None,
        graph_id: Tensor | None = None,
    ) -> Tensor:
        """Where the fit of nodes' vectors starts: the same in each step, so that what the MLP learns of them holds."""
        return super().sample_noise(num_nodes, seed=self.seed, batch=batch, graph_id=graph_id)

    @torch.no_grad()
    def encode(self, given: Given) -> Tensor:
        """The vectors `[T, d]` of the subgraphs."""
        assert isinstance(given.targets, tuple)
        nodes, index, count = given.targets
        words = self._words(given)
        subgraph, node, often, share = visits(given.edge_index, len(words), given.targets)
        often, graph = often.to(words.dtype), index.new_zeros(count).index_copy(0, index, given.batch[nodes])
        met = words.new_zeros(count, len(words)).index_put((subgraph, node), often)
        there = (given.batch == graph[:, None]).to(words.dtype)
        label = one_hot(torch.bucketize(share, share.new_tensor(LABELS)), len(LABELS) + 1).to(words.dtype)
        labels = words.new_zeros(count, label.size(1)).index_add(0, subgraph, often[:, None] * label)
        alike = torch.full_like(labels, 1 / label.size(1))
        own = torch.eye(label.size(1), dtype=words.dtype, device=words.device)
        return torch.cat(
            [inferred(met, there / there.sum(1, keepdim=True), words), inferred(labels, alike, own)], dim=1
        )

    def answers(self, h: Tensor, given: Given) -> Tensor:
        out: Tensor = self.head(h)
        return out

    def _words(self, given: Given) -> Tensor:
        """The nodes' vectors, which are fitted once."""
        assert given.noise is not None
        n, codes = len(given.batch), given.edge_index[0] * len(given.batch) + given.edge_index[1]
        graph = torch.stack([codes.new_tensor(n), codes.new_tensor(len(codes)), codes.pow(3).sum()])
        if self.training:
            self.graph.copy_(graph)
        elif self.graph.any() and not torch.equal(self.graph, graph):
            raise InputError(
                "sub2vec has a vector for each node of the graph that it was trained on, and this is another graph: "
                "ask about subgraphs of that graph, with all its nodes and edges, or take another --model"
            )
        key = (graph, given.batch, given.noise)
        if self.fitted is None or not all(map(_same, self.fitted[0], key)):
            self.fitted = key, fit(given.edge_index, given.noise, given.batch)
        return self.fitted[1]


def visits(edge_index: Tensor, n: int, targets: tuple[Tensor, Tensor, int]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """For each node of each subgraph: which these are, how often a walk is there, and the share that it is joined to.

    A walk begins at any member, and stays where there is no other to go to.

    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> visits(path, 4, (torch.tensor([0, 1, 3]), torch.tensor([0, 0, 1]), 2))[:2]
    (tensor([0, 0, 1]), tensor([0, 1, 3]))
    """
    nodes, index, count = targets
    inside = ego_nets(edge_index, n, 0, torch.unique(index * n + nodes))
    source, target = inside.edge_index
    size = torch.bincount(inside.root, minlength=count)[inside.root].double()
    degree = torch.bincount(source, minlength=len(size)).double()
    now = often = 1 / size
    for _ in range(LENGTH - 1):
        gone = torch.zeros_like(now).index_add(0, target, (now / degree.clamp(min=1))[source])
        now = torch.where(degree > 0, gone, now)
        often = often + now
    return inside.root, inside.node, often / LENGTH, degree / size


@torch.no_grad()
def fit(edge_index: Tensor, start: Tensor, batch: Tensor) -> Tensor:
    """Vectors `[n, d]` of nodes as words, by skip-gram: from each node to one of its neighbours, and to no others.

    A node has a vector to go from, which is `start` at first, and one to be met by, which is 0, as in word2vec. In each
    step its negative is the node after it, of those of its graph, in the order of one of the numbers of `start`.
    """
    source, target = edge_index
    share = 1 / torch.bincount(source, minlength=len(start)).clamp(min=1).to(start.dtype)
    often = torch.zeros_like(share).index_add(0, target, share[source]).clamp(min=1)
    sizes = torch.bincount(batch)
    last = sizes.cumsum(0)[sizes > 0] - 1
    first = last + 1 - sizes[sizes > 0]
    begun, met = start / start.size(1) ** 0.5, torch.zeros_like(start)
    for step in range(FITS):
        order = start[:, step % start.size(1)].argsort(stable=True)
        order = order[batch[order].argsort(stable=True)]
        after = order.roll(-1).index_copy(0, last, order[first])
        near = share[source][:, None] * torch.sigmoid(-(begun[source] * met[target]).sum(1, keepdim=True))
        far = NEGATIVES * torch.sigmoid((begun[order] * met[after]).sum(1, keepdim=True))
        up = torch.zeros_like(begun).index_add(0, source, near * met[target]).index_add(0, order, -far * met[after])
        on = torch.zeros_like(met).index_add(0, target, near * begun[source]).index_add(0, after, -far * begun[order])
        begun, met = begun + RATE * up, met + RATE * on / often[:, None]
    return met


def inferred(often: Tensor, negative: Tensor, words: Tensor) -> Tensor:
    """Paragraph vectors `[T, d]`, of how often words are met, `[T, n]`, and as negatives; and of the words' vectors."""
    vector = words.new_zeros(len(often), words.size(1))
    curvature = (often + NEGATIVES * negative) @ words.square().sum(1, keepdim=True) / 4  # or less
    for _ in range(INFERENCES):
        there = torch.sigmoid(vector @ words.T)
        vector = vector + (often * (1 - there) - NEGATIVES * negative * there) @ words / curvature
    return vector


def _same(one: Tensor, other: Tensor) -> bool:
    return one.device == other.device and torch.equal(one, other)


MODEL = Sub2Vec
