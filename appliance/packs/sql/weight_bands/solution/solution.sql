SELECT CASE WHEN grams IS NULL THEN 'unknown' WHEN grams <= 500 THEN 'small' WHEN grams <= 2000 THEN 'medium' ELSE 'large' END AS band, count(*) AS parcels
FROM parcels GROUP BY band;
