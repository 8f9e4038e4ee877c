//! How many threads the blocks of kernels have at most: their launch bounds, which only PTX says. Objects hold it as text where nvcc was
//! told not to compress (`NVCC_APPEND_FLAGS=--no-compress`).

use std::collections::HashMap;

/// By symbol. Empty where the PTX is compressed, or not there.
pub(super) fn blocks(object: &[u8]) -> HashMap<String, u32> {
    let mut found = HashMap::new();
    let mut rest = object;
    while let Some(head) = past(rest, b".entry ") {
        rest = head;
        // `name(\n parameters)\n.maxntid 256, 1, 1\n{`
        let Some(end) = head.iter().position(|&byte| byte == b'{') else { break };
        let head = &head[..end];
        let symbol: Vec<u8> = head.iter().copied().take_while(|byte| is_name(*byte)).collect();
        let Some(bounds) = past(head, b".maxntid ") else { continue };
        let digits: String =
            bounds.iter().take_while(|byte| byte.is_ascii_digit()).map(|&byte| char::from(byte)).collect();
        if let (Ok(symbol), Ok(threads)) = (String::from_utf8(symbol), digits.parse()) {
            found.insert(symbol, threads);
        }
    }
    found
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$'
}

fn past<'a>(text: &'a [u8], what: &[u8]) -> Option<&'a [u8]> {
    let at = text.windows(what.len()).position(|window| window == what)?;
    Some(&text[at + what.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launch_bounds_are_read() {
        let ptx =
            b"\x7fELF\0.entry _Z1aPf(\n\t.param .u64 _Z1aPf_param_0\n)\n.maxntid 256, 1, 1\n.minnctapersm 1\n{\n}\n\
            .visible .entry _Z1bv(\n)\n{\n.maxntid 7\n}\n.entry _Z1cv()\n.maxntid 96\n{ }\0\xff";
        let found = blocks(ptx);
        let of = |name: &str| found.get(name).copied();
        assert_eq!((of("_Z1aPf"), of("_Z1bv"), of("_Z1cv")), (Some(256), None, Some(96)));
        assert!(blocks(b"").is_empty() && blocks(b".entry ").is_empty());
    }
}
