//! Rust text, cut apart: code without comments and literals, and comments without code. Lines stay where they are.

/// Two texts with the lines of the original. What belongs to the other is blank; literals are `_`.
pub(super) struct Masked {
    pub(super) code: String,
    pub(super) comments: String,
}

impl Masked {
    pub(super) fn new(text: &str) -> Self {
        let mut cutter = Cutter { rest: text, masked: Self { code: String::new(), comments: String::new() } };
        while cutter.step() {}
        cutter.masked
    }

    /// Its code without the bodies of modules called `tests` or `models`.
    pub(super) fn product_code(&self) -> String {
        let mut code = self.code.clone();
        for name in ["tests", "models"] {
            let start = format!("mod {name} {{");
            while let Some(at) = code.find(&start) {
                let body = at + start.len();
                let length = block_length(&code[body..]);
                let blank = blanked(&code[at..body + length]);
                code.replace_range(at..body + length, &blank);
            }
        }
        code
    }
}

/// How far it is to the brace that closes an open block.
fn block_length(text: &str) -> usize {
    let mut depth = 1_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    text.len()
}

/// Spaces, with the line ends of the text.
fn blanked(text: &str) -> String {
    text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }).collect()
}

struct Cutter<'a> {
    rest: &'a str,
    masked: Masked,
}

impl Cutter<'_> {
    /// Takes one piece. `false` at the end.
    fn step(&mut self) -> bool {
        let Some(first) = self.rest.chars().next() else { return false };
        if self.rest.starts_with("//") {
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take_comment(end);
        } else if self.rest.starts_with("/*") {
            self.take_comment(block_comment_length(self.rest));
        } else if let Some(length) = literal_length(self.rest) {
            self.take_literal(length);
        } else if first.is_alphanumeric() || first == '_' {
            // A whole word, so that the r of `for"` begins no raw string.
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
            self.take_code(end);
        } else if first == '\'' {
            // A lifetime: its quote begins nothing.
            self.take_code(1);
        } else {
            self.take_code(first.len_utf8());
        }
        true
    }

    fn cut(&mut self, length: usize) -> &str {
        let (piece, rest) = self.rest.split_at(length);
        self.rest = rest;
        piece
    }

    fn take_code(&mut self, length: usize) {
        let piece = self.cut(length).to_owned();
        self.masked.code.push_str(&piece);
        self.masked.comments.push_str(&blanked(&piece));
    }

    fn take_comment(&mut self, length: usize) {
        let piece = self.cut(length).to_owned();
        self.masked.code.push_str(&blanked(&piece));
        self.masked.comments.push_str(&piece);
    }

    fn take_literal(&mut self, length: usize) {
        let piece = self.cut(length).to_owned();
        self.masked.code.extend(piece.chars().map(|c| if c == '\n' { c } else { '_' }));
        self.masked.comments.push_str(&blanked(&piece));
    }
}

fn block_comment_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if rest.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest.chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of the string or character literal that `text` begins with.
fn literal_length(text: &str) -> Option<usize> {
    let unprefixed = text.trim_start_matches(['b', 'c']);
    let prefix = text.len() - unprefixed.len();
    if prefix > 1 {
        return None;
    }
    if let Some(raw) = unprefixed.strip_prefix('r') {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        let body = raw[hashes..].strip_prefix('"')?;
        let close = format!("\"{}", "#".repeat(hashes));
        let length = body.find(&close).map_or(body.len(), |end| end + close.len());
        return Some(prefix + 1 + hashes + 1 + length);
    }
    if let Some(body) = unprefixed.strip_prefix('"') {
        return Some(prefix + 1 + quoted_length(body, '"'));
    }
    let body = unprefixed.strip_prefix('\'')?;
    let mut chars = body.chars();
    let is_char = match chars.next()? {
        '\\' => true,
        _ => chars.next() == Some('\''),
    };
    is_char.then(|| prefix + 1 + quoted_length(body, '\''))
}

/// How far it is to behind the closing quote.
fn quoted_length(body: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in body.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    body.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Masked::new(text).code
    }

    #[test]
    fn comments_leave_the_code() {
        let masked = Masked::new("a(); // one\n/* two /* nested */ still */ b();\n/// three\nc");
        assert_eq!(masked.code, "a();       \n                             b();\n         \nc");
        assert!(masked.comments.contains("// one\n") && masked.comments.contains("/// three\n"));
        assert!(!masked.comments.contains('a') || !masked.comments.contains("a();"));
    }

    #[test]
    fn literals_are_filled() {
        assert_eq!(code(r#"f("a//b\"c", 'x', '\'', b"y")"#), "f(_________, ___, ____, ____)");
        assert_eq!(code("r#\"todo \"!\"#;x"), "____________;x");
        assert_eq!(code("\"one\n two\""), "____\n_____");
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(code("fn f<'a>(x: &'a str) -> Foo<'_> {}"), "fn f<'a>(x: &'a str) -> Foo<'_> {}");
    }

    #[test]
    fn an_unclosed_literal_or_comment_ends_with_the_text() {
        assert_eq!(code("\"abc"), "____");
        assert_eq!(code("/* abc"), "      ");
    }

    #[test]
    fn modules_of_tests_are_not_product_code() {
        let masked = Masked::new("a\nmod tests {\n fn x() { \"}\" }\n}\nb\nmod models {");
        assert_eq!(masked.product_code().split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(masked.product_code().lines().count(), masked.code.lines().count());
    }
}
