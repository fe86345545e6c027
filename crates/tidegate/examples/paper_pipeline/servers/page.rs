//! The papers that the rendering service shows: HTML as four real families of sites write it, made from the id.

use std::fmt::Write as _;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::catalogue::{DATASETS, Dataset};

/// What a page says, before it is HTML.
pub(crate) struct Paper {
    /// May hold characters that HTML must escape.
    pub(crate) title: String,
    pub(crate) authors: Vec<String>,
    /// Sentences.
    pub(crate) abstract_text: Vec<String>,
    /// Heading and paragraphs.
    pub(crate) sections: Vec<(&'static str, Vec<String>)>,
}

const METHODS: &[&str] = &[
    "Contrastive Pretraining",
    "Graph Transformers",
    "Sparse Mixtures of Experts",
    "Diffusion Models",
    "Retrieval & Reranking",
    "State-Space Models",
    "Neural Radiance Fields",
    "Test-Time Adaptation",
    "Low-Rank Adapters",
    "Self-Distillation",
];
const GOALS: &[&str] = &[
    "Few-Shot Recognition",
    "Long-Context Reasoning",
    "Robust Perception",
    "Low-Resource Transfer",
    "Efficient Inference (<1 W)",
    "Calibrated Prediction",
    "Open-Vocabulary Detection",
    "Private Federated Learning",
];
const FAMILY: &[&str] =
    &["Okafor", "Lindqvist", "Moreau", "Tanaka", "Özdemir", "Ferreira", "Novák", "Iyer", "O'Neill"];
const GIVEN: &[&str] =
    &["Ada", "Björn", "Chloé", "Daisuke", "Elif", "João", "Jana", "Priya", "Siobhán", "Wei"];
const FILLER: &[&str] = &[
    "We study how the choice of objective shapes what is learned when supervision is scarce.",
    "Earlier work treats the two stages apart, which hides the interaction that we measure.",
    "Our analysis shows that most of the gain comes from 10 % of the parameters.",
    "All hyper-parameters were fixed in advance and are listed in the appendix.",
    "The effect holds for p < 0.01 under a paired test over five seeds.",
    "Training takes 12 hours on a single accelerator with 24 GB of memory.",
    "A limitation is that we consider English only; other languages may behave differently.",
    "Removing the auxiliary loss costs 1.7 points, the largest drop among all ablations.",
    "We release code & checkpoints under a permissive licence.",
];
const USES: &[&str] = &[
    "We evaluate on the {} dataset with its official split.",
    "Experiments use the {} benchmark, following the protocol of prior work.",
    "Models are trained on {}, a public dataset, without extra annotation.",
    "For transfer we rely on the {} corpus and report the mean of three runs.",
];

impl Paper {
    /// The paper with this id, always the same for the same seed.
    pub(crate) fn generate(id: u64, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ id.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let method = pick(METHODS, &mut rng);
        let goal = pick(GOALS, &mut rng);
        let authors = (0..rng.random_range(1..=5))
            .map(|_| format!("{} {}", pick(GIVEN, &mut rng), pick(FAMILY, &mut rng)))
            .collect();
        let count = rng.random_range(0..=4);
        let datasets: Vec<_> = DATASETS.sample(&mut rng, count).collect();
        let mut abstract_text = filler(&mut rng, 3);
        if let Some(first) = datasets.first() {
            abstract_text.push(mention(first, &mut rng));
        }
        let experiments = datasets.iter().skip(1).map(|dataset| mention(dataset, &mut rng)).collect();
        let sections = vec![
            ("Introduction", filler(&mut rng, 12)),
            ("Related work", filler(&mut rng, 10)),
            ("Method", filler(&mut rng, 14)),
            ("Experiments", [experiments, filler(&mut rng, 10)].concat()),
            ("Conclusion", filler(&mut rng, 4)),
        ];
        Self { title: format!("{method} for {goal}: Study {id}"), authors, abstract_text, sections }
    }
}

fn pick<'a>(from: &[&'a str], rng: &mut StdRng) -> &'a str {
    from.choose(rng).copied().unwrap_or_default()
}

fn filler(rng: &mut StdRng, sentences: usize) -> Vec<String> {
    (0..sentences).map(|_| pick(FILLER, rng).to_owned()).collect()
}

fn mention(dataset: &Dataset, rng: &mut StdRng) -> String {
    pick(USES, rng).replace("{}", dataset.name)
}

/// The page of a paper, in one of four layouts.
pub(crate) fn html(id: u64, seed: u64) -> String {
    let paper = Paper::generate(id, seed);
    let title = escape(&paper.title);
    let authors: Vec<_> = paper.authors.iter().map(|author| escape(author)).collect();
    let summary = escape(&paper.abstract_text.join(" "));
    match id % 4 {
        0 => latexml(&paper, &title, &authors, &summary),
        1 => abstract_page(&paper, &title, &authors, &summary),
        2 => journal(&paper, &title, &authors, &summary),
        _ => plain(&paper, &title, &authors, &summary),
    }
}

