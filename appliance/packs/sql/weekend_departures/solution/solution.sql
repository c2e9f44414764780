SELECT line, count(*) AS departures FROM departures WHERE strftime('%w', leaves) IN ('0', '6') AND substr(leaves, 12) >= '09:00' GROUP BY line;
