SELECT id, step FROM (
  SELECT id, tenths - lag(tenths) OVER (PARTITION BY thermometer ORDER BY minute) AS step FROM reports WHERE tenths IS NOT NULL
) WHERE abs(step) > 20;
