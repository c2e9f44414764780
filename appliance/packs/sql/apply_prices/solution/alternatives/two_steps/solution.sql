UPDATE articles SET cents = coalesce((SELECT i.cents FROM incoming AS i WHERE i.code = articles.code), cents);
INSERT INTO articles (code, cents, stock) SELECT code, cents, 0 FROM incoming WHERE cents IS NOT NULL AND code NOT IN (SELECT code FROM articles);
DELETE FROM incoming WHERE 1;
