SELECT c.name, count(*), coalesce(sum(o.cents), 0)
FROM customers AS c JOIN orders AS o ON o.customer_id = c.id
GROUP BY c.id, c.name;
