export const countOf = (table: string): string => `SELECT count(*) FROM ${table}`;
