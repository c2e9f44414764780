SELECT 'small' AS band, count(*) AS parcels FROM parcels WHERE grams <= 500 HAVING count(*) > 0
UNION ALL SELECT 'medium', count(*) FROM parcels WHERE grams > 500 AND grams <= 2000 HAVING count(*) > 0
UNION ALL SELECT 'large', count(*) FROM parcels WHERE grams > 2000 HAVING count(*) > 0
UNION ALL SELECT 'unknown', count(*) FROM parcels WHERE grams IS NULL HAVING count(*) > 0;