/// A converted LaTeX source: classes on everything, mathematics and citations inside the text.
fn latexml(paper: &Paper, title: &str, authors: &[String], summary: &str) -> String {
    let summary = summary.replacen(
        "10 %",
        "<math alttext=\"10\\%\" display=\"inline\"><mn>10</mn><mo>&nbsp;</mo><mo>%</mo></math>",
        1,
    );
    let mut page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <style>.ltx_page_main{{width:52rem}}</style></head><body><div class=\"ltx_page_main\">\
         <article class=\"ltx_document\"><h1 class=\"ltx_title ltx_title_document\">{title}</h1>\
         <div class=\"ltx_authors\"><span class=\"ltx_personname\">{}</span></div>\
         <div class=\"ltx_abstract\"><h6 class=\"ltx_title ltx_title_abstract\">Abstract</h6>\
         <p class=\"ltx_p\">{summary}</p></div>",
        authors.join(" &amp; ")
    );
    for (number, (heading, sentences)) in (1..).zip(&paper.sections) {
        let _ = write!(
            page,
            "<section class=\"ltx_section\" id=\"S{number}\"><h2 class=\"ltx_title ltx_title_section\">\
             <span class=\"ltx_tag\">{number} </span>{heading}</h2><div class=\"ltx_para\"><p class=\"ltx_p\">{} \
             <cite class=\"ltx_cite\">[<a href=\"#bib{number}\" class=\"ltx_ref\">{number}</a>]</cite></p></div></section>",
            escape(&sentences.join(" "))
        );
    }
    page.push_str("</article></div></body></html>");
    page
}

/// A preprint server: citation metadata in the head, the abstract in a block quote behind a descriptor.
fn abstract_page(paper: &Paper, title: &str, authors: &[String], summary: &str) -> String {
    let mut page =
        format!("<!DOCTYPE html>\n<html><head>\n<meta name=\"citation_title\" content=\"{title}\"/>\n");
    for author in authors {
        let _ = writeln!(page, "<meta name=\"citation_author\" content=\"{author}\"/>");
    }
    let _ = write!(
        page,
        "<script>var title = '<h1>not this</h1>';</script></head>\n<body><h1>Open preprints</h1>\n\
         <div id=\"content\"><h1 class=\"title mathjax\"><span class=\"descriptor\">Title:</span>{title}</h1>\n\
         <blockquote class=\"abstract mathjax\"><span class=\"descriptor\">Abstract:</span>{summary}</blockquote>\n\
         <div class=\"full-text\">"
    );
    body(&mut page, paper, "h2");
    page.push_str("</div></div></body></html>");
    page
}

/// A journal: everything in semantic sections.
fn journal(paper: &Paper, title: &str, authors: &[String], summary: &str) -> String {
    let mut page = format!(
        "<!doctype html><html><head><title>{title} | Journal of Results</title></head><body><header><nav><ul>\
         <li><a href=\"/\">Home</a></li><li><a href=\"/issues\">Issues</a></li></ul></nav></header><main><article>\
         <h1>{title}</h1><p class=\"byline\">{}</p><section id=\"abstract\"><h2>Abstract</h2><p>{summary}</p></section>",
        authors.join(", ")
    );
    body(&mut page, paper, "h2");
    page.push_str("</article></main><footer>&copy; The authors</footer></body></html>");
    page
}

/// Somebody's own pages: tags left open, the abstract known by its heading only.
fn plain(paper: &Paper, title: &str, authors: &[String], summary: &str) -> String {
    let mut page = format!(
        "<html><title>{title}</title><body bgcolor=white><h1>{title}</h1><p><i>{}</i>\n<h3>Abstract</h3>\n<p>{summary}\n",
        authors.join(", ")
    );
    body(&mut page, paper, "h3");
    page
}

fn body(page: &mut String, paper: &Paper, heading_tag: &str) {
    for (heading, sentences) in &paper.sections {
        let text = escape(&sentences.join(" "));
        let _ = writeln!(page, "<{heading_tag}>{heading}</{heading_tag}>\n<p>{text}</p>");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::super::super::page::Page;
    use super::*;

    #[test]
    fn a_page_is_the_same_for_the_same_id_and_seed_only() {
        assert_eq!(html(5, 1), html(5, 1));
        assert_ne!(html(5, 1), html(5, 2));
        assert_ne!(html(5, 1), html(9, 1));
    }

    #[test]
    fn a_reader_gets_back_what_was_written_from_every_layout() {
        for id in 0..40 {
            let paper = Paper::generate(id, 1);
            let page = Page::read(&html(id, 1)).unwrap();
            assert_eq!(page.title, paper.title);
            assert_eq!(page.summary, paper.abstract_text.join(" "));
            let sentences =
                paper.abstract_text.iter().chain(paper.sections.iter().flat_map(|section| &section.1));
            for sentence in
                sentences.filter(|text| DATASETS.iter().any(|dataset| text.contains(dataset.name)))
            {
                assert!(page.mentions.contains(sentence), "{id}: {sentence}");
            }
        }
    }
}
