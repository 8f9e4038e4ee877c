#!/usr/bin/env python3
"""Makes hidp/maths/coefficients/*.hpp: minimax polynomials by Remez's exchange algorithm, and constants in two parts.

    pip install mpmath gmpy2
    python3 xtask/maths/coefficients.py          writes the headers
    python3 xtask/maths/coefficients.py --check  fails where they are not what would be written

Each row names a function, its interval, the weight of an absolute error of the polynomial in the final result, and the bits
that are wanted of it, per width. The least degree that reaches them is taken. What is written beside the coefficients is
the bound after they have been rounded.
"""
import pathlib
import struct
import sys

from mpmath import mp, mpf

mp.prec = 320
HEADERS = pathlib.Path(__file__).parents[2] / "hidp-std/include/hidp/maths/coefficients"
# What stands where, in order. A header has what the functions of the same name need; `constants` has what several of them do.
CONTENTS = {
    "constants": ["ln2", "ln2_whole", "log2_e", "half_pi"],
    "exponential": ["exp_tail", "expm1_tail", "exp2_tail", "exp2_short", "sinh_tail", "cosh_tail"],
    "logarithm": ["log10_e", "log10_2", "log_tail"],
    "power": ["two_over_ln2", "third", "pow_tail", "log2_short"],
    "trigonometry": ["two_over_pi", "sin_tail", "cos_tail", "sin_short", "cos_short", "half_pi_pieces", "turns_short", "turns"],
    "inverse": ["quarter_pi", "pi", "atan_half", "atan_tail", "asin_tail"],
    "root": ["cbrt_start"],
    "error": ["two_over_root_pi", "erf_tail", "erf_short", "erfc_short", "erfc"],
}


def rounded(value, width):
    """The nearest double, or float."""
    double = float(value)
    return double if width == 64 else struct.unpack("f", struct.pack("f", double))[0]


def literal(value, width):
    return repr(rounded(value, width)) + ("f" if width == 32 else "")


def horner(coefficients, x):
    result = mpf(0)
    for c in reversed(coefficients):
        result = result * x + c
    return result


def remez(f, low, high, degree, weight, steps=12):
    """The polynomial of that degree whose greatest weighted error on the interval is least."""
    count = degree + 2
    middle, half = (high + low) / 2, (high - low) / 2
    grid = [middle - half * mp.cos(mp.pi * i / (32 * count)) for i in range(32 * count + 1)]
    # A weight of 0 says nothing of the polynomial.
    grid = [x if weight(x) > mpf(2) ** -200 else x + half / 1000 for x in grid]
    values = [(x, f(x), weight(x)) for x in grid]
    nodes = [values[round(32 * count * (i + mpf(1) / 2) / count)] for i in range(count)]
    coefficients = None
    for _ in range(steps):
        # Unknowns are scaled to powers of (x - middle) / half, so that the equations are well conditioned.
        rows, right = mp.matrix(count, count), mp.matrix(count, 1)
        for i, (x, y, w) in enumerate(nodes):
            t = (x - middle) / half
            power = mpf(1)
            for j in range(degree + 1):
                rows[i, j] = power * w
                power *= t
            rows[i, degree + 1] = mpf((-1) ** i)
            right[i] = y * w
        solution = mp.lu_solve(rows, right)
        coefficients = [solution[j] for j in range(degree + 1)]
        level = abs(solution[degree + 1])
        errors = [(w * (horner(coefficients, (x - middle) / half) - y), x, y, w) for x, y, w in values]
        peaks = []
        for error, x, y, w in errors:
            if peaks and (peaks[-1][0] > 0) == (error > 0):
                if abs(error) > abs(peaks[-1][0]):
                    peaks[-1] = (error, x, y, w)
            else:
                peaks.append((error, x, y, w))
        while len(peaks) > count:
            peaks.pop(0 if abs(peaks[0][0]) < abs(peaks[-1][0]) else -1)
        if len(peaks) < count:
            break
        nodes = [(x, y, w) for _, x, y, w in peaks]
        if max(abs(p[0]) for p in peaks) < level * mpf("1.001"):
            break
    return expanded(coefficients, middle, half)


