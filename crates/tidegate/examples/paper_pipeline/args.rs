//! The command line.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Parser, ValueEnum};
use tidegate_servers::ServerId;
use url::Url;

/// Fetch papers, ask a language model which data sets they use, and keep the answers in SQLite.
///
/// Without arguments, 1000 generated papers come from a rendering service and go to an OpenAI-compatible chat
/// service, both on loopback in this process and both rate-limited like real ones. Progress goes to standard error,
/// the summary to standard output.
#[derive(Debug, Parser)]
#[command(name = "paper_pipeline", disable_help_subcommand = true, after_long_help = MORE)]
pub(crate) struct Args {
    /// How many papers to generate and process
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000), help_heading = "Input")]
    pub(crate) papers: usize,

    /// Process your own list instead: one URL a line; blank lines and lines that begin with # are skipped
    #[arg(long, value_name = "FILE", requires = "llm_url", conflicts_with_all = ["papers", "server", "time_scale", "quota"], help_heading = "Input")]
    pub(crate) urls: Option<PathBuf>,

    /// An OpenAI-compatible service to ask, such as https://api.openai.com/v1; its key comes from TIDEGATE_LLM_KEY or
    /// OPENAI_API_KEY
    #[arg(long, value_name = "URL", value_parser = llm_url, requires = "urls", help_heading = "Input")]
    pub(crate) llm_url: Option<Url>,

    /// Which model to ask for
    #[arg(long, value_name = "NAME", default_value = "gpt-4o-mini", help_heading = "Input")]
    pub(crate) llm_model: String,

    /// The SQLite file to write. What it already holds is not fetched again [default: a new temporary file, kept]
    #[arg(long, value_name = "PATH", help_heading = "Output")]
    pub(crate) db: Option<PathBuf>,

    /// Print the summary as one JSON object, and no progress
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// How to pace the calls
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Strategy::Tidegate, help_heading = "Behaviour")]
    pub(crate) strategy: Strategy,

    /// Which server both services behave like
    #[arg(long, value_name = "ID", value_enum, default_value_t = ServerId::A1, ignore_case = true, help_heading = "Behaviour")]
    pub(crate) server: ServerId,

    /// How many times faster than real services the generated ones live, with every pause of the client: 0.01 to 1000
    #[arg(long, value_name = "X", default_value_t = 16.0, value_parser = time_scale, help_heading = "Behaviour")]
    pub(crate) time_scale: f64,

    /// The chat service answers 401 after N calls, as if the quota were used up
    #[arg(long, value_name = "N", help_heading = "Behaviour")]
    pub(crate) quota: Option<u64>,

    /// Seed of all that is random: papers, latencies, jitter
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Behaviour")]
    pub(crate) seed: u64,

    /// Stop after this many seconds of real time [default: 150 for naive and article, none for tidegate]
    #[arg(long, value_name = "SECONDS", value_parser = RangedU64ValueParser::<u64>::new().range(1..=604_800), help_heading = "Behaviour")]
    pub(crate) time_limit: Option<u64>,
}

/// How calls are paced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// Each task backs off alone: 0.5 s, doubling, no jitter; a fixed number in flight, no rounds
    Naive,
    /// One gate of 60 s that everybody checks, back-off with jitter, a limit that only rises, three rounds
    Article,
    /// This library: one gate with a probe, a limit that is found, three rounds
    Tidegate,
}

impl Strategy {
    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Article => "article",
            Self::Tidegate => "tidegate",
        }
    }
}

const MORE: &str = "\
Environment:
  TIDEGATE_LLM_KEY, OPENAI_API_KEY   key of --llm-url; the first that is set is used, and never shown
  For each of FETCH and LLM, numbers of calls (defaults in brackets):
  TIDEGATE_FETCH_INITIAL    in flight at the start [4]
  TIDEGATE_FETCH_MIN        at least this many [1]
  TIDEGATE_FETCH_MAX        at most this many [32]
  TIDEGATE_FETCH_STEP_EVERY one more after this many successes [24]
  TIDEGATE_BUILD_WORKERS    pages parsed at once [2]
  TIDEGATE_QUEUE_PAGES      fetched pages that may wait for the builder [64]
  TIDEGATE_QUEUE_REQUESTS   requests that may wait for the language model [64]
  TIDEGATE_QUEUE_RECORDS    records that may wait for the database [2 x TIDEGATE_LLM_MAX + 100]
  TIDEGATE_ROUNDS           passes over what was throttled, the first included [3]
  TIDEGATE_ROUND_PAUSE      seconds before each later round [90]
  TIDEGATE_ROUND_FLOOR      in flight at least, however late the round [1]
  TIDEGATE_COOLDOWN         seconds that the gate closes for without a hint [60]
  TIDEGATE_DEADLINE         seconds that one call may take, waits included [600]
  With generated papers, seconds are those of the servers: --time-scale divides them.

