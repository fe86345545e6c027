//! One run: services, database, pipeline, signals, and the report at the end.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tidegate::abort_signal::AbortSignal;
use tidegate::pipeline::{Outcome, PipelineReport};
use tidegate::single_writer::Writer;
use tidegate::sqlite::SqliteOptions;

use super::args::{Args, Strategy};
use super::caller::{Caller, Model};
use super::http::Http;
use super::judge::Kind;
use super::papers::{self, Paper};
use super::progress::{Progress, View};
use super::report::{Report, Server, Service as ServiceReport};
use super::servers::Running;
use super::settings::{Key, Ramp, Settings};
use super::stages::{self, Parts, Service, Work};
use super::store::{self, Record, Stored};
use super::strategy::{self, Pacer, Terms};

/// The key of the generated chat service.
const LOCAL_KEY: &str = "sk-local-paper-pipeline";
/// After this a baseline strategy has shown what it can do; on some servers it would never finish.
const BASELINE_LIMIT: Duration = Duration::from_secs(150);
const INTERRUPTED: &str = "interrupted";

/// Runs the pipeline to its end.
///
/// # Errors
/// What prevents it from starting, or the report from being made.
pub(crate) async fn run(args: &Args, settings: Settings) -> Result<Report> {
    let target = Target::new(args).await?;
    let settings = settings.scaled(target.scale);
    let db = database_path(args)?;
    let stored = store::prepare(&db)?;
    let mut input = Input::new(target.papers, stored);
    let signal = AbortSignal::new();
    let [fetch, llm] = [(Kind::Pages, settings.fetch), (Kind::Llm, settings.llm)].map(|(kind, ramp)| {
        let terms = Terms {
            kind,
            ramp,
            settings: &settings,
            scale: target.scale,
            seed: args.seed,
            signal: signal.clone(),
        };
        service(args.strategy, &terms, &target.http)
    });

    let file = db.clone();
    let open = move || SqliteOptions::new().open(file, |db, record: &Record| record.write(db));
    let (writer, owner) = Writer::builder().queue(settings.queue_records).open(open).await?;
    let parts = Parts { settings, fetch: fetch.clone(), llm: llm.clone(), model: target.model, writer };
    let pipeline = stages::assemble(parts, input.work(), signal.clone());
    let view = View {
        monitor: pipeline.monitor(),
        fetch: Arc::clone(&fetch.caller),
        llm: Arc::clone(&llm.caller),
        signal: signal.clone(),
        papers: input.keys.len(),
        begun: Instant::now(),
    };
    let progress = Progress::start(view, args.json, &db);
    let watch = tokio::spawn(watch(signal.clone(), time_limit(args)));
    let begun = Instant::now();
    let pipeline = pipeline.run().await;
    let written = owner.finished().await;
    let wall = begun.elapsed();
    watch.abort();
    progress.stop().await;

    let ended = store::ended(&db, &input.at, input.keys.iter().map(|key| &**key))?;
    let servers =
        target.servers.iter().map(|(name, server)| Server { name, tally: server.tally() }).collect();
    Ok(Report {
        asked: input.asked,
        already_stored: input.asked - input.keys.len(),
        ended,
        papers: input.keys.len(),
        services: [ServiceReport::of("fetch", &fetch), ServiceReport::of("llm", &llm)],
        servers,
        wall,
        interrupted: signal.reason().is_some_and(|reason| reason.text() == INTERRUPTED),
        aborted: cause(&pipeline, &signal),
        // What was acknowledged is safe: the log is folded into the file by whoever opens it next.
        warning: written.close_error.map(|error| error.to_string()),
        pipeline,
        db,
        strategy: args.strategy.name(),
        server: args.urls.is_none().then_some(args.server),
        time_scale: target.scale,
    })
}

/// What to process, and with whom.
struct Target {
    papers: Vec<Paper>,
    model: Arc<Model>,
    http: Http,
    scale: f64,
    /// Those that run in this process.
    servers: Vec<(&'static str, Running)>,
}

impl Target {
    async fn new(args: &Args) -> Result<Self> {
        match (&args.urls, &args.llm_url) {
            (Some(list), Some(url)) => {
                let model = Model { url: url.clone(), name: args.llm_model.clone(), key: Key::from_env()? };
                let (papers, http) = (papers::listed(list)?, Http::new(false)?);
                Ok(Self { papers, model: Arc::new(model), http, scale: 1.0, servers: Vec::new() })
            }
            _ => Self::generated(args).await,
        }
    }

