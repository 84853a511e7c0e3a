-- sums of a column and constants
SELECT sum(item_id), sum(item_id + 1), sum(item_id + 2), sum(item_id + 3), sum(item_id + 4), sum(item_id + 5), sum(item_id + 6), sum(item_id + 7), sum(item_id + 8),
       avg(item_id), count(item_id), sum(item_id - 1), sum(2 * item_id), sum(item_id * 3 + 4) FROM events
