"""The placebo: heading paths dealt to other documents by a seeded permutation, as deranged as can be (paper E.3).

Unique (document, cut path) pairs of one depth form a *bucket*. Inside it each pair receives another pair's path. A
donor is *residual* when it comes from the pair's own document, or renders to the pair's own string (two documents may
bear the same title).

The least possible number of residuals is ``max(0, 2·m − n, 2·s − n)``, with n pairs in the bucket, m of them in its
largest document and s with its most frequent string. Proof: seat pairs in a grid of documents × strings, one pair a
cell at most; a donor is forbidden when it stands in the receiver's row or column. By Kőnig and Hall the least number
is the largest ``|S| + |C| − n`` over sets S of receivers, where C are the donors forbidden to all of S. For S inside
one row (column), C is that row (column), and S may be all of it: ``2·m − n`` (``2·s − n``). Any other S lies in a row
and a column that cross. Then S and C share at most the crossing pair, so that the difference is at most 1, and it is 1
only where the row and the column hold all n pairs: n = m + s − 1, where one of the two terms is at least 1 already.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

REDRAWS = 64
"""Whole permutations that are tried before the last is repaired."""

MIXING_SWAPS = 20
"""Random exchanges per pair, tried after a repair."""

Indices = NDArray[np.int64]


class PlaceboError(ValueError):
    """A placebo is not what it promises to be; the message says which bucket or chunk."""


@dataclass(frozen=True, order=True)
class Pair:
    """A document and one of its cut paths.

    Parameters
    ----------
    doc_id
        The document.
    path
        Cleaned titles from the document's title down, cut to the placebo's depth.
    """

    doc_id: str
    path: tuple[str, ...]


def minimum(documents: Sequence[Hashable], strings: Sequence[Hashable]) -> int:
    """Return the least number of residuals that any permutation of a bucket has.

    Parameters
    ----------
    documents, strings
        Document and rendered path of each pair of the bucket. No two pairs agree in both.
    """
    if not documents:
        return 0
    largest = max(*Counter(documents).values(), *Counter(strings).values())
    return max(0, 2 * largest - len(documents))


def assign_donors(pairs: Iterable[Pair], seed: int) -> dict[Pair, Pair]:
    """Deal every distinct pair the path of another, inside its depth.

    The outcome depends on the set of pairs and the seed alone: not on their order, nor on the platform or the hash
    seed. A bucket's draw does not depend on the other buckets.

    Parameters
    ----------
    pairs
        Pairs; repeated ones count once.
    seed
        Seed of the draw.

    Returns
    -------
    dict
        Donor of each distinct pair: a permutation of the pairs of each depth.
    """
    buckets: dict[int, list[Pair]] = defaultdict(list)
    for pair in sorted(set(pairs)):
        buckets[len(pair.path)].append(pair)
    donors: dict[Pair, Pair] = {}
    for depth, bucket in sorted(buckets.items()):
        dealt = derange([pair.doc_id for pair in bucket], [pair.path for pair in bucket], [seed, depth])
        donors |= {pair: bucket[donor] for pair, donor in zip(bucket, dealt, strict=True)}
    return donors


def derange(documents: Sequence[Hashable], strings: Sequence[Hashable], seed: Sequence[int]) -> list[int]:
    """Draw a permutation with the least number of residuals.

    Whole permutations are drawn until one is at the minimum, which makes the draw uniform over all such permutations.
    In a bucket where that is too rare, the last draw is repaired by random exchanges (by augmenting paths where no
    exchange helps) and mixed by further random exchanges that keep it at the minimum. Where residuals are forced, a
    path of the same document is preferred to the pair's own string.

    Parameters
    ----------
    documents, strings
        Document and rendered path of each pair, in an order that does not depend on where they came from.
    seed
        Entropy of the draw.

    Returns
    -------
    list of int
        Index of each pair's donor.

    Raises
    ------
    PlaceboError
        If more residuals are left than are forced.
    """
    bucket = _Bucket(_codes(documents), _codes(strings))
    least = minimum(documents, strings)
    goal = bucket.cost_of(least, minimum(range(len(strings)), strings))
    draws = _Draws(seed)
    for _ in range(REDRAWS):
        donors = draws.permutation(bucket.n)
        if bucket.cost(donors) <= goal:
            return [int(donor) for donor in donors]
    _exchange(bucket, donors, draws)
    if bucket.residuals(donors) > least:
        _augment(bucket, donors, draws)
        _exchange(bucket, donors, draws)
    _mix(bucket, donors, draws)
    if bucket.residuals(donors) != least:
        raise PlaceboError(f"{bucket.residuals(donors)} residual donors where {least} are forced, of {bucket.n}")
    return [int(donor) for donor in donors]


class _Draws:
    """Random numbers from a bit generator's raw stream, which NumPy keeps the same across platforms and versions."""

    def __init__(self, seed: Sequence[int]) -> None:
        self._bits = np.random.PCG64(np.random.SeedSequence(list(seed)))

    def permutation(self, n: int) -> Indices:
        return np.argsort(self._bits.random_raw(n), kind="stable").astype(np.int64)

    def below(self, n: int, size: int) -> Indices:
        return (self._bits.random_raw(size) % np.uint64(n)).astype(np.int64)


