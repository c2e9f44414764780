SELECT reader, COUNT(*) AS books, MIN(due) AS first_due
FROM loans
WHERE returned IS NULL
GROUP BY reader
HAVING COUNT(*) >= 2
ORDER BY first_due, reader;
