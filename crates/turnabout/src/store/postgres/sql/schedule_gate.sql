-- Whoever changes schedules does so alone: events are numbered in the order in which they become visible, and no key is made
-- twice. Firing does not come here, unless a schedule has no next time. Readers do not wait.
lock table turnabout.schedule_event in share row exclusive mode