def expanded(scaled, middle, half):
    """Coefficients of powers of x from those of powers of (x - middle) / half."""
    result = [mpf(0)]
    for c in reversed(scaled):
        shifted = [mpf(0)] * (len(result) + 1)
        for i, r in enumerate(result):
            shifted[i + 1] += r / half
            shifted[i] -= r * middle / half
        shifted[0] += c
        result = shifted
    return result[: len(scaled)]


def bound(f, low, high, coefficients, weight):
    middle, half = (high + low) / 2, (high - low) / 2
    points = [middle - half * mp.cos(mp.pi * i / 800) for i in range(801)]
    return max(abs(weight(x) * (horner(coefficients, x) - f(x))) for x in points)


def minimax(f, low, high, weight, bits, width):
    """Rounded coefficients of least degree with an error below 2^-bits, and the error's logarithm."""
    for degree in range(1, 40):
        found = remez(f, low, high, degree, weight)
        error = bound(f, low, high, found, weight)
        if mp.log(error, 2) > -bits:
            continue
        # Rounding one coefficient is made good by the ones after it.
        fixed = []
        for at in range(min(len(found), 5 if width == 32 else 2)):
            fixed.append(mpf(rounded(found[at], width)))
            if at + 1 == len(found) or low <= 0 <= high and low == -high and degree - at < 2:
                break
            rest = lambda x, n=at + 1: (f(x) - horner(fixed, x)) / x**n
            away = lambda x, n=at + 1: weight(x) * abs(x) ** n
            start = low if low > 0 else (high * mpf(2) ** -20 if low == 0 else None)
            if start is None:
                break
            found = fixed + remez(rest, start, high, degree - at - 1, away)
        result = [mpf(rounded(c, width)) for c in found]
        return result, mp.log(bound(f, low, high, result, weight), 2)
    raise SystemExit("no degree is enough")


def near_zero(exact, series):
    """`exact` where x is not small, else the sum of `series(n) x^n`."""
    def f(x):
        if abs(x) > mpf(2) ** -12:
            with mp.workprec(700):
                return +exact(x)
        return sum((series(n) * x**n for n in range(30)), mpf(0))
    return f


LN2 = mp.ln(2)
ROOT = mp.sqrt
fac = mp.factorial
K = mpf(4)  # of erfc: (x - K) / (x + K)


def erfc_scaled(q):
    """erfc(x) e^(x^2) (1 + 2 x) at x = K (1 + q) / (1 - q)."""
    x = K * (1 + q) / (1 - q)
    with mp.workprec(600):
        return +(mp.erfc(x) * mp.exp(x * x) * (1 + 2 * x))


def erfc_end(width):
    """Of x where erfc(x) has left the numbers."""
    x = mpf(28) if width == 64 else mpf("10.6")
    return (x - K) / (x + K)


# erf(x) / x of z = x^2
erf_by_x = near_zero(lambda z: mp.erf(ROOT(z)) / ROOT(z), lambda n: 2 / ROOT(mp.pi) * (-1) ** n / (fac(n) * (2 * n + 1)))


def power(n):
    return lambda x: x**n