@dataclass(frozen=True)
class _Bucket:
    """Document and string of each pair, as numbers, and what a donor costs its receiver.

    A residual donor costs ``n + 1``, one more if it has the receiver's own string, others nothing: so the sum over a
    bucket orders permutations by residuals first and own strings second.
    """

    document: Indices
    string: Indices

    @property
    def n(self) -> int:
        return len(self.document)

    def cost_of(self, residuals: int, own: int) -> int:
        return residuals * (self.n + 1) + own

    def costs(self, receivers: Indices | int, donors: Indices | int) -> Indices:
        """Return the cost of each donor to its receiver."""
        own = self.string[receivers] == self.string[donors]
        residual = own | (self.document[receivers] == self.document[donors])
        return np.asarray(residual * (self.n + 1) + own, dtype=np.int64)

    def cost(self, donors: Indices) -> int:
        return int(self.costs(np.arange(self.n), donors).sum())

    def residuals(self, donors: Indices) -> int:
        return int(np.count_nonzero(self.costs(np.arange(self.n), donors)))


def _exchange(bucket: _Bucket, donors: Indices, draws: _Draws) -> None:
    """Let receivers of residual donors exchange theirs with the partner that helps most, while one helps."""
    everyone = np.arange(bucket.n)
    improved = True
    while improved:
        improved = False
        costs = bucket.costs(everyone, donors)
        costly = np.flatnonzero(costs)
        for receiver in costly[draws.permutation(len(costly))]:
            now = bucket.costs(everyone, donors)
            change = (
                bucket.costs(int(receiver), donors)
                + bucket.costs(everyone, int(donors[receiver]))
                - now
                - now[receiver]
            )
            change[receiver] = 0
            if change.min() < 0:
                helpful = np.flatnonzero(change == change.min())
                partner = helpful[draws.below(len(helpful), 1)[0]]
                donors[[receiver, partner]] = donors[[partner, receiver]]
                improved = True


def _augment(bucket: _Bucket, donors: Indices, draws: _Draws) -> None:
    """Bring the number of residuals to the minimum by augmenting paths (Berge: none is left at a maximum matching)."""
    costs = bucket.costs(np.arange(bucket.n), donors)
    unmatched = [int(receiver) for receiver in np.flatnonzero(costs)]
    receiver_of = np.empty(bucket.n, dtype=np.int64)
    receiver_of[donors] = np.arange(bucket.n)
    free = np.zeros(bucket.n, dtype=bool)
    free[donors[unmatched]] = True
    order = draws.permutation(bucket.n)
    for root in unmatched:
        reached_from = np.full(bucket.n, -1, dtype=np.int64)
        queue, end = [root], -1
        while queue and end < 0:
            receiver = queue.pop(0)
            fresh = order[(bucket.costs(receiver, order) == 0) & (reached_from[order] < 0)]
            reached_from[fresh] = receiver
            ends = fresh[free[fresh]]
            if len(ends):
                end = int(ends[0])
            else:
                queue += [int(receiver_of[donor]) for donor in fresh]
        if end < 0:
            continue
        free[end] = False
        # the root's old donor goes to whoever held the free one, as every donor needs a receiver
        holder, spare = int(receiver_of[end]), int(donors[root])
        while True:
            receiver = int(reached_from[end])
            before = int(donors[receiver])
            donors[receiver], receiver_of[end] = end, receiver
            if receiver == root:
                break
            end = before
        if holder != root:
            donors[holder], receiver_of[spare] = spare, holder


def _mix(bucket: _Bucket, donors: Indices, draws: _Draws) -> None:
    """Exchange random pairs of donors wherever that costs nothing: a walk whose steps are as likely back as forth."""
    document, string, dealt = bucket.document.tolist(), bucket.string.tolist(), donors.tolist()
    residual = bucket.costs(np.arange(bucket.n), donors).tolist()
    proposals = draws.below(bucket.n, 2 * MIXING_SWAPS * bucket.n).reshape(-1, 2).tolist()
    for i, j in proposals:
        a, b = dealt[i], dealt[j]
        if (
            document[i] != document[b]
            and document[j] != document[a]
            and string[i] != string[b]
            and string[j] != string[a]
            and not residual[i]
            and not residual[j]
        ):
            dealt[i], dealt[j] = b, a
    donors[:] = dealt


def _codes(values: Sequence[Hashable]) -> Indices:
    codes: dict[Hashable, int] = {}
    return np.asarray([codes.setdefault(value, len(codes)) for value in values], dtype=np.int64)
