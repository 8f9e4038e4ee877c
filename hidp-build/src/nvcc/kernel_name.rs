//! Names of kernels, as programs have them.

/// A mangled name's scopes and name, without what the compiler put in and without types: `gemm::rows_0<256>`. A name that is mangled
/// in another way stays as it is.
pub(super) fn readable(symbol: &str) -> String {
    let Some(rest) = symbol.strip_prefix("_Z") else { return symbol.to_owned() };
    let (is_nested, rest) = rest.strip_prefix('N').map_or((false, rest), |rest| (true, rest));
    scopes(rest, is_nested).unwrap_or_else(|| symbol.to_owned())
}

/// The names at the start of the text; one if it is not nested.
fn scopes(mut text: &str, is_nested: bool) -> Option<String> {
    let mut shown: Vec<String> = Vec::new();
    while text.starts_with(|c: char| c.is_ascii_digit()) {
        let (name, rest) = identifier(text)?;
        text = rest;
        if !is_made_up(name) {
            shown.push(name.to_owned());
        }
        if let Some(arguments) = text.strip_prefix('I') {
            let (arguments, rest) = template_arguments(arguments);
            if let Some(name) = shown.last_mut() {
                name.push_str(&arguments);
            }
            text = rest;
        }
        if !is_nested {
            break;
        }
    }
    (!shown.is_empty()).then(|| shown.join("::"))
}

/// A name behind its length.
fn identifier(text: &str) -> Option<(&str, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let length: usize = text.get(..digits)?.parse().ok()?;
    Some((text.get(digits..digits + length)?, text.get(digits + length..)?))
}

/// Namespaces that are not part of the source: anonymous ones, and those in which libraries hide their versions.
fn is_made_up(name: &str) -> bool {
    ["_GLOBAL__N_", "_INTERNAL_", "CUB_", "THRUST_"].iter().any(|prefix| name.starts_with(prefix))
}

/// How many names of template arguments are shown.
const SHOWN: usize = 4;

/// Integers, and names of types without their scopes' made-up parts; what has none stays unnamed. Also the text behind.
fn template_arguments(mut text: &str) -> (String, &str) {
    let (mut values, mut depth, mut is_whole) = (Vec::new(), 1, true);
    while depth > 0 {
        if let Some((value, behind)) = integer(text) {
            values.push(value);
            text = behind;
        } else if text.starts_with(|c: char| c.is_ascii_digit()) {
            let Some((name, behind)) = identifier(text) else { return ("<…>".to_owned(), "") };
            if !is_made_up(name) {
                values.push(name.to_owned());
            }
            text = behind;
        } else {
            let Some((opens, closes, behind)) = mark(text) else { return ("<…>".to_owned(), "") };
            // What is neither a name nor a bracket is a built-in type, or one that came before.
            is_whole &= opens || closes;
            depth = depth + u32::from(opens) - u32::from(closes);
            text = behind;
        }
    }
    is_whole &= values.len() <= SHOWN;
    values.truncate(SHOWN);
    if !is_whole {
        values.push("…".to_owned());
    }
    (format!("<{}>", values.join(", ")), text)
}

/// A mark of types and brackets: whether it opens or closes one, and what comes behind.
fn mark(text: &str) -> Option<(bool, bool, &str)> {
    let first = text.chars().next()?;
    let past = |end: usize| text.get(end..);
    let behind = match first {
        // `S_`, `S1A_`, `T0_`: what came before. `St`, `Dp`: two letters.
        'S' | 'T' if text[1..].starts_with(|c: char| c == '_' || c.is_ascii_digit() || c.is_ascii_uppercase()) => {
            past(text.find('_')? + 1)
        }
        'S' | 'D' => past(2),
        _ => past(first.len_utf8()),
    };
    Some((matches!(first, 'N' | 'I' | 'J' | 'X' | 'L' | 'F'), first == 'E', behind?))
}

/// `Li256E`: an integer of any type.
fn integer(text: &str) -> Option<(String, &str)> {
    let rest = text.strip_prefix('L')?;
    let rest = rest.strip_prefix(['b', 'c', 'h', 's', 't', 'i', 'j', 'l', 'm', 'x', 'y'])?;
    let (value, rest) = rest.split_once('E')?;
    let digits = value.strip_prefix('n').unwrap_or(value);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| (value.replace('n', "-"), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_shown_and_types_are_not() {
        let cases = [
            ("_Z1kPfi", "k"),
            ("_ZN18entry_k_4gemm_gemm6rows_0EPKfPfl", "entry_k_4gemm_gemm::rows_0"),
            ("_ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f5localEPfi", "entry_k_4gemm_gemm::local"),
            (
                "_ZN18entry_k_4gemm_gemm29_GLOBAL__N__a45fc7e2_4_y_cu_f6rows_0ILi256ELb1EEEvPKfPfl",
                "entry_k_4gemm_gemm::rows_0<256, 1>",
            ),
            ("_ZN3cub21CUB_300001_SM_800_9006detail11EmptyKernelIvEEvv", "cub::detail::EmptyKernel<…>"),
            ("_Z4fillIfLin1EEvPT_", "fill<-1, …>"),
            (
                "_ZN4hidp4cuda43_GLOBAL__N__f265a8fc_10_reduce_cpp_895eb63d9run_itemsINS1_5BlockELi256ENS1_14LookAtSegments\
                 INS1_14VectorSegmentsIPiPlEEEEEEvNS1_6LaunchET1_",
                "hidp::cuda::run_items<Block, 256, LookAtSegments, VectorSegments, …>",
            ),
            ("_Z4fillILin1EEvPi", "fill<-1>"),
            ("plain_c", "plain_c"),
        ];
        for (symbol, name) in cases {
            assert_eq!(readable(symbol), name);
        }
    }

    #[test]
    fn what_is_not_understood_stays() {
        assert_eq!(
            (readable("_Z1kI"), readable("_Z1kI9ab"), readable("_Z1kIS")),
            ("k<…>".into(), "k<…>".into(), "k<…>".into())
        );
        for symbol in ["_ZN", "_ZN99shortE", "_ZplRKiS0_", "_Z", "", "_ZN29_GLOBAL__N__a45fc7e2_4_y_cu_fE"] {
            assert_eq!(readable(symbol), symbol);
        }
    }
}