# name, what it is, f, interval per width, weight, {width: bits}
SYMMETRIC = lambda r: {w: (-r, r) for w in (64, 32)}
UP_TO = lambda r: {w: (mpf(0), r) for w in (64, 32)}
ROWS = [
    ("exp_tail", "(e^r - 1 - r) / r^2", near_zero(lambda r: (mp.exp(r) - 1 - r) / r**2, lambda n: 1 / fac(n + 2)),
     SYMMETRIC(LN2 / 2 * mpf("1.0001")), lambda r: r**2 / mp.exp(r), {64: 58, 32: 27}),
    ("expm1_tail", "(e^r - 1 - r - r^2 / 2) / r^3",
     near_zero(lambda r: (mp.exp(r) - 1 - r - r**2 / 2) / r**3, lambda n: 1 / fac(n + 3)),
     SYMMETRIC(LN2 / 2 * mpf("1.0001")), lambda r: abs(r**3) * mpf(2), {64: 57, 32: 28}),
    ("exp2_tail", "(2^r - 1 - r ln 2) / r^2",
     near_zero(lambda r: (mp.exp(r * LN2) - 1 - r * LN2) / r**2, lambda n: LN2 ** (n + 2) / fac(n + 2)),
     SYMMETRIC(mpf("0.50001")), lambda r: r**2 / mp.exp(r * LN2), {64: 57, 32: 27}),
    ("sinh_tail", "(sinh r - r) / r^3 of z = r^2",
     near_zero(lambda z: (mp.sinh(ROOT(z)) - ROOT(z)) / ROOT(z) ** 3, lambda n: 1 / fac(2 * n + 3)),
     UP_TO((LN2 / 2) ** 2 * mpf("1.0002")), lambda z: z, {64: 60, 32: 30}),
    ("cosh_tail", "(cosh r - 1) / r^2 of z = r^2",
     near_zero(lambda z: (mp.cosh(ROOT(z)) - 1) / z, lambda n: 1 / fac(2 * n + 2)),
     UP_TO((LN2 / 2) ** 2 * mpf("1.0002")), lambda z: z, {64: 60, 32: 30}),
    ("log_tail", "(2 artanh s - 2 s) / s^3 of z = s^2",
     near_zero(lambda z: (2 * mp.atanh(ROOT(z)) - 2 * ROOT(z)) / ROOT(z) ** 3, lambda n: mpf(2) / (2 * n + 3)),
     UP_TO(mpf("0.02945")), lambda z: z / 2, {64: 58, 32: 29}),
    ("pow_tail", "(artanh s - s - s^3 / 3) / s^5 of z = s^2",
     near_zero(lambda z: (mp.atanh(ROOT(z)) - ROOT(z) - ROOT(z) ** 3 / 3) / ROOT(z) ** 5, lambda n: mpf(1) / (2 * n + 5)),
     UP_TO(mpf("0.02945")), lambda z: z**2, {64: 69}),
    ("sin_tail", "(sin r - r) / r^3 of z = r^2",
     near_zero(lambda z: (mp.sin(ROOT(z)) - ROOT(z)) / ROOT(z) ** 3, lambda n: (-1) ** (n + 1) / fac(2 * n + 3)),
     UP_TO(mpf("0.6169")), lambda z: z, {64: 60}),
    ("cos_tail", "(cos r - 1 + r^2 / 2) / r^4 of z = r^2",
     near_zero(lambda z: (mp.cos(ROOT(z)) - 1 + z / 2) / z**2, lambda n: (-1) ** n / fac(2 * n + 4)),
     UP_TO(mpf("0.6169")), lambda z: z**2 * mpf("1.4"), {64: 60}),
    ("atan_tail", "(atan t - t) / t^3 of z = t^2",
     near_zero(lambda z: (mp.atan(ROOT(z)) - ROOT(z)) / ROOT(z) ** 3, lambda n: mpf((-1) ** (n + 1)) / (2 * n + 3)),
     UP_TO(mpf("0.0559")), lambda z: z, {64: 58, 32: 28}),
    ("asin_tail", "(asin x - x) / x^3 of z = x^2",
     near_zero(lambda z: (mp.asin(ROOT(z)) - ROOT(z)) / ROOT(z) ** 3,
               lambda n: fac(2 * n + 2) / (mpf(4) ** (n + 1) * fac(n + 1) ** 2 * (2 * n + 3))),
     UP_TO(mpf("0.25")), lambda z: z, {64: 58, 32: 28}),
    ("cbrt_start", "m^(-1/3)", lambda m: m ** (-mpf(1) / 3), {64: (mpf("0.3535"), mpf("2.8285"))},
     lambda m: m ** (mpf(1) / 3), {64: 12}),
    ("erf_tail", "(erf(x) / x - 2 / sqrt(pi)) / x^2 of z = x^2",
     near_zero(lambda z: (mp.erf(ROOT(z)) / ROOT(z) - 2 / ROOT(mp.pi)) / z,
               lambda n: 2 / ROOT(mp.pi) * (-1) ** (n + 1) / (fac(n + 1) * (2 * n + 3))),
     UP_TO(mpf("0.5626")), lambda z: z, {64: 58}),
    # In double for results in float.
    ("sin_short", "(sin r) / r of z = r^2",
     near_zero(lambda z: mp.sin(ROOT(z)) / ROOT(z), lambda n: (-1) ** n / fac(2 * n + 1)),
     UP_TO(mpf("0.6169")), lambda z: mpf(1), {64: 36}),
    ("cos_short", "cos r of z = r^2",
     near_zero(lambda z: mp.cos(ROOT(z)), lambda n: (-1) ** n / fac(2 * n)),
     UP_TO(mpf("0.6169")), lambda z: mpf("1.4"), {64: 36}),
    ("log2_short", "2 artanh(s) / (s ln 2) of z = s^2",
     near_zero(lambda z: 2 * mp.atanh(ROOT(z)) / ROOT(z) / LN2, lambda n: 2 / LN2 / (2 * n + 1)),
     UP_TO(mpf("0.02945")), lambda z: LN2 / 2, {64: 42}),
    ("erf_short", "erf(x) / x of w = x^2 / 8 - 1", lambda w: erf_by_x(8 * (w + 1)), SYMMETRIC(mpf(1)),
     lambda w: 1 / erf_by_x(8 * (w + 1)), {64: 31}),
    ("erfc_short", "e^(x^2) (1 + 2 x) erfc(x) of q = (x - 4) / (x + 4)", erfc_scaled,
     {64: (mpf(-1), erfc_end(32))}, lambda q: 1 / erfc_scaled(q), {64: 36}),
    ("exp2_short", "2^r", lambda r: mp.exp(r * LN2), SYMMETRIC(mpf("0.50001")), lambda r: mp.exp(-r * LN2), {64: 36}),
]

