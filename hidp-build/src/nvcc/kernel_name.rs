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

/// Namespaces that nobody wrote: those without a name, and those in which libraries hide their versions.
fn is_made_up(name: &str) -> bool {
    ["_GLOBAL__N_", "_INTERNAL_", "CUB_", "THRUST_"].iter().any(|prefix| name.starts_with(prefix))
}

/// Integers as written; anything else makes `…` of all arguments, and of what comes behind them.
fn template_arguments(text: &str) -> (String, &str) {
    let mut values = Vec::new();
    let mut rest = text;
    while let Some((value, behind)) = integer(rest) {
        values.push(value);
        rest = behind;
    }
    match rest.strip_prefix('E') {
        Some(rest) if !values.is_empty() => (format!("<{}>", values.join(", ")), rest),
        Some(_) | None => ("<…>".to_owned(), ""),
    }
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
            ("_Z4fillIfLin1EEvPT_", "fill<…>"),
            ("_Z4fillILin1EEvPi", "fill<-1>"),
            ("plain_c", "plain_c"),
        ];
        for (symbol, name) in cases {
            assert_eq!(readable(symbol), name);
        }
    }

    #[test]
    fn what_is_not_understood_stays() {
        for symbol in ["_ZN", "_ZN99shortE", "_ZplRKiS0_", "_Z", "", "_ZN29_GLOBAL__N__a45fc7e2_4_y_cu_fE"] {
            assert_eq!(readable(symbol), symbol);
        }
    }
}
