-- Announces that rows of jobs will be changed, before any cap is locked: whoever sets a cap locks in this order too.
lock table turnabout.job in row exclusive mode
