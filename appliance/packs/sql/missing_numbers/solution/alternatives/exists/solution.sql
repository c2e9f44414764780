SELECT i.number + 1 AS first, (SELECT min(n.number) FROM invoices AS n WHERE n.number > i.number) - 1 AS last
FROM (SELECT DISTINCT number FROM invoices) AS i
WHERE NOT EXISTS (SELECT 1 FROM invoices AS o WHERE o.number = i.number + 1) AND i.number < (SELECT max(number) FROM invoices) ORDER BY 1 DESC;
