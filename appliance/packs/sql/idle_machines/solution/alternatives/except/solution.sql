SELECT id, name FROM machines WHERE id IN (SELECT id FROM machines EXCEPT SELECT machine_id FROM bookings WHERE substr(day, 1, 7) = '2024-03');
