SELECT customer, orders FROM (SELECT customer, sum(state = 'done') AS orders FROM orders GROUP BY customer) WHERE orders > 2 AND customer IS NOT NULL;
