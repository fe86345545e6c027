//! What the pipeline reads out of a page: title, abstract, and the sentences that mention data.

use scraper::{ElementRef, Html, Node, Selector};

/// What a page says about a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) title: String,
    pub(crate) summary: String,
    /// Sentences that speak of a data set, in the order of the page, each once.
    pub(crate) mentions: Vec<String>,
}

/// How many sentences are kept: a prompt has a length.
const MENTIONS: usize = 24;
/// A sentence longer than this is no sentence but a table or a list.
const SENTENCE: usize = 600;
const CUES: &[&str] = &["dataset", "data set", "benchmark", "corpus", "corpora"];

const HEADINGS: &str = "h1, h2, h3, h4, h5, h6";
const TITLES: &[&str] = &["h1.ltx_title_document", "h1.title", "article h1", "h1", "title"];
const ABSTRACTS: &[&str] =
    &[".ltx_abstract p", "blockquote.abstract", "#abstract p", "section.abstract p", "div.abstract"];

impl Page {
    /// Reads a page.
    ///
    /// # Errors
    /// Says what the page lacks.
    pub(crate) fn read(html: &str) -> Result<Self, String> {
        let document = Html::parse_document(html);
        let title = meta(&document, "citation_title")
            .or_else(|| first(&document, TITLES))
            .ok_or("the page has no title")?;
        let summary = first(&document, ABSTRACTS)
            .or_else(|| after_heading(&document, "abstract"))
            .or_else(|| meta(&document, "citation_abstract"))
            .or_else(|| meta(&document, "description"))
            .ok_or("the page has no abstract")?;
        Ok(Self { title, summary, mentions: mentions(&document) })
    }
}

fn select<'a>(document: &'a Html, css: &str) -> Vec<ElementRef<'a>> {
    Selector::parse(css).map_or_else(|_| Vec::new(), |selector| document.select(&selector).collect())
}

/// The text of the first element that has any, by the first selector that finds one.
fn first(document: &Html, selectors: &[&str]) -> Option<String> {
    let mut texts = selectors.iter().flat_map(|css| select(document, css)).map(text);
    texts.find(|text| !text.is_empty())
}

fn meta(document: &Html, name: &str) -> Option<String> {
    let found =
        select(document, "meta[name][content]").into_iter().find(|meta| meta.attr("name") == Some(name))?;
    let content = normal(found.attr("content")?);
    (!content.is_empty()).then_some(content)
}

/// The text between a heading that says `name` and the next heading.
fn after_heading(document: &Html, name: &str) -> Option<String> {
    let headings = select(document, HEADINGS);
    let heading = headings.into_iter().find(|heading| text(*heading).eq_ignore_ascii_case(name))?;
    let mut found = String::new();
    for sibling in heading.next_siblings() {
        match ElementRef::wrap(sibling) {
            Some(element) if is_heading(element.value()) => break,
            Some(element) => found = found + " " + &text(element),
            None => found = found + " " + sibling.value().as_text().map_or("", |text| text),
        }
    }
    let found = normal(&found);
    (!found.is_empty()).then_some(found)
}

fn is_heading(element: &scraper::node::Element) -> bool {
    matches!(element.name().as_bytes(), [b'h', b'1'..=b'6'])
}

fn mentions(document: &Html) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for paragraph in select(document, "p, blockquote, li") {
        let text = text(paragraph);
        for sentence in sentences(&text) {
            let lower = sentence.to_lowercase();
            let speaks = CUES.iter().any(|cue| lower.contains(cue));
            if speaks && sentence.len() <= SENTENCE && !found.iter().any(|known| known == sentence) {
                found.push(sentence.to_owned());
            }
        }
    }
    found.truncate(MENTIONS);
    found
}

/// Cuts after a full stop, question or exclamation mark that a space follows, so that "1.7" and "e.g." in front of a
/// comma stay whole.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(['.', '?', '!'])
        .scan((text, 0, 0), |(text, from, to), piece| {
            *to += piece.len();
            let ends = text[*to..].chars().next().is_none_or(char::is_whitespace);
            Some(ends.then(|| {
                let sentence = text[*from..*to].trim();
                *from = *to;
                sentence
            }))
        })
        .flatten()
        .filter(|sentence| !sentence.is_empty())
}

