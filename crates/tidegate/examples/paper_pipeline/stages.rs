//! The pipeline itself: which stage does what with a paper, and where it sends it.
//!
//! ```text
//! papers ─► fetch ───────┬─► build ─┬─► llm ───────┬─► db
//!             fetch again ┤          │     llm again ┤
//!                  stored ┘          └───── pages ───┘
//! ```
//! An error record takes the same way as the result that is missing, so every paper arrives at the database once.

use std::sync::Arc;

use reqwest::header::CONTENT_TYPE;
use tidegate::abort_signal::AbortSignal;
use tidegate::pipeline::{Flow, Opts, Pipeline, Rejected, Step, queue};
use tidegate::single_writer::Writer;
use tidegate::sqlite::{SqliteSink, sqlite_classifier};
use tidegate::throttle::Rounds;

use super::caller::{Caller, Model};
use super::errand::{self, Errand, RoundLog};
use super::http::Answer;
use super::llm::{self, Reading};
use super::page::Page;
use super::papers::Paper;
use super::settings::Settings;
use super::store::Record;
use super::strategy::Fault;

/// A queue in front of a stage that is always faster than the one behind it.
const SHORT: usize = 8;

/// Everything the stages are made of.
pub(crate) struct Parts {
    pub(crate) settings: Settings,
    pub(crate) fetch: Service,
    pub(crate) llm: Service,
    pub(crate) model: Arc<Model>,
    pub(crate) writer: Writer<SqliteSink<Record, ()>>,
}

/// One of the two services, as its stage uses it.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) caller: Arc<Caller>,
    pub(crate) rounds: Rounds,
    pub(crate) log: RoundLog,
}

/// The papers to process: those to fetch, and those of which a former run has stored the page.
pub(crate) struct Work {
    pub(crate) fetch: Vec<Paper>,
    pub(crate) stored: Vec<(Paper, Page)>,
}

/// What comes out of fetching.
pub(crate) enum Fetched {
    Page(Paper, Answer),
    Stored(Paper, Page),
    /// Not to be had.
    Failed(Record),
}

/// A question for the language model.
#[derive(Clone)]
pub(crate) struct Question {
    paper: Arc<str>,
    body: Arc<[u8]>,
}

/// Puts the stages together.
pub(crate) fn assemble(parts: Parts, work: Work, signal: AbortSignal) -> Pipeline {
    let Parts { settings, fetch, llm, model, writer } = parts;
    let mut pipeline = Pipeline::new("papers", signal);
    let papers = source(&mut pipeline, "papers", work.fetch);
    let errand = Fetch { caller: fetch.caller };
    let opts = Opts::workers(settings.fetch.max).queue(settings.queue_pages);
    let fetched = errand::add(&mut pipeline, &errand, papers, opts, &fetch.rounds, fetch.log);
    let fetched = match work.stored {
        stored if stored.is_empty() => fetched,
        stored => {
            let stored = stored.into_iter().map(|(paper, page)| Fetched::Stored(paper, page)).collect();
            fetched.merge(source(&mut pipeline, "stored", stored))
        }
    };
    let opts = Opts::workers(settings.build_workers).queue(settings.queue_requests);
    let (questions, pages) = build(&mut pipeline, fetched, opts, Arc::clone(&model));
    let errand = Ask { caller: llm.caller, model };
    let opts = Opts::workers(settings.llm.max).queue(SHORT);
    let answers = errand::add(&mut pipeline, &errand, questions, opts, &llm.rounds, llm.log);
    pipeline.sink_by("db", pages.merge(answers), writer, sqlite_classifier());
    pipeline
}

fn source<T: Send + Sync + 'static>(pipeline: &mut Pipeline, name: &'static str, items: Vec<T>) -> Flow<T> {
    pipeline.source(name, queue(SHORT), async move |out| {
        for item in items {
            out.send(item).await?;
        }
        Ok::<(), Rejected<T>>(())
    })
}

/// Fetches pages.
#[derive(Clone)]
struct Fetch {
    caller: Arc<Caller>,
}

impl Errand for Fetch {
    type Item = Paper;
    type Output = Fetched;
    const NAMES: [&'static str; 2] = ["fetch", "fetch again"];

    async fn run(&self, paper: &Paper) -> Result<Fetched, Fault> {
        let answer = self.caller.fetch(&paper.key, &paper.url).await?;
        Ok(Fetched::Page(paper.clone(), answer))
    }

    fn failed(&self, paper: &Paper, fault: &Fault) -> Fetched {
        Fetched::Failed(Record::failed(&paper.key, "fetch", fault))
    }
}

/// Asks the language model.
#[derive(Clone)]
struct Ask {
    caller: Arc<Caller>,
    model: Arc<Model>,
}

impl Errand for Ask {
    type Item = Question;
    type Output = Record;
    const NAMES: [&'static str; 2] = ["llm", "llm again"];

    async fn run(&self, question: &Question) -> Result<Record, Fault> {
        let answer = self.caller.ask(&question.paper, &self.model, &question.body).await?;
        let reading = Reading::of(&self.model.name, &answer.body).map_err(Fault::Terminal)?;
        Ok(Record::Result { paper: Arc::clone(&question.paper), reading })
    }

    fn failed(&self, question: &Question, fault: &Fault) -> Record {
        Record::failed(&question.paper, "llm", fault)
    }
}

/// Reads pages and makes questions of them. The second flow carries pages, and error records, to the database.
fn build(
    pipeline: &mut Pipeline,
    fetched: Flow<Fetched>,
    opts: Opts,
    model: Arc<Model>,
) -> (Flow<Question>, Flow<Record>) {
    pipeline.stage_aside("build", fetched, opts, move |fetched, cx| {
        let model = Arc::clone(&model);
        let question = move |paper, page: &Page| {
            let body = llm::request(&model.name, page).into();
            Step::emit(Question { paper, body })
        };
        async move {
            let (paper, answer) = match fetched {
                Fetched::Failed(record) => return Step::filter().aside(record),
                Fetched::Stored(paper, page) => return question(paper.key, &page),
                Fetched::Page(paper, answer) => (paper, answer),
            };
            // Parsing takes a while, and a page may be made to take longer.
            let read = tokio::task::spawn_blocking(move || read(&answer)).await;
            match read.unwrap_or_else(|panic| Err(panic.to_string())) {
                Ok(page) => {
                    let step = question(Arc::clone(&paper.key), &page);
                    // Before the question, so that it is in the database before the answer.
                    let record = Record::Paper { key: paper.key, url: paper.url.as_str().into(), page };
                    match cx.emit_aside(record).await {
                        Ok(()) => step,
                        Err(_) => Step::filter(),
                    }
                }
                Err(why) => {
                    let record = Record::failed(&paper.key, "build", &Fault::Terminal(why.clone()));
                    Step::fail(why).aside(record)
                }
            }
        }
    })
}

/// The page in an answer.
fn read(answer: &Answer) -> Result<Page, String> {
    let text = String::from_utf8_lossy(&answer.body);
    let html = match answer.headers.get(CONTENT_TYPE) {
        Some(kind) if kind.as_bytes().windows(4).any(|word| word.eq_ignore_ascii_case(b"html")) => true,
        Some(kind) => return Err(format!("not HTML, but {}", String::from_utf8_lossy(kind.as_bytes()))),
        None => text.trim_start().starts_with('<'),
    };
    if html { Page::read(&text) } else { Err("not HTML".to_owned()) }
}
