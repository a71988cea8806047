//! What operators ask on a bad day, and who did what.

use super::Jobs;
use crate::store::audit::Audit;
use crate::store::insight::Insight;

impl Jobs {
    /// What operators ask on a bad day: who holds slots, who waits, what failed, how the database is doing.
    #[doc(hidden)]
    pub fn insight(&self) -> &dyn Insight {
        self.store().insight()
    }

    /// The audit log: who did what, and when.
    #[doc(hidden)]
    pub fn audit(&self) -> &dyn Audit {
        self.store().audit()
    }
}
