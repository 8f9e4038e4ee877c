"""Peers that are Python packages.

Reads lines from standard input. `load PEER FOLDER` takes what a peer works on from files of numbers in a folder, runs it once and
answers with its result; `run PEER` runs it again and answers `done`. What a package does not know is `missing`, with its words.
"""

import sys

import numpy

PROTEINS = "ARNDCQEGHILKMFPSTWYV"


def letters(folder, name, alphabet):
    codes = numpy.fromfile(f"{folder}/{name}", dtype=numpy.uint8)
    return "".join(alphabet[code] for code in codes)


def numbers(folder, name, kind):
    return numpy.fromfile(f"{folder}/{name}", dtype=kind)


def edlib(folder):
    import edlib

    s, t = (letters(folder, name, "ACGT") for name in ("s", "t"))
    count = int(numbers(folder, "pairs", numpy.int64)[0])
    n, m = len(s) // count, len(t) // count
    pairs = [(s[k * n : (k + 1) * n], t[k * m : (k + 1) * m]) for k in range(count)]
    return lambda: sum(edlib.align(a, b, task="distance")["editDistance"] for a, b in pairs)


def pyopal(folder):
    import pyopal
    from scoring_matrices import ScoringMatrix

    query = letters(folder, "s", PROTEINS)
    db, off = letters(folder, "db", PROTEINS), numbers(folder, "off", numpy.int64)
    database = pyopal.Database(db[low:high] for low, high in zip(off, off[1:]))
    aligner = pyopal.Aligner(ScoringMatrix.from_name("BLOSUM62"), gap_open=11, gap_extend=1)
    from multiprocessing.pool import ThreadPool

    # As many parts as threads; Opal lets go of the interpreter's lock.
    count, threads = len(database), int(numbers(folder, "threads", numpy.int64)[0])
    ends = [(count * k // threads, count * (k + 1) // threads) for k in range(threads)]
    pool = ThreadPool(threads)
    part = lambda end: [r.score for r in aligner.align(query, database, start=end[0], end=end[1])]
    return lambda: sum(sum(scores) for scores in pool.map(part, ends))


def parasail_end(folder):
    import parasail

    s, t = (letters(folder, name, PROTEINS) for name in ("s", "t"))
    return lambda: parasail.sw_striped_16(s, t, 11, 1, parasail.blosum62).score


def parasail_way(folder):
    import parasail

    s, t = (letters(folder, name, PROTEINS) for name in ("s", "t"))

    def run():
        found = parasail.sw_trace_striped_16(s, t, 11, 1, parasail.blosum62)
        return f"{found.score} {len(found.cigar.seq)}"

    return run


def dtaidistance(folder):
    from dtaidistance import dtw

    x, y = (numbers(folder, name, numpy.float32).astype(numpy.float64) for name in ("x", "y"))
    return lambda: dtw.distance_fast(x, y)


def dtaidistance_pairs(folder):
    from dtaidistance import dtw

    n = int(numbers(folder, "length", numpy.int64)[0])
    a, b = (numbers(folder, name, numpy.float32).astype(numpy.float64).reshape(-1, n) for name in ("x", "y"))
    both, count = numpy.concatenate([a, b]), len(a)
    block = ((0, count), (count, count + len(b)))
    run = lambda: dtw.distance_matrix_fast(both, block=block, compact=True, parallel=True)
    return lambda: numpy.sum(run())


def hmmlearn(folder):
    from hmmlearn import hmm

    states, symbols, length = numbers(folder, "sizes", numpy.int64)
    model = hmm.CategoricalHMM(n_components=states, implementation="scaling")
    normal = lambda rows: rows / rows.sum(axis=-1, keepdims=True)
    of = lambda name: numbers(folder, name, numpy.float32).astype(numpy.float64)
    model.startprob_ = normal(of("start"))
    model.transmat_ = normal(of("move").reshape(states, states))
    model.emissionprob_ = normal(of("emit").reshape(states, symbols))
    x = numbers(folder, "x", numpy.uint8).astype(numpy.int64).reshape(-1, 1)
    lengths = numpy.full(len(x) // length, length)
    return lambda: model.score(x, lengths)


def lloyd(folder):
    # One step; what scikit-learn's `KMeans` calls in a loop.
    from sklearn.cluster._k_means_lloyd import lloyd_iter_chunked_dense

    n, d, k, threads = (int(size) for size in numbers(folder, "sizes", numpy.int64))
    point, centre = (numbers(folder, name, numpy.float32).reshape(-1, d) for name in ("point", "centre"))
    weights, label = numpy.ones(n, numpy.float32), numpy.full(n, -1, numpy.int32)
    new, many, shift = numpy.zeros_like(centre), numpy.zeros(k, numpy.float32), numpy.zeros(k, numpy.float32)

    def run():
        lloyd_iter_chunked_dense(point, weights, centre, new, many, label, shift, threads)
        return " ".join(str(int(count)) for count in many)

    return run


PEERS = [edlib, pyopal, parasail_end, parasail_way, dtaidistance, dtaidistance_pairs, hmmlearn, lloyd]


def main():
    known = {peer.__name__: peer for peer in PEERS}
    loaded = {}
    for line in sys.stdin:
        word, name, *rest = line.split()
        try:
            if word == "load":
                loaded[name] = known[name](rest[0])
                answer = f"result {loaded[name]()}"
            else:
                loaded[name]()
                answer = "done"
        except Exception as error:  # whatever a package cannot do is its caller's to say
            answer = "missing " + f"{type(error).__name__}: {error}".replace("\n", " ")
        print(answer, flush=True)


main()
