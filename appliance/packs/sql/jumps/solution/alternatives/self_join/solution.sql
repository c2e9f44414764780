SELECT n.id AS id, n.tenths - o.tenths AS step FROM reports AS n JOIN reports AS o ON o.thermometer = n.thermometer
AND o.minute = (SELECT max(minute) FROM reports AS p WHERE p.thermometer = n.thermometer AND p.minute < n.minute AND p.tenths IS NOT NULL)
WHERE n.tenths > o.tenths + 20 OR n.tenths < o.tenths - 20;
