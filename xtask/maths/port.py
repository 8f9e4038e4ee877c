#!/usr/bin/env python3
"""Makes the interpreter's maths from the headers of hidp/maths: the same steps in Rust, so that it gives the same bits.

    python3 xtask/maths/port.py          writes the modules
    python3 xtask/maths/port.py --check  fails where they are not what would be written

The headers keep to what this reads: functions of `const … = …;` and `return …;`, `if constexpr`, and structs of numbers.
`lane.hpp` is written by hand on both sides.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
HEADERS = ROOT / "hidp-std/include/hidp/maths"
MODULES = ROOT / "hidp-build/crates/ir/src/par/interp/maths"
# Functions of the language.
LANGUAGE = set(
    "exp exp2 expm1 sinh cosh tanh log log2 log10 log1p asinh acosh atanh pow sin cos tan asin acos atan atan2 cbrt hypot erf erfc".split()
)
# For machines without fused multiply-add, or for vector loops.
SKIPPED = {"upper_half", "is_near", "near_sin", "near_cos", "near_tan"}
# The modules, and what each uses. Those of functions use the coefficients of the same name, too.
USES = {
    "pair": ["lane"],
    "exponential": ["coefficients::constants", "lane", "pair"],
    "logarithm": ["coefficients::constants", "lane", "pair"],
    "power": ["coefficients::constants", "coefficients::exponential", "lane", "logarithm", "pair"],
    "trigonometry": ["coefficients::constants", "lane", "pair"],
    "inverse": ["coefficients::constants", "lane", "pair"],
    "root": ["lane", "pair"],
    "error": ["coefficients::constants", "coefficients::exponential", "exponential", "lane", "pair"],
}
ABOUT_COEFFICIENTS = {
    "constants": "Constants that several families of functions need.",
    "error": "Coefficients of the error functions.",
    "exponential": "Coefficients of exponential and hyperbolic functions.",
    "inverse": "Coefficients and constants of inverse trigonometric functions.",
    "logarithm": "Coefficients and constants of logarithms.",
    "power": "Coefficients and constants of `pow`.",
    "root": "Coefficients of roots.",
    "trigonometry": "Coefficients of trigonometric functions, and pi in pieces for reductions.",
}


def split(text):
    """At commas that no bracket holds."""
    parts, depth, last = [], 0, ""
    for c in text:
        depth += c in "([{" 
        depth -= c in ")]}"
        if c == "," and depth == 0:
            parts.append(last.strip())
            last = ""
        else:
            last += c
    return parts + [last.strip()] if last.strip() else parts


def kind(text):
    text = text.strip()
    text = re.sub(r"Wide<F>", "f64", text)
    text = re.sub(r"Bits<F>", "u64", text)
    return {"M": "bool"}.get(text, text)


def closing(text, start):
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += text[at] in "([{"
        depth -= text[at] in ")]}"
        if depth == 0:
            return at
    raise SystemExit("a bracket is not closed")


def calls(text, name, change):
    """Every `name(arguments)` as `change(arguments)` says."""
    at = 0
    while True:
        found = re.compile(r"(?<![\w:])" + re.escape(name) + r"\(").search(text, at)
        if not found:
            return text
        end = closing(text, found.end() - 1)
        new = change(split(text[found.end():end]))
        text = text[:found.start()] + new + text[end + 1:]
        at = found.start() + len(new) if name in new else found.start()


def number(text):
    """C++'s floating-point literals as Rust's."""
    text = re.sub(r"0x[\da-f.]+p[-+]?\d+", lambda m: repr(float.fromhex(m[0])), text)
    text = re.sub(r"(?<![\w.])(\d+\.\d+(?:e[-+]?\d+)?)f\b", r"\1", text)
    return re.sub(r"(?<![\w.])(\d+e[-+]\d+)f\b", r"\1", text)


def constant(text):
    """Of floating-point type: whole numbers are written as such."""
    whole = lambda m: m[0] if set(m[0]) & set(".e") else m[0] + ".0"
    return re.sub(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])", whole, number(text))


def float_of(argument):
    argument = constant(argument)
    choice = re.fullmatch(r"kIsDouble<F> \? (.*) : (.*)", argument)
    if choice:
        argument = f"if F::IS_DOUBLE {{ {choice[1]} }} else {{ {choice[2]} }}"
    return argument


def expression(text):
    text = text.strip()
    text = calls(text, "F", lambda a: f"\0of({float_of(a[0])})")
    text = text.replace("\0of", "F::of")
    text = text.replace("infinity<f64>", "infinity::<f64>").replace("infinity<Wide<F>>", "infinity::<f64>")
    text = re.sub(r"(\w+)<F>\(", r"\1::<F>(", text)
    text = calls(text, "polynomial", lambda a: f"polynomial_({a[0]}, &[{', '.join(constant(x) for x in a[1:])}])")
    text = text.replace("polynomial_(", "polynomial(")
    text = re.sub(r"(?<![\w.])(\w+) != \1(?![\w.])", r"\1.is_nan()", text)
    # Words wrap.
    text = re.sub(r"(bits\([\w.]+\)) \+ (bits\([\w.]+\)|more)", r"\1.wrapping_add(\2)", text)
    text = re.sub(r"(bits\(large\)) - (\(row << .*?\)\))", r"\1.wrapping_sub\2", text)
    text = text.replace("Lane<F>::fraction", "F::FRACTION").replace("Lane<F>::bias", "F::BIAS")
    text = text.replace("8 * sizeof(F) - 1", "F::SIGN")
    text = text.replace("narrow(", "narrow::<F>(")
    return text


def result(kind_text, text):
    """What a function returns: structs get their names."""
    text = text.strip()
    if text.startswith("{"):
        name = kind_text.split("<")[0]
        fields = STRUCTS[name]
        values = [expression(v) for v in split(text[1:-1])]
        return f"{name} {{ " + ", ".join(f if f == v else f"{f}: {v}" for f, v in zip(fields, values)) + " }"
    return expression(text)


STRUCTS = {"Split": ["exponent", "mantissa"]}


def body(text, returns):
    out = []
    at = 0
    while at < len(text):
        rest = text[at:]
        skipped = re.match(r"\s+", rest)
        if skipped:
            at += skipped.end()
            continue
        comment = re.match(r"//[^\n]*\n", rest)
        if comment:
            out.append(comment[0].rstrip())
            at += comment.end()
            continue
        branch = re.match(r"if constexpr \((kIsDouble<F>|kFused)\) ", rest)
        if branch:
            at += branch.end()
            sides = []
            for _ in range(2):
                if text[at] == "{":
                    end = closing(text, at)
                    sides.append(body(text[at + 1:end], returns))
                    at = end + 1
                else:
                    end = text.index(";", at)
                    sides.append(body(text[at:end + 1], returns))
                    at = end + 1
                other = re.match(r"\s*else ", text[at:])
                if other:
                    at += other.end()
            if branch[1] == "kFused":
                out += sides[0]
            else:
                out += ["if F::IS_DOUBLE {"] + sides[0] + ["} else {"] + sides[1] + ["}"]
            continue
        table = re.match(r"static const double (\w+)\[(\d+)\] = \{", rest)
        if table:
            end = closing(text, at + table.end() - 1)
            rows = [", ".join(row) for row in zip(*[iter(number(v) for v in split(text[at + table.end():end]))] * 4)]
            # A row a line, as there.
            out += ["#[rustfmt::skip]", f"const TURNS: [f64; {table[2]}] = ["] + [f"    {row}," for row in rows] + ["];"]
            at = end + 2
            continue
        end = text.index(";", at)
        statement = " ".join(text[at:end].split())
        at = end + 1
        given = re.match(r"const (?:bool|F|\w+<F>) (\w+) = (.*)", statement)
        if given:
            out.append(f"let {given[1]} = {expression(given[2])};")
            continue
        returned = re.match(r"return (.*)", statement)
        if not returned:
            raise SystemExit(f"cannot read `{statement}`")
        value = returned[1]
        out.append("F::of(TURNS[at as usize])" if value == "kTurns[at]" else result(returns, value))
    return out


def module(name, uses, reach):
    """The module of the header `name`, which uses these others; `reach` is the visibility of what it has for them."""
    text = (HEADERS / f"{name}.hpp").read_text()
    about = []
    for line in text.splitlines():
        if not line.startswith("//") or "Made by" in line:
            break
        about.append("//! " + line[2:].strip())
    out = about or ["//! " + ABOUT_COEFFICIENTS[name.split("/")[-1]]]
    out += ["//!", "//! Made by `xtask/maths/port.py` from the header of the same name.", ""]
    out += [f"use {other}::*;" for other in uses] + [""]
    text = text[text.index("namespace maths {") + len("namespace maths {"):text.index("}  // namespace maths")]
    pattern = re.compile(
        r"(?P<comment>(?://[^\n]*\n)*)template <class F(?:, class M)?>\n(?:struct (?P<struct>\w+) \{(?P<fields>[^}]*)\};|HIDP_INLINE (?P<returns>[\w<>]+) (?P<name>\w+)\((?P<parameters>[^)]*)\) \{)"
    )
    at = 0
    while True:
        found = pattern.search(text, at)
        if not found:
            break
        comment = ["/// " + line[2:].strip() for line in found["comment"].splitlines()]
        if found["struct"]:
            fields = []
            for declared in filter(None, (f.strip() for f in found["fields"].split(";"))):
                of, names = declared.split(" ", 1)
                fields += [(n.strip(), of) for n in names.split(",")]
            STRUCTS[found["struct"]] = [n for n, _ in fields]
            out += comment + ["#[derive(Clone, Copy)]", f"{reach} struct {found['struct']}<F> {{"]
            out += [f"    {reach} {n}: {of}," for n, of in fields] + ["}", ""]
            at = found.end()
            continue
        end = closing(text, found.end() - 1)
        parameters = [p.rsplit(" ", 1) for p in split(found["parameters"])]
        arguments = ", ".join(f"{n}: {kind(of)}" for of, n in parameters)
        if found["name"] in SKIPPED:
            at = end + 1
            continue
        overload = found["name"]
        if name == "pair" and found["parameters"].startswith("Pair<F>"):
            overload = {"product": "product_of_pairs", "square_root": "root_of_pair"}.get(overload, overload)
        to = "pub(in crate::par::interp)" if overload in LANGUAGE else reach
        out += comment + [f"{to} fn {overload}<F: Lane>({arguments}) -> {kind(found['returns'])} {{"]
        out += body(text[found.end():end], found["returns"]) + ["}", ""]
        at = end + 1
    return "\n".join(out)


def overloads(text):
    """Rust has none: what takes pairs has another name."""
    for plain in ("product(s, s)", "product(product(s, z), series)", "product(s, z)", "product(artanh, ", "product(turn, ", "product(fraction, power)"):
        text = text.replace(plain, "product_of_pairs" + plain[len("product"):])
    text = text.replace("product_of_pairs(product(s, z)", "product_of_pairs(product_of_pairs(s, z)")
    return re.sub(r"square_root\((pair\(|radicand)", r"root_of_pair(\1", text)


def formatted(text):
    done = subprocess.run(["rustfmt", "--edition", "2024", "--config-path", str(ROOT)], input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(text + done.stderr)
    return done.stdout


def main():
    texts = {}
    for name, uses in USES.items():
        own = [] if name == "pair" else [f"coefficients::{name}"]
        text = module(name, sorted(f"super::{other}" for other in own + uses), "pub(super)")
        texts[name] = formatted(text if name == "pair" else overloads(text))
    for name in ABOUT_COEFFICIENTS:
        texts[f"coefficients/{name}"] = formatted(module(f"coefficients/{name}", ["super::super::lane"], "pub(crate)"))
    for name, text in texts.items():
        path = MODULES / f"{name}.rs"
        if "--check" not in sys.argv:
            path.write_text(text)
        elif path.read_text() != text:
            raise SystemExit(f"{path} is not what this script writes")


main()
