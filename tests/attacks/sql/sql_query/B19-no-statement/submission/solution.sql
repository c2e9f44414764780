-- nothing to see
/* SELECT */ ;