SELECT customer, count(*) AS orders FROM orders WHERE state = 'done' AND customer IS NOT NULL GROUP BY customer HAVING count(*) >= 3;
