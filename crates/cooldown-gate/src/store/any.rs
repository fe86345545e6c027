//! A store chosen at run time.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{GateStore, GateWatch, Stored};

type BoxError = Box<dyn Error + Send + Sync>;
type Boxed<'a, T> = Pin<Box<dyn Future<Output = Result<T, AnyError>> + Send + 'a>>;

/// Any [`GateStore`], behind one type: a handle, cheap to clone. Each call costs an allocation.
///
/// ```
/// use tidegate_cooldown_gate::store::{AnyGateStore, LocalStore};
///
/// let shared = false; // from the configuration
/// let store = if shared { unimplemented!("a database") } else { AnyGateStore::new(LocalStore::new()) };
/// # drop(store);
/// ```
#[derive(Clone)]
pub struct AnyGateStore(Arc<dyn DynStore>);

/// What [`AnyGateStore`] follows a key with.
pub struct AnyGateWatch(Box<dyn DynWatch>);

/// The error of a store behind an [`AnyGateStore`]; [`source`](Error::source) is the error itself.
#[derive(Debug)]
pub struct AnyError(BoxError);

impl fmt::Display for AnyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the store of the gate did not answer")
    }
}

impl Error for AnyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0)
    }
}

impl AnyError {
    fn new(error: impl Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }
}

trait DynStore: Send + Sync {
    fn extend<'a>(&'a self, key: &'a str, cooldown: Duration, epoch: u64) -> Boxed<'a, Stored>;
    fn watch<'a>(&'a self, key: &'a str) -> Boxed<'a, AnyGateWatch>;
}

trait DynWatch: Send {
    fn next(&mut self) -> Boxed<'_, Stored>;
}

impl<S: GateStore> DynStore for S {
    fn extend<'a>(&'a self, key: &'a str, cooldown: Duration, epoch: u64) -> Boxed<'a, Stored> {
        Box::pin(async move { GateStore::extend(self, key, cooldown, epoch).await.map_err(AnyError::new) })
    }

    fn watch<'a>(&'a self, key: &'a str) -> Boxed<'a, AnyGateWatch> {
        Box::pin(async move {
            let watch = GateStore::watch(self, key).await.map_err(AnyError::new)?;
            Ok(AnyGateWatch(Box::new(Erased(watch))))
        })
    }
}

struct Erased<W>(W);

impl<W: GateWatch<Error: Error + Send + Sync + 'static>> DynWatch for Erased<W> {
    fn next(&mut self) -> Boxed<'_, Stored> {
        Box::pin(async { self.0.next().await.map_err(AnyError::new) })
    }
}

impl AnyGateStore {
    /// Hides which store it is.
    #[must_use]
    pub fn new(store: impl GateStore) -> Self {
        Self(Arc::new(store))
    }
}

impl fmt::Debug for AnyGateStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyGateStore")
    }
}

impl fmt::Debug for AnyGateWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyGateWatch")
    }
}

impl GateStore for AnyGateStore {
    type Error = AnyError;
    type Watch = AnyGateWatch;

    async fn extend(&self, key: &str, cooldown: Duration, epoch: u64) -> Result<Stored, AnyError> {
        self.0.extend(key, cooldown, epoch).await
    }

    async fn watch(&self, key: &str) -> Result<AnyGateWatch, AnyError> {
        self.0.watch(key).await
    }
}

impl GateWatch for AnyGateWatch {
    type Error = AnyError;

    async fn next(&mut self) -> Result<Stored, AnyError> {
        self.0.next().await
    }
}
