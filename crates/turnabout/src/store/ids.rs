//! Executors' ids: who lives under one is told by a lock, not by a time stamp.

/// An executor's id, ours until this is dropped.
pub trait IdLock: std::fmt::Debug + Send + Sync {}

/// What came of asking for an executor's id.
#[derive(Debug)]
pub enum Occupied {
    /// It is ours.
    Ours {
        /// Holds it.
        lock: Box<dyn IdLock>,
        /// Whether whoever had it before is dead beyond doubt. Else it may only have lost its connection, and is given a
        /// moment to say so.
        certain: bool,
    },
    /// Someone else has it.
    Taken {
        /// Whether that one lives beyond doubt. Else it may be a connection that outlived its process.
        certain: bool,
    },
    /// There is no telling: leases have to.
    Untold,
}

/// Ids of a store in memory, which nobody else can see.
#[cfg(any(test, feature = "sqlite"))]
#[derive(Clone, Debug, Default)]
pub(crate) struct IdsInMemory(std::sync::Arc<std::sync::Mutex<std::collections::HashSet<String>>>);

#[cfg(any(test, feature = "sqlite"))]
impl IdsInMemory {
    pub(crate) fn occupy(&self, id: &str) -> Occupied {
        let mut ids = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !ids.insert(id.to_owned()) {
            return Occupied::Taken { certain: true };
        }
        let (id, ids) = (id.to_owned(), self.clone());
        let lock = Box::new(Entry { id, ids });
        Occupied::Ours { lock, certain: true }
    }
}

#[cfg(any(test, feature = "sqlite"))]
#[derive(Debug)]
struct Entry {
    id: String,
    ids: IdsInMemory,
}

#[cfg(any(test, feature = "sqlite"))]
impl IdLock for Entry {}

#[cfg(any(test, feature = "sqlite"))]
impl Drop for Entry {
    fn drop(&mut self) {
        let mut ids = self.ids.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ids.remove(&self.id);
    }
}
