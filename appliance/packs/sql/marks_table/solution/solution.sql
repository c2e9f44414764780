SELECT pupil, max(CASE WHEN subject = 'art' THEN mark END) AS art, max(CASE WHEN subject = 'math' THEN mark END) AS math, max(CASE WHEN subject = 'sport' THEN mark END) AS sport
FROM marks WHERE subject IN ('art', 'math', 'sport') AND mark IS NOT NULL GROUP BY pupil;
