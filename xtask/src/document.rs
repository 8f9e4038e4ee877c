//! Parts of documents that commands write.

use std::fs;

use anyhow::{Context, Result};

/// What stands between two lines of a document.
pub(crate) struct Part {
    pub(crate) document: &'static str,
    pub(crate) begin: &'static str,
    pub(crate) end: &'static str,
}

impl Part {
    /// Puts a text into its place.
    pub(crate) fn write(&self, text: &str) -> Result<()> {
        let document = fs::read_to_string(self.document).with_context(|| format!("cannot read {}", self.document))?;
        Ok(fs::write(self.document, self.replaced(&document, text)?)?)
    }

    /// The document with the text in its place.
    fn replaced(&self, document: &str, text: &str) -> Result<String> {
        let Self { document: name, begin, end } = self;
        let (before, rest) = document.split_once(begin).with_context(|| format!("{name} has no line `{begin}`"))?;
        let (_, after) = rest.split_once(end).with_context(|| format!("{name} has no line `{end}`"))?;
        Ok(format!("{before}{begin}\n{text}\n{end}{after}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_its_place() {
        let part = Part { document: "a.md", begin: "<!-- b -->", end: "<!-- e -->" };
        let text = part.replaced("a\n<!-- b -->\nold\n<!-- e -->\nb\n", "new").unwrap();
        assert_eq!(text, "a\n<!-- b -->\nnew\n<!-- e -->\nb\n");
        assert!(part.replaced("a", "new").is_err());
    }
}
