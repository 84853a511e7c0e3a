-- an amount's share of its item's total
SELECT count(share), sum(share), max(share) FROM (SELECT amount / nullif(sum(amount) OVER (PARTITION BY item_id), 0) AS share FROM events) AS ans
