export const countOf = (table: string): string => `SELECT count(*) FROM ${table}`;
export const listOf = (table: string): string => `select * from ${table}`;
