SELECT m.id AS id, m.name AS name FROM machines AS m WHERE NOT EXISTS (SELECT 1 FROM bookings AS b WHERE b.machine_id = m.id AND b.day >= '2024-03-01' AND b.day < '2024-04-01');
