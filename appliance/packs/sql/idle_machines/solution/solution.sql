SELECT m.id AS id, m.name AS name FROM machines AS m LEFT JOIN bookings AS b ON b.machine_id = m.id AND b.day LIKE '2024-03-%' WHERE b.id IS NULL;
