#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/cli/stat_oracle.py [WEIR]

`weir stat` against definitions taken at their word: fractions instead of rounded sums, all pairs,
all divisions, all signs, all orders. Inputs are small, random with a fixed seed, with ties, with
one decimal, and on offsets up to 1e15.
"""
import itertools
import json
import math
import random
import statistics
import sys
from fractions import Fraction

from support import Counter, program, run

ROUNDS = 80


def sign(x):
    return (x > 0) - (x < 0)


def pairs(n):
    return [(i, j) for i in range(n) for j in range(i)]


def ranks(x):
    return [sum(v < u for v in x) + Fraction(sum(v == u for v in x) + 1, 2) for u in x]


def pearson(x, y):
    x, y = list(map(Fraction, x)), list(map(Fraction, y))
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    xx = sum((a - mean_x) ** 2 for a in x)
    yy = sum((b - mean_y) ** 2 for b in y)
    xy = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y))
    return float(xy) / math.sqrt(xx) / math.sqrt(yy) if xx and yy else None


def score(x, y):
    return sum(sign(x[i] - x[j]) * sign(y[i] - y[j]) for i, j in pairs(len(x)))


def kendall(x, y):
    untied = [sum(v[i] != v[j] for i, j in pairs(len(v))) for v in (x, y)]
    return score(x, y) / math.sqrt(untied[0] * untied[1]) if all(untied) else None


def sen_slope(x, y):
    slopes = [Fraction(y[i] - y[j]) / Fraction(x[i] - x[j])
              for i, j in pairs(len(x)) if x[i] != x[j]]
    return float(statistics.median(slopes)) if slopes else None


def share_as_far(values, seen):
    """Of the values, which are all that can be: those as far from their mean as the one seen."""
    values = list(values)
    mean = sum(values) / len(values)
    return sum(abs(v - mean) >= abs(seen - mean) for v in values) / len(values)


def divided(values, size):
    """The sums of all ways to take so many."""
    return [sum(some) for some in itertools.combinations(values, size)]


def rolling(x, window, least):
    known = [[v for v in x[max(0, i + 1 - window):i + 1] if v is not None] for i in range(len(x))]
    return [math.fsum(k) / len(k) if len(k) >= least else None for k in known]


def row_questions(draw, x, y):
    n, exact = len(x), list(map(Fraction, x))
    mean = sum(exact) / n
    yield "mean", {"x": x}, float(mean)
    yield "sd", {"x": x}, math.sqrt(sum((v - mean) ** 2 for v in exact) / (n - 1))
    p = draw.choice([0, 0.1, 0.25, 0.5, 0.73, 1])
    at, rising = (n - 1) * p, sorted(y)
    above = rising[min(int(at) + 1, n - 1)]
    yield ("quantile_type7", {"x": y, "p": p},
           rising[int(at)] + (at - int(at)) * (above - rising[int(at)]))
    gaps = [None if draw.random() < 0.2 else v for v in y]
    window = draw.randint(1, 6)
    least = draw.randint(1, window)
    yield ("rolling_mean", {"x": gaps, "window": window, "min_periods": least},
           rolling(gaps, window, least))


def pair_questions(x, y):
    n, both = len(x), {"x": x, "y": y}
    yield "pearson", both, {"r": pearson(x, y), "n": n}
    yield "spearman", both, {"rho": pearson(ranks(x), ranks(y))}
    yield "kendall_tau_b", both, {"tau": kendall(x, y)}
    yield "theil_sen", both, {"slope": sen_slope(x, y)}
    yield "mann_kendall", {"x": y}, {"S": score(range(n), y)}
    if len(set(x)) == len(set(y)) == n <= 7:
        scores = [score(range(n), order) for order in itertools.permutations(range(n))]
        yield ("kendall_tau_b", both | {"p_method": "exact"},
               {"p": share_as_far(scores, score(x, y))})


def group_questions(draw, a, b):
    both, size = {"a": a, "b": b}, len(a)
    if len(set(a + b)) > 1:
        rank = ranks(a + b)
        p = share_as_far(divided(rank, size), sum(rank[:size]))
        yield "mann_whitney", both | {"p_method": "exact"}, {"p": p}
    tenths = [round(10 * v) for v in a + b]
    sums = divided(tenths, size)
    yield ("permutation_mean_diff_exact", both,
           {"p": share_as_far(map(Fraction, sums), sum(tenths[:size])), "n_permutations": len(sums)})
    d = [draw.randint(-9, 9) / 10 for _ in range(8)] + [1]
    not_zero = [v for v in d if v]
    rank = ranks([abs(v) for v in not_zero])
    sums = [sum(itertools.compress(rank, signs))
            for signs in itertools.product([0, 1], repeat=len(rank))]
    seen = sum(r for r, v in zip(rank, not_zero) if v > 0)
    yield ("wilcoxon_signed_rank", {"d": d, "p_method": "exact"},
           {"p": share_as_far(sums, seen), "W_min": float(min(seen, sum(rank) - seen))})


def many_questions(draw):
    n = draw.randint(1, 9)
    p = [draw.choice([0.001, 0.01, 0.01, 0.04, 0.2, 0.5, 1]) for _ in range(n)]
    rising = sorted(p)
    harmonic = sum(1 / i for i in range(1, n + 1))

    def step_up(factor):
        return [min(min(1, factor * rising[j] * n / (j + 1)) for j in range(n) if rising[j] >= q)
                for q in p]

    yield "bh_adjust", {"p": p}, step_up(1)
    yield "benjamini_yekutieli_adjust", {"p": p}, step_up(harmonic)
    yield ("holm_adjust", {"p": p},
           [max(min(1, rising[j] * (n - j)) for j in range(n) if rising[j] <= q) for q in p])


def questions(draw):
    for _ in range(ROUNDS):
        n, kinds = draw.randint(2, 8), draw.choice([2, 4, 10, 1000])
        offset = draw.choice([0, 0, 1e6, 1e15])
        parts = 1 if offset == 1e15 else draw.choice([1, 10])
        x, a, b = ([offset + draw.randint(0, kinds) / parts for _ in range(size)]
                   for size in (n, draw.randint(1, 5), draw.randint(1, 5)))
        y = [draw.randint(0, kinds) / parts for _ in range(n)]
        yield from row_questions(draw, x, y)
        yield from pair_questions(x, y)
        yield from group_questions(draw, a, b)
        yield from many_questions(draw)


def is_near(got, want):
    if isinstance(want, dict):
        return all(is_near(got.get(name), member) for name, member in want.items())
    if isinstance(want, list):
        return len(got) == len(want) and all(map(is_near, got, want))
    if got is None or want is None:
        return got is want
    return abs(got - want) <= max(1e-9 * abs(want), 1e-12)


def main():
    weir = program()
    count = Counter()
    asked = list(questions(random.Random(20260604)))
    lines = [json.dumps({"op": op, "inputs": inputs}) for op, inputs, _ in asked]
    result = run(weir, "stat", data="\n".join(lines).encode() + b"\n")
    got = [json.loads(line) for line in result.out.splitlines()]
    count.check(result.code == 0 and len(got) == len(asked), "all questions are answered")
    for (op, inputs, want), answer in zip(asked, got):
        count.check(is_near(answer.get("result"), want), f"{op} {inputs}: {answer}, not {want}")
    return count.finish()


sys.exit(main())
