SELECT * FROM (SELECT p.pupil AS pupil,
 (SELECT mark FROM marks AS m WHERE m.pupil = p.pupil AND subject = 'art' ORDER BY mark DESC LIMIT 1) AS art,
 (SELECT mark FROM marks AS m WHERE m.pupil = p.pupil AND subject = 'math' ORDER BY mark DESC LIMIT 1) AS math,
 (SELECT mark FROM marks AS m WHERE m.pupil = p.pupil AND subject = 'sport' ORDER BY mark DESC LIMIT 1) AS sport
 FROM (SELECT DISTINCT pupil FROM marks) AS p) WHERE coalesce(art, math, sport) IS NOT NULL;