# name, what it is, value, bits of the first part per width (None: all of them); a second part where there is more.
PARTS = [
    ("ln2", "ln 2, the first part short enough that 12 (8) bits times it are exact", LN2, {64: 41, 32: 16}),
    ("ln2_whole", "ln 2", LN2, {64: None, 32: None}),
    ("log2_e", "1 / ln 2", 1 / LN2, {64: None, 32: None}),
    ("log10_e", "1 / ln 10", 1 / mp.ln(10), {64: None, 32: None}),
    ("log10_2", "log10 2, the first part short enough that 12 (8) bits times it are exact", mp.log10(2), {64: 41, 32: 16}),
    ("two_over_ln2", "2 / ln 2", 2 / LN2, {64: None}),
    ("third", "1 / 3", mpf(1) / 3, {64: None, 32: None}),
    ("half_pi", "pi / 2", mp.pi / 2, {64: None, 32: None}),
    ("quarter_pi", "pi / 4", mp.pi / 4, {64: None, 32: None}),
    ("pi", "pi", mp.pi, {64: None, 32: None}),
    ("atan_half", "atan(1/2)", mp.atan(mpf(1) / 2), {64: None, 32: None}),
    ("two_over_root_pi", "2 / sqrt(pi)", 2 / ROOT(mp.pi), {64: None, 32: None}),
    ("two_over_pi", "2 / pi", 2 / mp.pi, {64: None, 32: None}),
]
# Of these the first part is enough.
ONE_PART = {"two_over_pi"}


def truncated(value, bits):
    exponent = mp.floor(mp.log(abs(value), 2)) + 1
    return mp.floor(value * mpf(2) ** (bits - exponent)) / mpf(2) ** (bits - exponent)


def parts(value, bits, width):
    high = mpf(rounded(value, width)) if bits is None else truncated(value, bits)
    return [high, mpf(rounded(value - high, width))]


