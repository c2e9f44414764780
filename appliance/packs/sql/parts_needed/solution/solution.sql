WITH RECURSIVE need(part, pieces) AS (
  SELECT part, pieces FROM uses WHERE product = 'bike'
  UNION ALL
  SELECT u.part, u.pieces * n.pieces FROM need AS n JOIN uses AS u ON u.product = n.part
)
SELECT part, sum(pieces) AS pieces FROM need WHERE part NOT IN (SELECT product FROM uses) GROUP BY part;