    async fn generated(args: &Args) -> Result<Self> {
        let (id, seed, scale) = (args.server, args.seed, args.time_scale);
        let render = Running::render(id, seed, scale).await.context("cannot start the rendering service")?;
        let chat = Running::chat(id, seed, scale, LOCAL_KEY, args.quota)
            .await
            .context("cannot start the chat service")?;
        let url = chat.base.join("v1/chat/completions")?;
        let model = Model { url, name: args.llm_model.clone(), key: Some(Key::new(LOCAL_KEY.to_owned())) };
        Ok(Self {
            papers: papers::generated(&render.base, args.papers)?,
            model: Arc::new(model),
            http: Http::new(true)?,
            scale,
            servers: vec![("render", render), ("chat", chat)],
        })
    }
}

/// The papers of this run: what was asked for, without what a former run has finished.
struct Input {
    asked: usize,
    keys: Vec<Arc<str>>,
    at: String,
    work: Work,
}

impl Input {
    fn new(papers: Vec<Paper>, mut stored: Stored) -> Self {
        let asked = papers.len();
        let todo: Vec<_> =
            papers.into_iter().filter(|paper| !stored.finished.contains(&*paper.key)).collect();
        let keys = todo.iter().map(|paper| Arc::clone(&paper.key)).collect();
        let mut work = Work { fetch: Vec::new(), stored: Vec::new() };
        for paper in todo {
            match stored.pages.remove(&*paper.key) {
                Some(page) => work.stored.push((paper, page)),
                None => work.fetch.push(paper),
            }
        }
        Self { asked, keys, at: stored.at, work }
    }

    fn work(&mut self) -> Work {
        let Work { fetch, stored } = &mut self.work;
        Work { fetch: std::mem::take(fetch), stored: std::mem::take(stored) }
    }
}

fn service(strategy: Strategy, terms: &Terms<'_>, http: &Http) -> Service {
    let Ramp { max, .. } = terms.ramp;
    let caller = Caller::new(terms.kind, http.clone(), Pacer::new(strategy, terms));
    let rounds = strategy::rounds(strategy, terms.settings, max);
    Service { caller: Arc::new(caller), rounds, log: Arc::default() }
}

fn database_path(args: &Args) -> Result<PathBuf> {
    match &args.db {
        Some(path) => Ok(path.clone()),
        None => {
            let folder = tempfile::Builder::new().prefix("paper_pipeline-").tempdir();
            Ok(folder.context("cannot make a folder for the database")?.keep().join("papers.db"))
        }
    }
}

fn time_limit(args: &Args) -> Option<Duration> {
    let chosen = args.time_limit.map(Duration::from_secs);
    chosen.or_else(|| (args.strategy != Strategy::Tidegate).then_some(BASELINE_LIMIT))
}

/// Turns Ctrl-C into a drain, a second one into an abort; and aborts when the time is up.
async fn watch(signal: AbortSignal, limit: Option<Duration>) {
    let interrupts = async {
        if tokio::signal::ctrl_c().await.is_ok() {
            signal.drain(INTERRUPTED);
        } else {
            // Without the means to hear of it the program is simply killed by it.
            std::future::pending::<()>().await;
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            signal.abort(INTERRUPTED);
        }
    };
    let time = async {
        match limit {
            Some(limit) => {
                tokio::time::sleep(limit).await;
                signal.abort(format!("the time limit of {} s is over", limit.as_secs()));
            }
            None => std::future::pending().await,
        }
    };
    tokio::join!(interrupts, time);
}

/// Why the run is not whole, if it is not.
fn cause(pipeline: &PipelineReport, signal: &AbortSignal) -> Option<String> {
    match &pipeline.outcome {
        Outcome::Aborted { cause } => Some(cause.to_string()),
        Outcome::Drained => signal.reason().map(|reason| reason.to_string()),
        _ => None,
    }
}
