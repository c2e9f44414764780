SELECT s.code AS code, count(r.value) AS readings FROM sensors AS s LEFT JOIN readings AS r ON r.sensor_id = s.id GROUP BY s.id;
