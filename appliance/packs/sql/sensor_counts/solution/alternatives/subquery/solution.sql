SELECT code, (SELECT count(*) FROM readings WHERE sensor_id = sensors.id AND value IS NOT NULL) AS readings FROM sensors;
