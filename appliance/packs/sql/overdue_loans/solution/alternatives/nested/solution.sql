SELECT id, book FROM (SELECT *, coalesce(returned, '-') AS back FROM loans) WHERE back = '-' AND NOT due >= '2024-05-01' ORDER BY due ASC, id ASC;