def pieces(value, sizes):
    """The value cut into pieces of so many bits, each a double; the bits count from the binary point of the first."""
    result, rest, at = [], value, 0
    for size in sizes:
        at += size
        piece = mp.floor(rest * mpf(2) ** at) / mpf(2) ** at
        result.append(piece)
        rest -= piece
    return result


def wide_rows():
    """Rows of 2/pi for arguments of double from 2^20 on: row j has the bits that matter to those from 2^(20 + 16 j) on."""
    with mp.workprec(1400):
        whole = 2 / mp.pi
        rows = []
        for j in range(64):
            shifted = whole * mpf(2) ** (16 * j)
            rest = shifted - mp.floor(shifted / mpf(2) ** 34) * mpf(2) ** 34
            row = []
            for _ in range(4):
                part = truncated(rest, 53) if rest else mpf(0)
                row.append(part)
                rest -= part
            rows.append(row)
        return rows


def short_rows():
    """The same for float, whose 24 bits times pieces of 29 are exact. Row 0 is 2/pi itself, for all below 2^28."""
    with mp.workprec(400):
        whole = 2 / mp.pi
        rows = []
        for j in range(5):
            shift = 0 if j == 0 else 28 + 25 * (j - 1)
            shifted = whole * mpf(2) ** shift
            # Arguments are scaled to [2^0, 2^25): multiples of 2^-23.
            rest = shifted if j == 0 else shifted - mp.floor(shifted / mpf(2) ** 25) * mpf(2) ** 25
            first = 0 if j == 0 else 25
            row, top = [], first
            for _ in range(2):
                unit = mpf(2) ** (top - 29)
                part = mp.floor(rest / unit) * unit
                row.append(part)
                rest -= part
                top -= 29
            row.append(mpf(float(rest)))
            rows.append(row)
        return rows


def cody_waite():
    """pi/2 in three pieces of 33 bits and what is left: 20 bits times a piece are exact."""
    with mp.workprec(400):
        rest, result = mp.pi / 2, []
        for at in (32, 65, 98):
            piece = mp.floor(rest * mpf(2) ** at) / mpf(2) ** at
            result.append(piece)
            rest -= piece
        return result + [mpf(float(rest))]


def by_width(texts):
    if set(texts) == {64}:
        return [f"  return {texts[64]};"]
    return [f"  if constexpr (kIsDouble<F>) return {texts[64]};", f"  else return {texts[32]};"]


def wrapped(items, indent):
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) > 116:
            lines.append(line.rstrip())
            line = indent
        line += item + " "
    return lines + [line.rstrip()]


def function(name, what, polynomials):
    out = [f"// {what}"]
    for width, (coefficients, error, interval) in sorted(polynomials.items(), reverse=True):
        low, high = (mp.nstr(x, 5) for x in interval)
        out.append(f"// {'double' if width == 64 else 'float'}: degree {len(coefficients) - 1}, from {low} to {high}, error 2^{mp.nstr(error, 4)}")
    out += ["template <class F>", f"HIDP_INLINE F {name}(F x) {{"]
    both = len(polynomials) == 2
    for width, (coefficients, _, _) in sorted(polynomials.items(), reverse=True):
        items = [literal(c, width) + ("," if i + 1 < len(coefficients) else ");") for i, c in enumerate(coefficients)]
        if both and width == 64:
            out.append("  if constexpr (kIsDouble<F>) {")
        elif both:
            out.append("  } else {")
        indent = "    " if both else "  "
        out += wrapped(["return polynomial(x,"] + items, indent)
    return out + (["  }", "}"] if both else ["}"])


def erfc_rows():
    """The first two terms in two parts, and the others."""
    low, high, weight = mpf(-1), erfc_end(64), lambda q: 1 / erfc_scaled(q)
    found = remez(erfc_scaled, low, high, 23, weight)
    terms = [parts(c, None, 64) for c in found[:2]]
    tail = [mpf(rounded(c, 64)) for c in found[2:]]
    error = mp.log(bound(erfc_scaled, low, high, [sum(t) for t in terms] + tail, weight), 2)
    print(f"erfc_tail 64: degree 23, 2^{mp.nstr(error, 4)}", file=sys.stderr)
    out = []
    for name, term in zip(("first", "second"), terms):
        for part, value in zip(("high", "low"), term):
            out += ["template <class F>", f"HIDP_INLINE F erfc_{name}_{part}() {{", f"  return F({literal(value, 64)});", "}"]
    what = "e^(x^2) (1 + 2 x) erfc(x) of q = (x - 4) / (x + 4), without the first two terms"
    return out + function("erfc_tail", what, {64: (tail, error, (low, high))})


