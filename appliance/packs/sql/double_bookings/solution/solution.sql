SELECT a.id AS first, b.id AS second FROM bookings AS a JOIN bookings AS b ON b.room = a.room AND a.id < b.id AND a.starts < b.ends AND b.starts < a.ends;