/// The text that a reader sees, with single spaces. No recursion: pages come from strangers, and one of deeply nested
/// tags must not overflow the stack.
fn text(element: ElementRef<'_>) -> String {
    let mut all = String::new();
    for node in element.descendants() {
        if let Node::Text(text) = node.value() {
            // Real pages hide text a few levels deep at most; looking further would be quadratic on hostile ones.
            let mut around = node.ancestors().take(16).filter_map(|node| node.value().as_element());
            if !around.any(is_hidden) {
                all.push_str(text);
            }
        }
    }
    normal(&all)
}

/// What is in the document but not for reading: code, the source of a formula, the label in front of a field.
fn is_hidden(element: &scraper::node::Element) -> bool {
    let label = element
        .attr("class")
        .is_some_and(|classes| classes.split_whitespace().any(|name| name == "descriptor"));
    label
        || matches!(
            element.name(),
            "script" | "style" | "noscript" | "template" | "annotation" | "annotation-xml"
        )
}

fn normal(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_converted_latex_is_read_without_its_formulas_source() {
        let page = Page::read(
            r#"<html><title>site</title><h1 class="ltx_title ltx_title_document">On  <em>Tides</em></h1>
               <div class="ltx_abstract"><h6>Abstract</h6><p class="ltx_p">We gain <math><mn>10</mn><mo>%</mo>
               <annotation encoding="application/x-tex">10\%</annotation></math>. On MNIST, a dataset.</p></div>"#,
        )
        .unwrap();
        assert_eq!(page.title, "On Tides");
        assert_eq!(page.summary, "We gain 10% . On MNIST, a dataset.");
        assert_eq!(page.mentions, ["On MNIST, a dataset."]);
    }

    #[test]
    fn citation_metadata_wins_over_the_site_heading_and_labels_are_dropped() {
        let page = Page::read(
            r#"<html><head><meta name="citation_title" content="A &amp; B"></head><body><h1>Open preprints</h1>
               <blockquote class="abstract"><span class="descriptor">Abstract:</span>Short.</blockquote></body>"#,
        )
        .unwrap();
        assert_eq!((page.title.as_str(), page.summary.as_str()), ("A & B", "Short."));
    }

    #[test]
    fn an_abstract_known_by_its_heading_only_ends_at_the_next_heading() {
        let page = Page::read("<h1>T</h1><h3>Abstract</h3><p>One.<p>Two.<hr><p>Three.<h3>Intro</h3><p>Four.")
            .unwrap();
        assert_eq!(page.summary, "One. Two. Three.");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(Page::read("").unwrap_err(), "the page has no title");
        assert_eq!(Page::read("<h1>T</h1><p>text").unwrap_err(), "the page has no abstract");
        assert_eq!(Page::read("{\"title\": 1}").unwrap_err(), "the page has no title");
    }

    #[test]
    fn sentences_end_at_a_stop_before_a_space_and_come_once_each() {
        let read = |text: &str| {
            Page::read(&format!("<h1>T</h1><div id=abstract><p>A.</div><p>{text}")).unwrap().mentions
        };
        assert_eq!(
            read("Gains of 1.7 on the corpus v2.0! Next. Is it a Benchmark? No."),
            ["Gains of 1.7 on the corpus v2.0!", "Is it a Benchmark?"]
        );
        assert_eq!(read("One dataset.<p>One dataset.<script>// a dataset.</script>"), ["One dataset."]);
        assert_eq!(read(&"a dataset ".repeat(100)), [""; 0], "a table is no sentence");
        assert_eq!(read(&(0..100).map(|n| format!("Dataset {n}. ")).collect::<String>()).len(), MENTIONS);
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let page =
            format!("<h1>T</h1><div id=abstract><p>A.</p></div>{}<p>A dataset.", "<div>".repeat(2_000));
        assert_eq!(Page::read(&page).unwrap().mentions, ["A dataset."]);
    }
}
