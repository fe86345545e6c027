//! Which class an error has.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use tidegate_retry_policy::{ChainClassifier, Class, Classify, class_of_io};

/// An error with a text, a code and perhaps a source.
#[derive(Debug, Default)]
struct Fault {
    text: &'static str,
    code: u16,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl Fault {
    fn coded(code: u16) -> Self {
        Self { text: "fault", code, source: None }
    }

    fn says(text: &'static str) -> Self {
        Self { text, ..Self::default() }
    }

    fn over(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self { text: "outer", code: 0, source: Some(source.into()) }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text)
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

/// An error that is its own source.
#[derive(Debug)]
struct Ouroboros;

impl fmt::Display for Ouroboros {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("it bites its tail")
    }
}

impl Error for Ouroboros {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self)
    }
}

/// Code 5 is transient, code 517 is terminal, code 0 says nothing.
fn by_code() -> ChainClassifier {
    ChainClassifier::new().on(|fault: &Fault| match fault.code {
        0 => None,
        5 => Some(Class::Transient),
        _ => Some(Class::Terminal),
    })
}

#[test]
fn what_nobody_knows_is_terminal_unless_said_otherwise() {
    assert_eq!(ChainClassifier::default().classify(&Fault::coded(5)), Class::Terminal);
    let patient = ChainClassifier::new().otherwise(Class::Transient);
    assert_eq!(patient.classify(&Fault::coded(5)), Class::Transient);
}

#[test]
fn the_telling_error_is_found_however_it_is_wrapped() {
    let chain = by_code();
    let found = |error: &(dyn Error + 'static)| chain.class_of(error);
    assert_eq!(found(&Fault::coded(5)), Class::Transient);
    assert_eq!(found(&Fault::over(Fault::over(Fault::coded(5)))), Class::Transient);
    assert_eq!(found(&io::Error::other(Fault::coded(5))), Class::Transient, "in an io::Error");
    assert_eq!(found(&Arc::new(Fault::coded(5))), Class::Transient, "in an Arc");
    assert_eq!(found(&Box::new(Fault::coded(5))), Class::Transient, "in a Box");
    let shared: Arc<dyn Error + Send + Sync> = Arc::new(Fault::coded(5));
    assert_eq!(found(&shared), Class::Transient, "in an Arc without its type");
    let local: Arc<dyn Error> = Arc::new(Fault::coded(5));
    assert_eq!(found(&local), Class::Transient, "in a thread's own Arc without its type");
    assert_eq!(found(&Arc::new(io::Error::other(Fault::coded(5)))), Class::Transient);
    assert_eq!(found(&Box::new(io::Error::other(Fault::coded(5)))), Class::Transient);
    let deep =
        Fault::over(Arc::new(io::Error::other(Fault::over(io::Error::other(Arc::new(Fault::coded(5)))))));
    assert_eq!(found(&deep), Class::Transient);
    let boxed: Box<dyn Error> = Box::new(Fault::over(Fault::coded(5)));
    assert_eq!(found(boxed.as_ref()), Class::Transient);
}

#[test]
fn a_wrapped_text_is_found_too() {
    let chain = ChainClassifier::new().text("database is locked", Class::Transient);
    assert_eq!(chain.classify(&io::Error::other(Fault::says("database is locked (5)"))), Class::Transient);
    assert_eq!(chain.classify(&Fault::over(Fault::says("error: database is locked"))), Class::Transient);
    assert_eq!(chain.classify(&Fault::says("database is missing")), Class::Terminal);
}

#[test]
fn rp5_a_typed_code_deep_in_the_chain_beats_a_text_on_top() {
    let outer = Fault { text: "database is locked", code: 0, source: Some(Fault::coded(517).into()) };
    let chain = ChainClassifier::new().text("database is locked", Class::Transient);
    assert_eq!(chain.classify(&outer), Class::Transient);
    let typed = chain.on(|fault: &Fault| (fault.code == 517).then_some(Class::Terminal));
    assert_eq!(typed.classify(&outer), Class::Terminal, "typed codes first, whenever they were added");
}

#[test]
fn rp5_a_number_in_a_text_is_found_only_as_a_whole_word() {
    let chain = ChainClassifier::new().text("403", Class::Fatal).text("SQLITE_BUSY", Class::Transient);
    assert_eq!(chain.classify(&Fault::says("connect 127.0.0.1:14030 failed")), Class::Terminal);
    assert_eq!(chain.classify(&Fault::says("status 403")), Class::Fatal);
    assert_eq!(chain.classify(&Fault::says("403, not 4031")), Class::Fatal);
    assert_eq!(chain.classify(&Fault::says("SQLITE_BUSY_SNAPSHOT")), Class::Terminal);
    assert_eq!(chain.classify(&Fault::says("(SQLITE_BUSY)")), Class::Transient);
    let port = Fault { text: "403", code: 5, source: None };
    let typed = chain.on(|fault: &Fault| (fault.code == 5).then_some(Class::Transient));
    assert_eq!(typed.classify(&port), Class::Transient, "and a typed code beats even that");
}

#[test]
fn the_rule_added_first_is_tried_first_over_the_whole_chain() {
    let reset = || io::Error::new(ErrorKind::ConnectionReset, Fault::coded(517));
    assert_eq!(by_code().io().classify(&reset()), Class::Terminal);
    let io_first = ChainClassifier::new().io().on(|_: &Fault| Some(Class::Terminal));
    assert_eq!(io_first.classify(&reset()), Class::Transient);
}

#[test]
fn an_empty_text_is_never_found() {
    let chain = ChainClassifier::new().text("", Class::Fatal);
    assert_eq!(chain.classify(&Fault::says("")), Class::Terminal);
    assert_eq!(chain.classify(&Fault::says("anything")), Class::Terminal);
}

#[test]
fn an_endless_or_very_deep_chain_is_left_after_64_links() {
    let chain = by_code().io().text("no such words", Class::Fatal);
    assert_eq!(chain.classify(&Ouroboros), Class::Terminal);
    let nested = |depth| (0..depth).fold(Fault::coded(5), |inner, _| Fault::over(inner));
    assert_eq!(chain.classify(&nested(63)), Class::Transient);
    assert_eq!(chain.classify(&nested(64)), Class::Terminal);
}

#[test]
fn io_kinds_are_transient_terminal_fatal_or_unknown() {
    let class = |kind| ChainClassifier::new().io().classify(&io::Error::from(kind));
    assert_eq!(class(ErrorKind::TimedOut), Class::Transient);
    assert_eq!(class(ErrorKind::ConnectionRefused), Class::Transient);
    assert_eq!(class(ErrorKind::Interrupted), Class::Transient);
    assert_eq!(class(ErrorKind::WouldBlock), Class::Transient);
    assert_eq!(class(ErrorKind::NotFound), Class::Terminal);
    assert_eq!(class(ErrorKind::StorageFull), Class::Fatal);
    assert_eq!(class_of_io(ErrorKind::Other), None);
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_fatal_by_its_code() {
    let full = Fault::over(io::Error::from_raw_os_error(28));
    assert_eq!(ChainClassifier::new().io().classify(&full), Class::Fatal);
}