Exit status:
  0 done; 1 stopped by an error, or nothing could be processed; 2 bad arguments or settings; 130 interrupted

Ctrl-C stops taking papers and finishes those under way; a second one stops at once.

Examples:
  paper_pipeline                                     1000 papers against server a1
  paper_pipeline --server d1 --strategy article      a penalty box, as the article would meet it
  paper_pipeline --quota 300                         what a used-up quota does
  paper_pipeline --db papers.db                      run it again to resume; look with: sqlite3 papers.db .tables
  TIDEGATE_LLM_MAX=8 paper_pipeline --json           at most eight calls to the language model at once
  paper_pipeline --urls list.txt --llm-url http://localhost:11434/v1 --llm-model llama3.2 --db mine.db";

fn time_scale(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(scale) if (0.01..=1000.0).contains(&scale) => Ok(scale),
        _ => Err("must be a number from 0.01 to 1000".to_owned()),
    }
}

/// Where to post to: `chat/completions` is added unless it is there.
fn llm_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|why| why.to_string())?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("must begin with http:// or https://, not {}:", url.scheme()));
    }
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/chat/completions") {
        url.set_path(&format!("{path}/chat/completions"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn parse(line: &[&str]) -> Result<Args, String> {
        Args::try_parse_from([&["paper_pipeline"], line].concat()).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_is_well_formed() {
        Args::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_a_thousand_papers_on_a1() {
        let args = parse(&[]).unwrap();
        assert_eq!((args.papers, args.server, args.strategy), (1000, ServerId::A1, Strategy::Tidegate));
        assert_eq!(parse(&["--server", "C2"]).unwrap().server, ServerId::C2, "in any case");
    }

    #[test]
    fn values_out_of_range_are_refused_with_what_is_allowed() {
        for bad in ["0", "-1", "NaN", "inf", "1e9", "fast"] {
            let error = parse(&["--time-scale", bad]).unwrap_err();
            assert!(error.contains("--time-scale") || error.contains("'-1'"), "{error}");
        }
        assert!(parse(&["--time-scale", "0"]).unwrap_err().contains("from 0.01 to 1000"));
        assert!(parse(&["--papers", "0"]).unwrap_err().contains("1..=1000000"));
        assert!(parse(&["--server", "z9"]).unwrap_err().contains("a1, a2"));
        assert!(parse(&["--strategy", "best"]).unwrap_err().contains("naive, article, tidegate"));
        assert!(parse(&["--quota", "many"]).unwrap_err().contains("--quota"));
    }

    #[test]
    fn an_own_list_needs_a_language_model_and_excludes_what_is_generated() {
        assert!(parse(&["--urls", "x"]).unwrap_err().contains("--llm-url"));
        assert!(parse(&["--llm-url", "http://h/v1"]).unwrap_err().contains("--urls"));
        let both = ["--urls", "x", "--llm-url", "http://h/v1"];
        assert!(parse(&both).is_ok());
        for extra in [["--papers", "3"], ["--server", "a1"], ["--time-scale", "2"], ["--quota", "1"]] {
            assert!(parse(&[&both[..], &extra[..]].concat()).unwrap_err().contains("cannot be used with"));
        }
    }

    #[test]
    fn the_path_of_the_chat_endpoint_is_completed() {
        let path = |text: &str| llm_url(text).map(|url| url.to_string());
        assert_eq!(path("http://h/v1").unwrap(), "http://h/v1/chat/completions");
        assert_eq!(path("http://h/v1/").unwrap(), "http://h/v1/chat/completions");
        assert_eq!(path("http://h/v1/chat/completions").unwrap(), "http://h/v1/chat/completions");
        assert_eq!(path("https://h?v=1").unwrap(), "https://h/chat/completions?v=1");
        assert!(path("ftp://h").unwrap_err().contains("ftp:"));
        assert!(path("h/v1").is_err());
    }
}
