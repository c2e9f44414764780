SELECT strftime('%Y-%m', day) AS month, count(id) AS payments, sum(ifnull(cents, 0)) AS cents FROM payments GROUP BY 1 ORDER BY 1 DESC;
