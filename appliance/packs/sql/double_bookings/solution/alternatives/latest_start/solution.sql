SELECT a.id AS first, b.id AS second FROM bookings AS a, bookings AS b WHERE a.id < b.id AND a.room = b.room AND max(a.starts, b.starts) + 1 <= min(a.ends, b.ends);
