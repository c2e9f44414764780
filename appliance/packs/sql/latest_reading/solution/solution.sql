SELECT meter, value FROM readings AS r
WHERE NOT EXISTS (SELECT * FROM readings AS o WHERE o.meter = r.meter AND (o.sent > r.sent OR o.sent = r.sent AND o.id > r.id));
