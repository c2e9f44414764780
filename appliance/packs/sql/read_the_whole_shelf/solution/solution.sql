SELECT l.member AS member, b.shelf AS shelf FROM loans AS l JOIN books AS b ON b.id = l.book_id
GROUP BY l.member, b.shelf HAVING count(DISTINCT b.id) = (SELECT count(*) FROM books AS o WHERE o.shelf = b.shelf);
