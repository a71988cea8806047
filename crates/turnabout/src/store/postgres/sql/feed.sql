-- Until when someone watches. One row.
select until from turnabout.feed
