SELECT DISTINCT a.reader AS reader,
  (SELECT COUNT(c.id) FROM loans AS c WHERE c.reader = a.reader AND c.returned IS NULL) AS books,
  (SELECT c.due FROM loans AS c WHERE c.reader = a.reader AND c.returned IS NULL ORDER BY c.due LIMIT 1) AS first_due
FROM loans AS a JOIN loans AS b ON a.reader = b.reader AND a.id < b.id
WHERE a.returned IS NULL AND b.returned IS NULL
ORDER BY 3, 1;
