SELECT substr(day, 1, 7) AS month, count(*) AS payments, coalesce(sum(cents), 0) AS cents FROM payments GROUP BY month ORDER BY month DESC;
