SELECT m.member AS member, s.shelf AS shelf FROM (SELECT DISTINCT member FROM loans) AS m, (SELECT DISTINCT shelf FROM books) AS s
WHERE NOT EXISTS (SELECT 1 FROM books AS b WHERE b.shelf = s.shelf AND NOT EXISTS (SELECT 1 FROM loans AS l WHERE l.member = m.member AND l.book_id = b.id));
