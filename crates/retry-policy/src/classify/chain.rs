//! A classifier that looks through a chain of errors.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;
use std::iter::successors;
use std::sync::Arc;

use tidegate_core::{Class, Classify};

use super::class_of_io;

/// No chain is followed further than this many links: an error may be its own source.
const LINKS: usize = 64;

type Link<'a> = &'a (dyn Error + 'static);
type Rule = Arc<dyn Fn(Link<'_>) -> Option<Class> + Send + Sync>;

/// Finds the error that tells, wherever it hides in the chain of [`source`](Error::source)s.
///
/// A *typed* rule ([`on`](Self::on)) sees every error of one type; a *text* rule ([`text`](Self::text)) sees what errors
/// say. All typed rules are tried over the whole chain before any text rule is (**RP-5**): a text is the last resort, a
/// number in it may be a port as well as a status. Within each kind the rule that was added first is tried first, over
/// the whole chain from the outside in; the first that answers decides. If none does, it is
/// [`otherwise`](Self::otherwise), terminal unless set: what nobody knows is not retried.
///
/// The walk also enters what `source` passes over: the error inside an `io::Error`, and inside `Arc` and `Box`. It ends
/// after 64 links, so an error that is its own source does no harm.
///
/// ```
/// use std::io;
/// use tidegate_retry_policy::{ChainClassifier, Class, Classify};
///
/// let database = ChainClassifier::new().io().text("database is locked", Class::Transient);
/// let reset = io::Error::from(io::ErrorKind::ConnectionReset);
/// assert_eq!(database.classify(&reset), Class::Transient);
/// assert_eq!(database.classify(&io::Error::other("database is locked")), Class::Transient);
/// assert_eq!(database.classify(&io::Error::other("no such table")), Class::Terminal);
/// ```
///
/// An error type that is no [`Error`] itself (`Box<dyn Error>`, `anyhow::Error`) goes through
/// [`class_of`](Self::class_of): `move |error: &Box<dyn Error>| chain.class_of(error.as_ref())` is a classifier.
///
/// Cost: one downcast for each typed rule and link; texts are made only if no typed rule answers. Cloning shares the
/// rules.
#[derive(Clone)]
pub struct ChainClassifier {
    typed: Vec<Rule>,
    texts: Vec<(Cow<'static, str>, Class)>,
    otherwise: Class,
}

impl ChainClassifier {
    /// No rules: everything is terminal.
    #[must_use]
    pub const fn new() -> Self {
        Self { typed: Vec::new(), texts: Vec::new(), otherwise: Class::Terminal }
    }

    /// A typed rule: what `rule` says about an error of type `T` in the chain, also one behind an `Arc` or a `Box`. None
    /// leaves it to the other rules.
    #[must_use]
    pub fn on<T: Error + 'static>(
        mut self,
        rule: impl Fn(&T) -> Option<Class> + Send + Sync + 'static,
    ) -> Self {
        self.typed.push(Arc::new(move |link| find::<T>(link).and_then(&rule)));
        self
    }

    /// The typed rule for `std::io::Error`: [`class_of_io`] of its kind. Rules for types that may hide inside one should
    /// be added before it.
    #[must_use]
    pub fn io(self) -> Self {
        self.on(|error: &io::Error| class_of_io(error.kind()))
    }

    /// A text rule: `class`, if an error in the chain says `text`, as whole words and in this case. Whole words: `403` is
    /// not found in `14030`, nor `SQLITE_BUSY` in `SQLITE_BUSY_SNAPSHOT`. An empty text is never found.
    #[must_use]
    pub fn text(mut self, text: impl Into<Cow<'static, str>>, class: Class) -> Self {
        self.texts.push((text.into(), class));
        self
    }

    /// The class of everything that no rule knows.
    #[must_use]
    pub fn otherwise(mut self, class: Class) -> Self {
        self.otherwise = class;
        self
    }

    /// The class of an error, given as a trait object.
    #[must_use]
    pub fn class_of(&self, error: &(dyn Error + 'static)) -> Class {
        let by_type = || self.typed.iter().find_map(|rule| chain(error).find_map(|link| rule(link)));
        by_type().or_else(|| self.by_text(error)).unwrap_or(self.otherwise)
    }

    fn by_text(&self, error: Link<'_>) -> Option<Class> {
        if self.texts.is_empty() {
            return None;
        }
        let said: Vec<String> = chain(error).map(ToString::to_string).collect();
        let rule = self.texts.iter().find(|(text, _)| said.iter().any(|said| says(said, text)))?;
        Some(rule.1)
    }
}

/// No rules: everything is terminal.
impl Default for ChainClassifier {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Error + 'static> Classify<E> for ChainClassifier {
    fn classify(&self, error: &E) -> Class {
        self.class_of(error)
    }
}

impl fmt::Debug for ChainClassifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ChainClassifier")
            .field("typed", &self.typed.len())
            .field("texts", &self.texts)
            .field("otherwise", &self.otherwise)
            .finish()
    }
}

/// The links of a chain from the outside in, at most [`LINKS`] of them.
fn chain(error: Link<'_>) -> impl Iterator<Item = Link<'_>> {
    successors(Some(error), |link| {
        let link = *link;
        hidden(link).or_else(|| link.source())
    })
    .take(LINKS)
}

/// What an error wraps but its `source` passes over: `io::Error` gives its payload's source, `Arc` and `Box` that of
/// what they hold.
fn hidden<'a>(link: Link<'a>) -> Option<Link<'a>> {
    if let Some(error) = link.downcast_ref::<io::Error>() {
        return error.get_ref().map(|payload| payload as Link<'a>);
    }
    if let Some(error) = link.downcast_ref::<Arc<io::Error>>() {
        return Some(&**error);
    }
    if let Some(error) = link.downcast_ref::<Box<io::Error>>() {
        return Some(&**error);
    }
    if let Some(error) = link.downcast_ref::<Arc<dyn Error + Send + Sync>>() {
        return Some(&**error);
    }
    link.downcast_ref::<Arc<dyn Error>>().map(|error| &**error as Link<'a>)
}

/// The link as a `T`, also behind an `Arc` or a `Box`, which hide it from a plain downcast.
fn find<'a, T: Error + 'static>(link: Link<'a>) -> Option<&'a T> {
    link.downcast_ref::<T>()
        .or_else(|| link.downcast_ref::<Arc<T>>().map(|shared| &**shared))
        .or_else(|| link.downcast_ref::<Box<T>>().map(|boxed| &**boxed))
}

/// Whether `said` contains `text` as whole words.
fn says(said: &str, text: &str) -> bool {
    let is_word = |char: Option<char>| char.is_some_and(|char| char.is_alphanumeric() || char == '_');
    let (first, last) = (text.chars().next(), text.chars().next_back());
    let mut before = None;
    said.char_indices().any(|(at, char)| {
        let cuts = |outer, inner| !(is_word(outer) && is_word(inner));
        let rest = said[at..].strip_prefix(text);
        let outer = before.replace(char);
        !text.is_empty() && rest.is_some_and(|rest| cuts(outer, first) && cuts(rest.chars().next(), last))
    })
}
