WITH RECURSIVE need(part, pieces) AS (
  VALUES ('bike', 1)
  UNION ALL
  SELECT u.part, n.pieces * u.pieces FROM uses AS u, need AS n WHERE n.part = u.product
)
SELECT n.part AS part, CAST(sum(n.pieces) AS INTEGER) AS pieces FROM need AS n LEFT JOIN uses AS u ON u.product = n.part WHERE u.product IS NULL GROUP BY n.part;
