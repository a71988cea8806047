//! The steps that are about hooks.

use super::{Oracle, TASKS};
use crate::hook::{Hooks, Owed};
use crate::store::OwedHooks as _;

impl Oracle {
    /// Takes what is owed; some of it is struck off, the rest comes again.
    pub(super) async fn pay(&mut self) {
        // Each is asked for by itself, in part or all together: what is not asked for stays.
        let hooks = Hooks::from_code(self.rng.i16(1..8));
        let tasks: Vec<(String, Hooks)> = TASKS.iter().map(|&name| (name.to_owned(), hooks)).collect();
        let again = std::time::Duration::from_micros(self.rng.u64(1..20_000_000));
        // All of it: which come first among those of one change is nobody's business.
        let model = self.model.owed(&tasks, u32::MAX, again).await.expect("the model owes");
        let store = self.store.owed(&tasks, u32::MAX, again).await.expect("the store owes");
        let (model, store) = (sorted(model), sorted(store));
        self.note(format!("{} hooks for {again:?}", model.len()));
        self.compare(without_numbers(&model), without_numbers(&store));
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (model, store) in model.iter().zip(&store) {
            if self.rng.bool() {
                ours.push(model.number);
                theirs.push(store.number);
            }
        }
        self.model.strike(ours).await.expect("the model strikes off");
        self.store.strike(theirs).await.expect("the store strikes off");
    }
}

fn sorted(mut owed: Vec<Owed>) -> Vec<Owed> {
    owed.sort_by_key(|owed| (owed.job.id, owed.hook.code(), owed.number));
    owed
}

fn without_numbers(owed: &[Owed]) -> Vec<Owed> {
    let plain = owed.iter().cloned().map(|mut owed| {
        (owed.number, owed.job.seq) = (0, 0);
        owed
    });
    plain.collect()
}
