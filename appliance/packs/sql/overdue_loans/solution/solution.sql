SELECT id, book FROM loans WHERE returned IS NULL AND due < '2024-05-01' ORDER BY due, id;