def constants():
    """The constants of PARTS by name."""
    made = {}
    for name, what, value, bits in PARTS:
        out = made[name] = [f"// {what}"]
        split = {w: parts(value, b, w) for w, b in bits.items()}
        for at, part in enumerate(("high",) if name in ONE_PART else ("high", "low")):
            out += ["template <class F>", f"HIDP_INLINE F {name}_{part}() {{"]
            out += by_width({w: f"F({literal(p[at], w)})" for w, p in split.items()}) + ["}"]
    return made


def polynomials():
    """The polynomials of ROWS by name."""
    made = {}
    for name, what, f, intervals, weight, bits in ROWS:
        found = {}
        for width, wanted in bits.items():
            low, high = intervals[width]
            coefficients, error = minimax(f, low, high, weight, wanted, width)
            found[width] = (coefficients, error, (low, high))
            print(f"{name} {width}: degree {len(coefficients) - 1}, 2^{mp.nstr(error, 4)}", file=sys.stderr)
        made[name] = function(name, what, found)
    return made


def half_pi_pieces():
    out = []
    for at, piece in enumerate(cody_waite()):
        out += [f"// pi / 2, piece {at + 1} of 4", "template <class F>", f"HIDP_INLINE F half_pi_{at + 1}() {{",
                f"  return F({literal(piece, 64)});", "}"]
    return out


def turns_short():
    out, rows = [], short_rows()
    for at in range(3):
        out += [f"// 2^(25 j + 3) 2 / pi without what gives whole turns, piece {at + 1} of 3; row 0 is 2 / pi", "template <class F, class M>",
                f"HIDP_INLINE F turns_short_{at + 1}(M two, M three, M four, M five) {{"]
        text = f"F({literal(rows[0][at], 64)})"
        for row, name in zip(rows[1:], ("two", "three", "four", "five")):
            text = f"select({name}, F({literal(row[at], 64)}), {text})"
        out += wrapped(f"return {text};".split(" "), "  ") + ["}"]
    return out


def turns():
    out = ["// 2^(16 j) 2 / pi without what gives whole turns, in four pieces; row after row", "template <class F>",
           "HIDP_INLINE F turns(Bits<F> at) {", "  static const double kTurns[256] = {"]
    for row in wide_rows():
        out.append("      " + " ".join(literal(p, 64) + "," for p in row))
    return out + ["  };", "  return kTurns[at];", "}"]


def headers():
    """The texts of the headers by name."""
    made = constants() | polynomials() | {
        "erfc": erfc_rows(), "half_pi_pieces": half_pi_pieces(), "turns_short": turns_short(), "turns": turns(),
    }
    placed = [name for names in CONTENTS.values() for name in names]
    if sorted(placed) != sorted(made):
        raise SystemExit(f"no header, or several: {sorted(set(placed) ^ set(made))}")
    texts = {}
    for header, names in CONTENTS.items():
        out = ["// Made by xtask/maths/coefficients.py, which says how. Errors are relative to the function's result.", "#pragma once", "",
               "#include <hidp/maths/lane.hpp>", "", "HIDP_NAMESPACE_BEGIN", "namespace maths {", ""]
        for name in names:
            out += made[name] + [""]
        texts[header] = "\n".join(out + ["}  // namespace maths", "HIDP_NAMESPACE_END", ""])
    return texts


def main():
    HEADERS.mkdir(exist_ok=True)
    for name, text in headers().items():
        path = HEADERS / f"{name}.hpp"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            raise SystemExit(f"{path} is not what this script writes")


main()
