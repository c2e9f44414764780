SELECT name, (SELECT count(*) FROM orders WHERE customer_id = c.id), (SELECT ifnull(sum(cents), 0) FROM orders WHERE customer_id = c.id) FROM customers c WHERE id IN (SELECT customer_id FROM orders) ORDER BY name DESC;
-- done
