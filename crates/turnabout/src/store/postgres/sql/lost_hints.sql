-- Hints could not be noted: a new epoch begins, so that those who watch know that they have missed something.
update turnabout.feed set epoch = epoch + 1
