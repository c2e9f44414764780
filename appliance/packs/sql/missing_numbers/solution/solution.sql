SELECT number + 1 AS first, following - 1 AS last FROM (SELECT number, lead(number) OVER (ORDER BY number) AS following FROM invoices) WHERE following - number > 1 ORDER BY first DESC;
